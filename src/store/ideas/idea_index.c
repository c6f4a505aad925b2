/*
 * idea_index.c: which rows have a term, and how much it weighs there.
 *
 * The terms of all rows are read twice, first to count and then to fill in, because a list of them would take more memory than the
 * postings.
 */
#include "ideas_internal.h"

struct counting {
    struct lineage_ideas *ideas;
    struct weights list; /* the terms of one row */
    uint32_t *slots;     /* [capacity] where a term is in that list, if it is there */
    size_t *n_rows;      /* [capacity] how many rows have a term */
    size_t capacity;
};

static bool make_room(struct counting *c)
{
    size_t wanted = c->ideas->terms.n + (size_t)c->ideas->terms.n / 8 + 64;
    if (c->ideas->terms.n <= c->capacity)
        return true;
    uint32_t *slots = realloc(c->slots, wanted * sizeof *slots);
    c->slots = slots ? slots : c->slots;
    size_t *n_rows = slots ? realloc(c->n_rows, wanted * sizeof *n_rows) : NULL;
    if (!n_rows)
        return false;
    c->n_rows = n_rows;
    memset(slots + c->capacity, 0, (wanted - c->capacity) * sizeof *slots);
    memset(n_rows + c->capacity, 0, (wanted - c->capacity) * sizeof *n_rows);
    c->capacity = wanted;
    return true;
}

/* Lists the terms of a row, each once, with the sum of its weights. */
static bool list_terms(struct counting *c, struct idea_row *row)
{
    struct weights *list = &c->list;
    size_t n = 0;
    list->n = 0;
    if (!row_list_terms(list, c->ideas, row) || !make_room(c))
        return false;
    for (size_t i = 0; i < list->n; i++) {
        struct weight w = list->items[i];
        uint32_t slot = c->slots[w.term];
        if (slot < n && list->items[slot].term == w.term)
            list->items[slot].weight += w.weight;
        else {
            c->slots[w.term] = (uint32_t)n;
            list->items[n++] = w;
        }
    }
    list->n = n;
    return true;
}

static const double K1 = 1.2, B = 0.5;

double saturated(double weight, double length, double mean)
{
    return weight * (K1 + 1) / (weight + K1 * (1 - B + B * length / mean));
}

/* Fills in the length of each row, and how many rows have each term. */
static bool count_terms(struct counting *c)
{
    struct lineage_ideas *ideas = c->ideas;
    double length = 0;
    ideas->terms.n_rows = 0;
    for (ideas->first_running = 0; ideas->first_running < ideas->n; ideas->first_running++)
        if (ideas->rows[ideas->first_running].idea.running)
            break;
    for (uint32_t i = 0; i < ideas->terms.n; i++)
        ideas->terms.df[i] = 0; /* left by a call that ran out of memory */
    for (size_t i = 0; i < ideas->n; i++) {
        if (!list_terms(c, &ideas->rows[i]))
            return false;
        ideas->lengths[i] = 0;
        for (size_t k = 0; k < c->list.n; k++) {
            struct weight w = c->list.items[k];
            ideas->lengths[i] += (double)w.weight;
            ideas->terms.df[w.term] += !ideas->rows[i].uncounted;
            c->n_rows[w.term]++;
        }
        length += ideas->lengths[i];
        ideas->terms.n_rows += !ideas->rows[i].uncounted;
    }
    ideas->mean_length = ideas->n && length > 0 ? length / (double)ideas->n : 1;
    return true;
}

static bool fill_postings(struct counting *c)
{
    struct lineage_ideas *ideas = c->ideas;
    const size_t n_terms = ideas->terms.n;
    ideas->postings_of = calloc(n_terms + 2, sizeof *ideas->postings_of);
    if (!ideas->postings_of)
        return false;
    for (size_t i = 0; i < n_terms; i++)
        ideas->postings_of[i + 2] = ideas->postings_of[i + 1] + c->n_rows[i];
    ideas->postings = calloc(ideas->postings_of[n_terms + 1] + 1, sizeof *ideas->postings);
    for (size_t i = 0; ideas->postings && i < ideas->n; i++) {
        if (!list_terms(c, &ideas->rows[i]))
            return false;
        for (size_t k = 0; k < c->list.n; k++) {
            struct weight w = c->list.items[k];
            ideas->postings[ideas->postings_of[w.term + 1]++] =
                (struct posting){(uint32_t)i, saturated((double)w.weight, ideas->lengths[i], ideas->mean_length)};
        }
    }
    return ideas->postings != NULL;
}

bool ideas_prepare_search(struct lineage_ideas *ideas)
{
    struct counting c = {.ideas = ideas};
    if (ideas->searchable)
        return true;
    idea_index_release(ideas); /* left by an earlier call that ran out of memory */
    ideas->lengths = calloc(ideas->n + 1, sizeof *ideas->lengths);
    ideas->scores = calloc(ideas->n + 1, sizeof *ideas->scores);
    ideas->found = calloc(ideas->n + 1, sizeof *ideas->found);
    ideas->searchable = ideas->lengths && ideas->scores && ideas->found && count_terms(&c) && fill_postings(&c);
    free(c.list.items);
    free(c.slots);
    free(c.n_rows);
    ideas->searchable = ideas->searchable && terms_weigh(&ideas->terms);
    return ideas->searchable;
}

void idea_index_release(struct lineage_ideas *ideas)
{
    free(ideas->postings_of);
    free(ideas->postings);
    free(ideas->lengths);
    free(ideas->scores);
    free(ideas->found);
    ideas->postings_of = NULL;
    ideas->postings = NULL;
    ideas->lengths = ideas->scores = NULL;
    ideas->found = NULL;
}
