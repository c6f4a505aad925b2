/*
 * similar_weights.c: decides whether a similar trial already made the query's whole change.
 *
 * The weights are a logistic regression on the labels of two released logs; positive sums mean `same`.
 * ideas_internal.h says what each feature means, tests/bench/ideas_fit.py how the table is made again and how well it
 * does on a log that it has not seen.
 */
#include "ideas_internal.h"

double similar_verdict(const struct similar_pair *pair)
{
    static const float weights[N_SIMILAR_FEATURES] = {
        /* fitted by ideas_fit.py */
        [SIMILAR_SCORE] = 1.44f,
        [SIMILAR_HEAD_IN] = 0.04f,
        [SIMILAR_HEAD_OF] = 1.80f,
        [SIMILAR_COSINE] = 1.46f,
        [SIMILAR_COVERED] = 0.22f,
        [SIMILAR_ALL] = -0.36f,
        [SIMILAR_CONFLICT] = -1.33f,
        [SIMILAR_NO_CHANGES] = 0.45f,
        [SIMILAR_TECHNIQUE] = 1.30f,
        [SIMILAR_CITES] = -1.00f,
        [SIMILAR_AGAIN] = 0.36f,
        [SIMILAR_ALL_HEAD] = -0.18f,
        [SIMILAR_EXTRA] = 0.09f,
        [SIMILAR_SOFT] = 0.95f,
        [SIMILAR_ALL_SOFT] = 1.43f,
        [SIMILAR_NUMBERS] = 0.97f,
        [SIMILAR_HEADS] = -0.35f,
        [SIMILAR_FAILED] = 0.26f,
        [SIMILAR_FAILED_CITED] = 0.44f,
        [SIMILAR_SPECIALIST] = 0.82f,
        [SIMILAR_KNOB] = 0.96f,
        [SIMILAR_FIRST] = -0.26f,
        [SIMILAR_OUTSTANDING] = 2.23f,
        [SIMILAR_NEAR] = -0.11f,
        [SIMILAR_CONFLICTS] = -1.17f,
        [SIMILAR_OTHER_WAY] = -0.23f,
        [SIMILAR_MORE] = -0.01f,
        [SIMILAR_NUMBERS_OF] = 0.27f,
        [SIMILAR_TITLE_IN] = 1.87f,
        [SIMILAR_TITLES] = 1.11f,
        [SIMILAR_UNCOVERED] = -0.43f,
        [SIMILAR_RAREST] = 0.05f,
        [SIMILAR_MISSING] = -0.25f,
        [SIMILAR_MISSING_OF] = 0.04f,
        [SIMILAR_IDENTIFIERS] = 0.59f,
        [SIMILAR_NO_IDENTIFIERS] = 0.70f,
        [SIMILAR_CITED_AGAIN] = 1.09f,
        [SIMILAR_CITED_EARLY] = 0.27f,
        [SIMILAR_CITED_BASE] = 0.68f,
        [SIMILAR_CITED_ALIKE] = -0.38f,
        [SIMILAR_PARENT] = -0.56f,
        [SIMILAR_SIBLING] = -0.39f,
        [SIMILAR_FAILED_SIBLING] = 0.80f,
    };
    double sum = -8.07;
    /* end of the table */
    for (size_t i = 0; i < N_SIMILAR_FEATURES; i++)
        sum += (double)weights[i] * (double)pair->features[i];
    return sum;
}
