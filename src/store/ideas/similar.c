/* similar.c: finds the nearest trials, and decides whether one of them already made the whole change. */
#include "ideas_internal.h"

#include <math.h>

/* ---- compares a query with a similar trial, as features, and decides from them whether the trial
 * already made the whole change.
 */

double changes_same_knob(const struct lineage_ideas *ideas, const struct change_key *a, const struct change_key *b)
{
    double shared = 0, of_a = 0, of_b = 0;
    if ((a->apart & b->apart) && (a->n != b->n || memcmp(a->words, b->words, a->n * sizeof *a->words) != 0))
        return 0;
    for (size_t i = 0; i < a->n; i++) {
        double idf = term_idf(ideas, a->words[i]);
        of_a += idf;
        for (size_t k = 0; k < b->n; k++)
            if (a->words[i] == b->words[k]) {
                shared += idf;
                break;
            }
    }
    for (size_t k = 0; k < b->n; k++)
        of_b += term_idf(ideas, b->words[k]);
    double smaller = fmin(of_a, of_b), larger = fmax(of_a, of_b);
    return larger > 0 && smaller > 0 ? 0.6 * shared / smaller + 0.4 * shared / larger : 0;
}

static bool changes_same_value(const struct lineage_change *a, const struct lineage_change *b)
{
    return lineage_quantity_equal(a->to, b->to);
}

static const double SAME_KNOB = 0.6;

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
        double knob = changes_same_knob(ideas, key, &row->search->keys[k]);
        bool same = knob >= SAME_KNOB && changes_same_value(change, &row->search->changes[k]);
        if (knob >= SAME_KNOB && (knob > *alike || (knob == *alike && same && !*value))) {
            *alike = knob;
            *value = same;
            found = &row->search->changes[k];
        }
    }
    return found;
}

int change_direction(const struct lineage_change *c)
{
    return !c->from_value.present || !c->to_value.present || c->from_value.value == c->to_value.value ? 0
           : c->to_value.value > c->from_value.value                                                  ? 1
                                                                                                      : -1;
}

/* The changes of the query that are part of its idea, as bits. */
static uint64_t wanted_changes(const struct idea_row *query)
{
    uint64_t wanted = 0;
    for (size_t i = 0; i < query->idea.n_changes; i++)
        if (!query->search->keys[i].budget)
            wanted |= (uint64_t)1 << i;
    return wanted;
}

static void compare_changes(struct similar_pair *pair, const struct lineage_ideas *ideas, const struct idea_row *query,
                            const struct idea_row *row)
{
    float *f = pair->features;
    size_t wanted = 0, conflicts = 0;
    double worst = 1;
    for (size_t i = 0; i < query->idea.n_changes; i++) {
        double alike;
        bool value;
        const struct lineage_change *other =
            counterpart(&alike, &value, ideas, &query->search->changes[i], &query->search->keys[i], row);
        if (other && (!pair->knob || value)) {
            pair->knob = other;
            pair->query_knob = &query->search->changes[i];
        }
        if (query->search->keys[i].budget)
            continue;
        wanted++;
        conflicts += other && !value;
        if (value) {
            pair->covered |= (uint64_t)1 << i;
            worst = fmin(worst, alike);
        }
    }
    f[SIMILAR_KNOB] = pair->covered ? (float)worst : 0;
    f[SIMILAR_CONFLICT] = conflicts > 0;
    f[SIMILAR_CONFLICTS] = wanted ? (float)conflicts / (float)wanted : 0;
}

/* Whether a text contains the value of a change and most of its name. */
static bool mentions(const struct lineage_ideas *ideas, const struct idea_row *row, const struct lineage_change *change,
                     const struct change_key *key)
{
    char number[40];
    double shared = 0, all = 0;
    if (!change->to_value.present)
        return false;
    int length = snprintf(number, sizeof number, "#%.5g", change->to_value.value);
    if (!row_has_term(row, text_table_find(&ideas->terms, number, (size_t)length), IN_TEXT))
        return false;
    for (size_t i = 0; i < key->n; i++) {
        double idf = term_idf(ideas, key->words[i]);
        all += idf;
        shared += row_has_term(row, key->words[i], IN_TEXT) ? idf : 0;
    }
    return all > 0 && shared >= SAME_KNOB * all;
}

