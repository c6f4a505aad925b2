/* scan_python.c: the statements of a Python file, and the classes and functions around them. */
#include <stdlib.h>
#include <string.h>

#include "expressions.h"
#include "scan.h"

enum { SCOPES_MAX = 64, SCOPE_NAME_MAX = 200 };

struct python {
    struct reading r;
    struct {
        uint32_t indent;
        const char *scope;
        bool function;
    } scopes[SCOPES_MAX]; /* the first is the file's */
    size_t n;
    uint32_t condition; /* indentation of the if, for or while around the statement; UINT32_MAX for none */
};

static size_t find_close(const struct code_tokens *t, size_t open, size_t to)
{
    size_t depth = 0;
    for (size_t i = open; i < to; i++) {
        if (code_op(t, i, '(') || code_op(t, i, '[') || code_op(t, i, '{'))
            depth++;
        else if ((code_op(t, i, ')') || code_op(t, i, ']') || code_op(t, i, '}')) && --depth == 0)
            return i;
    }
    return to;
}

static void enter(struct python *p)
{
    p->r.scope = p->scopes[p->n - 1].scope;
    p->r.in_function = p->scopes[p->n - 1].function;
}

/* Enters a class or function. Its scope ends at the next line that is indented no further than its first line. */
static void open_scope(struct python *p, size_t name, uint32_t indent, bool function)
{
    const struct code_token *t = &p->r.tokens.items[name];
    size_t outer = strlen(p->r.scope), length = t->length;
    char text[SCOPE_NAME_MAX];
    if (p->n == SCOPES_MAX || outer + length + 2 > sizeof text ||
        !literal_name_ok(p->r.tokens.text + t->at, length))
        return;
    memcpy(text, p->r.scope, outer);
    if (outer)
        text[outer++] = '.';
    memcpy(text + outer, p->r.tokens.text + t->at, length);
    const char *scope = arena_text(&p->r.set->arena, text, outer + length);
    if (!scope) {
        p->r.set->failed = true;
        return;
    }
    p->scopes[p->n].indent = indent;
    p->scopes[p->n].scope = scope;
    p->scopes[p->n].function = function || p->scopes[p->n - 1].function;
    p->n++;
    enter(p);
    literals_add_scope(p->r.set, t->line, scope);
}

static void close_scopes(struct python *p, uint32_t indent, uint32_t line)
{
    size_t n = p->n;
    while (p->n > 1 && p->scopes[p->n - 1].indent >= indent)
        p->n--;
    if (p->n != n) {
        enter(p);
        literals_add_scope(p->r.set, line, p->r.scope);
    }
}

/* ---- statements ---- */

/* The first `op` outside of brackets in [from, to), or to. With `last`, the last one. */
static size_t find_outside(const struct code_tokens *t, size_t from, size_t to, const char *op, bool last)
{
    size_t depth = 0, found = to;
    for (size_t i = from; i < to; i++) {
        if (t->items[i].kind != CODE_OP)
            continue;
        char c = t->text[t->items[i].at];
        if (t->items[i].length == 1 && is_opening(c))
            depth++;
        else if (t->items[i].length == 1 && is_closing(c))
            depth -= depth > 0;
        else if (depth == 0 && code_is(t, i, op)) {
            found = i;
            if (!last)
                break;
        }
    }
    return found;
}

/* Whether a new value at this place is a new setting. A variable of a function is not, nor is a value that holds only
 * under a condition; but an attribute or entry of another object, config.lr = 0.1, is a setting wherever it is set. */
static bool is_setting(const struct python *p, const struct target *target, size_t from, size_t end)
{
    const struct code_tokens *t = &p->r.tokens;
    bool other = end > from + 1 && !code_among(t, from, " self cls ");
    return target->length && p->condition == UINT32_MAX && (other || !p->r.in_function);
}

/* a, b = 1, 2: each name and its value, if there are equally many. */
static bool read_pairs(struct python *p, size_t from, size_t equals, size_t to)
{
    const struct code_tokens *t = &p->r.tokens;
    size_t names = 0, values = 0;
    for (size_t i = from; i < equals; i = find_outside(t, i, equals, ",", false) + 1)
        names++;
    for (size_t i = equals + 1; i < to; i = find_outside(t, i, to, ",", false) + 1)
        values++;
    if (names < 2 || names != values)
        return false;
    for (size_t name = from, value = equals + 1; name < equals && value < to;) {
        size_t name_end = find_outside(t, name, equals, ",", false), value_end = find_outside(t, value, to, ",", false);
        struct target target = {.name = ""};
        bool named = target_of(&target, &p->r, name, name_end);
        target.setting = is_setting(p, &target, name, name_end);
        if (named)
            expression_read(&p->r, value, value_end, &target);
        name = name_end + 1;
        value = value_end + 1;
    }
    return true;
}

