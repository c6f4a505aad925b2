/* scan_program.c: the statements of Python, C, C++ and CUDA, and the classes and functions around them; and which reader a file gets. */
#include "literals.h"

enum { SCOPES_MAX = 64, SCOPE_NAME_MAX = 200 };

struct program {
    struct reading r;
    struct {
        const char *scope;
        uint32_t indent; /* Python: of the line of its name */
        bool function, list; /* list: the entries of an enum, separated by commas */
    } scopes[SCOPES_MAX]; /* the first is the file's */
    size_t n, deeper; /* scopes; open ones beyond SCOPES_MAX */
    uint32_t condition; /* indentation of the if, for or while around a statement of Python; UINT32_MAX for none */
};

static void enter(struct program *p, uint32_t line)
{
    p->r.scope = p->scopes[p->n - 1].scope;
    p->r.in_function = p->scopes[p->n - 1].function;
    literals_add_scope(p->r.set, line, p->r.scope);
}

/* The scope around with the name at a token behind a dot, or without it if it is too long or cannot be shown. */
static const char *inner_scope(struct program *p, size_t name)
{
    const char *outer = p->scopes[p->n - 1].scope;
    const size_t length = p->r.tokens.items[name].length;
    char text[SCOPE_NAME_MAX];
    if (strlen(outer) + length + 2 > sizeof text || !literal_name_ok(code_text(&p->r.tokens, name), length))
        return outer;
    const int n = snprintf(text, sizeof text, "%s%s%.*s", outer, *outer ? "." : "", (int)length, code_text(&p->r.tokens, name));
    const char *scope = arena_text(&p->r.set->arena, text, (size_t)n);
    p->r.set->failed = p->r.set->failed || !scope;
    return scope ? scope : outer;
}

/* Opens a class, a function, or in C a block, of which `name` is the token with the name, 0 for none. */
static void open_scope(struct program *p, size_t name, uint32_t indent, bool function, bool list, uint32_t line)
{
    if (p->n == SCOPES_MAX) {
        p->deeper++;
        return;
    }
    p->scopes[p->n].scope = name ? inner_scope(p, name) : p->scopes[p->n - 1].scope;
    p->scopes[p->n].function = function || p->scopes[p->n - 1].function;
    p->scopes[p->n].indent = indent;
    p->scopes[p->n++].list = list;
    enter(p, line);
}

/* ---- assignments, in both languages ---- */

/* The target tokens[from..to): a name with dots, without a leading self or this, or an entry: os.environ["LR"], config["lr"]. In
 * C, the last such name, which is behind its type. No target has the name NULL. */
static struct target target_of(const struct program *p, size_t from, size_t to)
{
    const struct code_tokens *t = &p->r.tokens;
    struct target target = {.name = NULL};
    size_t first = to;
    if (t->language == LANGUAGE_C) {
        size_t last = from;
        for (size_t i = from; i < to; i++) {
            if (is_opening(code_op(t, i)))
                i = code_close(t, i, to);
            else if (t->items[i].kind == CODE_NAME)
                last = i + 1;
        }
        to = last;
    } else if (to >= from + 4 && code_op(t, to - 1) == ']' && code_op(t, to - 3) == '[' && t->items[to - 2].kind == CODE_STRING) {
        target.name = code_string(t, to - 2, &target.length);
        return target;
    }
    if (to > from && t->items[to - 1].kind == CODE_NAME)
        first = to - 1;
    while (first >= from + 2 && t->items[first - 2].kind == CODE_NAME &&
           (code_op(t, first - 1) == '.' || code_is(t, first - 1, "->") || code_is(t, first - 1, "::")))
        first -= 2;
    if (first >= to || (first > from && t->language != LANGUAGE_C))
        return target;
    if (to - first > 2 && code_among(t, first, " self this cls "))
        first += 2;
    target.name = code_text(t, first);
    target.length = code_end(t, to - 1) - t->items[first].at;
    return target;
}

/* Reads tokens[value..to), which is assigned to tokens[from..end). A variable of a function is not a setting, nor is a value of
 * Python that holds only under a condition; but an attribute or entry of another object, config.lr = 0.1, is a setting wherever it is
 * set. */
