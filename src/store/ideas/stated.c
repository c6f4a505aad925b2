/* stated.c: finds the settings that a text states as changed. */
#include "stated.h"

#include <math.h>
#include <string.h>

enum {
    VALUE_TOKENS = 20, /* of a tuple */
    BRACKET_TOKENS = 16, /* longest bracket, in tokens, that is skipped in search of a name */
    NAME_WORDS = 5,
    LOOK_BACK = 24 /* number of tokens before a candidate that are examined */
};

/* General English words for changing something, for leaving it unchanged, and for giving reasons. */
#define CHANGE_VERBS                                                                                              \
    " raise raising raised lower lowering lowered reduce reducing reduced increase increasing increased decrease "   \
    "decreasing decreased set setting change changing changed switch switching switched halve halving double doubling " \
    "triple tripling quadruple extend extending extended shorten shortening shortened move moving moved bump bumping " \
    "bumped drop dropping cut cutting tighten tightening widen widening widened loosen loosening shrink shrinking "  \
    "expand expanding push pushing add adding use using replace replacing restore restoring restored revert "        \
    "reverting split splitting adopt apply applying introduce introducing delay delaying scale scaling enable "      \
    "enabling disable disabling remove removing tune try trying test testing grow deepen slow accelerate boost "     \
    "boosting relax relaxing soften strengthen weaken sharpen trim limit cap combine bring give put swap make turn "  \
    "adjust step go tweak upgrade downgrade quarter "
#define UNCHANGED_WORDS                                                                                            \
    " keep keeps keeping kept stay stays staying remain remains remaining unchanged preserve preserves preserved "  \
    "preserving existing current currently already same identical default defaults still inherit inherits inherited " \
    "baseline retains retain retaining originally was were had fixed holds constant "
#define UNCHANGED_NEXT " unchanged preserved kept stays remains default baseline fixed exactly untouched "
#define REASON_WORDS                                                                                               \
    " because since as so which where giving motivated enabling whereas although though while hence thus given "    \
    "means meaning implying following analogous why that matching matches causing caused yielding yields saving "  \
    "saves compared "
#define COMPARED_WORDS " vs versus than like instead over unlike not from was "
#define DERIVED_VERBS                                                                                              \
    " extends extending gives giving makes making yields yielding drops shifts lets reaches saves saving doubles "  \
    "doubling halves halving reduces increases raises lowers widens narrows shortens shortening adds keeps moves "   \
    "cuts cutting grows growing changes goes shrinks "
#define STOP_WORDS                                                                                                  \
    " the a an its their our this that these those to and or with by for in on of from at as is are be was were "    \
    "into onto but than then via when while if so each every all any both only just per up down now still it we i "  \
    "also plus further again slightly even under over within during after before until between across using which where not no "
#define SKIPPED_WORDS " from of to at by is as be up down only fixed only just about approximately value further again slightly even "   \
    "halved doubled tripled reduced raised lowered increased decreased extended shortened dropped cut bumped changed set "

static bool is_change_verb(const struct tokens *t, size_t i)
{
    return token_in(t, i, CHANGE_VERBS);
}

static struct span span_of(const struct tokens *t, size_t first, size_t end)
{
    const struct token *last = &t->items[end - 1];
    return (struct span){t->items[first].at, last->at + last->length - t->items[first].at};
}

static bool same_clause(const struct tokens *t, size_t a, size_t b)
{
    return t->items[a].clause == t->items[b].clause;
}

static bool has_byte(const struct tokens *t, size_t i, char c)
{
    return memchr(t->text + t->items[i].at, c, t->items[i].length) != NULL;
}

static bool has_digit(const struct tokens *t, size_t i)
{
    for (size_t k = 0; k < t->items[i].length; k++) {
        char c = t->text[t->items[i].at + k];
        if (c >= '0' && c <= '9')
            return true;
    }
    return false;
}

static size_t close_of(const struct tokens *t, size_t i, size_t limit)
{
    for (size_t k = i + 1; k < t->n && k <= i + limit; k++)
        if (t->items[k].kind == TOKEN_MARK && strchr(")]}", t->items[k].mark) && t->items[k].depth == t->items[i].depth)
            return k;
    return 0;
}