/* An assignment, a dictionary's entry (in a part of a file), or an expression. */
static void read_simple(struct python *p, size_t from, size_t to)
{
    const struct code_tokens *t = &p->r.tokens;
    struct target target = {.name = ""};
    /* In a part of a file, an argument or entry on a line of its own ends with a comma. */
    if (to > from + 1 && code_op(t, to - 1, ','))
        to--;
    size_t equals = find_outside(t, from, to, "=", true);
    if (equals == to) {
        for (size_t i = from; i < to && equals == to; i++)
            if (t->items[i].kind == CODE_OP && t->items[i].length >= 2 && t->text[t->items[i].at + t->items[i].length - 1] == '=' &&
                !strchr("=<>!:", t->text[t->items[i].at]))
                equals = i;
        bool entry = equals == to && to > from + 2 && t->items[from].kind == CODE_STRING && code_op(t, from + 1, ':');
        if (entry) {
            target.name = code_string(t, from, &target.length);
            expression_read(&p->r, from + 2, to, &target);
        } else if (equals != to) {
            /* x *= 0.5 is another setting than x = 0.5, and not a new one */
            struct target changed = {.name = ""};
            if (target_of(&changed, &p->r, from, equals) && equals + 2 <= to) {
                expression_read(&p->r, equals + 1, to, &changed);
            }
        } else
            expression_read(&p->r, from, to, &target);
        return;
    }
    size_t before = find_outside(t, from, equals, "=", true);
    if (before + 1 < equals) /* a = b = 3 */
        from = before + 1;
    if (read_pairs(p, from, equals, to))
        return;
    size_t colon = find_outside(t, from, equals, ":", false), end = colon < equals ? colon : equals;
    if (!target_of(&target, &p->r, from, end))
        target = (struct target){.name = ""};
    target.setting = is_setting(p, &target, from, end);
    expression_read(&p->r, equals + 1, to, &target);
}

static void read_statement(struct python *p, size_t from, size_t to);

/* def NAME(PARAMETERS): and class NAME(BASES): with what follows on the same line. */
static void read_definition(struct python *p, size_t keyword, size_t to, uint32_t indent)
{
    const struct code_tokens *t = &p->r.tokens;
    bool function = code_is(t, keyword, "def");
    size_t name = keyword + 1;
    if (name >= to || t->items[name].kind != CODE_NAME)
        return;
    open_scope(p, name, indent, function);
    size_t open = name + 1, close = open;
    if (open < to && code_op(t, open, '(')) {
        close = find_close(t, open, to);
        if (function)
            parameters_read(&p->r, open + 1, close);
    }
    size_t colon = close < to ? find_outside(t, close + 1 < to ? close + 1 : to, to, ":", false) : to;
    if (colon + 1 < to)
        read_statement(p, colon + 1, to);
}

/* A statement, or several on one line: `if x: y = 3`. */
static void read_statement(struct python *p, size_t from, size_t to)
{
    const struct code_tokens *t = &p->r.tokens;
    struct target none = {.name = ""};
    while (from < to && code_among(t, from, " if elif while with for else try except finally match case ")) {
        size_t colon = find_outside(t, from, to, ":", false), value = from + 1;
        struct target target = none;
        if (colon == to)
            break;
        /* The settings of a script are often below if __name__ == "__main__". */
        if (code_among(t, from, " if elif else for while except case ") && !code_is(t, value, "__name__") &&
            p->condition == UINT32_MAX)
            p->condition = t->items[from].indent;
        /* for epoch in range(3): 3 is reported under the name of epoch */
        if (code_is(t, from, "for") && value + 2 < colon && code_is(t, value + 1, "in") &&
            target_of(&target, &p->r, value, value + 1))
            value += 2;
        if (value < colon && !code_is(t, from, "except"))
            expression_read(&p->r, value, colon, &target);
        from = colon + 1;
    }
    if (from >= to || code_among(t, from, " import from global nonlocal del pass break continue assert raise print "))
        return;
    if (code_op(t, from, '@'))
        from++;
    if (code_among(t, from, " return yield ")) {
        /* What a function returns is reported under its name. */
        const char *dot = strrchr(p->r.scope, '.');
        struct target result = {.name = dot ? dot + 1 : p->r.scope};
        result.length = strlen(result.name);
        expression_read(&p->r, from + 1, to, &result);
    } else
        read_simple(p, from, to);
}

void scan_python(struct literal_set *set, const char *scope, bool in_function, const char *text, size_t length)
{
    struct python *p = calloc(1, sizeof *p);
    if (!p) {
        set->failed = true;
        return;
    }
    p->r = (struct reading){.set = set, .scope = scope};
    p->n = 1;
    p->condition = UINT32_MAX;
    p->scopes[0].scope = scope;
    p->scopes[0].function = in_function;
    enter(p);
    code_tokens_split(&p->r.tokens, LANGUAGE_PYTHON, text, length, 1);
    p->r.pending = malloc((p->r.tokens.n + 1) * sizeof *p->r.pending);
    if (p->r.tokens.failed || !p->r.pending)
        set->failed = true;
    literals_add_scope(set, 1, scope);
    const struct code_tokens *t = &p->r.tokens;
    for (size_t from = 0, to; from < t->n && !set->failed; from = to + 1) {
        for (to = from; to < t->n && t->items[to].kind != CODE_NEWLINE && !code_op(t, to, ';'); to++)
            ;
        if (to == from)
            continue;
        bool first = from == 0 || t->items[from - 1].kind == CODE_NEWLINE;
        uint32_t indent = t->items[from].indent;
        if (first) {
            close_scopes(p, indent, t->items[from].line);
            if (p->condition != UINT32_MAX && indent <= p->condition)
                p->condition = UINT32_MAX;
        }
        size_t keyword = from + code_is(t, from, "async");
        if (code_is(t, keyword, "def") || code_is(t, keyword, "class"))
            read_definition(p, keyword, to, indent);
        else
            read_statement(p, from, to);
    }
    free(p->r.pending);
    code_tokens_release(&p->r.tokens);
    free(p);
}
