/*
 * terms.c: a text as a list of weighted terms, and which trials of a set have each term.
 *
 * A term is the stem of a word, an identifier, a number ("#0.005"), a mentioned trial ("^588"), a knob ("=lr") or a setting
 * ("=lr:0.1"). The lists of all trials are made when the first question compares words, because most questions do not.
 */
#include "ideas_internal.h"

#include <math.h>

#define WEAK_WORDS                                                                                                               \
    " the a an and or of to in on at for with by from as is are be was were it its this that these those which into "            \
    "than then so but not no we our their they can may will would should could has have had do does did only also "              \
    "more most less each per every all any both while where when if because via using use used between under over "              \
    "after before during instead same other such s t "

/* Weights of the parts of a row's text. */
static const float TEXT_WEIGHT = 1, HEAD_WEIGHT = 1, PART_WEIGHT = 0.4f, NOTES_WEIGHT = 0.15f, KNOB_WEIGHT = 1.5f,
                   SETTING_WEIGHT = 2, CITES_WEIGHT = 1;

/* NOTES_TOKENS of the notes are compared. The title of a text is the first TITLE_WORDS of its headline. */
enum { NOTES_TOKENS = 160, TITLE_WORDS = 6, LONGEST_IDENTIFIER = 64, LONG_WORD = 4 };

bool row_is_weak(const char *word, size_t length)
{
    return text_in(word, length, WEAK_WORDS);
}

/* A text of which the terms are listed. If `add` is true, a term that the set does not have gets a number; else it is left out. */
struct taking {
    struct lineage_ideas *ideas;
    struct row_search *search;
    bool add;
};

static void put(struct taking *t, const char *text, size_t length, float weight, unsigned where)
{
    struct term_list *list = &t->ideas->listing;
    uint32_t number = t->add ? text_table_add(&t->ideas->terms, text, length) : text_table_find(&t->ideas->terms, text, length);
    list->failed = list->failed || (t->add && number == TEXT_NONE);
    if (number == TEXT_NONE)
        return;
    if (!LIST_ROOM(list->items, list->n, list->capacity))
        list->failed = true;
    else
        list->items[list->n++] = (struct term){number, weight, (where & IN_TEXT) != 0, (uint16_t)where};
}

/* The stems of a word's parts, and an identifier as a whole. A weak word has none. */
static void put_word(struct taking *t, const char *word, size_t length, float weight, unsigned where)
{
    struct knob_words parts;
    char stem[KNOB_WORD_MAX], whole[LONGEST_IDENTIFIER];
    if (row_is_weak(word, length))
        return;
    knob_words_split(&parts, word, length);
    weight += where & IN_HEAD ? HEAD_WEIGHT : 0;
    for (size_t i = 0; i < parts.n; i++) {
        word_stem(stem, parts.words[i], strlen(parts.words[i]));
        put(t, stem, strlen(stem), parts.n > 1 ? weight * PART_WEIGHT : weight, where);
    }
    if (parts.n > 1 && length < sizeof whole) {
        for (size_t i = 0; i < length; i++)
            whole[i] = ascii_lower(word[i]);
        put(t, whole, length, weight, 0);
    }
}

/* Remembers the spelling of a trial's word; a word of a question whose spelling no trial has is unknown. Short words say little. */
static bool know_word(struct taking *t, const char *word, size_t length)
{
    if (length < LONG_WORD)
        return true;
    if (t->add)
        return text_table_add(&t->ideas->words, word, length) != TEXT_NONE;
    return text_table_find(&t->ideas->words, word, length) != TEXT_NONE ||
           text_table_add(&t->search->unknown, word, length) != TEXT_NONE;
}

static void put_mention(void *context, const char *id, size_t length)
{
    char text[LINEAGE_NAME_MAX + 2];
    int n = snprintf(text, sizeof text, "^%.*s", (int)length, id);
    if (length && length < LINEAGE_NAME_MAX)
        put(context, text, (size_t)n, CITES_WEIGHT, 0);
}

