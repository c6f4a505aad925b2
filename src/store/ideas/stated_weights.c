/*
 * stated_weights.c: decides whether a candidate is a change.
 *
 * The weights are a logistic regression on the labels of two released logs; positive sums are changes. stated.h
 * explains each feature. tests/bench/ideas_fit.py makes the table, and prints how well it decides on a log that was
 * left out of the fit.
 */
#include "stated.h"

double stated_score(const struct stated *c)
{
    static const float weights[N_STATED_FEATURES] = {
        /* fitted by ideas_fit.py */
        [STATED_FORM + FORM_ARROW] = 1.27f,
        [STATED_FORM + FORM_TO] = 0.29f,
        [STATED_FORM + FORM_PREPOSITION] = 0.51f,
        [STATED_FORM + FORM_NEXT_TO] = -2.05f,
        [STATED_FORM + FORM_ARROW_TEXT] = -1.92f,
        [STATED_FORM + FORM_TIMES] = 1.31f,
        [STATED_HEADLINE] = 2.21f,
        [STATED_FIRST_SENTENCE] = 1.01f,
        [STATED_IN_BRACKETS] = -0.87f,
        [STATED_UNCHANGED] = -0.34f,
        [STATED_PAST] = -0.74f,
        [STATED_REASON] = -1.53f,
        [STATED_COMPARED] = -1.25f,
        [STATED_INITIAL] = -1.71f,
        [STATED_UNIT] = -1.27f,
        [STATED_RATIO] = -1.24f,
        [STATED_HAS_FROM] = 1.12f,
        [STATED_AFTER_ARROW] = -1.78f,
        [STATED_DERIVED] = -0.52f,
        [STATED_SHAPE] = -1.81f,
        [STATED_NAMELESS] = -0.56f,
        [STATED_TITLED] = 0.82f,
        [STATED_VERB_NEXT] = 1.04f,
        [STATED_FORM_HEADLINE + FORM_FROM_TO] = 0.44f,
        [STATED_FORM_HEADLINE + FORM_TO] = 0.14f,
        [STATED_FORM_HEADLINE + FORM_EQUALS] = 1.26f,
        [STATED_FORM_HEADLINE + FORM_ARROW_TEXT] = -0.59f,
        [STATED_FORM_BRACKETS + FORM_PREPOSITION] = -0.14f,
        [STATED_FORM_BRACKETS + FORM_TIMES] = -0.09f,
        [STATED_ENDS] = -0.59f,
        [STATED_JOINED] = 0.25f,
        [STATED_FROM_WORD] = -0.67f,
        [STATED_OF] = -0.94f,
        [STATED_BY] = 0.95f,
        [STATED_ABOUT] = -1.38f,
        [STATED_SIGNED] = -0.89f,
        [STATED_PERCENT] = -1.91f,
        [STATED_WORD] = -0.67f,
        [STATED_WHOLE] = -0.82f,
        [STATED_OLD_VALUE] = -0.36f,
        [STATED_RESTATED] = -0.64f,
        [STATED_REMOVED] = -0.92f,
        [STATED_GIVEN] = 0.92f,
        [STATED_GERUND] = -0.63f,
        [STATED_DEEP] = -0.72f,
        [STATED_ALSO] = 0.91f,
        [STATED_EXTENDED] = -1.76f,
        [STATED_OPENS] = 1.69f,
    };
    double sum = -1.49;
    /* end of the table */
    for (size_t i = 0; i < N_STATED_FEATURES; i++)
        sum += (double)weights[i] * (double)c->features[i];
    return sum;
}
