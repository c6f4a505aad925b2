/* similar.c: finds the nearest trials, and decides whether one of them already made the whole change. */
#include "ideas_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS_MAX = 48, LIMIT_DEFAULT = 10 };

/* BM25 as in Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009, with the field weights added up
 * before saturation (BM25F). */
static const double K1 = 1.2, B = 0.5;

static double saturated(double weight, double length, double mean)
{
    return weight * (K1 + 1) / (weight + K1 * (1 - B + B * length / mean));
}

double changes_same_knob(const struct lineage_ideas *ideas, const struct change_key *a, const struct change_key *b)
{
    double shared = 0, of_a = 0, of_b = 0;
    for (size_t i = 0; i < a->n; i++) {
        double idf = terms_idf(&ideas->terms, a->words[i]);
        of_a += idf;
        for (size_t k = 0; k < b->n; k++)
            if (a->words[i] == b->words[k]) {
                shared += idf;
                break;
            }
    }
    for (size_t k = 0; k < b->n; k++)
        of_b += terms_idf(&ideas->terms, b->words[k]);
    double smaller = fmin(of_a, of_b), larger = fmax(of_a, of_b);
    return larger > 0 && smaller > 0 ? 0.6 * shared / smaller + 0.4 * shared / larger : 0;
}

bool changes_same_value(const struct lineage_change *a, const struct lineage_change *b)
{
    return lineage_quantity_equal(a->to, b->to);
}

static const double SAME_KNOB = 0.6;

/* Thresholds for follow_chains: the verdict above which a pair is followed, the lowest verdict that a trial reached in
 * this way may have, and the verdict that it then gets. */
static const double CHAIN_SURE = 0, CHAIN_LEAST = -3, CHAIN_VERDICT = 0.01;

/* Finds the row's change to the knob that a change of the query sets. If two names are equally similar, the change to
 * the same value wins. Returns NULL if no name is similar enough. */
static const struct lineage_change *counterpart(double *alike, bool *value, const struct lineage_ideas *ideas,
                                                const struct lineage_change *change, const struct change_key *key,
                                                const struct idea_row *row)
{
    const struct lineage_change *found = NULL;
    *alike = 0;
    *value = false;
    for (size_t k = 0; k < row->idea.n_changes; k++) {
        double knob = changes_same_knob(ideas, key, &row->keys[k]);
        bool same = knob >= SAME_KNOB && changes_same_value(change, &row->changes[k]);
        if (knob >= SAME_KNOB && (knob > *alike || (knob == *alike && same && !*value))) {
            *alike = knob;
            *value = same;
            found = &row->changes[k];
        }
    }
    return found;
}

static void compare_changes(struct similar_pair *pair, const struct lineage_ideas *ideas, const struct idea_row *query,
                            const struct idea_row *row)
{
    size_t wanted = 0, covered = 0;
    bool conflict = false;
    double worst = 1;
    for (size_t i = 0; i < query->idea.n_changes; i++) {
        double alike;
        bool value;
        const struct lineage_change *other = counterpart(&alike, &value, ideas, &query->changes[i], &query->keys[i], row);
        if (other && (!pair->knob || value)) {
            pair->knob = other;
            pair->query_knob = &query->changes[i];
        }
        if (query->keys[i].budget)
            continue;
        wanted++;
        covered += value;
        conflict = conflict || (other && !value);
        if (value) {
            pair->covered |= (uint64_t)1 << i;
            worst = fmin(worst, alike);
        }
    }
    float *f = pair->features;
    f[SIMILAR_COVERED] = wanted ? (float)covered / (float)wanted : 0;
    f[SIMILAR_ALL] = wanted && covered == wanted;
    f[SIMILAR_KNOB] = covered ? (float)worst : 0;
    f[SIMILAR_CONFLICT] = conflict;
    f[SIMILAR_NO_CHANGES] = !wanted;
    f[SIMILAR_EXTRA] = !wanted && !row->idea.n_changes;
}

static bool has_term(const struct weights *w, uint32_t term)
{
    size_t low = 0, high = w->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->items[middle].term < term)
            low = middle + 1;
        else
            high = middle;
    }
    return low < w->n && w->items[low].term == term;
}