/* Returns the opening bracket that matches the closing one at i, or i if there is none. */
static size_t open_of(const struct tokens *t, size_t i, size_t limit)
{
    for (size_t k = i; k-- > 0 && k + limit >= i;)
        if (t->items[k].kind == TOKEN_MARK && strchr("([{", t->items[k].mark) && t->items[k].depth == t->items[i].depth)
            return k;
    return i;
}

static size_t tuple(const struct tokens *t, size_t i, struct span *span)
{
    size_t end = close_of(t, i, VALUE_TOKENS), numbers = 0;
    for (size_t k = i + 1; end && k < end; k++)
        if (t->items[k].kind == TOKEN_NUMBER)
            numbers++;
        else if (!(t->items[k].kind == TOKEN_MARK && strchr(",-+x*", t->items[k].mark)))
            return i;
    if (!end || numbers < 2)
        return i;
    *span = span_of(t, i, end + 1);
    return end + 1;
}

size_t stated_value(const struct tokens *t, size_t i, bool words, struct span *span, struct lineage_number *value)
{
    size_t start = i;
    *value = (struct lineage_number){0};
    while (i < t->n && i < start + 2 && t->items[i].kind == TOKEN_MARK && strchr("~+\"'`<>", t->items[i].mark))
        i++;
    if (i >= t->n)
        return start;
    const struct token *token = &t->items[i];
    if (token->kind == TOKEN_NUMBER) {
        size_t end = i + 1;
        *value = (struct lineage_number){token->has_value, token->value};
        /* 0.5*ttt_lr is an expression, not a value with a name. */
        if (end + 1 < t->n && (token_is_mark(t, end, '*') || token_is_mark(t, end, 'x')) && t->items[end].glued &&
            t->items[end + 1].glued && t->items[end + 1].kind == TOKEN_WORD && !token_is_mark(t, end + 2, '(')) {
            end += 2;
            value->present = false;
        }
        *span = span_of(t, i, end);
        return end;
    }
    if (token->kind == TOKEN_MARK && strchr("([{", token->mark)) {
        size_t end = tuple(t, i, span);
        return end > i ? end : start;
    }
    if (token->kind != TOKEN_WORD)
        return start;
    if (token_is(t, i, "sqrt") && token_is_mark(t, i + 1, '(') && token_is_kind(t, i + 2, TOKEN_NUMBER) &&
        token_is_mark(t, i + 3, ')')) {
        *value = (struct lineage_number){t->items[i + 2].has_value && t->items[i + 2].value >= 0,
                                         sqrt(fabs(t->items[i + 2].value))};
        *span = span_of(t, i, i + 4);
        return i + 4;
    }
    if (token_in(t, i, " true false none null on off enabled disabled inf ") || words) {
        *span = span_of(t, i, i + 1);
        return i + 1;
    }
    return start;
}

/* Finds the value that ends before token i. Returns its first token, or i if there is none. */
static size_t value_before(const struct tokens *t, size_t i, bool words, struct span *span, struct lineage_number *value)
{
    if (i == 0)
        return i;
    size_t first = i - 1;
    /* Skips the unit in "198s → 270s" and "14 layers → 7 layers". */
    if (t->items[first].kind == TOKEN_WORD && first > 0 && t->items[first - 1].kind == TOKEN_NUMBER)
        first--;
    if (t->items[first].kind == TOKEN_MARK && strchr("\"'`", t->items[first].mark) && first > 0)
        first--;
    if (t->items[first].kind == TOKEN_MARK && strchr(")]}", t->items[first].mark)) {
        size_t open = open_of(t, first, VALUE_TOKENS);
        if (open > 0 && token_is(t, open - 1, "sqrt"))
            open--;
        first = open;
    }
    if (first >= 2 && t->items[first].kind == TOKEN_WORD && t->items[first - 1].kind == TOKEN_MARK &&
        strchr("*x", t->items[first - 1].mark) && t->items[first - 2].kind == TOKEN_NUMBER)
        first -= 2;
    size_t end = stated_value(t, first, words, span, value);
    return end > first ? first : i;
}