static bool has_outcome(const struct idea_row *row)
{
    return row->idea.status == LINEAGE_KEEP || row->idea.status == LINEAGE_DISCARD || row->idea.status == LINEAGE_BASELINE;
}

static float share_of_numbers(const struct idea_row *query, const struct idea_row *row)
{
    size_t shared = 0, all = 0;
    for (size_t i = 0; i < query->search->n_terms; i++) {
        const struct term *term = &query->search->terms[i];
        all += (term->where & HEAD_NUMBER) != 0;
        shared += term->where & HEAD_NUMBER && row_has_term(row, term->number, IN_TEXT);
    }
    return all ? (float)shared / (float)all : 0;
}

static void compare_texts(struct similar_pair *pair, const struct lineage_ideas *ideas, const struct idea_row *query,
                          const struct idea_row *row)
{
    const uint64_t changes = wanted_changes(query);
    float *f = pair->features;
    size_t wanted = 0, soft = 0;
    for (size_t i = 0; i < query->idea.n_changes; i++)
        if (changes >> i & 1) {
            wanted++;
            soft += pair->covered >> i & 1 || mentions(ideas, row, &query->search->changes[i], &query->search->keys[i]);
        }
    f[SIMILAR_SOFT] = wanted ? (float)soft / (float)wanted : 0;
    f[SIMILAR_ALL_SOFT] = wanted && soft == wanted;
    f[SIMILAR_HEAD_OF] = (float)term_share(ideas, row, IN_HEAD, query, IN_TEXT);
    f[SIMILAR_COSINE] = (float)term_cosine(ideas, query, row);
    f[SIMILAR_TECHNIQUE] = wanted ? 0 : f[SIMILAR_COSINE];
    f[SIMILAR_NUMBERS] = share_of_numbers(query, row);
    f[SIMILAR_TITLE_IN] = (float)term_share(ideas, query, IN_TITLE, row, IN_TEXT);
    f[SIMILAR_TITLES] =
        (float)(term_share(ideas, query, IN_TITLE, row, IN_TITLE) * term_share(ideas, row, IN_TITLE, query, IN_TITLE));
    f[SIMILAR_UNCOVERED] = wanted && !(changes & ~pair->covered) ? 1 - f[SIMILAR_TITLE_IN] : 0;
    pair->head_in = (float)term_share(ideas, query, IN_HEAD, row, IN_TEXT);
}

/* The place of the two trials in the log. */
static void compare_places(struct similar_pair *pair, const struct idea_row *query, const struct idea_row *row)
{
    float *f = pair->features;
    for (size_t i = 0; i < query->idea.n_cites; i++)
        pair->cited = pair->cited || query->idea.cites[i] == pair->row;
    pair->again = pair->cited && query->search->again;
    f[SIMILAR_CITES] = pair->cited;
    f[SIMILAR_SPECIALIST] =
        query->idea.specialist && *query->idea.specialist && strcmp(query->idea.specialist, row->idea.specialist) == 0;
    f[SIMILAR_FAILED] = !has_outcome(row);
    f[SIMILAR_SIBLING] = query->parent != TRIAL_NONE && query->parent == row->parent;
    f[SIMILAR_FAILED_SIBLING] = f[SIMILAR_SIBLING] * f[SIMILAR_FAILED];
}

/* ---- the verdict ---- */

/* The weights are a logistic regression on the labels of two released logs; positive sums mean `same`. tests/bench/ideas_fit.py
 * makes the table, and prints how well it decides on a log that was left out of the fit. They were fitted with four more
 * features, without which they decide no worse, and the weight of SIMILAR_UNCOVERED was then chosen anew (tests/bench/README.md). */