static void read_value(struct program *p, size_t from, size_t end, size_t value, size_t to)
{
    struct target target = target_of(p, from, end);
    const bool other = end > from + 1 && !code_among(&p->r.tokens, from, " self cls ");
    target.setting = p->r.tokens.language == LANGUAGE_C
                         ? !p->r.in_function
                         : target.length && p->condition == UINT32_MAX && (other || !p->r.in_function);
    expression_read(&p->r, value, to, target);
}

/* The operator of x *= 0.5 in [from, to); `to` if there is none. */
static size_t find_change(const struct code_tokens *t, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const struct code_token *op = &t->items[i];
        if (is_opening(code_op(t, i)))
            i = code_close(t, i, to);
        else if (op->kind == CODE_OP && op->length >= 2 && t->text[op->at + op->length - 1] == '=' &&
                 !strchr("=<>!:", t->text[op->at]))
            return i;
    }
    return to;
}

/* One declaration, assignment, dictionary's entry (in a part of a file), or expression. */
static void read_part(struct program *p, size_t from, size_t to)
{
    const struct code_tokens *t = &p->r.tokens;
    const bool c = t->language == LANGUAGE_C;
    const struct target none = {.name = NULL};
    const size_t equals = code_find(t, from, to, "=", !c);
    if (equals < to) {
        const size_t before = code_find(t, from, equals, "=", true), first = before < equals ? before + 1 : from; /* a = b = 3 */
        const size_t colon = c ? equals : code_find(t, first, equals, ":", false);
        read_value(p, first, colon, equals + 1, to);
        return;
    }
    const size_t change = find_change(t, from, to);
    if (change < to) /* x *= 0.5 is another setting than x = 0.5, and not a new one */
        expression_read(&p->r, change + 1, to, target_of(p, from, change));
    else if (!c && to > from + 2 && t->items[from].kind == CODE_STRING && code_op(t, from + 1) == ':') {
        struct target entry = none;
        entry.name = code_string(t, from, &entry.length);
        expression_read(&p->r, from + 2, to, entry);
    } else
        expression_read(&p->r, from, to, none);
}

/* Reads each part of tokens[from..to) between separators outside of brackets. */
static void read_parts(struct program *p, size_t from, size_t to, const char *separator)
{
    for (size_t end; from < to; from = end + 1) {
        end = code_find(&p->r.tokens, from, to, separator, false);
        read_part(p, from, end);
    }
}

/* ---- Python ---- */

/* How many parts commas outside of brackets separate. */
static size_t count_parts(const struct code_tokens *t, size_t from, size_t to)
{
    size_t n = 0;
    for (size_t at = from; at < to; at = code_find(t, at, to, ",", false) + 1)
        n++;
    return n;
}

static void read_simple(struct program *p, size_t from, size_t to)
{
    const struct code_tokens *t = &p->r.tokens;
    /* In a part of a file, an argument or entry on a line of its own ends with a comma. */
    if (to > from + 1 && code_op(t, to - 1) == ',')
        to--;
    const size_t equals = code_find(t, from, to, "=", true), n = count_parts(t, from, equals);
    if (equals == to || n < 2 || n != count_parts(t, equals + 1, to)) {
        read_part(p, from, to);
        return;
    }
    for (size_t name = from, value = equals + 1; name < equals;) { /* a, b = 1, 2 */
        const size_t name_end = code_find(t, name, equals, ",", false), value_end = code_find(t, value, to, ",", false);
        if (target_of(p, name, name_end).name)
            read_value(p, name, name_end, value, value_end);
        name = name_end + 1;
        value = value_end + 1;
    }
}

static void read_python(struct program *p, size_t from, size_t to);

/* def NAME(PARAMETERS): and class NAME(BASES): with what follows on the same line. */
static void read_definition(struct program *p, size_t keyword, size_t to, uint32_t indent)
{
    const struct code_tokens *t = &p->r.tokens;
    const bool function = code_is(t, keyword, "def");
    const size_t name = keyword + 1, open = name + 1;
    if (name >= to || t->items[name].kind != CODE_NAME)
        return;
    open_scope(p, name, indent, function, false, t->items[name].line);
    const bool list = open < to && code_op(t, open) == '(';
    const size_t close = list ? code_close(t, open, to) : open;
    if (list && function)
        parameters_read(&p->r, open + 1, close);
    const size_t colon = close < to ? code_find(t, close + 1 < to ? close + 1 : to, to, ":", false) : to;
    if (colon + 1 < to)
        read_python(p, colon + 1, to);
}