static bool put_text(struct taking *t, const char *text, bool notes)
{
    struct tokens tokens;
    char number[40];
    size_t n_words = 0;
    bool known = true;
    if (!tokens_of_text(&tokens, text))
        return false;
    for (size_t i = 0; known && i < tokens.n; i++)
        known = tokens.items[i].kind != TOKEN_WORD || know_word(t, text + tokens.items[i].at, tokens.items[i].length);
    for (size_t i = 0; i < tokens.n && !(notes && i >= NOTES_TOKENS); i++) {
        const struct token *token = &tokens.items[i];
        unsigned where =
            notes ? 0 : IN_TEXT | (token->clause ? 0 : IN_HEAD) | (token->clause || n_words >= TITLE_WORDS ? 0 : IN_TITLE);
        if (token->kind == TOKEN_WORD)
            put_word(t, text + token->at, token->length, notes ? NOTES_WEIGHT : TEXT_WEIGHT, where);
        else if (token->kind == TOKEN_NUMBER && token->has_value)
            put(t, number, (size_t)snprintf(number, sizeof number, "#%.5g", token->value), notes ? NOTES_WEIGHT : TEXT_WEIGHT,
                where | (where & IN_HEAD ? HEAD_NUMBER : 0));
        else
            continue;
        n_words++;
    }
    if (!notes) {
        citations_each(&tokens, put_mention, t);
        t->search->again = says_again(&tokens);
    }
    free(tokens.items);
    return known;
}

static void put_changes(struct taking *t, size_t n)
{
    char text[KNOB_TEXT_MAX + 48];
    for (size_t i = 0; i < n; i++) {
        const struct lineage_change *c = &t->search->changes[i];
        int length = snprintf(text, sizeof text, "=%s", c->knob);
        put(t, text, (size_t)length, KNOB_WEIGHT, 0);
        if (c->to_value.present) {
            length += snprintf(text + length, sizeof text - (size_t)length, ":%.5g", c->to_value.value);
            put(t, text, (size_t)length, SETTING_WEIGHT, 0);
        }
    }
}

