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

/* Thresholds for follow_chains: the verdict above which a pair is followed, the lowest verdict that a trial reached in
 * this way may have, and the verdict that it then gets. */
static const double CHAIN_SURE = 0, CHAIN_LEAST = -1.5, CHAIN_VERDICT = 0.01;

/* Scores all rows that share a term with the query, in ideas->scores. Lists these rows in ideas->found and returns
 * their number. */
static size_t score_rows(struct lineage_ideas *ideas, const struct idea_row *query, size_t before, size_t self)
{
    size_t n = 0;
    for (size_t i = 0; i < query->search->terms.n; i++) {
        uint32_t term = query->search->terms.items[i].term;
        if (term >= ideas->terms.n)
            continue;
        double idf = terms_idf(&ideas->terms, term) * (double)fminf(3, query->search->terms.items[i].weight);
        for (size_t k = ideas->postings_of[term]; k < ideas->postings_of[term + 1]; k++) {
            const struct posting p = ideas->postings[k];
            if (p.row == self || (p.row >= before && !ideas->rows[p.row].idea.running))
                continue;
            if (ideas->scores[p.row] == 0)
                ideas->found[n++] = p.row;
            ideas->scores[p.row] += idf * saturated((double)p.weight, ideas->lengths[p.row], ideas->mean_length);
        }
    }
    return n;
}

static double score_itself(const struct lineage_ideas *ideas, const struct idea_row *query)
{
    double sum = 0;
    for (size_t i = 0; i < query->search->terms.n; i++)
        sum += terms_idf(&ideas->terms, query->search->terms.items[i].term) *
               (double)fminf(3, query->search->terms.items[i].weight) *
               saturated((double)query->search->terms.items[i].weight, query->search->length, ideas->mean_length);
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

bool similar_pairs(struct similar_pair *pairs, size_t *found, size_t max, struct lineage_ideas *ideas, struct idea_row *query,
                   size_t before, size_t self)
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
        pairs[i].features[SIMILAR_SCORE] = (float)fmin(1.5, pairs[i].bm25 / itself);
        similar_look(&pairs[i], ideas, query);
        pairs[i].verdict = similar_verdict(&pairs[i]);
    }
    *found = n;
    return true;
}

/* similar_pairs with verdicts above 0 where the set is sure enough. */
static bool judge_pairs(struct similar_pair *pairs, size_t *n, struct lineage_ideas *ideas, struct idea_row *query, size_t before,
                        size_t self)
{
    if (!similar_pairs(pairs, n, PAIRS_MAX, ideas, query, before, self))
        return false;
    for (size_t i = 0; i < *n; i++)
        pairs[i].verdict -= ideas->least_verdict;
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
        const struct row_search *middle = ideas->rows[pairs[i].row].search;
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
    struct row_search *search = row->search;
    struct similar_pair *pairs = malloc(PAIRS_MAX * sizeof *pairs);
    search->same = arena_alloc(&ideas->arena, PAIRS_MAX, sizeof *search->same);
    search->same_known = true;
    bool ok = pairs && search->same;
    if (ok) {
        size_t n;
        ok = judge_pairs(pairs, &n, ideas, row, index, index) && follow_chains(ideas, pairs, n, depth);
        for (size_t i = 0; ok && i < n; i++)
            if (pairs[i].verdict > 0)
                search->same[search->n_same++] = (uint32_t)pairs[i].row;
    }
    free(pairs);
    return ok;
}

/* The changes of the query, as bits. */
static uint64_t wanted_changes(const struct idea_row *query)
{
    uint64_t wanted = 0;
    for (size_t i = 0; i < query->idea.n_changes; i++)
        if (!query->search->keys[i].budget)
            wanted |= (uint64_t)1 << i;
    return wanted;
}