/* Whether a text contains the value of a change and most of its name. */
static bool mentions(struct lineage_ideas *ideas, const struct idea_row *row, const struct lineage_change *change,
                     const struct change_key *key)
{
    char number[40];
    double shared = 0, all = 0;
    if (!change->to_value.present)
        return false;
    int length = snprintf(number, sizeof number, "#%.5g", change->to_value.value);
    if (!has_term(&row->text, terms_find(&ideas->terms, number, (size_t)length, false)))
        return false;
    for (size_t i = 0; i < key->n; i++) {
        double idf = terms_idf(&ideas->terms, key->words[i]);
        all += idf;
        shared += has_term(&row->text, key->words[i]) ? idf : 0;
    }
    return all > 0 && shared >= 0.6 * all;
}

static void compare_texts(struct similar_pair *pair, struct lineage_ideas *ideas, const struct idea_row *query,
                          const struct idea_row *row)
{
    float *f = pair->features;
    size_t wanted = 0, soft = 0, numbers = 0, shared = 0;
    for (size_t i = 0; i < query->idea.n_changes; i++) {
        if (query->keys[i].budget)
            continue;
        wanted++;
        soft += pair->covered >> i & 1 || mentions(ideas, row, &query->changes[i], &query->keys[i]);
    }
    for (size_t i = 0; i < query->head_numbers.n; i++) {
        numbers++;
        shared += has_term(&row->text, query->head_numbers.items[i].term);
    }
    f[SIMILAR_SOFT] = wanted ? (float)soft / (float)wanted : 0;
    f[SIMILAR_ALL_SOFT] = wanted && soft == wanted;
    f[SIMILAR_NUMBERS] = numbers ? (float)shared / (float)numbers : 0;
    f[SIMILAR_HEADS] = f[SIMILAR_HEAD_IN] * f[SIMILAR_HEAD_OF];
    f[SIMILAR_FAILED] = row->idea.status != LINEAGE_KEEP && row->idea.status != LINEAGE_DISCARD &&
                        row->idea.status != LINEAGE_BASELINE;
    f[SIMILAR_FAILED_CITED] = f[SIMILAR_FAILED] * f[SIMILAR_CITES];
    f[SIMILAR_SPECIALIST] = query->idea.specialist && *query->idea.specialist && strcmp(query->idea.specialist, row->idea.specialist) == 0;
}

static void describe(struct similar_pair *pair, struct lineage_ideas *ideas, const struct idea_row *query,
                     double itself, size_t at)
{
    const struct idea_row *row = &ideas->rows[pair->row];
    float *f = pair->features;
    compare_changes(pair, ideas, query, row);
    f[SIMILAR_SCORE] = (float)fmin(1.5, pair->bm25 / itself);
    f[SIMILAR_HEAD_IN] = (float)weights_share(&ideas->terms, &query->head, &row->text);
    f[SIMILAR_HEAD_OF] = (float)weights_share(&ideas->terms, &row->head, &query->text);
    f[SIMILAR_COSINE] = (float)weights_cosine(&ideas->terms, &query->text, &row->text);
    f[SIMILAR_TECHNIQUE] = f[SIMILAR_NO_CHANGES] * f[SIMILAR_COSINE];
    f[SIMILAR_ALL_HEAD] = f[SIMILAR_ALL] * f[SIMILAR_HEAD_IN];
    for (size_t i = 0; i < query->idea.n_cites; i++)
        if (query->idea.cites[i] == pair->row)
            f[SIMILAR_CITES] = 1;
    f[SIMILAR_AGAIN] = f[SIMILAR_CITES] * (float)query->reading.again;
    compare_texts(pair, ideas, query, row);
    f[SIMILAR_NEAR] = at > pair->row ? (float)exp(-(double)(at - pair->row) / 10) : 0;
    static const double weights[N_SIMILAR_FEATURES] = {
        [SIMILAR_SCORE] = 1.34,
        [SIMILAR_HEAD_IN] = 0.14,
        [SIMILAR_HEAD_OF] = 0.61,
        [SIMILAR_COSINE] = 1.66,
        [SIMILAR_COVERED] = 0.20,
        [SIMILAR_ALL] = -0.36,
        [SIMILAR_CONFLICT] = -1.53,
        [SIMILAR_NO_CHANGES] = -0.70,
        [SIMILAR_TECHNIQUE] = 1.95,
        [SIMILAR_CITES] = -0.62,
        [SIMILAR_AGAIN] = 0.50,
        [SIMILAR_ALL_HEAD] = 0.44,
        [SIMILAR_EXTRA] = 0.23,
        [SIMILAR_SOFT] = 0.74,
        [SIMILAR_ALL_SOFT] = 0.37,
        [SIMILAR_NUMBERS] = 1.17,
        [SIMILAR_HEADS] = 1.53,
        [SIMILAR_FAILED_CITED] = 1.04,
        [SIMILAR_SPECIALIST] = -0.39,
        [SIMILAR_KNOB] = 0.83,
        [SIMILAR_OUTSTANDING] = 1.71,
        [SIMILAR_NEAR] = -0.77,
    };
    pair->verdict = -4.34;
    for (size_t i = 0; i < N_SIMILAR_FEATURES; i++)
        pair->verdict += weights[i] * (double)f[i];
}