/* A statement, or several on one line: `if x: y = 3`. */
static void read_python(struct program *p, size_t from, size_t to)
{
    const struct code_tokens *t = &p->r.tokens;
    while (from < to && code_among(t, from, " if elif while with for else try except finally match case ")) {
        size_t colon = code_find(t, from, to, ":", false), value = from + 1;
        struct target target = {.name = NULL};
        if (colon == to)
            break;
        /* The settings of a script are often below if __name__ == "__main__". */
        if (code_among(t, from, " if elif else for while except case ") && !code_is(t, value, "__name__") &&
            p->condition == UINT32_MAX)
            p->condition = t->items[from].indent;
        /* for epoch in range(3): 3 is reported under the name of epoch */
        if (code_is(t, from, "for") && value + 2 < colon && code_is(t, value + 1, "in")) {
            target = target_of(p, value, value + 1);
            value += 2;
        }
        if (value < colon && !code_is(t, from, "except"))
            expression_read(&p->r, value, colon, target);
        from = colon + 1;
    }
    if (from >= to || code_among(t, from, " import from global nonlocal del pass break continue assert raise print "))
        return;
    if (code_among(t, from, " return yield ")) {
        /* What a function returns is reported under its name. */
        const char *dot = strrchr(p->r.scope, '.'), *name = dot ? dot + 1 : p->r.scope;
        expression_read(&p->r, from + 1, to, (struct target){.name = name, .length = strlen(name)});
    } else
        read_simple(p, from + (code_op(t, from) == '@'), to);
}

static void scan_python(struct program *p)
{
    const struct code_tokens *t = &p->r.tokens;
    for (size_t from = 0, to; from < t->n && !p->r.set->failed; from = to + 1) {
        for (to = from; to < t->n && t->items[to].kind != CODE_NEWLINE && code_op(t, to) != ';'; to++)
            ;
        if (to == from)
            continue;
        const uint32_t indent = t->items[from].indent;
        const size_t n = p->n, keyword = from + code_is(t, from, "async");
        if (from == 0 || t->items[from - 1].kind == CODE_NEWLINE) {
            while (p->n > 1 && p->scopes[p->n - 1].indent >= indent)
                p->n--;
            if (p->n != n)
                enter(p, t->items[from].line);
            if (p->condition != UINT32_MAX && indent <= p->condition)
                p->condition = UINT32_MAX;
        }
        if (code_is(t, keyword, "def") || code_is(t, keyword, "class"))
            read_definition(p, keyword, to, indent);
        else
            read_python(p, from, to);
    }
}

/* ---- C ---- */

/* Opens the block whose head is tokens[from..open): a function, a type, or a statement's body, which has no name. */
static void open_block(struct program *p, size_t from, size_t open)
{
    const struct code_tokens *t = &p->r.tokens;
    size_t name = 0;
    bool type = false, list = false;
    for (size_t i = from; i < open && !name; i++) {
        if (code_among(t, i, " struct union enum class namespace ")) {
            type = true;
            list = code_is(t, i, "enum");
            if (i + 1 < open && t->items[i + 1].kind == CODE_NAME && !code_is(t, i + 1, "class"))
                name = i + 1;
        } else if (code_among(t, i, " if for while switch do else try catch return ")) {
            break;
        } else if (code_op(t, i) == '(' && i > from && t->items[i - 1].kind == CODE_NAME) {
            name = i - 1;
            type = false;
        }
    }
    open_scope(p, name, 0, name && !type, list, t->items[from < open ? from : open].line);
}

static void close_block(struct program *p, uint32_t line)
{
    if (p->deeper)
        p->deeper--;
    else if (p->n > 1) {
        p->n--;
        enter(p, line);
    }
}

static void read_c(struct program *p, size_t from, size_t to)
{
    const struct code_tokens *t = &p->r.tokens;
    bool result = false;
    while (from < to && code_among(t, from, " if for while switch else return do case default using typedef goto ")) {
        const bool header = code_among(t, from, " if for while switch ");
        if (code_among(t, from, " using typedef goto "))
            return;
        result = code_is(t, from++, "return");
        if (header && from < to && code_op(t, from) == '(') {
            const size_t close = code_close(t, from, to);
            read_parts(p, from + 1, close, ";"); /* for (int i = 0; i < 10; i++) */
            from = close + 1;
        }
    }
    if (from < to && result)
        expression_read(&p->r, from, to, (struct target){.name = NULL});
    else
        read_parts(p, from, to, ",");
}

