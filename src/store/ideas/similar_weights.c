/*
 * similar_weights.c: decides whether a similar trial already made the query's whole change.
 *
 * The weights are a logistic regression on the labels of two released logs; positive sums mean `same`.
 * ideas_internal.h explains each feature. tests/bench/ideas_fit.py makes the table, and prints how well it decides on a
 * log that was left out of the fit.
 */
#include "ideas_internal.h"

double similar_verdict(const struct similar_pair *pair)
{
    static const float weights[N_SIMILAR_FEATURES] = {
        /* fitted by ideas_fit.py */
        [SIMILAR_SCORE] = 1.69f,
        [SIMILAR_HEAD_OF] = 1.82f,
        [SIMILAR_COSINE] = 1.46f,
        [SIMILAR_CONFLICT] = -1.08f,
        [SIMILAR_TECHNIQUE] = 1.82f,
        [SIMILAR_CITES] = -0.83f,
        [SIMILAR_SOFT] = 0.82f,
        [SIMILAR_ALL_SOFT] = 1.35f,
        [SIMILAR_NUMBERS] = 1.10f,
        [SIMILAR_FAILED] = 0.38f,
        [SIMILAR_SPECIALIST] = 0.83f,
        [SIMILAR_KNOB] = 0.89f,
        [SIMILAR_FIRST] = -0.23f,
        [SIMILAR_OUTSTANDING] = 2.26f,
        [SIMILAR_CONFLICTS] = -1.07f,
        [SIMILAR_OTHER_WAY] = -0.31f,
        [SIMILAR_TITLE_IN] = 1.83f,
        [SIMILAR_TITLES] = 1.06f,
        [SIMILAR_UNCOVERED] = -1.10f,
        [SIMILAR_CITED_AGAIN] = 1.04f,
        [SIMILAR_CITED_BASE] = 0.75f,
        [SIMILAR_SIBLING] = -0.42f,
        [SIMILAR_FAILED_SIBLING] = 0.95f,
    };
    double sum = -8.04;
    /* end of the table */
    for (size_t i = 0; i < N_SIMILAR_FEATURES; i++)
        sum += (double)weights[i] * (double)pair->features[i];
    return sum;
}