static double similar_verdict(const struct similar_pair *pair)
{
    static const float weights[N_SIMILAR_FEATURES] = {
        /* fitted by ideas_fit.py */
        [SIMILAR_SCORE] = 1.69f,      [SIMILAR_HEAD_OF] = 1.82f,        [SIMILAR_COSINE] = 1.46f,
        [SIMILAR_CONFLICT] = -1.08f,  [SIMILAR_TECHNIQUE] = 1.82f,      [SIMILAR_CITES] = -0.83f,
        [SIMILAR_SOFT] = 0.82f,       [SIMILAR_ALL_SOFT] = 1.35f,       [SIMILAR_NUMBERS] = 1.10f,
        [SIMILAR_FAILED] = 0.38f,     [SIMILAR_SPECIALIST] = 0.83f,     [SIMILAR_KNOB] = 0.89f,
        [SIMILAR_FIRST] = -0.23f,     [SIMILAR_OUTSTANDING] = 2.26f,    [SIMILAR_CONFLICTS] = -1.07f,
        [SIMILAR_TITLE_IN] = 1.83f,   [SIMILAR_TITLES] = 1.06f,         [SIMILAR_SIBLING] = -0.42f,
        [SIMILAR_UNCOVERED] = -0.60f, [SIMILAR_FAILED_SIBLING] = 0.95f,
    };
    double sum = -8.04;
    /* end of the table */
    return weighted_sum(sum, weights, pair->features, N_SIMILAR_FEATURES);
}

enum { PAIRS_MAX = 48, LIMIT_DEFAULT = 10, WORDS_SHOWN = 6 };

/* Adds what a term of the query says about a row, and lists the row. */
static void score_row(struct lineage_ideas *ideas, const struct posting *p, double weight, size_t *n)
{
    if (ideas->scores[p->row] == 0)
        ideas->found[(*n)++] = p->row;
    ideas->scores[p->row] += weight * p->value;
}

/* Scores the rows before `before`, and running ones, that share a term with the query, in ideas->scores, and lists them in
 * ideas->found. Returns their number. *itself becomes the score of the query against itself. */
static size_t score_rows(double *itself, struct lineage_ideas *ideas, const struct idea_row *query, size_t before, size_t self)
{
    const size_t running = ideas->first_running < before ? before : ideas->first_running;
    size_t n = 0;
    *itself = 0;
    for (size_t i = 0; i < query->search->n_terms; i++) {
        const struct term *term = &query->search->terms[i];
        const double weight = term_idf(ideas, term->number) * fmin(3, (double)term->weight);
        *itself += weight * term_saturated((double)term->weight, query->search->length, ideas->mean_length);
        if (term->number >= ideas->n_terms)
            continue;
        const struct posting *p = ideas->postings + ideas->postings_of[term->number],
                             *end = ideas->postings + ideas->postings_of[term->number + 1];
        for (; p < end && p->row < before; p++)
            if (p->row != self)
                score_row(ideas, p, weight, &n);
        for (; p < end && end[-1].row >= running; end--)
            if (end[-1].row != self && ideas->rows[end[-1].row].idea.running)
                score_row(ideas, &end[-1], weight, &n);
    }
    return n;
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
        const size_t row = ideas->found[i];
        const double score = ideas->scores[row];
        ideas->scores[row] = 0;
        if (n == max && score <= pairs[n - 1].bm25)
            continue;
        size_t at = n < max ? n++ : n - 1;
        for (; at > 0 && pairs[at - 1].bm25 < score; at--)
            pairs[at] = pairs[at - 1];
        pairs[at] = (struct similar_pair){.row = row, .bm25 = score};
    }
    if (n)
        qsort(pairs, n, sizeof *pairs, by_score);
    return n;
}