/* Finds the words directly before token i that may be a name: *first and *end of the tokens; an empty range if there
 * are none. */
static void words_before(const struct tokens *t, size_t i, size_t *first, size_t *end)
{
    size_t k = i, words = 0;
    *first = *end = i;
    while (k > 0 && words < NAME_WORDS && same_clause(t, k - 1, i ? i - 1 : 0)) {
        size_t at = k - 1;
        if (t->items[at].kind == TOKEN_MARK && strchr(")]", t->items[at].mark)) {
            size_t open = open_of(t, at, BRACKET_TOKENS);
            if (open == at || open == 0)
                break;
            k = open;
            continue;
        }
        if (t->items[at].kind == TOKEN_MARK && strchr("\"'`/", t->items[at].mark) && (words || t->items[at].mark != '/')) {
            k = at;
            continue;
        }
        if (t->items[at].kind != TOKEN_WORD || token_in(t, at, STOP_WORDS) || (is_change_verb(t, at) && !has_byte(t, at, '_')))
            break;
        if (!words)
            *end = k;
        *first = k = at;
        words++;
        if (has_byte(t, at, '_') && words == 1)
            break;
    }
    if (!words)
        *first = *end = i;
}

/* Returns the index of an identifier with an underscore shortly before token i in its clause, or i if there is none. */
static size_t identifier_before(const struct tokens *t, size_t i)
{
    for (size_t k = i; k-- > 0 && k + 14 >= i && same_clause(t, k, i);)
        if (t->items[k].kind == TOKEN_WORD && has_byte(t, k, '_'))
            return k;
    return i;
}

/* Finds the name of the value whose first token is i. Returns false if there is none. */
static bool find_name(const struct tokens *t, size_t i, struct stated *c)
{
    size_t k = i, first, end, skipped = 0;
    bool bracket = false;
    for (; k > 0 && skipped < 5; k--, skipped++) {
        const struct token *before = &t->items[k - 1];
        if (!same_clause(t, k - 1, i) && !(before->kind == TOKEN_MARK && before->mark == ':'))
            break;
        if (before->kind == TOKEN_MARK && strchr("([", before->mark) && !bracket)
            bracket = true;
        else if (!(before->kind == TOKEN_MARK && strchr("=:~\"'`", before->mark)) && !token_in(t, k - 1, SKIPPED_WORDS))
            break;
    }
    words_before(t, k, &first, &end);
    if (first == end) {
        size_t found = identifier_before(t, i);
        if (found == i)
            return false;
        c->features[STATED_NAMELESS] = 1;
        first = found, end = found + 1;
    }
    c->name = span_of(t, first, end);
    /* ε in "label smoothing (ε=0.1)" belongs to the label smoothing. */
    if (end - first == 1 && !has_byte(t, first, '_') && first > 0) {
        size_t before = first, p_first, p_end;
        for (size_t look = 0; look < LOOK_BACK && before > 0 && t->items[first].depth &&
             t->items[before].depth >= t->items[first].depth; look++)
            before--;
        if (token_is_mark(t, before, '(') || token_is_mark(t, before, '[')) {
            words_before(t, before, &p_first, &p_end);
            if (p_first < p_end)
                c->prefix = span_of(t, p_first, p_end);
        }
    }
    return true;
}

/* Finds the old value in "(was A)", "(down from A)" or "instead of A" after a new value that ends before token i. */
static void find_old(const struct tokens *t, size_t i, struct stated *c)
{
    size_t end = i + 5 < t->n ? i + 5 : t->n;
    for (size_t k = i; k < end && same_clause(t, k, i ? i - 1 : 0); k++)
        if (token_in(t, k, " was from previously currently vs versus instead formerly than ")) {
            size_t value = k + 1 + (token_is(t, k + 1, "of") || token_is(t, k + 1, "the") || token_is(t, k + 1, "default"));
            struct span span;
            struct lineage_number number;
            if (value < t->n && stated_value(t, value, false, &span, &number) > value) {
                c->from = span;
                c->from_value = number;
                c->features[STATED_HAS_FROM] = 1;
            }
            return;
        }
}

