/*
 * idea_index.c: which rows have a term, and how much it weighs there.
 *
 * The postings of a term are bytes: for each row its distance from the row before and the number of the weight, of which a log
 * has few. They take a third of what structs take. The terms of all rows are read twice, first to count and then to fill in,
 * because a list of them would take more memory than the postings.
 */
#include "ideas_internal.h"

#include <stdlib.h>
#include <string.h>

/* What is known about a term while the rows go by. */
struct counted {
    uint32_t slot;  /* where it is in the list of a row, if it is there */
    uint32_t next;  /* the row after the last one that has it */
    uint32_t bytes; /* of its postings */
};

struct counting {
    struct lineage_ideas *ideas;
    struct weights list; /* the terms of one row */
    struct counted *terms; /* [capacity] */
    size_t capacity;
};

/* Adds up the weights of equal terms of the list. */
static void add_up(struct counting *c)
{
    struct weights *list = &c->list;
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        struct weight w = list->items[i];
        uint32_t slot = c->terms[w.term].slot;
        if (slot < n && list->items[slot].term == w.term)
            list->items[slot].weight += w.weight;
        else {
            c->terms[w.term].slot = (uint32_t)n;
            list->items[n++] = w;
        }
    }
    list->n = n;
}

/* Lists the terms of a row, each once. */
static bool list_terms(struct counting *c, const struct idea_row *row)
{
    c->list.n = 0;
    if (!row_list_terms(&c->list, c->ideas, row))
        return false;
    if (c->ideas->terms.n > c->capacity) {
        size_t wanted = c->ideas->terms.n + (size_t)c->ideas->terms.n / 8 + 64;
        struct counted *grown = realloc(c->terms, wanted * sizeof *grown);
        if (!grown)
            return false;
        memset(grown + c->capacity, 0, (wanted - c->capacity) * sizeof *grown);
        c->terms = grown;
        c->capacity = wanted;
    }
    add_up(c);
    return true;
}

/* The number of a weight, TEXT_NONE when out of memory. */
static uint32_t number_of(struct lineage_ideas *ideas, float weight)
{
    char bytes[sizeof weight];
    memcpy(bytes, &weight, sizeof weight);
    return text_table_add(&ideas->weights, bytes, sizeof bytes);
}

/* Writes a posting of the term; returns its length, 0 when out of memory. */
static size_t write_posting(unsigned char out[2 * PACKED_MAX], struct counting *c, size_t row, struct weight w)
{
    uint32_t number = number_of(c->ideas, w.weight), *next = &c->terms[w.term].next;
    if (number == TEXT_NONE)
        return 0;
    size_t length = pack_number(out, (uint32_t)row - *next);
    *next = (uint32_t)row + 1;
    return length + pack_number(out + length, number);
}

/* Fills in the length of each row, how many rows have each term, and how many bytes its postings take. */
static bool count_terms(struct counting *c)
{
    struct lineage_ideas *ideas = c->ideas;
    unsigned char posting[2 * PACKED_MAX];
    double length = 0;
    ideas->terms.n_rows = 0;
    for (uint32_t i = 0; i < ideas->terms.n; i++)
        ideas->terms.df[i] = 0; /* left by a call that ran out of memory */
    for (size_t i = 0; i < ideas->n; i++) {
        if (!list_terms(c, &ideas->rows[i]))
            return false;
        ideas->lengths[i] = 0;
        for (size_t k = 0; k < c->list.n; k++) {
            struct weight w = c->list.items[k];
            size_t bytes = write_posting(posting, c, i, w);
            if (!bytes || c->terms[w.term].bytes > UINT32_MAX - bytes)
                return false;
            ideas->lengths[i] += (double)w.weight;
            ideas->terms.df[w.term] += !ideas->rows[i].uncounted;
            c->terms[w.term].bytes += (uint32_t)bytes;
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
    unsigned char posting[2 * PACKED_MAX];
    const size_t n_terms = ideas->terms.n;
    ideas->postings_of = calloc(n_terms + 2, sizeof *ideas->postings_of);
    if (!ideas->postings_of)
        return false;
    for (size_t i = 0; i < n_terms; i++) {
        ideas->postings_of[i + 2] = ideas->postings_of[i + 1] + c->terms[i].bytes;
        c->terms[i].next = 0;
    }
    ideas->postings = malloc(ideas->postings_of[n_terms + 1] + 1);
    for (size_t i = 0; ideas->postings && i < ideas->n; i++) {
        if (!list_terms(c, &ideas->rows[i]))
            return false;
        for (size_t k = 0; k < c->list.n; k++) {
            struct weight w = c->list.items[k];
            size_t bytes = write_posting(posting, c, i, w);
            memcpy(ideas->postings + ideas->postings_of[w.term + 1], posting, bytes);
            ideas->postings_of[w.term + 1] += bytes;
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
    ideas->setting_terms = malloc(SETTING_TERMS * sizeof *ideas->setting_terms);
    if (ideas->setting_terms)
        memset(ideas->setting_terms, 0xff, SETTING_TERMS * sizeof *ideas->setting_terms); /* no name */
    ideas->searchable =
        ideas->setting_terms && ideas->lengths && ideas->scores && ideas->found && count_terms(&c) && fill_postings(&c);
    free(ideas->setting_terms);
    ideas->setting_terms = NULL;
    free(c.list.items);
    free(c.terms);
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
    text_table_release(&ideas->weights);
    ideas->postings_of = NULL;
    ideas->postings = NULL;
    ideas->lengths = ideas->scores = NULL;
    ideas->found = NULL;
}

struct postings postings_of(const struct lineage_ideas *ideas, uint32_t term)
{
    return (struct postings){.at = ideas->postings + ideas->postings_of[term],
                             .end = ideas->postings + ideas->postings_of[term + 1]};
}

bool postings_next(struct postings *p, const struct lineage_ideas *ideas)
{
    if (p->at == p->end)
        return false;
    p->row = p->next + unpack_number(&p->at);
    p->next = p->row + 1;
    memcpy(&p->weight, ideas->weights.entries[unpack_number(&p->at)].text, sizeof p->weight);
    return true;
}