bool similar_pairs(struct similar_pair *pairs, size_t *found, size_t max, struct lineage_ideas *ideas, struct idea_row *query,
                   struct arena *arena, size_t before, size_t self)
{
    double itself;
    *found = 0;
    if (!row_read_terms(ideas, query, arena))
        return false;
    size_t n_scored = score_rows(&itself, ideas, query, before, self), n = take_best(pairs, max, ideas, n_scored);
    double usual = n ? pairs[n < 10 ? n - 1 : 9].bm25 : 1;
    for (size_t i = 0; i < n; i++) {
        const struct idea_row *row = &ideas->rows[pairs[i].row];
        pairs[i].features[SIMILAR_FIRST] = i == 0;
        pairs[i].features[SIMILAR_OUTSTANDING] = (float)fmin(1, (pairs[i].bm25 / fmax(usual, 1e-9) - 1) / 3);
        pairs[i].features[SIMILAR_SCORE] = (float)fmin(1.5, pairs[i].bm25 / fmax(itself, 1e-9));
        compare_changes(&pairs[i], ideas, query, row);
        compare_texts(&pairs[i], ideas, query, row);
        compare_places(&pairs[i], query, row);
        pairs[i].verdict = similar_verdict(&pairs[i]);
    }
    *found = n;
    return true;
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

/* The share of a text's words that the log knows, by how rare they are: a word that no trial has is the rarest. */
static double known_share(const struct lineage_ideas *ideas, const struct idea_row *query)
{
    double known = 0, unknown = query->search->unknown.n * term_idf(ideas, TEXT_NONE);
    for (size_t i = 0; i < query->search->n_terms; i++)
        known += query->search->terms[i].where & IN_TEXT ? term_idf(ideas, query->search->terms[i].number) : 0;
    return unknown > 0 ? known / (known + unknown) : 1;
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
    SCOPED_BUF out = {0};
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
    return out.failed ? NULL : arena_text(arena, out.data, out.length);
}

static enum lineage_status answer(struct lineage_similar_list *list, struct lineage_ideas *ideas, struct idea_row *query,
                                  size_t before, size_t self, size_t limit, struct lineage_error *err)
{
    SCOPED_FREE struct similar_pair *pairs = malloc(PAIRS_MAX * sizeof *pairs);
    struct arena *arena = calloc(1, sizeof *arena);
    SCOPED_BUF remark = {0};
    size_t n = 0;
    *list = (struct lineage_similar_list){.memory = arena};
    bool ok =
        pairs && arena && similar_pairs(pairs, &n, PAIRS_MAX, ideas, query, query->is_text ? arena : &ideas->arena, before, self);
    for (size_t i = 0; i < n; i++) /* verdicts above 0 where the set is sure enough */
        pairs[i].verdict -= ideas->least_verdict;
    if (ok && n)
        qsort(pairs, n, sizeof *pairs, by_verdict);
    if (ok && query->is_text) {
        const struct row_search *search = query->search;
        tell_parts(&remark, pairs, n, ideas, query);
        if (!drop_unlike(pairs, &n, known_share(ideas, query))) {
            buf_puts(&remark, n ? "nothing quite like this" : "nothing like this");
            for (uint32_t i = 0; i < search->unknown.n && i < WORDS_SHOWN; i++)
                buf_printf(&remark, "%s%s",
                           i                       ? ", "
                           : search->unknown.n > 1 ? "; no trial has the words "
                                                   : "; no trial has the word ",
                           search->unknown.entries[i].text);
        }
    }
    limit = limit ? limit : LIMIT_DEFAULT;
    n = n < limit ? n : limit;
    list->items = ok ? arena_alloc(arena, n + 1, sizeof *list->items) : NULL;
    ok = list->items != NULL;
    for (; ok && list->n < n; list->n++) {
        const struct similar_pair *pair = &pairs[list->n];
        list->items[list->n] = (struct lineage_similar){
            .trial = pair->row, .score = pair->bm25, .same = pair->verdict > 0, .why = reason(arena, pair)};
        ok = list->items[list->n].why != NULL;
    }
    if (ok && remark.length)
        ok = (list->remark = arena_text(arena, remark.data, remark.length)) != NULL;
    if (ok && !remark.failed)
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
    return answer(list, ideas, &ideas->rows[trial], all ? ideas->n : trial, trial, limit, err);
}

enum lineage_status lineage_ideas_similar_text(struct lineage_similar_list *list, struct lineage_ideas *ideas, const char *text,
                                               size_t limit, struct lineage_error *err)
{
    SCOPED_ARENA arena = {0};
    RELEASED_BY(row_release) struct idea_row row = {.idea = {.exp_id = "", .hypothesis = text}, .is_text = true};
    *list = (struct lineage_similar_list){0};
    return ideas_prepare_search(ideas) && row_read_query(ideas, &row, &arena)
               ? answer(list, ideas, &row, ideas->n, SIZE_MAX, limit, err)
               : store_no_memory(err);
}

void lineage_similar_release(struct lineage_similar_list *list)
{
    if (list->memory)
        arena_release(list->memory);
    free(list->memory);
    *list = (struct lineage_similar_list){0};
}
