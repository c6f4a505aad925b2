/*
 * stated_features.c: the context of a candidate, as features, and the decision whether it is a change.
 *
 * The words below are general English: words for changing something, for leaving it unchanged, for giving reasons. A
 * feature depends on the text alone, never on the decision about another candidate, so that weights can be fitted in
 * one step.
 */
#include "stated.h"

#include <math.h>
#include <string.h>

enum { EARLIER = 16 }; /* number of earlier candidates that are compared with it */

#define CHANGE_VERBS                                                                                                             \
    " raise raising raised lower lowering lowered reduce reducing reduced increase increasing increased decrease "               \
    "decreasing decreased set setting change changing changed switch switching switched halve halving double doubling "          \
    "triple tripling quadruple extend extending extended shorten shortening shortened move moving moved bump bumping "           \
    "bumped drop dropping cut cutting tighten tightening widen widening widened loosen loosening shrink shrinking "              \
    "expand expanding push pushing add adding use using replace replacing restore restoring restored revert "                    \
    "reverting split splitting adopt apply applying introduce introducing delay delaying scale scaling enable "                  \
    "enabling disable disabling remove removing tune try trying test testing grow deepen slow accelerate boost "                 \
    "boosting relax relaxing soften strengthen weaken sharpen trim limit cap combine bring give put swap make turn "             \
    "adjust step go rescale rescaling reset resetting defaulting tweak upgrade downgrade quarter "
#define UNCHANGED_WORDS                                                                                                          \
    " keep keeps keeping kept stay stays staying remain remains remaining unchanged preserve preserves preserved "               \
    "preserving existing current currently already same identical default defaults still inherit inherits inherited "            \
    "baseline retains retain retaining originally was were had fixed holds constant "
#define REASON_WORDS                                                                                                             \
    " because since as so which where giving motivated enabling whereas although though while hence thus given "                 \
    "means meaning implying following analogous why that matching matches causing caused yielding yields saving "                \
    "saves compared "
#define STOP_WORDS                                                                                                               \
    " the a an its their our this that these those to and or with by for in on of from at as is are be was were "                \
    "into onto but than then via when while if so each every all any both only just per up down now still it we i "              \
    "also plus further again slightly even under over within during after before until between across using which where not no " \
    "instead rather stays stay keeps keep kept remains remain get gets measured showed gave "
#define KEPT_BEFORE " same keep keeps keeping preserve preserves preserving retain retains retaining unchanged "
#define KEPT_BEHIND " unchanged untouched preserved retained intact "
#define REPLACE_VERBS " replace replacing replaces swap swapping "

bool stated_is_verb(const struct tokens *t, size_t i)
{
    return token_in(t, i, CHANGE_VERBS);
}

bool stated_is_stop(const struct tokens *t, size_t i)
{
    return token_in(t, i, STOP_WORDS);
}

bool stated_is_citation(const struct tokens *t, size_t i)
{
    const struct token *token = &t->items[i];
    if (token->kind == TOKEN_WORD && token->length > 4) {
        const char *text = t->text + token->at;
        return (text[0] | 0x20) == 'e' && (text[1] | 0x20) == 'x' && (text[2] | 0x20) == 'p' && token_has_digit(t, i);
    }
    return token->kind == TOKEN_MARK && token->mark == '#' && token_is_kind(t, i + 1, TOKEN_NUMBER);
}

/* Whether token i closes the number of an item: "(2)" or "2)". */
static bool ends_item_number(const struct tokens *t, size_t i)
{
    return token_is_mark(t, i, ')') && i > 0 && t->items[i - 1].length <= 2 &&
           (t->items[i - 1].kind == TOKEN_NUMBER || (t->items[i - 1].kind == TOKEN_WORD && t->items[i - 1].length == 1)) &&
           (i == 1 || token_is_mark(t, i - 2, '(') || !same_clause(t, i - 2, i) || token_is_mark(t, i - 2, ','));
}

/* Whether a bracket opens within a few tokens after i and before `end`. */
static bool opens_behind(const struct tokens *t, size_t i, size_t end)
{
    for (size_t k = i + 1; k < end && k < i + 7; k++)
        if (token_is_mark(t, k, '('))
            return true;
    return false;
}

static bool in_square_brackets(const struct tokens *t, size_t i)
{
    for (size_t k = i, steps = 0; k-- > 0 && steps < STATED_LOOK_BACK; steps++)
        if (t->items[k].depth < t->items[i].depth)
            return t->items[k].kind == TOKEN_MARK && t->items[k].mark == '[';
    return false;
}

