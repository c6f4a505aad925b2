/*
 * stated_weights.c: decides whether a candidate is a change.
 *
 * The weights are a logistic regression on the labels of two released logs; positive sums are changes. stated.h says what
 * each feature means, tests/bench/ideas_fit.py how the table is made again and how well it does on a log that it has
 * not seen.
 */
#include "stated.h"

double stated_score(const struct stated *c)
{
    static const float weights[N_STATED_FEATURES] = {
        /* fitted by ideas_fit.py */
        [STATED_FORM + FORM_ARROW] = 1.28f,
        [STATED_FORM + FORM_TO] = 0.29f,
        [STATED_FORM + FORM_PREPOSITION] = 0.50f,
        [STATED_FORM + FORM_NEXT_TO] = -2.05f,
        [STATED_FORM + FORM_ARROW_TEXT] = -1.92f,
        [STATED_FORM + FORM_TIMES] = 1.29f,
        [STATED_HEADLINE] = 2.20f,
        [STATED_FIRST_SENTENCE] = 1.01f,
        [STATED_IN_BRACKETS] = -0.89f,
        [STATED_UNCHANGED] = -0.65f,
        [STATED_PAST] = -0.72f,
        [STATED_REASON] = -1.55f,
        [STATED_COMPARED] = -1.23f,
        [STATED_INITIAL] = -1.70f,
        [STATED_UNIT] = -1.32f,
        [STATED_RATIO] = -1.24f,
        [STATED_HAS_FROM] = 1.12f,
        [STATED_AFTER_ARROW] = -1.75f,
        [STATED_DERIVED] = -0.51f,
        [STATED_SHAPE] = -1.79f,
        [STATED_NAMELESS] = -0.57f,
        [STATED_TITLED] = 0.83f,
        [STATED_VERB_NEXT] = 1.05f,
        [STATED_FORM_HEADLINE + FORM_FROM_TO] = 0.44f,
        [STATED_FORM_HEADLINE + FORM_TO] = 0.14f,
        [STATED_FORM_HEADLINE + FORM_EQUALS] = 1.22f,
        [STATED_FORM_HEADLINE + FORM_ARROW_TEXT] = -0.59f,
        [STATED_FORM_BRACKETS + FORM_PREPOSITION] = -0.13f,
        [STATED_FORM_BRACKETS + FORM_TIMES] = -0.08f,
        [STATED_ENDS] = -0.60f,
        [STATED_JOINED] = 0.26f,
        [STATED_FROM_WORD] = -0.65f,
        [STATED_OF] = -0.93f,
        [STATED_BY] = 0.94f,
        [STATED_ABOUT] = -1.35f,
        [STATED_SIGNED] = -0.88f,
        [STATED_PERCENT] = -1.91f,
        [STATED_WORD] = -0.64f,
        [STATED_WHOLE] = -0.77f,
        [STATED_OLD_VALUE] = -0.36f,
        [STATED_RESTATED] = -0.64f,
        [STATED_REMOVED] = -0.92f,
        [STATED_GIVEN] = 0.91f,
        [STATED_GERUND] = -0.63f,
        [STATED_DEEP] = -0.72f,
        [STATED_ALSO] = 0.93f,
        [STATED_EXTENDED] = -1.79f,
        [STATED_OPENS] = 1.70f,
    };
    double sum = -1.45;
    /* end of the table */
    for (size_t i = 0; i < N_STATED_FEATURES; i++)
        sum += (double)weights[i] * (double)c->features[i];
    return sum;
}