/* Scores all rows that share a term with the query, in ideas->scores. Lists these rows in ideas->found and returns
 * their number. */
static size_t score_rows(struct lineage_ideas *ideas, const struct idea_row *query, size_t before, size_t self)
{
    size_t n = 0;
    for (size_t i = 0; i < query->terms.n; i++) {
        uint32_t term = query->terms.items[i].term;
        if (term >= ideas->terms.n)
            continue;
        double idf = terms_idf(&ideas->terms, term) *
                     (double)fminf(3, query->terms.items[i].weight);
        for (size_t k = ideas->postings_of[term]; k < ideas->postings_of[term + 1]; k++) {
            const struct posting *p = &ideas->postings[k];
            if (p->row == self || (p->row >= before && !ideas->rows[p->row].idea.running))
                continue;
            if (ideas->scores[p->row] == 0)
                ideas->found[n++] = p->row;
            ideas->scores[p->row] += idf * saturated((double)p->weight, ideas->rows[p->row].length, ideas->mean_length);
        }
    }
    return n;
}

static double score_itself(const struct lineage_ideas *ideas, const struct idea_row *query)
{
    double sum = 0;
    for (size_t i = 0; i < query->terms.n; i++)
        sum += terms_idf(&ideas->terms, query->terms.items[i].term) * (double)fminf(3, query->terms.items[i].weight) *
               saturated((double)query->terms.items[i].weight, query->length, ideas->mean_length);
    return sum > 0 ? sum : 1;
}

static int by_score(const void *a, const void *b)
{
    const struct similar_pair *x = a, *y = b;
    if (x->bm25 != y->bm25)
        return x->bm25 < y->bm25 ? 1 : -1;
    return (x->row < y->row) - (x->row > y->row);
}

/* Keeps the best `max` of the rows found, by insertion into a short sorted array. */
static size_t take_best(struct similar_pair *pairs, size_t max, struct lineage_ideas *ideas, size_t n_found)
{
    size_t n = 0;
    for (size_t i = 0; i < n_found; i++) {
        uint32_t row = ideas->found[i];
        double score = ideas->scores[row];
        ideas->scores[row] = 0;
        if (n == max && score <= pairs[n - 1].bm25)
            continue;
        size_t at = n < max ? n++ : n - 1;
        for (; at > 0 && pairs[at - 1].bm25 < score; at--)
            pairs[at] = pairs[at - 1];
        pairs[at] = (struct similar_pair){.row = row, .bm25 = score};
    }
    qsort(pairs, n, sizeof *pairs, by_score);
    return n;
}