/* "keep NAME=B", "NAME=B unchanged", "the floor NAME=B is preserved" */
static bool stays(const struct tokens *t, size_t first, size_t end)
{
    size_t before = first;
    while (before > 0 && token_in(t, before - 1, " the its "))
        before--;
    if (before > 0 && same_clause(t, before - 1, first) && token_in(t, before - 1, KEPT_BEFORE))
        return true;
    for (size_t k = end; k < t->n && k < end + 3 && token_is_kind(t, k, TOKEN_WORD) && same_clause(t, k, end - 1); k++)
        if (token_in(t, k, KEPT_BEHIND))
            return true;
    return false;
}

bool stated_is_old(const struct tokens *t, size_t first, size_t value, size_t end)
{
    bool follows = false;
    if (stays(t, first, end))
        return true;
    for (size_t k = value; k < t->n && k < value + STATED_LOOK_BACK && same_clause(t, k, value) && !follows; k++)
        follows = token_in(t, k, " with by ");
    for (size_t k = first, steps = 0; follows && k-- > 0 && steps < STATED_LOOK_BACK && same_clause(t, k, value); steps++) {
        if (token_in(t, k, " with by to "))
            return false;
        if (token_in(t, k, REPLACE_VERBS))
            return true;
    }
    return false;
}

/* The words before the candidate, back to the beginning of its clause or of its item of an enumeration. Returns whether
 * it is in such an item: "(2) NAME A → B". */
static bool look_back(struct stated *c, const struct tokens *t, size_t first, size_t value)
{
    float *f = c->features;
    size_t steps = 0;
    bool item = false;
    for (size_t k = first; k-- > 0 && steps < STATED_LOOK_BACK && same_clause(t, k, value); steps++) {
        if (ends_item_number(t, k)) {
            item = true;
            break;
        }
        if (token_in(t, k, UNCHANGED_WORDS) && steps < 4)
            f[STATED_UNCHANGED] = 1;
        if (token_in(t, k, REASON_WORDS))
            f[STATED_REASON] = 1;
        if (stated_is_citation(t, k))
            /* Text in brackets after a trial's id describes that trial. */
            f[STATED_PAST] =
                fmaxf(f[STATED_PAST], t->items[k].depth < t->items[value].depth && opens_behind(t, k, first) ? 2 : 1);
        if (steps < 2 && c->form >= FORM_EQUALS && token_in(t, k, STATED_COMPARED_WORDS))
            f[STATED_COMPARED] = 1;
    }
    return item;
}

/* Whether a verb of change that ends in -ing follows a comma or a word, so that it tells a consequence. */
static bool is_gerund(const struct tokens *t, size_t i)
{
    const struct token *token = &t->items[i];
    return i > 0 && same_clause(t, i - 1, i) && token->kind == TOKEN_WORD && token->length > 5 &&
           memcmp(t->text + token->at + token->length - 3, "ing", 3) == 0 && stated_is_verb(t, i);
}

static bool is_joint(const struct tokens *t, size_t i)
{
    return token_in(t, i, " and plus ") || token_is_of(t, i, "+,;&");
}

/* The tokens directly before the name. */
static void look_beside(struct stated *c, const struct tokens *t, size_t first, size_t value)
{
    float *f = c->features;
    size_t before = first;
    while (before > 0 && (token_in(t, before - 1, " the a an its their our ") || token_is_of(t, before - 1, "\"'`")))
        before--;
    if (!before || !same_clause(t, before - 1, value))
        return;
    f[STATED_VERB_NEXT] = stated_is_verb(t, before - 1) || token_in(t, before - 1, " with using via ");
    f[STATED_FROM_WORD] = token_is(t, before - 1, "from") && c->form != FORM_FROM_TO;
    f[STATED_OF] = token_in(t, before - 1, " of per ");
    f[STATED_GERUND] = is_gerund(t, before - 1);
    if (stated_is_verb(t, before - 1))
        before--;
    f[STATED_JOINED] = before > 0 && is_joint(t, before - 1);
}

