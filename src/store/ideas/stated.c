/* stated.c: finds the settings that a text states as changed. */
#include "stated.h"

#include <math.h>
#include <string.h>

enum {
    VALUE_TOKENS = 20, /* of a tuple */
    BRACKET_TOKENS = 16, /* longest bracket, in tokens, that is skipped in search of a name */
    NAME_WORDS = 5
};

#define SKIPPED_WORDS                                                                                                            \
    " from of to at by is as be up down only fixed only just about approximately value further again slightly even "             \
    "halved doubled tripled reduced raised lowered increased decreased extended shortened dropped cut bumped changed set "

static struct span span_of(const struct tokens *t, size_t first, size_t end)
{
    const struct token *last = &t->items[end - 1];
    return (struct span){t->items[first].at, last->at + last->length - t->items[first].at};
}

static bool has_byte(const struct tokens *t, size_t i, char c)
{
    return memchr(t->text + t->items[i].at, c, t->items[i].length) != NULL;
}

static size_t close_of(const struct tokens *t, size_t i, size_t limit)
{
    for (size_t k = i + 1; k < t->n && k <= i + limit; k++)
        if (token_is_of(t, k, ")]}") && t->items[k].depth == t->items[i].depth)
            return k;
    return 0;
}

/* Returns the opening bracket that matches the closing one at i, or i if there is none. */
static size_t open_of(const struct tokens *t, size_t i, size_t limit)
{
    for (size_t k = i; k-- > 0 && k + limit >= i;)
        if (token_is_of(t, k, "([{") && t->items[k].depth == t->items[i].depth)
            return k;
    return i;
}