bool similar_pairs(struct similar_pair *pairs, size_t *found, size_t max, struct lineage_ideas *ideas,
                   struct idea_row *query, size_t before, size_t self)
{
    *found = 0;
    if (!row_read_terms(ideas, query))
        return false;
    size_t n = take_best(pairs, max, ideas, score_rows(ideas, query, before, self));
    double itself = score_itself(ideas, query), usual = n ? pairs[n < 10 ? n - 1 : 9].bm25 : 1;
    for (size_t i = 0; i < n; i++)
        if (!row_read_terms(ideas, &ideas->rows[pairs[i].row]))
            return false;
    for (size_t i = 0; i < n; i++) {
        pairs[i].features[SIMILAR_FIRST] = i == 0;
        pairs[i].features[SIMILAR_OUTSTANDING] = (float)fmin(1, (pairs[i].bm25 / fmax(usual, 1e-9) - 1) / 3);
        describe(&pairs[i], ideas, query, itself, before);
    }
    *found = n;
    return true;
}

enum { CHAIN_MAX = 12 };

static bool learn_same(struct lineage_ideas *ideas, size_t index, size_t depth);

/*
 * If a trial is the same as the query, the trials that it repeats are the same too: "retry of 588" names one trial, and
 * 588 names an earlier one. Wording drifts along such a chain, so its ends share few words. Pairs with evidence against
 * this stay merely related.
 */
static bool follow_chains(struct lineage_ideas *ideas, struct similar_pair *pairs, size_t n, size_t depth)
{
    for (size_t i = 0; i < n && depth < CHAIN_MAX; i++) {
        struct idea_row *middle = &ideas->rows[pairs[i].row];
        if (pairs[i].verdict <= CHAIN_SURE)
            continue;
        if (!middle->same_known && !learn_same(ideas, pairs[i].row, depth + 1))
            return false;
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < middle->n_same; j++)
                if (middle->same[j] == pairs[k].row && pairs[k].verdict <= 0 && pairs[k].verdict > CHAIN_LEAST)
                    pairs[k].verdict = CHAIN_VERDICT;
    }
    return true;
}

static bool learn_same(struct lineage_ideas *ideas, size_t index, size_t depth)
{
    struct idea_row *row = &ideas->rows[index];
    struct similar_pair *pairs = malloc(PAIRS_MAX * sizeof *pairs);
    row->same = arena_alloc(&ideas->arena, PAIRS_MAX, sizeof *row->same);
    row->same_known = true;
    bool ok = pairs && row->same;
    if (ok) {
        size_t n;
        ok = similar_pairs(pairs, &n, PAIRS_MAX, ideas, row, index, index) && follow_chains(ideas, pairs, n, depth);
        for (size_t i = 0; ok && i < n; i++)
            if (pairs[i].verdict > 0)
                row->same[row->n_same++] = (uint32_t)pairs[i].row;
    }
    free(pairs);
    return ok;
}

/* If no single trial made a whole bundle of changes, the trials that made its parts are marked `same` together. */
static void cover_jointly(struct similar_pair *pairs, size_t n, const struct idea_row *query)
{
    uint64_t wanted = 0, made = 0;
    for (size_t i = 0; i < query->idea.n_changes; i++)
        if (!query->keys[i].budget)
            wanted |= (uint64_t)1 << i;
    for (size_t i = 0; i < n; i++) {
        if (pairs[i].verdict > 0)
            return;
        made |= pairs[i].covered;
    }
    if (!(wanted & (wanted - 1)) || (made & wanted) != wanted)
        return;
    uint64_t left = wanted;
    for (size_t i = 0; i < n && left; i++)
        if (pairs[i].covered & left) {
            pairs[i].verdict = 0.01;
            left &= ~pairs[i].covered;
        }
}

static int by_verdict(const void *a, const void *b)
{
    const struct similar_pair *x = a, *y = b;
    bool same_x = x->verdict > 0, same_y = y->verdict > 0;
    if (same_x != same_y)
        return same_x ? -1 : 1;
    double rank_x = x->verdict + (double)x->features[SIMILAR_SCORE], rank_y = y->verdict + (double)y->features[SIMILAR_SCORE];
    if (rank_x != rank_y)
        return rank_x < rank_y ? 1 : -1;
    return (x->row < y->row) - (x->row > y->row);
}

static int direction(const struct lineage_change *c)
{
    return !c->from_value.present || !c->to_value.present || c->from_value.value == c->to_value.value ? 0
           : c->to_value.value > c->from_value.value ? 1 : -1;
}