/* The value itself and the tokens behind it. */
static void look_at_value(struct stated *c, const struct tokens *t, size_t value, size_t value_end, size_t end)
{
    float *f = c->features;
    const struct token *last = &t->items[value_end - 1];
    bool number = last->kind == TOKEN_NUMBER;
    f[STATED_SHAPE] = t->items[value].depth > 0 && in_square_brackets(t, value);
    f[STATED_ENDS] = end >= t->n || !same_clause(t, end, value) || token_is_of(t, end, ").,;:|]+");
    if (token_is_kind(t, end, TOKEN_WORD) && !stated_is_stop(t, end) && same_clause(t, end, value))
        f[STATED_UNIT] = 1;
    f[STATED_OPENS] = value > 0 && token_is_mark(t, value - 1, '(');
    f[STATED_RATIO] = number && last->times;
    f[STATED_PERCENT] = number && last->percent;
    f[STATED_WORD] = !c->to_value.present && last->kind == TOKEN_WORD;
    f[STATED_WHOLE] = c->to_value.present && c->to_value.value == floor(c->to_value.value) && f[STATED_PERCENT] == 0;
    f[STATED_BY] = value > 0 && token_is(t, value - 1, "by");
    char sign = t->text[c->to.at];
    f[STATED_SIGNED] = sign == '-' || sign == '+' || (c->to.at > 0 && t->text[c->to.at - 1] == '+');
}

/* The candidates before it. */
static void look_at_others(struct stated *list, size_t n, const struct tokens *t, size_t first, size_t value, bool item)
{
    struct stated *c = &list[n];
    float *f = c->features;
    bool titled = !(f[STATED_HEADLINE] > 0);
    /* "A 1→2 and lazy B 3→4": the second one belongs to the same list. */
    if (n > 0 && first > list[n - 1].end && first - list[n - 1].end <= 4 && is_joint(t, list[n - 1].end))
        f[STATED_JOINED] = 1;
    for (size_t i = n > EARLIER ? n - EARLIER : 0; i < n; i++) {
        const struct stated *other = &list[i];
        bool arrow = other->form <= FORM_TO || (other->from.length && other->form != FORM_ARROW_TEXT);
        if (arrow && !item && !(f[STATED_JOINED] > 0))
            f[STATED_AFTER_ARROW] = 1;
        if (other->features[STATED_HEADLINE] > 0 && (arrow || other->form == FORM_EQUALS))
            titled = false;
        if (c->to_value.present && other->to_value.present && arrow && c->to_value.value == other->to_value.value)
            f[STATED_RESTATED] = 1;
    }
    f[STATED_TITLED] = titled && t->items[value].clause == 1;
}

void stated_look(struct stated *list, size_t n, const struct tokens *t, size_t first, size_t value, size_t value_end, size_t end)
{
    struct stated *c = &list[n];
    float *f = c->features;
    c->end = end;
    f[STATED_FORM + c->form] = 1;
    f[STATED_HEADLINE] = t->items[value].clause == 0;
    f[STATED_FIRST_SENTENCE] = t->items[value].sentence == 0;
    f[STATED_IN_BRACKETS] = t->items[value].depth > 0;
    f[STATED_HAS_FROM] = c->from.length > 0;
    bool item = look_back(c, t, first, value);
    look_beside(c, t, first, value);
    look_at_value(c, t, value, value_end, end);
    look_at_others(list, n, t, first, value, item);

    f[STATED_FORM_HEADLINE + c->form] = f[STATED_HEADLINE] > 0 || f[STATED_TITLED] > 0 || item;
    f[STATED_FORM_BRACKETS + c->form] = f[STATED_IN_BRACKETS];
}

void stated_look_ahead(struct stated *list, size_t n, const struct tokens *t)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i > EARLIER ? i - EARLIER : 0; k < n && k < i + EARLIER; k++) {
            struct span name = list[i].name, other = list[k].name;
            if (list[k].form == list[i].form && other.length > name.length && t->text[other.at + name.length] == '_' &&
                memcmp(t->text + other.at, t->text + name.at, name.length) == 0)
                list[i].features[STATED_EXTENDED] = 1;
        }
}

double weighted_sum(double sum, const float *weights, const float *features, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum += (double)weights[i] * (double)features[i];
    return sum;
}

/* The weights are a logistic regression on the labels of two released logs; positive sums are changes. tests/bench/ideas_fit.py
 * makes the table, and prints how well it decides on a log that was left out of the fit. They were fitted with six more features,
 * which decide nothing (tests/bench/README.md). */
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
        [STATED_SHAPE] = -1.81f,
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
        [STATED_SIGNED] = -0.89f,
        [STATED_PERCENT] = -1.91f,
        [STATED_WORD] = -0.67f,
        [STATED_WHOLE] = -0.82f,
        [STATED_RESTATED] = -0.64f,
        [STATED_GIVEN] = 0.92f,
        [STATED_GERUND] = -0.63f,
        [STATED_EXTENDED] = -1.76f,
        [STATED_OPENS] = 1.69f,
    };
    double sum = -1.49;
    /* end of the table */
    return weighted_sum(sum, weights, c->features, N_STATED_FEATURES);
}