/* Says which trials made the parts of a bundle that no trial made as a whole. */
static void tell_parts(struct buf *remark, const struct similar_pair *pairs, size_t n, const struct lineage_ideas *ideas,
                       const struct idea_row *query)
{
    uint64_t wanted = wanted_changes(query), left = wanted;
    for (size_t i = 0; i < n; i++)
        if ((pairs[i].covered & wanted) == wanted)
            return;
    if (!(wanted & (wanted - 1)))
        return;
    for (size_t i = 0; i < n && left; i++)
        if (pairs[i].covered & left) {
            buf_printf(remark, "%s%s", remark->length ? ", " : "its parts were tried in ", ideas->rows[pairs[i].row].idea.exp_id);
            left &= ~pairs[i].covered;
        }
    if (remark->length)
        buf_puts(remark, left ? "; not all of them" : "; never together");
}

/* The words of a text that no trial has, from the word book's `first` on; short ones and numbers say little. */
static size_t unknown_words(struct buf *list, const struct lineage_ideas *ideas, uint32_t first)
{
    enum { LONG_WORD = 4, SHOWN = 6 };
    size_t n = 0;
    for (uint32_t number = first ? first : 1; number < ideas->book.n; number++) {
        const struct text_entry *word = word_book_text(&ideas->book, number);
        if (word->length < LONG_WORD || word->text[0] == '#' || word->text[0] == '^')
            continue;
        if (n++ < SHOWN)
            buf_printf(list, "%s%.*s", list->length ? ", " : "", (int)word->length, word->text);
    }
    return n;
}

/* The share of a text's words that the log knows, by how rare they are: a word that no trial has is the rarest. */
static double known_share(const struct lineage_ideas *ideas, const struct idea_row *query, size_t n_unknown)
{
    double known = 0, unknown = (double)n_unknown * terms_idf(&ideas->terms, ideas->terms.n);
    for (size_t i = 0; i < query->search->text.n; i++)
        known += terms_idf(&ideas->terms, query->search->text.items[i].term);
    return n_unknown ? known / (known + unknown) : 1;
}

/* Least share of the words of a text that a trial must have to be listed for its words alone, and to be like it. */
static const double LISTED_SHARE = 0.1, ALIKE_SHARE = 0.5;