/* #define NAME VALUE. Returns the token that ends the line. */
static size_t read_directive(struct program *p, size_t at)
{
    const struct code_tokens *t = &p->r.tokens;
    size_t end = at;
    while (end < t->n && t->items[end].kind != CODE_NEWLINE)
        end++;
    const size_t name = at + 2, value = at + 3;
    const bool define = value < end && code_is(t, at + 1, "define") && t->items[name].kind == CODE_NAME;
    if (define && !(code_op(t, value) == '(' && t->items[value].at == code_end(t, name))) { /* not of a macro with parameters */
        struct reading file = p->r;
        file.scope = "";
        expression_read(&file, value, end,
                        (struct target){.name = code_text(t, name), .length = t->items[name].length, .setting = true});
    }
    return end;
}

static void scan_c(struct program *p)
{
    const struct code_tokens *t = &p->r.tokens;
    size_t from = 0;
    bool value = false; /* an = or return outside of brackets came before */
    for (size_t i = 0; i < t->n && !p->r.set->failed; i++) {
        const char c = code_op(t, i);
        value = value || c == '=' || code_is(t, i, "return");
        if (c == '#') {
            const size_t end = read_directive(p, i);
            from = from == i ? end + 1 : from;
            i = end;
        } else if (c == '(' || c == '[' || (c == '{' && value)) {
            i = code_close(t, i, t->n);
        } else if (c == '{' || c == '}' || c == ';' || (c == ',' && p->scopes[p->n - 1].list)) {
            read_c(p, from, i);
            if (c == '{')
                open_block(p, from, i);
            else if (c == '}')
                close_block(p, t->items[i].line);
            from = i + 1;
            value = false;
        }
    }
    if (!p->r.set->failed)
        read_c(p, from, t->n);
}

/* ---- the language of a file ---- */

static void scan_program(struct literal_set *set, enum language language, const char *scope, bool in_function, const char *text,
                         size_t length)
{
    struct program *p = calloc(1, sizeof *p);
    if (!p) {
        set->failed = true;
        return;
    }
    p->r.set = set;
    p->n = 1;
    p->condition = UINT32_MAX;
    p->scopes[0].scope = scope;
    p->scopes[0].function = in_function;
    enter(p, 1);
    code_tokens_split(&p->r.tokens, language, text, length);
    set->failed = set->failed || p->r.tokens.failed;
    (language == LANGUAGE_PYTHON ? scan_python : scan_c)(p);
    free(p->r.tokens.items);
    free(p);
}

static const struct {
    enum language language;
    const char *ends;
} languages[] = {{LANGUAGE_PYTHON, " py pyi "},          {LANGUAGE_C, " c h cc cpp cxx hh hpp hxx cu cuh "},
                 {LANGUAGE_SHELL, " sh bash zsh env "},  {LANGUAGE_YAML, " yaml yml "},
                 {LANGUAGE_TOML, " toml ini cfg conf "}, {LANGUAGE_JSON, " json jsonc json5 "}};

enum language language_of(const char *path, const char *text, size_t length)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    char first[128];
    if (dot && snprintf(first, sizeof first, " %s ", dot + 1) < (int)sizeof first)
        for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
            if (!strchr(dot, ' ') && strstr(languages[i].ends, first))
                return languages[i].language;
    if (dot || length < 3 || text[0] != '#' || text[1] != '!')
        return LANGUAGE_NONE;
    /* #!/bin/sh, #!/usr/bin/env python3 */
    const char *end = memchr(text, '\n', length);
    snprintf(first, sizeof first, "%.*s",
             (int)(end && end - text < 127 ? end - text
                   : length < 127          ? (ptrdiff_t)length
                                           : 127),
             text);
    return strstr(first, "python") ? LANGUAGE_PYTHON : strstr(first, "sh") ? LANGUAGE_SHELL : LANGUAGE_NONE;
}

void literals_read(struct literal_set *set, enum language language, const char *scope, bool in_function, const char *text,
                   size_t length)
{
    if (language == LANGUAGE_PYTHON || language == LANGUAGE_C)
        scan_program(set, language, scope, in_function, text, length);
    else if (language == LANGUAGE_SHELL)
        scan_shell(set, text, length);
    else if (language != LANGUAGE_NONE)
        scan_configuration(set, language, text, length);
}