static bool is_citation(const struct tokens *t, size_t i)
{
    const struct token *token = &t->items[i];
    if (token->kind == TOKEN_WORD && token->length > 4 && token_is_kind(t, i, TOKEN_WORD)) {
        const char *text = t->text + token->at;
        return (text[0] | 0x20) == 'e' && (text[1] | 0x20) == 'x' && (text[2] | 0x20) == 'p' && has_digit(t, i);
    }
    return token->kind == TOKEN_MARK && token->mark == '#' && token_is_kind(t, i + 1, TOKEN_NUMBER);
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
    for (size_t k = i, steps = 0; k-- > 0 && steps < LOOK_BACK; steps++)
        if (t->items[k].depth < t->items[i].depth)
            return t->items[k].kind == TOKEN_MARK && t->items[k].mark == '[';
    return false;
}

/* Sets the features of the context of a candidate whose name and value are in tokens [first, end). */
static void look_around(struct stated *c, const struct tokens *t, size_t first, size_t value, size_t end)
{
    float *f = c->features;
    size_t steps = 0, clause_start = first;
    f[STATED_FORM + c->form] = 1;
    f[STATED_HEADLINE] = t->items[value].clause == 0;
    f[STATED_FIRST_SENTENCE] = t->items[value].sentence == 0;
    f[STATED_IN_BRACKETS] = t->items[value].depth > 0;
    f[STATED_LATE] = (float)fmin(1, (double)t->items[value].at / 600);
    f[STATED_HAS_FROM] = c->from.length > 0;
    for (size_t k = first; k-- > 0 && steps < LOOK_BACK && same_clause(t, k, value); steps++) {
        clause_start = k;
        if (token_in(t, k, UNCHANGED_WORDS) && steps < 4)
            f[STATED_UNCHANGED] = 1;
        if (token_in(t, k, REASON_WORDS))
            f[STATED_REASON] = 1;
        if (is_citation(t, k))
            /* Text in brackets after a trial's id describes that trial. */
            f[STATED_PAST] = fmaxf(f[STATED_PAST], t->items[k].depth < t->items[value].depth && opens_behind(t, k, first) ? 2 : 1);
        if (steps < 6 && is_change_verb(t, k))
            f[STATED_VERB_BEFORE] = 1;
        if (steps < 4 && token_in(t, k, DERIVED_VERBS))
            f[STATED_DERIVED] = 1;
        if (steps < 2 && c->form >= FORM_EQUALS && token_in(t, k, COMPARED_WORDS))
            f[STATED_COMPARED] = 1;
    }
    f[STATED_VERB_FIRST] = is_change_verb(t, clause_start);
    f[STATED_VERB_NEXT] = first > 0 && (is_change_verb(t, first - 1) || token_in(t, first - 1, " with using via "));
    f[STATED_SHAPE] = t->items[value].depth > 0 && in_square_brackets(t, value);
    f[STATED_ENDS] = end >= t->n || !same_clause(t, end, value) || (t->items[end].kind == TOKEN_MARK && strchr(").,;:|]+", t->items[end].mark));
    for (size_t k = end; k < t->n && k < end + 3 && same_clause(t, k, value); k++)
        if (token_in(t, k, UNCHANGED_NEXT))
            f[STATED_UNCHANGED_NEXT] = 1;
    if (token_is_kind(t, end, TOKEN_WORD) && !token_in(t, end, STOP_WORDS) && same_clause(t, end, value))
        f[STATED_UNIT] = 1;
    f[STATED_RATIO] = t->items[end - 1].kind == TOKEN_NUMBER && t->items[end - 1].times;
}