static int by_number(const void *a, const void *b)
{
    const struct term *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Orders the terms, and adds up those that are equal. */
static void sort_terms(struct term_list *list)
{
    size_t n = 0;
    if (list->n)
        qsort(list->items, list->n, sizeof *list->items, by_number);
    for (size_t i = 0; i < list->n; i++) {
        const struct term *term = &list->items[i];
        if (!n || list->items[n - 1].number != term->number) {
            list->items[n++] = *term;
            continue;
        }
        list->items[n - 1].weight += term->weight;
        list->items[n - 1].n = (uint16_t)(list->items[n - 1].n + term->n);
        list->items[n - 1].where |= term->where;
    }
    list->n = n;
}

bool row_read_terms(struct lineage_ideas *ideas, struct idea_row *row, struct arena *arena)
{
    if (!row_expand(ideas, row))
        return false;
    struct row_search *search = row->search;
    struct term_list *list = &ideas->listing;
    struct taking t = {.ideas = ideas, .search = search, .add = !row->is_text};
    if (search->terms)
        return true;
    list->n = 0;
    list->failed = false;
    if (!put_text(&t, row->idea.hypothesis, false) || !put_text(&t, row_notes(row), true))
        return false;
    put_changes(&t, row->idea.n_changes);
    put_mention(&t, row->idea.exp_id, strlen(row->idea.exp_id));
    sort_terms(list);
    search->terms = list->failed ? NULL : arena_copy(arena, list->items, list->n, sizeof *search->terms);
    if (!search->terms)
        return false;
    search->n_terms = list->n;
    for (size_t i = 0; i < list->n; i++)
        search->length += (double)list->items[i].weight;
    return true;
}

void row_release(struct idea_row *row)
{
    if (row->search)
        text_table_release(&row->search->unknown);
    free(row->search);
    row->search = NULL;
}

/* ---- which rows have a term ---- */

/* The inverse document frequency of BM25. Unknown terms count as the rarest. */
static double idf(double n_rows, double df)
{
    return log1p((n_rows - df + 0.5) / (df + 0.5));
}

double term_idf(const struct lineage_ideas *ideas, uint32_t number)
{
    return number < ideas->n_terms ? ideas->idf[number] : idf(ideas->n_counted, 0);
}

double term_saturated(double weight, double length, double mean)
{
    static const double K1 = 1.2, B = 0.5;
    return weight * (K1 + 1) / (weight + K1 * (1 - B + B * length / mean));
}

static void list_postings(struct lineage_ideas *ideas)
{
    for (size_t i = 0; i < ideas->n; i++) {
        const struct row_search *search = ideas->rows[i].search;
        for (size_t k = 0; k < search->n_terms; k++)
            ideas->postings[ideas->postings_of[search->terms[k].number + 1]++] = (struct posting){
                (uint32_t)i, term_saturated((double)search->terms[k].weight, search->length, ideas->mean_length)};
    }
}

bool ideas_prepare_search(struct lineage_ideas *ideas)
{
    double length = 0;
    if (ideas->searchable)
        return true;
    idea_index_release(ideas); /* left by an earlier call that ran out of memory */
    for (size_t i = 0; i < ideas->n; i++) {
        if (!row_read_terms(ideas, &ideas->rows[i], &ideas->arena))
            return false;
        length += ideas->rows[i].search->length;
    }
    while (ideas->first_running < ideas->n && !ideas->rows[ideas->first_running].idea.running)
        ideas->first_running++;
    ideas->mean_length = ideas->n && length > 0 ? length / (double)ideas->n : 1;
    ideas->n_terms = ideas->terms.n;
    ideas->postings_of = calloc(ideas->n_terms + 2, sizeof *ideas->postings_of);
    ideas->idf = calloc(ideas->n_terms + 1, sizeof *ideas->idf);
    ideas->scores = calloc(ideas->n + 1, sizeof *ideas->scores);
    ideas->found = calloc(ideas->n + 1, sizeof *ideas->found);
    if (!ideas->postings_of || !ideas->idf || !ideas->scores || !ideas->found)
        return false;
    ideas->n_counted = 0;
    for (size_t i = 0; i < ideas->n; i++) {
        const struct row_search *search = ideas->rows[i].search;
        ideas->n_counted += !ideas->rows[i].uncounted;
        for (size_t k = 0; k < search->n_terms; k++) {
            ideas->postings_of[search->terms[k].number + 2]++;
            ideas->idf[search->terms[k].number] += !ideas->rows[i].uncounted;
        }
    }
    for (size_t i = 0; i < ideas->n_terms; i++) {
        ideas->postings_of[i + 2] += ideas->postings_of[i + 1];
        ideas->idf[i] = idf(ideas->n_counted, ideas->idf[i]);
    }
    ideas->postings = calloc(ideas->postings_of[ideas->n_terms + 1] + 1, sizeof *ideas->postings);
    if (ideas->postings)
        list_postings(ideas);
    ideas->searchable = ideas->postings != NULL;
    return ideas->searchable;
}

void idea_index_release(struct lineage_ideas *ideas)
{
    free(ideas->postings_of);
    free(ideas->postings);
    free(ideas->idf);
    free(ideas->scores);
    free(ideas->found);
    ideas->postings_of = NULL;
    ideas->postings = NULL;
    ideas->idf = ideas->scores = NULL;
    ideas->found = NULL;
}

/* ---- comparing two texts ---- */

static int compare_number(const void *key, const void *item)
{
    uint32_t number = *(const uint32_t *)key, its = ((const struct term *)item)->number;
    return (number > its) - (number < its);
}

bool row_has_term(const struct idea_row *row, uint32_t number, unsigned where)
{
    const struct row_search *s = row->search;
    const struct term *term = s->n_terms ? bsearch(&number, s->terms, s->n_terms, sizeof *s->terms, compare_number) : NULL;
    return term && term->where & where;
}

double term_share(const struct lineage_ideas *ideas, const struct idea_row *a, unsigned where_a, const struct idea_row *b,
                  unsigned where_b)
{
    const struct term *x = a->search->terms, *y = b->search->terms, *end = y + b->search->n_terms;
    double sum = 0, shared = 0;
    for (size_t i = 0; i < a->search->n_terms; i++) {
        while (y < end && y->number < x[i].number)
            y++;
        if (!(x[i].where & where_a))
            continue;
        const double weight = term_idf(ideas, x[i].number);
        sum += weight;
        shared += y < end && y->number == x[i].number && y->where & where_b ? weight : 0;
    }
    return sum > 0 ? shared / sum : 0;
}

static double squares(const struct lineage_ideas *ideas, const struct idea_row *row)
{
    double sum = 0;
    for (size_t i = 0; i < row->search->n_terms; i++) {
        double weight = term_idf(ideas, row->search->terms[i].number);
        sum += weight * weight * (double)row->search->terms[i].n;
    }
    return sum;
}

double term_cosine(const struct lineage_ideas *ideas, const struct idea_row *a, const struct idea_row *b)
{
    double dot = 0, norm = sqrt(squares(ideas, a) * squares(ideas, b));
    const struct term *x = a->search->terms, *y = b->search->terms;
    for (size_t i = 0, j = 0; i < a->search->n_terms && j < b->search->n_terms;) {
        const uint32_t p = x[i].number, q = y[j].number;
        if (p == q)
            dot += term_idf(ideas, p) * term_idf(ideas, p) * sqrt((double)x[i].n * (double)y[j].n);
        i += p <= q;
        j += q <= p;
    }
    return norm > 0 ? dot / norm : 0;
}