static size_t tuple(const struct tokens *t, size_t i, struct span *span)
{
    size_t end = close_of(t, i, VALUE_TOKENS), numbers = 0;
    for (size_t k = i + 1; end && k < end; k++)
        if (t->items[k].kind == TOKEN_NUMBER)
            numbers++;
        else if (!token_is_of(t, k, ",-+x*"))
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
    while (i < t->n && i < start + 2 && token_is_of(t, i, "~+\"'`<>"))
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
        *value =
            (struct lineage_number){t->items[i + 2].has_value && t->items[i + 2].value >= 0, sqrt(fabs(t->items[i + 2].value))};
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
    if (token_is_of(t, first, "\"'`") && first > 0)
        first--;
    if (token_is_of(t, first, ")]}")) {
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
 * are none. If `numbered` is true, a number may end the name: "phase 1". */
static void words_before(const struct tokens *t, size_t i, bool numbered, size_t *first, size_t *end)
{
    size_t k = i, words = 0;
    *first = *end = i;
    while (k > 0 && words < NAME_WORDS && same_clause(t, k - 1, i ? i - 1 : 0)) {
        size_t at = k - 1;
        if (token_is_of(t, at, ")]")) {
            size_t open = open_of(t, at, BRACKET_TOKENS);
            if (open == at || open == 0)
                break;
            k = open;
            continue;
        }
        if (token_is_of(t, at, "\"'`/") && (words || t->items[at].mark != '/')) {
            k = at;
            continue;
        }
        /* "blocks 3-5", "phase 1": a number belongs to the noun before it. */
        if (t->items[at].kind == TOKEN_NUMBER && at > 0 && t->items[at - 1].kind == TOKEN_WORD &&
            (words ? !t->items[at].has_value : numbered) && !stated_is_stop(t, at - 1) && !stated_is_verb(t, at - 1)) {
            if (!words)
                *end = k;
            k = at;
            numbered = false;
            continue;
        }
        if (t->items[at].kind != TOKEN_WORD || stated_is_citation(t, at) || stated_is_stop(t, at) ||
            (stated_is_verb(t, at) && !has_byte(t, at, '_')))
            break;
        if (!words && *end == i)
            *end = k;
        *first = k = at;
        words++;
        if (has_byte(t, at, '_') && words == 1)
            break;
    }
    if (!words)
        *first = *end = i;
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
    words_before(t, k, false, &first, &end);
    if (first == end)
        return false;
    c->name = span_of(t, first, end);
    /* ε in "label smoothing (ε=0.1)" belongs to the label smoothing. */
    if (end - first == 1 && !has_byte(t, first, '_') && !token_has_digit(t, first) && first > 0) {
        size_t before = first, p_first, p_end;
        for (size_t look = 0;
             look < STATED_LOOK_BACK && before > 0 && t->items[first].depth && t->items[before].depth >= t->items[first].depth;
             look++)
            before--;
        if (token_is_mark(t, before, '(') || token_is_mark(t, before, '[')) {
            words_before(t, before, true, &p_first, &p_end);
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

static void look_at_name(struct stated *c, const struct tokens *t)
{
    const char *name = t->text + c->name.at;
    size_t length = c->name.length;
    char lower[64];
    size_t n = length < sizeof lower - 1 ? length : sizeof lower - 1;
    for (size_t i = 0; i < n; i++)
        lower[i] = ascii_lower(name[i]);
    lower[n] = '\0';
    const char *init = strstr(lower, "init");
    c->features[STATED_INITIAL] =
        init && (init == lower || init[-1] == ' ' || init[-1] == '-') && (init[4] == '\0' || init[4] == 'i');
}

struct finder {
    const struct tokens *t;
    struct stated *list;
    size_t n;
    stated_is_metric *is_metric;
    void *context;
    size_t used_to; /* tokens before this one already belong to candidates */
};

/* Adds a candidate whose value is in tokens [value, value_end) and whose form ends before token `end`. */
static void keep(struct finder *f, const struct stated *c, size_t name_value, size_t value, size_t value_end, size_t end)
{
    size_t first = name_value < value ? name_value : value;
    if (f->n == STATED_MAX || (f->is_metric && f->is_metric(f->context, f->t->text + c->name.at, c->name.length)))
        return;
    while (first > 0 && f->t->items[first - 1].at >= c->name.at)
        first--;
    f->used_to = end;
    if (!c->from.length && stated_is_old(f->t, first, value, end))
        return;
    f->list[f->n] = *c;
    f->list[f->n].removed =
        first > 0 && token_in(f->t, first - 1, " remove removing removes drop dropping drops disable disabling without ");
    look_at_name(&f->list[f->n], f->t);
    stated_look(f->list, f->n, f->t, first, value, value_end, end);
    f->n++;
}

static bool wordy(const struct tokens *t, struct span span)
{
    char c = t->text[span.at];
    return !(span.length > 4 && memcmp(t->text + span.at, "sqrt", 4) == 0) && !((c >= '0' && c <= '9') || strchr("([{-.", c)) &&
           c > 0;
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
    else if (wordy(t, c.from) && !wordy(t, c.to) && !token_has_digit(t, left)) {
        left = arrow; /* NAME → B */
        c.from = (struct span){0};
    } else if (wordy(t, c.to))
        c.form = token_has_digit(t, value) && !has_byte(t, value, '_') ? FORM_ARROW : FORM_ARROW_TEXT;
    if (!find_name(t, left, &c))
        return false;
    keep(f, &c, left, value, end, end);
    return true;
}

/* Returns the token behind "NAME=" at i, or i if that is not there; *name becomes the name. */
static size_t behind_equals(const struct tokens *t, size_t i, struct span *name)
{
    if (!token_is_kind(t, i, TOKEN_WORD) || !token_is_mark(t, i + 1, '='))
        return i;
    *name = span_of(t, i, i + 1);
    return i + 2;
}

/* from A to B, from A → B, A to B, from NAME=A to NAME=B. */
static bool try_to(struct finder *f, size_t i)
{
    const struct tokens *t = f->t;
    struct stated c = {.form = FORM_TO};
    bool from = token_is(t, i, "from");
    size_t old = from ? behind_equals(t, i + 1, &c.name) : i, value;
    size_t end = stated_value(t, old, from, &c.from, &c.from_value);
    if (end == old || end >= t->n)
        return false;
    c.form = from ? FORM_FROM_TO : FORM_TO;
    if (token_is_kind(t, end, TOKEN_WORD) && !token_is(t, end, "to") && end + 1 < t->n)
        end++; /* a unit */
    if (!(token_is(t, end, "to") || (from && t->items[end].kind == TOKEN_ARROW)))
        return false;
    value = behind_equals(t, end + 1, &c.name);
    if (value >= t->n || (end = stated_value(t, value, from, &c.to, &c.to_value)) == value)
        return false;
    if (from && wordy(t, c.from) && wordy(t, c.to))
        c.form = FORM_ARROW_TEXT;
    if (!c.name.length && !find_name(t, i, &c))
        return false;
    keep(f, &c, i, value, end, end);
    return true;
}

/* Returns the first token of the expression that ends before token i: 1/(loops+1). */
static size_t expression_before(const struct tokens *t, size_t i)
{
    size_t k = open_of(t, i - 1, BRACKET_TOKENS);
    while (k > 0 && t->items[k].glued &&
           (t->items[k - 1].kind == TOKEN_NUMBER || t->items[k - 1].kind == TOKEN_WORD || token_is_of(t, k - 1, "/*+-x")))
        k--;
    return k;
}

/* NAME=B, also behind an expression: "grad by 1/(loops+1)=1/3". */
static bool try_equals(struct finder *f, size_t equals)
{
    const struct tokens *t = f->t;
    struct stated c = {.form = FORM_EQUALS};
    size_t value = equals + 1, end = stated_value(t, value, false, &c.to, &c.to_value);
    if (equals == 0 || end == value || !(t->items[equals - 1].kind == TOKEN_WORD || token_is_mark(t, equals - 1, ')')))
        return false;
    size_t name = token_is_mark(t, equals - 1, ')') ? expression_before(t, equals) : value;
    if (!find_name(t, name, &c))
        return false;
    find_old(t, end, &c);
    keep(f, &c, equals, value, end, end);
    return true;
}

/* NAME × B */
static bool try_times(struct finder *f, size_t times)
{
    const struct tokens *t = f->t;
    struct stated c = {.form = FORM_TIMES};
    size_t value = times + 1, end = stated_value(t, value, false, &c.to, &c.to_value), name = times;
    if (end == value || t->items[value].kind != TOKEN_NUMBER || times == 0)
        return false;
    /* In "blocks 0-2 × 0.3" a range belongs to the name; "8 × 2" is a size. */
    if (t->items[times - 1].kind == TOKEN_NUMBER && !t->items[times - 1].has_value)
        name--;
    if (name == 0 || t->items[name - 1].kind != TOKEN_WORD || token_is_mark(t, end, 'x') || token_is_mark(t, end, '*') ||
        !find_name(t, name, &c))
        return false;
    keep(f, &c, name, value, end, end);
    return true;
}

/* clamp(0.5, 2.0), betas (0.9, 0.95), clamp(0.5, 2.0) to clamp(1.0, 2.0) */
static bool try_call(struct finder *f, size_t open)
{
    const struct tokens *t = f->t;
    struct stated c = {.form = FORM_CALL};
    size_t end = stated_value(t, open, false, &c.to, &c.to_value), value = open;
    if (end == open || open == 0 || t->items[open - 1].kind != TOKEN_WORD || stated_is_stop(t, open - 1) ||
        !find_name(t, open, &c))
        return false;
    if (end + 2 < t->n && (token_is(t, end, "to") || t->items[end].kind == TOKEN_ARROW)) {
        size_t next = end + 1 + (t->items[end + 1].kind == TOKEN_WORD);
        struct span span;
        struct lineage_number number;
        size_t last = next < t->n ? stated_value(t, next, false, &span, &number) : next;
        if (last > next) {
            c.from = c.to, c.from_value = c.to_value;
            c.to = span, c.to_value = number;
            c.form = t->items[end].kind == TOKEN_ARROW ? FORM_ARROW : FORM_TO;
            value = next, end = last;
        }
    }
    find_old(t, end, &c);
    keep(f, &c, open, value, end, end);
    return true;
}

/* Returns the end of at most `most` words at token i that may be a name. */
static size_t words_behind(const struct tokens *t, size_t i, size_t most)
{
    size_t k = i;
    while (k < t->n && k < i + most && t->items[k].kind == TOKEN_WORD && !stated_is_stop(t, k) && same_clause(t, k, i))
        k++;
    return k;
}

static bool ends_with(const struct tokens *t, size_t i, char c)
{
    return t->text[t->items[i].at + t->items[i].length - 1] == c;
}

/* "NAME gets B noun", "give NAME B noun": the words before and behind B are the name. */
static bool try_given(struct finder *f, size_t i)
{
    const struct tokens *t = f->t;
    struct stated c = {.form = FORM_COUNT};
    size_t end = stated_value(t, i, false, &c.to, &c.to_value), first, last, verb = i;
    if (end == i || i == 0)
        return false;
    bool given = token_in(t, i - 1, " get gets getting receive receives receiving got ");
    for (size_t k = i; !given && k-- > 0 && k + 8 > i && same_clause(t, k, i) && t->items[k].kind == TOKEN_WORD;)
        given = token_in(t, k, " give gives giving assign assigns assigning ");
    if (!given)
        return false;
    if (token_in(t, i - 1, " get gets getting receive receives receiving got "))
        verb = i - 1;
    if (verb == i && token_in(t, i - 1, " a an the "))
        verb--;
    size_t noun = end + token_is_mark(t, end, 'x'), behind = words_behind(t, noun, 2);
    words_before(t, verb, true, &first, &last);
    if (first == last || (behind == noun && verb != i - 1))
        return false;
    c.name = span_of(t, first, last);
    if (behind > noun) {
        c.prefix = c.name;
        c.name = span_of(t, noun, behind);
    }
    c.features[STATED_GIVEN] = 1;
    keep(f, &c, first, i, end, behind > noun ? behind : end);
    return true;
}

/* 42 epochs, 4 learnable bins, 1% of the input tokens; the words before a bracket belong to "(196k tokens, ..". */
static bool try_count(struct finder *f, size_t i)
{
    const struct tokens *t = f->t;
    struct stated c = {.form = FORM_COUNT};
    size_t end = stated_value(t, i, false, &c.to, &c.to_value), name = end, first, last;
    if (token_is(t, end, "of") && t->items[end - 1].kind == TOKEN_NUMBER && t->items[end - 1].percent)
        name += 1 + token_in(t, end + 1, " the all its each ");
    size_t behind = words_behind(t, name, 2);
    if (behind == name)
        return false;
    c.name = span_of(t, name, behind);
    if (i > 0 && token_is_mark(t, i - 1, '(')) {
        words_before(t, i - 1, true, &first, &last);
        if (first < last)
            c.prefix = span_of(t, first, last);
    }
    find_old(t, behind, &c);
    keep(f, &c, i, i, end, name == end ? end : behind);
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
    bool named = token_is_kind(t, end, TOKEN_WORD) && !stated_is_stop(t, end) && !token_in(t, end, STATED_COMPARED_WORDS) &&
                 same_clause(t, end, i);
    if (preposition) {
        size_t behind = words_behind(t, end, 3);
        c.form = FORM_PREPOSITION;
        /* "average of 5 snapshots": the noun behind the number belongs to the name. */
        if (c.to_value.present && behind > end && ends_with(t, behind - 1, 's') && token_in(t, i - 1, " of with ")) {
            size_t first, last;
            words_before(t, i - 1, false, &first, &last);
            if (first < last)
                c.prefix = span_of(t, first, last);
            c.name = span_of(t, end, behind);
            keep(f, &c, first, i, end, end);
            return true;
        }
    } else if (i == 0 || (opens ? named : t->items[i - 1].kind != TOKEN_WORD) || stated_is_stop(t, i - 1) ||
               stated_is_verb(t, i - 1))
        return try_count(f, i);
    if (!find_name(t, i, &c))
        return false;
    find_old(t, end, &c);
    keep(f, &c, i, i, end, end);
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
        else if (token->kind == TOKEN_MARK && token->mark == 'x' && !arrow_next)
            try_times(&f, i);
        else if (token->kind == TOKEN_MARK && token->mark == '(')
            try_call(&f, i);
        else if (token_is_mark(t, i + 1, '/') && t->items[i + 1].glued)
            continue; /* an expression such as 1/(loops+1) */
        else if ((token->kind == TOKEN_NUMBER || token_is(t, i, "sqrt")) && !arrow_next && !try_to(&f, i) && !try_given(&f, i))
            try_bare(&f, i);
    }
    stated_look_ahead(candidates, f.n, t);
    for (size_t i = 0; i < f.n; i++)
        candidates[i].score = stated_score(&candidates[i]);
    return f.n;
}