static void look_at_name(struct stated *c, const struct tokens *t, stated_is_metric *is_metric, void *context)
{
    const char *name = t->text + c->name.at;
    size_t length = c->name.length, size;
    char lower[64];
    size_t n = length < sizeof lower - 1 ? length : sizeof lower - 1;
    for (size_t i = 0; i < n; i++)
        lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] | 0x20) : name[i];
    lower[n] = '\0';
    c->features[STATED_IDENTIFIER] = memchr(name, '_', length) != NULL;
    code_point(name, 0, length, &size);
    c->features[STATED_SYMBOL] = length == size;
    const char *init = strstr(lower, "init");
    c->features[STATED_INITIAL] = init && (init == lower || init[-1] == ' ' || init[-1] == '-') && (init[4] == '\0' || init[4] == 'i');
    c->features[STATED_METRIC] = is_metric && is_metric(context, name, length);
}

struct finder {
    const struct tokens *t;
    struct stated *list;
    size_t n;
    stated_is_metric *is_metric;
    void *context;
    size_t used_to; /* tokens before this one already belong to candidates */
};

static void keep(struct finder *f, struct stated *c, size_t name_value, size_t value, size_t end)
{
    size_t first = value;
    if (f->n == STATED_MAX)
        return;
    while (first > 0 && f->t->items[first - 1].at >= c->name.at)
        first--;
    look_around(c, f->t, first < name_value ? first : name_value, value, end);
    look_at_name(c, f->t, f->is_metric, f->context);
    bool headline = c->features[STATED_HEADLINE] > 0, titled = !headline;
    for (size_t i = 0; i < f->n && i < 8; i++) {
        if (f->list[i].form <= FORM_TO && f->list[i].score > 0)
            c->features[STATED_AFTER_ARROW] = 1;
        if (f->list[i].features[STATED_HEADLINE] > 0 && f->list[i].score > 0)
            titled = false;
    }
    c->features[STATED_TITLED] = titled && f->t->items[value].clause == 1;
    c->features[STATED_FORM_HEADLINE + c->form] = headline || c->features[STATED_TITLED] > 0;
    c->features[STATED_FORM_BRACKETS + c->form] = c->features[STATED_IN_BRACKETS];
    c->score = stated_score(c);
    f->list[f->n++] = *c;
    f->used_to = end;
}

static bool wordy(const struct tokens *t, struct span span)
{
    char c = t->text[span.at];
    return !((c >= '0' && c <= '9') || strchr("([{-.", c)) && c > 0;
}

/* A → B, where A or B may be words. */
static bool try_arrow(struct finder *f, size_t arrow)
{
    const struct tokens *t = f->t;
    struct stated c = {.form = FORM_ARROW};
    size_t left = value_before(t, arrow, true, &c.from, &c.from_value);
    size_t value = arrow + 1, end = stated_value(t, value, true, &c.to, &c.to_value);
    if (end == value)
        return false;
    /* A→B→C ends with C. */
    struct span span;
    struct lineage_number number;
    for (size_t k = end, next; k < t->n && t->items[k].kind == TOKEN_ARROW && k < arrow + 12; k = end) {
        if ((next = stated_value(t, k + 1, true, &span, &number)) == k + 1)
            break;
        c.to = span, c.to_value = number, value = k + 1, end = next;
    }
    if (left == arrow)
        c.from = (struct span){0};
    else if (wordy(t, c.from) && !wordy(t, c.to) && !has_digit(t, left)) {
        left = arrow; /* NAME → B */
        c.from = (struct span){0};
    } else if (wordy(t, c.to))
        c.form = has_digit(t, value) && !has_byte(t, value, '_') ? FORM_ARROW : FORM_ARROW_TEXT;
    if (!find_name(t, left, &c))
        return false;
    keep(f, &c, left, value, end);
    return true;
}

/* from A to B, from A → B, A to B. */
static bool try_to(struct finder *f, size_t i)
{
    const struct tokens *t = f->t;
    struct stated c = {.form = FORM_TO};
    bool from = token_is(t, i, "from");
    size_t old = from ? i + 1 : i, value;
    size_t end = stated_value(t, old, from, &c.from, &c.from_value);
    if (end == old || end >= t->n)
        return false;
    c.form = from ? FORM_FROM_TO : FORM_TO;
    if (token_is_kind(t, end, TOKEN_WORD) && !token_is(t, end, "to") && end + 1 < t->n)
        end++; /* a unit */
    if (!(token_is(t, end, "to") || (from && t->items[end].kind == TOKEN_ARROW)))
        return false;
    value = end + 1;
    if (value >= t->n || (end = stated_value(t, value, from, &c.to, &c.to_value)) == value)
        return false;
    if (from && wordy(t, c.from) && wordy(t, c.to))
        c.form = FORM_ARROW_TEXT;
    if (!find_name(t, i, &c))
        return false;
    keep(f, &c, i, value, end);
    return true;
}

