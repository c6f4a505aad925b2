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
        [STATED_FORM + FORM_ARROW] = 0.95f,
        [STATED_FORM + FORM_FROM_TO] = 0.16f,
        [STATED_FORM + FORM_TO] = 0.36f,
        [STATED_FORM + FORM_PREPOSITION] = 0.28f,
        [STATED_FORM + FORM_NEXT_TO] = -1.58f,
        [STATED_FORM + FORM_ARROW_TEXT] = -1.94f,
        [STATED_FORM + FORM_TIMES] = 1.11f,
        [STATED_FORM + FORM_CALL] = 0.07f,
        [STATED_HEADLINE] = 2.03f,
        [STATED_FIRST_SENTENCE] = 0.95f,
        [STATED_IN_BRACKETS] = -0.83f,
        [STATED_LATE] = -0.39f,
        [STATED_VERB_BEFORE] = 0.57f,
        [STATED_UNCHANGED] = -0.64f,
        [STATED_UNCHANGED_NEXT] = -0.24f,
        [STATED_PAST] = -0.76f,
        [STATED_REASON] = -1.24f,
        [STATED_COMPARED] = -1.05f,
        [STATED_INITIAL] = -1.73f,
        [STATED_UNIT] = -1.30f,
        [STATED_SYMBOL] = -0.02f,
        [STATED_RATIO] = -1.16f,
        [STATED_HAS_FROM] = 0.96f,
        [STATED_AFTER_ARROW] = -0.94f,
        [STATED_DERIVED] = -0.49f,
        [STATED_SHAPE] = -1.95f,
        [STATED_NAMELESS] = -0.56f,
        [STATED_TITLED] = 0.60f,
        [STATED_VERB_NEXT] = 0.61f,
        [STATED_FORM_HEADLINE + FORM_ARROW] = 0.45f,
        [STATED_FORM_HEADLINE + FORM_FROM_TO] = 0.34f,
        [STATED_FORM_HEADLINE + FORM_TO] = 0.14f,
        [STATED_FORM_HEADLINE + FORM_EQUALS] = 1.11f,
        [STATED_FORM_HEADLINE + FORM_PREPOSITION] = 0.14f,
        [STATED_FORM_HEADLINE + FORM_NEXT_TO] = -0.24f,
        [STATED_FORM_HEADLINE + FORM_COUNT] = -0.58f,
        [STATED_FORM_HEADLINE + FORM_ARROW_TEXT] = -0.60f,
        [STATED_FORM_HEADLINE + FORM_TIMES] = 0.39f,
        [STATED_FORM_HEADLINE + FORM_CALL] = 0.11f,
        [STATED_FORM_BRACKETS + FORM_ARROW] = 0.16f,
        [STATED_FORM_BRACKETS + FORM_EQUALS] = 0.03f,
        [STATED_FORM_BRACKETS + FORM_PREPOSITION] = -0.14f,
        [STATED_FORM_BRACKETS + FORM_NEXT_TO] = -0.39f,
        [STATED_FORM_BRACKETS + FORM_COUNT] = 0.34f,
        [STATED_FORM_BRACKETS + FORM_ARROW_TEXT] = -0.11f,
        [STATED_FORM_BRACKETS + FORM_TIMES] = -0.13f,
        [STATED_FORM_BRACKETS + FORM_CALL] = -0.04f,
        [STATED_ENDS] = -0.74f,
        [STATED_ITEM] = 0.58f,
        [STATED_JOINED] = 0.51f,
        [STATED_LIST] = 0.73f,
        [STATED_FROM_WORD] = -0.60f,
        [STATED_OF] = -0.83f,
        [STATED_OF_NEXT] = -0.01f,
        [STATED_BY] = 0.89f,
        [STATED_ABOUT] = -1.21f,
        [STATED_SIGNED] = -0.83f,
        [STATED_PERCENT] = -1.84f,
        [STATED_WORD] = -0.40f,
        [STATED_WHOLE] = -0.70f,
        [STATED_OLD_VALUE] = -0.43f,
        [STATED_RESTATED] = -0.56f,
        [STATED_NAME_AGAIN] = -0.16f,
        [STATED_REMOVED] = -0.95f,
        [STATED_GIVEN] = 1.03f,
        [STATED_GERUND] = -0.94f,
        [STATED_DEEP] = -0.71f,
        [STATED_SIBLING] = -0.38f,
        [STATED_ALSO] = 1.31f,
        [STATED_OPENS] = 1.84f,
    };
    double sum = -1.08;
    /* end of the table */
    for (size_t i = 0; i < N_STATED_FEATURES; i++)
        sum += (double)weights[i] * (double)c->features[i];
    return sum;
}