static const char *reason(struct arena *arena, const struct similar_pair *pair)
{
    struct buf out = {0};
    if (pair->knob) {
        int a = direction(pair->knob), b = direction(pair->query_knob);
        buf_printf(&out, "same knob %s, ", pair->knob->name);
        if (changes_same_value(pair->knob, pair->query_knob))
            buf_printf(&out, "same value %s", pair->knob->to);
        else if (a && b)
            buf_printf(&out, "%s direction: %s instead of %s", a == b ? "same" : "other", pair->knob->to,
                       pair->query_knob->to);
        else
            buf_printf(&out, "another value: %s instead of %s", pair->knob->to, pair->query_knob->to);
    } else
        buf_printf(&out, "%.0f %% of the words of its first clause", 100 * (double)pair->features[SIMILAR_HEAD_IN]);
    if (pair->features[SIMILAR_AGAIN] > 0)
        buf_puts(&out, "; it is cited as tried again");
    else if (pair->features[SIMILAR_CITES] > 0)
        buf_puts(&out, "; it is cited");
    const char *text = out.failed ? NULL : arena_text(arena, out.data, out.length);
    buf_release(&out);
    return text;
}

static enum lineage_status answer(struct lineage_similar_list *list, struct lineage_ideas *ideas,
                                  struct idea_row *query, size_t before, size_t self, size_t limit,
                                  struct lineage_error *err)
{
    struct similar_pair *pairs = malloc(PAIRS_MAX * sizeof *pairs);
    struct arena *arena = calloc(1, sizeof *arena);
    *list = (struct lineage_similar_list){.memory = arena};
    bool ok = pairs && arena;
    size_t n = 0;
    ok = ok && similar_pairs(pairs, &n, PAIRS_MAX, ideas, query, before, self) && follow_chains(ideas, pairs, n, 0);
    if (ok) {
        cover_jointly(pairs, n, query);
        qsort(pairs, n, sizeof *pairs, by_verdict);
        if (n > (limit ? limit : LIMIT_DEFAULT))
            n = limit ? limit : LIMIT_DEFAULT;
        list->items = arena_alloc(arena, n + 1, sizeof *list->items);
        ok = list->items != NULL;
    }
    for (size_t i = 0; ok && i < n; i++) {
        list->items[i] = (struct lineage_similar){.trial = pairs[i].row,
                                                  .score = pairs[i].bm25,
                                                  .same = pairs[i].verdict > 0,
                                                  .why = reason(arena, &pairs[i])};
        ok = list->items[i].why != NULL;
        list->n = i + 1;
    }
    free(pairs);
    if (ok)
        return LINEAGE_OK;
    lineage_similar_release(list);
    return store_no_memory(err);
}

enum lineage_status lineage_ideas_similar(struct lineage_similar_list *list, struct lineage_ideas *ideas, size_t trial,
                                          bool all, size_t limit, struct lineage_error *err)
{
    *list = (struct lineage_similar_list){0};
    if (trial >= ideas->n || !ideas->settled)
        return store_fail(err, LINEAGE_EINVAL, "trial %zu is not in the set of ideas", trial);
    if (!ideas_prepare_search(ideas))
        return store_no_memory(err);
    return answer(list, ideas, &ideas->rows[trial], all ? ideas->n : trial, trial, limit, err);
}

enum lineage_status lineage_ideas_similar_text(struct lineage_similar_list *list, struct lineage_ideas *ideas,
                                               const char *text, size_t limit, struct lineage_error *err)
{
    struct arena arena = {0};
    struct idea_row row = {.idea = {.exp_id = "", .hypothesis = text}, .notes = ""};
    *list = (struct lineage_similar_list){0};
    enum lineage_status status;
    if (!ideas_prepare_search(ideas) || !row_read_texts(ideas, &row, &arena) || !row_read_knobs(ideas, &row, &arena, false))
        status = store_no_memory(err);
    else
        status = answer(list, ideas, &row, ideas->n, SIZE_MAX, limit, err);
    row_release(&row);
    arena_release(&arena);
    return status;
}

void lineage_similar_release(struct lineage_similar_list *list)
{
    if (list->memory)
        arena_release(list->memory);
    free(list->memory);
    *list = (struct lineage_similar_list){0};
}