static bool try_equals(struct finder *f, size_t equals)
{
    const struct tokens *t = f->t;
    struct stated c = {.form = FORM_EQUALS};
    size_t value = equals + 1, end = stated_value(t, value, false, &c.to, &c.to_value);
    if (equals == 0 || end == value || t->items[equals - 1].kind != TOKEN_WORD || !find_name(t, value, &c))
        return false;
    find_old(t, end, &c);
    keep(f, &c, equals, value, end);
    return true;
}

/* NAME of B, NAME at B, NAME to B, NAME B, B NAME. */
static bool try_bare(struct finder *f, size_t i)
{
    const struct tokens *t = f->t;
    struct stated c = {.form = FORM_NEXT_TO};
    size_t end = stated_value(t, i, false, &c.to, &c.to_value);
    if (end == i)
        return false;
    bool preposition = i > 0 && token_in(t, i - 1, " of at to by with ");
    bool opens = i > 0 && token_is_mark(t, i - 1, '(');
    bool named = token_is_kind(t, end, TOKEN_WORD) && !token_in(t, end, STOP_WORDS COMPARED_WORDS) && same_clause(t, end, i);
    if (preposition)
        c.form = FORM_PREPOSITION;
    else if (i == 0 || (opens ? named : t->items[i - 1].kind != TOKEN_WORD) || token_in(t, i - 1, STOP_WORDS) || is_change_verb(t, i - 1)) {
        /* 42 epochs, 4 learnable bins */
        size_t k = end, words = 0;
        while (k < t->n && words < 2 && t->items[k].kind == TOKEN_WORD && !token_in(t, k, STOP_WORDS) && same_clause(t, k, i))
            k++, words++;
        if (!words)
            return false;
        c.form = FORM_COUNT;
        c.name = span_of(t, end, k);
        find_old(t, k, &c);
        keep(f, &c, i, i, end);
        return true;
    }
    if (!find_name(t, i, &c))
        return false;
    find_old(t, end, &c);
    keep(f, &c, i, i, end);
    return true;
}

size_t stated_candidates(struct stated *candidates, const struct tokens *t, stated_is_metric *is_metric, void *context)
{
    struct finder f = {.t = t, .list = candidates, .is_metric = is_metric, .context = context};
    for (size_t i = 0; i < t->n && f.n < STATED_MAX; i++) {
        if (i < f.used_to)
            continue;
        /* Arrows are looked for first, because the value before an arrow belongs to it. */
        bool arrow_next = false;
        for (size_t k = i + 1; k < t->n && k <= i + 3 && !arrow_next; k++)
            arrow_next = t->items[k].kind == TOKEN_ARROW;
        const struct token *token = &t->items[i];
        if (token->kind == TOKEN_ARROW)
            try_arrow(&f, i);
        else if (token_is(t, i, "from") && try_to(&f, i))
            continue;
        else if (token->kind == TOKEN_MARK && token->mark == '=' && !arrow_next)
            try_equals(&f, i);
        else if ((token->kind == TOKEN_NUMBER || token_is(t, i, "sqrt")) && !arrow_next && !try_to(&f, i))
            try_bare(&f, i);
    }
    return f.n;
}

/*
 * Fitted by logistic regression on the labels of two released logs (tests/bench/ideas_bench.py has the measure); fitted
 * on either log alone they find about as much in the other. Positive sums are changes.
 */
/*
 * Fitted by logistic regression on the labels of two released logs (tests/bench/ideas_bench.py has the measure); fitted
 * on either log alone they find about as much in the other. Positive sums are changes.
 */
/*
 * Fitted by logistic regression on the labels of two released logs (tests/bench/ideas_bench.py has the measure); fitted
 * on either log alone they find about as much in the other. Positive sums are changes.
 */