/* Drops trials that share hardly a word; whether one of the others is like the text. */
static bool drop_unlike(struct similar_pair *pairs, size_t *n, double known)
{
    size_t kept = 0;
    bool alike = false;
    for (size_t i = 0; i < *n; i++) {
        pairs[i].head_in *= (float)known;
        bool by_more = pairs[i].verdict > 0 || pairs[i].knob || pairs[i].cited || pairs[i].again;
        alike = alike || by_more || (double)pairs[i].head_in >= ALIKE_SHARE;
        if (by_more || (double)pairs[i].head_in >= LISTED_SHARE)
            pairs[kept++] = pairs[i];
    }
    *n = kept;
    return alike;
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

static const char *reason(struct arena *arena, const struct similar_pair *pair)
{
    struct buf out = {0};
    if (pair->knob) {
        int a = change_direction(pair->knob), b = change_direction(pair->query_knob);
        buf_printf(&out, "same knob %s, ", pair->knob->name);
        if (changes_same_value(pair->knob, pair->query_knob))
            buf_printf(&out, "same value %s", pair->knob->to);
        else if (a && b)
            buf_printf(&out, "%s direction: %s instead of %s", a == b ? "same" : "other", pair->knob->to, pair->query_knob->to);
        else
            buf_printf(&out, "another value: %s instead of %s", pair->knob->to, pair->query_knob->to);
    } else
        buf_printf(&out, "%.0f %% of the words of its first clause", 100 * (double)pair->head_in);
    if (pair->again)
        buf_puts(&out, "; it is cited as tried again");
    else if (pair->cited)
        buf_puts(&out, "; it is cited");
    const char *text = out.failed ? NULL : arena_text(arena, out.data, out.length);
    buf_release(&out);
    return text;
}

static enum lineage_status answer(struct lineage_similar_list *list, struct lineage_ideas *ideas, struct idea_row *query,
                                  uint32_t first_word, size_t before, size_t self, size_t limit, struct lineage_error *err)
{
    struct similar_pair *pairs = malloc(PAIRS_MAX * sizeof *pairs);
    struct arena *arena = calloc(1, sizeof *arena);
    struct buf remark = {0}, unknown = {0};
    size_t n_unknown = unknown_words(&unknown, ideas, first_word);
    *list = (struct lineage_similar_list){.memory = arena};
    bool ok = pairs && arena;
    size_t n = 0;
    ok = ok && judge_pairs(pairs, &n, ideas, query, before, self) && follow_chains(ideas, pairs, n, 0);
    if (ok) {
        qsort(pairs, n, sizeof *pairs, by_verdict);
        if (query->is_text)
            tell_parts(&remark, pairs, n, ideas, query);
        if (query->is_text && !drop_unlike(pairs, &n, known_share(ideas, query, n_unknown))) {
            buf_puts(&remark, n ? "nothing quite like this" : "nothing like this");
            if (unknown.length)
                buf_printf(&remark, "; no trial has the word%s %s", n_unknown > 1 ? "s" : "", unknown.data);
        }
        if (n > (limit ? limit : LIMIT_DEFAULT))
            n = limit ? limit : LIMIT_DEFAULT;
        list->items = arena_alloc(arena, n + 1, sizeof *list->items);
        ok = list->items != NULL;
    }
    for (size_t i = 0; ok && i < n; i++) {
        list->items[i] = (struct lineage_similar){
            .trial = pairs[i].row, .score = pairs[i].bm25, .same = pairs[i].verdict > 0, .why = reason(arena, &pairs[i])};
        ok = list->items[i].why != NULL;
        list->n = i + 1;
    }
    ok = ok && !remark.failed && !unknown.failed;
    if (ok && remark.length)
        ok = (list->remark = arena_text(arena, remark.data, remark.length)) != NULL;
    buf_release(&remark);
    buf_release(&unknown);
    free(pairs);
    if (ok)
        return LINEAGE_OK;
    lineage_similar_release(list);
    return store_no_memory(err);
}

/* The weights count 0.3 less than the probability says, see tests/bench/ideas_fit.py --threshold. */
static const double STRICT_LOGIT = 0.3;

enum lineage_status lineage_ideas_set_strictness(struct lineage_ideas *ideas, double strictness, struct lineage_error *err)
{
    if (!(strictness > 0 && strictness < 1))
        return store_fail(err, LINEAGE_EINVAL, "the strictness %g is not between 0 and 1; use for example %g", strictness,
                          LINEAGE_STRICTNESS);
    ideas->least_verdict = log(strictness / (1 - strictness)) - STRICT_LOGIT;
    return LINEAGE_OK;
}

enum lineage_status lineage_ideas_similar(struct lineage_similar_list *list, struct lineage_ideas *ideas, size_t trial, bool all,
                                          size_t limit, struct lineage_error *err)
{
    *list = (struct lineage_similar_list){0};
    if (trial >= ideas->n || !ideas->settled)
        return store_fail(err, LINEAGE_EINVAL, "trial %zu is not in the set of ideas", trial);
    if (!ideas_prepare_search(ideas))
        return store_no_memory(err);
    return answer(list, ideas, &ideas->rows[trial], ideas->book.n, all ? ideas->n : trial, trial, limit, err);
}

enum lineage_status lineage_ideas_similar_text(struct lineage_similar_list *list, struct lineage_ideas *ideas, const char *text,
                                               size_t limit, struct lineage_error *err)
{
    struct arena arena = {0};
    struct idea_row row = {.idea = {.exp_id = "", .hypothesis = text}, .is_text = true};
    *list = (struct lineage_similar_list){0};
    bool prepared = ideas_prepare_search(ideas);
    const uint32_t first_word = ideas->book.n;
    enum lineage_status status;
    if (!prepared || !row_read_query(ideas, &row, &arena))
        status = store_no_memory(err);
    else
        status = answer(list, ideas, &row, first_word, ideas->n, SIZE_MAX, limit, err);
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
