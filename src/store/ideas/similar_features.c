/*
 * similar_features.c: compares a query with a similar trial, as features, and decides from them whether the trial
 * already made the whole change.
 */
#include "ideas_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double changes_same_knob(const struct lineage_ideas *ideas, const struct change_key *a, const struct change_key *b)
{
    double shared = 0, of_a = 0, of_b = 0;
    if ((a->apart & b->apart) && (a->n != b->n || memcmp(a->words, b->words, a->n * sizeof *a->words) != 0))
        return 0;
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

static void compare_changes(struct similar_pair *pair, const struct lineage_ideas *ideas, const struct idea_row *query,
                            const struct idea_row *row)
{
    size_t wanted = 0, conflicts = 0;
    bool conflict = false;
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
        conflict = conflict || (other && !value);
        conflicts += other && !value;
        if (value) {
            pair->covered |= (uint64_t)1 << i;
            worst = fmin(worst, alike);
        }
    }
    float *f = pair->features;
    f[SIMILAR_KNOB] = pair->covered ? (float)worst : 0;
    f[SIMILAR_CONFLICT] = conflict;
    f[SIMILAR_CONFLICTS] = wanted ? (float)conflicts / (float)wanted : 0;
}

static int compare_term(const void *key, const void *item)
{
    uint32_t term = *(const uint32_t *)key, its = ((const struct weight *)item)->term;
    return (term > its) - (term < its);
}

static bool has_term(const struct weights *w, uint32_t term)
{
    return w->n && bsearch(&term, w->items, w->n, sizeof *w->items, compare_term);
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
    if (!has_term(&row->search->text, terms_find(&ideas->terms, number, (size_t)length, false)))
        return false;
    for (size_t i = 0; i < key->n; i++) {
        double idf = terms_idf(&ideas->terms, key->words[i]);
        all += idf;
        shared += has_term(&row->search->text, key->words[i]) ? idf : 0;
    }
    return all > 0 && shared >= 0.6 * all;
}

static bool has_outcome(const struct idea_row *row)
{
    return row->idea.status == LINEAGE_KEEP || row->idea.status == LINEAGE_DISCARD || row->idea.status == LINEAGE_BASELINE;
}

static float share_of_numbers(const struct weights *numbers, const struct weights *text)
{
    size_t shared = 0;
    for (size_t i = 0; i < numbers->n; i++)
        shared += has_term(text, numbers->items[i].term);
    return numbers->n ? (float)shared / (float)numbers->n : 0;
}

static void compare_texts(struct similar_pair *pair, struct lineage_ideas *ideas, const struct idea_row *query,
                          const struct idea_row *row)
{
    const struct terms *terms = &ideas->terms;
    float *f = pair->features;
    size_t wanted = 0, covered = 0, soft = 0;
    for (size_t i = 0; i < query->idea.n_changes; i++) {
        if (query->search->keys[i].budget)
            continue;
        wanted++;
        covered += pair->covered >> i & 1;
        soft += pair->covered >> i & 1 || mentions(ideas, row, &query->search->changes[i], &query->search->keys[i]);
    }
    f[SIMILAR_SOFT] = wanted ? (float)soft / (float)wanted : 0;
    f[SIMILAR_ALL_SOFT] = wanted && soft == wanted;
    f[SIMILAR_HEAD_OF] = (float)weights_share(terms, &row->search->head, &query->search->text);
    f[SIMILAR_COSINE] = (float)weights_cosine(terms, &query->search->text, &row->search->text);
    f[SIMILAR_TECHNIQUE] = wanted ? 0 : f[SIMILAR_COSINE];
    f[SIMILAR_NUMBERS] = share_of_numbers(&query->search->head_numbers, &row->search->text);
    f[SIMILAR_TITLE_IN] = (float)weights_share(terms, &query->search->title, &row->search->text);
    f[SIMILAR_TITLES] = (float)(weights_share(terms, &query->search->title, &row->search->title) *
                                weights_share(terms, &row->search->title, &query->search->title));
    f[SIMILAR_UNCOVERED] = wanted && covered == wanted ? 1 - f[SIMILAR_TITLE_IN] : 0;
    pair->head_in = (float)weights_share(terms, &query->search->head, &row->search->text);
}

/* The place of the two trials in the log. */
static void compare_places(struct similar_pair *pair, const struct lineage_ideas *ideas, const struct idea_row *query)
{
    const struct idea_row *row = &ideas->rows[pair->row];
    float *f = pair->features;
    for (size_t i = 0; i < query->idea.n_cites; i++)
        pair->cited = pair->cited || query->idea.cites[i] == pair->row;
    pair->again = pair->cited && query->reading->again;
    f[SIMILAR_CITES] = pair->cited;
    f[SIMILAR_AGAIN] = pair->again;
    f[SIMILAR_FAILED] = !has_outcome(row);
    f[SIMILAR_SPECIALIST] =
        query->idea.specialist && *query->idea.specialist && strcmp(query->idea.specialist, row->idea.specialist) == 0;
    f[SIMILAR_SIBLING] = query->parent != TRIAL_NONE && query->parent == row->parent;
    f[SIMILAR_FAILED_SIBLING] = f[SIMILAR_SIBLING] * f[SIMILAR_FAILED];
}

void similar_look(struct similar_pair *pair, struct lineage_ideas *ideas, const struct idea_row *query)
{
    compare_changes(pair, ideas, query, &ideas->rows[pair->row]);
    compare_texts(pair, ideas, query, &ideas->rows[pair->row]);
    compare_places(pair, ideas, query);
}

/* ---- the verdict ---- */

/* The weights are a logistic regression on the labels of two released logs; positive sums mean `same`. tests/bench/ideas_fit.py
 * makes the table, and prints how well it decides on a log that was left out of the fit. They were fitted with three more features,
 * without which they decide no worse, and the weights of SIMILAR_UNCOVERED and SIMILAR_AGAIN were then chosen anew
 * (tests/bench/README.md). */
double similar_verdict(const struct similar_pair *pair)
{
    static const float weights[N_SIMILAR_FEATURES] = {
        /* fitted by ideas_fit.py */
        [SIMILAR_SCORE] = 1.69f,      [SIMILAR_HEAD_OF] = 1.82f,     [SIMILAR_COSINE] = 1.46f,
        [SIMILAR_CONFLICT] = -1.08f,  [SIMILAR_TECHNIQUE] = 1.82f,   [SIMILAR_CITES] = -0.83f,
        [SIMILAR_SOFT] = 0.82f,       [SIMILAR_ALL_SOFT] = 1.35f,    [SIMILAR_NUMBERS] = 1.10f,
        [SIMILAR_FAILED] = 0.38f,     [SIMILAR_SPECIALIST] = 0.83f,  [SIMILAR_KNOB] = 0.89f,
        [SIMILAR_FIRST] = -0.23f,     [SIMILAR_OUTSTANDING] = 2.26f, [SIMILAR_CONFLICTS] = -1.07f,
        [SIMILAR_TITLE_IN] = 1.83f,   [SIMILAR_TITLES] = 1.06f,      [SIMILAR_SIBLING] = -0.42f,
        [SIMILAR_UNCOVERED] = -0.60f, [SIMILAR_AGAIN] = 0.50f,       [SIMILAR_FAILED_SIBLING] = 0.95f,
    };
    double sum = -8.04;
    /* end of the table */
    return weighted_sum(sum, weights, pair->features, N_SIMILAR_FEATURES);
}