/*
 * Fitted by logistic regression on the labels of two released logs (tests/bench/ideas_bench.py has the measure); fitted
 * on either log alone they find about as much in the other. Positive sums are changes.
 */
/*
 * Fitted by logistic regression on the labels of two released logs (tests/bench/ideas_bench.py has the measure); fitted
 * on either log alone they find about as much in the other. Positive sums are changes.
 */
/*
 * Fitted by logistic regression on the labels of two released logs (tests/bench/ideas_bench.py has the measure); fitted
 * on either log alone they find about as much in the other. Positive sums are changes.
 */
/*
 * Fitted by logistic regression on the labels of two released logs (tests/bench/ideas_bench.py has the measure); fitted
 * on either log alone they find about as much in the other. Positive sums are changes.
 */
double stated_score(const struct stated *c)
{
    static const double weights[N_STATED_FEATURES] = {
        [STATED_FORM + FORM_ARROW] = 0.88,
        [STATED_FORM + FORM_FROM_TO] = 0.13,
        [STATED_FORM + FORM_TO] = 0.25,
        [STATED_FORM + FORM_EQUALS] = 0.79,
        [STATED_FORM + FORM_PREPOSITION] = 0.08,
        [STATED_FORM + FORM_NEXT_TO] = -0.79,
        [STATED_FORM + FORM_COUNT] = -0.65,
        [STATED_FORM + FORM_ARROW_TEXT] = -0.88,
        [STATED_HEADLINE] = 1.44,
        [STATED_FIRST_SENTENCE] = 0.77,
        [STATED_IN_BRACKETS] = -0.59,
        [STATED_VERB_FIRST] = 0.14,
        [STATED_VERB_BEFORE] = 0.49,
        [STATED_UNCHANGED] = -1.27,
        [STATED_UNCHANGED_NEXT] = -0.83,
        [STATED_PAST] = -0.72,
        [STATED_REASON] = -0.76,
        [STATED_COMPARED] = -2.25,
        [STATED_INITIAL] = -2.10,
        [STATED_UNIT] = -0.98,
        [STATED_IDENTIFIER] = 0.51,
        [STATED_METRIC] = -3.00,
        [STATED_RATIO] = -0.51,
        [STATED_HAS_FROM] = 0.91,
        [STATED_AFTER_ARROW] = -0.96,
        [STATED_DERIVED] = -0.75,
        [STATED_SHAPE] = -2.83,
        [STATED_NAMELESS] = -0.44,
        [STATED_TITLED] = 0.09,
        [STATED_VERB_NEXT] = 0.73,
        [STATED_FORM_HEADLINE + FORM_ARROW] = 0.77,
        [STATED_FORM_HEADLINE + FORM_FROM_TO] = 0.44,
        [STATED_FORM_HEADLINE + FORM_TO] = 0.30,
        [STATED_FORM_HEADLINE + FORM_EQUALS] = 0.62,
        [STATED_FORM_HEADLINE + FORM_PREPOSITION] = 0.37,
        [STATED_FORM_HEADLINE + FORM_NEXT_TO] = -0.07,
        [STATED_FORM_HEADLINE + FORM_COUNT] = -0.19,
        [STATED_FORM_HEADLINE + FORM_ARROW_TEXT] = -0.71,
        [STATED_FORM_BRACKETS + FORM_ARROW] = -0.13,
        [STATED_FORM_BRACKETS + FORM_EQUALS] = 0.13,
        [STATED_FORM_BRACKETS + FORM_PREPOSITION] = -0.34,
        [STATED_FORM_BRACKETS + FORM_NEXT_TO] = -0.30,
        [STATED_FORM_BRACKETS + FORM_COUNT] = 0.27,
        [STATED_FORM_BRACKETS + FORM_ARROW_TEXT] = -0.21,
        [STATED_ENDS] = -0.66,
    };
    double sum = -1.94;
    for (size_t i = 0; i < N_STATED_FEATURES; i++)
        sum += weights[i] * (double)c->features[i];
    return sum;
}
