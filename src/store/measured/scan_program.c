/*
 * scan_program.c: the statements of Python, C, C++ and CUDA, and the classes and functions around them; and which reader a file
 * gets.
 */
#include "expressions.h"

#include <stdlib.h>
#include <string.h>

/* ---- entries of YAML, TOML and JSON files by their dotted names.
 *
 * These readers accept what a parser would refuse: templates, comments in JSON, and the part of a file that a diff
 * shows. An entry of a list has the name of the list, without its index, so inserting an element moves no other.
 */

enum { LEVELS_MAX = 32 };

struct config {
    struct reading r;
    char path[LITERAL_NAME_MAX]; /* of TOML the section, of YAML the keys of the levels */
    size_t section;              /* length of the path of the section */
    struct {
        size_t column, path; /* of YAML: columns before the key; length of the path with the key */
    } levels[LEVELS_MAX];
    size_t n;
    size_t skip; /* columns: deeper lines belong to a text block or to a key that does not fit; SIZE_MAX for none */
};

/* Adds a key, which is tokens[from..to), to the path of a length. Returns the new length, 0 if it is too long. */
static size_t add_key(struct config *f, size_t length, size_t from, size_t to)
{
    const struct code_tokens *t = &f->r.tokens;
    for (size_t i = from; i < to; i++) {
        size_t n = t->items[i].length;
        const char *text = t->items[i].kind == CODE_STRING ? code_string(t, i, &n) : t->text + t->items[i].at;
        bool dot = i == from && length;
        if (length + dot + n >= sizeof f->path)
            return 0;
        if (dot)
            f->path[length++] = '.';
        memcpy(f->path + length, text, n);
        length += n;
    }
    f->path[length] = '\0';
    return length;
}

/* The first token in [from, to) that ends a key: a colon with a blank behind it, or in TOML an equals sign; to if there is none. */
static size_t end_of_key(const struct code_tokens *t, size_t from, size_t to)
{
    for (size_t i = from; i < to && code_bracket(t, from) <= 0; i++) {
        if (code_op(t, i, '=') && t->language == LANGUAGE_TOML)
            return i;
        if (code_op(t, i, ':') && (i + 1 == to || t->items[i + 1].at > t->items[i].at + 1))
            return i;
    }
    return to;
}

/* [section] and key = value. */
static void read_toml_line(struct config *f, size_t from, size_t to)
{
    const struct code_tokens *t = &f->r.tokens;
    size_t end = end_of_key(t, from, to);
    if (end == to && code_op(t, from, '[')) {
        while (from < to && code_op(t, from, '['))
            from++;
        while (to > from && code_op(t, to - 1, ']'))
            to--;
        f->section = add_key(f, 0, from, to);
        f->skip = f->section ? SIZE_MAX : 0;
    } else if (end < to && f->skip && add_key(f, f->section, from, end))
        entries_read(&f->r, end + 1, to, f->path);
}

/* Skips anchors and tags: &name, !!float. */
static size_t skip_marks(const struct code_tokens *t, size_t from, size_t to)
{
    while (from < to && (code_op(t, from, '&') || code_op(t, from, '!')))
        for (from++; from < to && t->items[from].at == t->items[from - 1].at + t->items[from - 1].length; from++)
            ;
    return from;
}

static void read_yaml_line(struct config *f, size_t from, size_t to)
{
    const struct code_tokens *t = &f->r.tokens;
    const size_t indent = t->items[from].indent, start = t->items[from].at;
    const char *text = t->text + start;
    bool item = false;
    if (f->skip != SIZE_MAX && indent > f->skip)
        return;
    f->skip = SIZE_MAX;
    const struct code_token *last = &t->items[to - 1];
    if (indent == 0 && last->at + last->length - start >= 3 && (memcmp(text, "---", 3) == 0 || memcmp(text, "...", 3) == 0)) {
        f->n = 0;
        return;
    }
    for (; from + 1 < to && code_op(t, from, '-') && t->items[from + 1].at > t->items[from].at + 1; from++)
        item = true;
    /* "- a" belongs to the key above it even if it is not indented; "- lr: 1" opens entries at the column of lr. */
    size_t column = indent + t->items[from].at - start, end = end_of_key(t, from, to);
    while (f->n && (item ? f->levels[f->n - 1].column > indent : f->levels[f->n - 1].column >= indent))
        f->n--;
    size_t length = f->n ? f->levels[f->n - 1].path : 0;
    f->path[length] = '\0';
    if (end < to) {
        length = f->n < LEVELS_MAX ? add_key(f, length, from, end) : 0;
        if (!length) {
            f->skip = column;
            return;
        }
        f->levels[f->n].column = column;
        f->levels[f->n++].path = length;
    } else if (!item)
        return;
    size_t value = skip_marks(t, end < to ? end + 1 : from, to);
    if (value < to && strchr("|>", t->text[t->items[value].at]))
        f->skip = end < to ? column : indent;
    else
        entries_read(&f->r, value, to, f->path);
}

static void scan_configuration(struct literal_set *set, enum language language, const char *text, size_t length)
{
    struct config *f = calloc(1, sizeof *f);
    if (!f) {
        set->failed = true;
        return;
    }
    f->r = (struct reading){.set = set, .scope = ""};
    f->skip = SIZE_MAX;
    code_tokens_split(&f->r.tokens, language, text, length, 1);
    const struct code_tokens *t = &f->r.tokens;
    f->r.pending = malloc((t->n + 1) * sizeof *f->r.pending);
    set->failed = set->failed || t->failed || !f->r.pending;
    if (!set->failed && language == LANGUAGE_JSON)
        entries_read(&f->r, 0, t->n, "");
    for (size_t from = 0, to; from < t->n && !set->failed && language != LANGUAGE_JSON; from = to + 1) {
        for (to = from; to < t->n && t->items[to].kind != CODE_NEWLINE; to++)
            ;
        if (to > from)
            (language == LANGUAGE_TOML ? read_toml_line : read_yaml_line)(f, from, to);
    }
    free(f->r.pending);
    code_tokens_release(&f->r.tokens);
    free(f);
}

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
    const struct code_token *token = &p->r.tokens.items[name];
    const char *outer = p->scopes[p->n - 1].scope, *own = p->r.tokens.text + token->at;
    size_t length = strlen(outer);
    char text[SCOPE_NAME_MAX];
    if (length + token->length + 2 > sizeof text || !literal_name_ok(own, token->length))
        return outer;
    memcpy(text, outer, length);
    if (length)
        text[length++] = '.';
    memcpy(text + length, own, token->length);
    const char *scope = arena_text(&p->r.set->arena, text, length + token->length);
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

/* ---- Python ---- */

/* Whether a new value at this place is a new setting. A variable of a function is not, nor is a value that holds only
 * under a condition; but an attribute or entry of another object, config.lr = 0.1, is a setting wherever it is set. */
static bool is_setting(const struct program *p, const struct target *target, size_t from, size_t end)
{
    const struct code_tokens *t = &p->r.tokens;
    bool other = end > from + 1 && !code_among(t, from, " self cls ");
    return target->length && p->condition == UINT32_MAX && (other || !p->r.in_function);
}

/* a, b = 1, 2: each name and its value, if there are equally many. */
static bool read_pairs(struct program *p, size_t from, size_t equals, size_t to)
{
    const struct code_tokens *t = &p->r.tokens;
    size_t names = 0, values = 0;
    for (size_t i = from; i < equals; i = code_find(t, i, equals, ",", false) + 1)
        names++;
    for (size_t i = equals + 1; i < to; i = code_find(t, i, to, ",", false) + 1)
        values++;
    if (names < 2 || names != values)
        return false;
    for (size_t name = from, value = equals + 1; name < equals && value < to;) {
        size_t name_end = code_find(t, name, equals, ",", false), value_end = code_find(t, value, to, ",", false);
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
static void read_simple(struct program *p, size_t from, size_t to)
{
    const struct code_tokens *t = &p->r.tokens;
    struct target target = {.name = ""};
    /* In a part of a file, an argument or entry on a line of its own ends with a comma. */
    if (to > from + 1 && code_op(t, to - 1, ','))
        to--;
    size_t equals = code_find(t, from, to, "=", true);
    if (equals == to) {
        for (size_t i = from; i < to && equals == to; i++)
            if (t->items[i].kind == CODE_OP && t->items[i].length >= 2 &&
                t->text[t->items[i].at + t->items[i].length - 1] == '=' && !strchr("=<>!:", t->text[t->items[i].at]))
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
    size_t before = code_find(t, from, equals, "=", true);
    if (before + 1 < equals) /* a = b = 3 */
        from = before + 1;
    if (read_pairs(p, from, equals, to))
        return;
    size_t colon = code_find(t, from, equals, ":", false), end = colon < equals ? colon : equals;
    if (!target_of(&target, &p->r, from, end))
        target = (struct target){.name = ""};
    target.setting = is_setting(p, &target, from, end);
    expression_read(&p->r, equals + 1, to, &target);
}

static void read_python(struct program *p, size_t from, size_t to);

/* def NAME(PARAMETERS): and class NAME(BASES): with what follows on the same line. */
static void read_definition(struct program *p, size_t keyword, size_t to, uint32_t indent)
{
    const struct code_tokens *t = &p->r.tokens;
    bool function = code_is(t, keyword, "def");
    size_t name = keyword + 1;
    if (name >= to || t->items[name].kind != CODE_NAME)
        return;
    open_scope(p, name, indent, function, false, t->items[name].line);
    size_t open = name + 1, close = open;
    if (open < to && code_op(t, open, '(')) {
        close = code_close(t, open, to);
        if (function)
            parameters_read(&p->r, open + 1, close);
    }
    size_t colon = close < to ? code_find(t, close + 1 < to ? close + 1 : to, to, ":", false) : to;
    if (colon + 1 < to)
        read_python(p, colon + 1, to);
}

/* A statement, or several on one line: `if x: y = 3`. */
static void read_python(struct program *p, size_t from, size_t to)
{
    const struct code_tokens *t = &p->r.tokens;
    struct target none = {.name = ""};
    while (from < to && code_among(t, from, " if elif while with for else try except finally match case ")) {
        size_t colon = code_find(t, from, to, ":", false), value = from + 1;
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

static void close_scopes(struct program *p, uint32_t indent, uint32_t line)
{
    size_t n = p->n;
    while (p->n > 1 && p->scopes[p->n - 1].indent >= indent)
        p->n--;
    if (p->n != n)
        enter(p, line);
}

static void scan_python(struct program *p)
{
    const struct code_tokens *t = &p->r.tokens;
    for (size_t from = 0, to; from < t->n && !p->r.set->failed; from = to + 1) {
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
        } else if (code_op(t, i, '(') && i > from && t->items[i - 1].kind == CODE_NAME) {
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

/* One declarator or assignment: int x = 3, cfg->lr = 0.1, lr = 0.1; or an expression. */
static void read_part(struct program *p, size_t from, size_t to)
{
    const struct code_tokens *t = &p->r.tokens;
    struct target target = {.name = "", .setting = !p->r.in_function};
    size_t equals = code_find(t, from, to, "=", false), name_end = from, depth = 0;
    for (size_t i = from; i < equals; i++) {
        if (depth == 0 && t->items[i].kind == CODE_NAME)
            name_end = i + 1;
        char c = t->items[i].kind == CODE_OP && t->items[i].length == 1 ? t->text[t->items[i].at] : '\0';
        depth += is_opening(c);
        depth -= depth && is_closing(c);
    }
    if (equals == to) {
        expression_read(&p->r, from, to, &target);
        return;
    }
    size_t name = name_end;
    while (name > from + 2 && (code_op(t, name - 2, '.') || code_is(t, name - 2, "->") || code_is(t, name - 2, "::")) &&
           t->items[name - 3].kind == CODE_NAME)
        name -= 2;
    if (name_end == from || !target_of(&target, &p->r, name - 1, name_end))
        target = (struct target){.name = ""};
    expression_read(&p->r, equals + 1, to, &target);
}

/* Reads the parts of tokens[from..to) between separators outside of brackets. */
static void read_parts(struct program *p, size_t from, size_t to, const char *separator)
{
    for (size_t end; from < to; from = end + 1) {
        end = code_find(&p->r.tokens, from, to, separator, false);
        if (from < end)
            read_part(p, from, end);
    }
}

static void read_c(struct program *p, size_t from, size_t to)
{
    const struct code_tokens *t = &p->r.tokens;
    const struct target none = {.name = ""};
    bool result = false;
    while (from < to && code_among(t, from, " if for while switch else return do case default using typedef goto ")) {
        bool header = code_among(t, from, " if for while switch ");
        if (code_among(t, from, " using typedef goto "))
            return;
        result = code_is(t, from++, "return");
        if (!header || from >= to || !code_op(t, from, '('))
            continue;
        size_t close = code_close(t, from, to);
        read_parts(p, from + 1, close, ";"); /* for (int i = 0; i < 10; i++) */
        from = close + 1;
    }
    if (from < to && result)
        expression_read(&p->r, from, to, &none);
    else if (from < to)
        read_parts(p, from, to, ",");
}

/* #define NAME VALUE */
static void read_directive(struct program *p, size_t at)
{
    const struct code_token *token = &p->r.tokens.items[at];
    struct reading line = p->r;
    size_t hash = 1;
    while (hash < token->length && (p->r.tokens.text[token->at + hash] == ' ' || p->r.tokens.text[token->at + hash] == '\t'))
        hash++;
    code_tokens_split(&line.tokens, LANGUAGE_C, p->r.tokens.text + token->at + hash, token->length - hash, token->line);
    const struct code_tokens *t = &line.tokens;
    bool define = t->n > 2 && code_is(t, 0, "define") && t->items[1].kind == CODE_NAME;
    bool macro = define && code_op(t, 2, '(') && t->items[2].at == t->items[1].at + t->items[1].length;
    if (define && !macro) {
        struct target target = {.name = t->text + t->items[1].at, .length = t->items[1].length, .setting = true};
        line.pending = malloc((t->n + 1) * sizeof *line.pending);
        line.n_pending = 0;
        line.scope = "";
        if (line.pending)
            expression_read(&line, 2, t->n, &target);
        else
            p->r.set->failed = true;
        free(line.pending);
    }
    p->r.set->failed = p->r.set->failed || t->failed;
    code_tokens_release(&line.tokens);
}

static void scan_c(struct program *p)
{
    const struct code_tokens *t = &p->r.tokens;
    size_t from = 0, depth = 0, initialiser = 0;
    bool value = false; /* an = or return outside of brackets came before */
    for (size_t i = 0; i < t->n && !p->r.set->failed; i++) {
        const struct code_token *token = &t->items[i];
        char c = token->kind == CODE_OP && token->length == 1 ? t->text[token->at] : '\0';
        if (token->kind == CODE_DIRECTIVE) {
            read_directive(p, i);
            if (from == i)
                from = i + 1;
            continue;
        }
        value = value || (depth == 0 && (c == '=' || code_is(t, i, "return")));
        if (c == '(' || c == '[')
            depth++;
        else if ((c == ')' || c == ']') && depth)
            depth--;
        else if (c == '{' && (value || depth || initialiser))
            initialiser++;
        else if (c == '}' && initialiser)
            initialiser--;
        else if (c == '{' || c == '}' || (c == ';' && depth == 0 && !initialiser) ||
                 (c == ',' && depth == 0 && !initialiser && p->scopes[p->n - 1].list)) {
            if (c == '{') {
                if (from < i)
                    read_c(p, from, i);
                open_block(p, from, i);
            } else {
                read_c(p, from, i);
                if (c == '}')
                    close_block(p, token->line);
            }
            from = i + 1;
            depth = 0;
            value = false;
        }
    }
    if (from < t->n && !p->r.set->failed)
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
    p->r = (struct reading){.set = set};
    p->n = 1;
    p->condition = UINT32_MAX;
    p->scopes[0].scope = scope;
    p->scopes[0].function = in_function;
    enter(p, 1);
    code_tokens_split(&p->r.tokens, language, text, length, 1);
    p->r.pending = malloc((p->r.tokens.n + 1) * sizeof *p->r.pending);
    set->failed = set->failed || p->r.tokens.failed || !p->r.pending;
    (language == LANGUAGE_PYTHON ? scan_python : scan_c)(p);
    free(p->r.pending);
    code_tokens_release(&p->r.tokens);
    free(p);
}

static const struct {
    const char *end;
    enum language language;
} languages[] = {{"py", LANGUAGE_PYTHON}, {"pyi", LANGUAGE_PYTHON}, {"c", LANGUAGE_C},       {"h", LANGUAGE_C},
                 {"cc", LANGUAGE_C},      {"cpp", LANGUAGE_C},      {"cxx", LANGUAGE_C},     {"hh", LANGUAGE_C},
                 {"hpp", LANGUAGE_C},     {"hxx", LANGUAGE_C},      {"cu", LANGUAGE_C},      {"cuh", LANGUAGE_C},
                 {"sh", LANGUAGE_SHELL},  {"bash", LANGUAGE_SHELL}, {"zsh", LANGUAGE_SHELL}, {"env", LANGUAGE_SHELL},
                 {"yaml", LANGUAGE_YAML}, {"yml", LANGUAGE_YAML},   {"toml", LANGUAGE_TOML}, {"ini", LANGUAGE_TOML},
                 {"cfg", LANGUAGE_TOML},  {"conf", LANGUAGE_TOML},  {"json", LANGUAGE_JSON}, {"jsonc", LANGUAGE_JSON},
                 {"json5", LANGUAGE_JSON}};

enum language language_of(const char *path, const char *text, size_t length)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof languages / sizeof *languages; i++)
        if (strcmp(dot + 1, languages[i].end) == 0)
            return languages[i].language;
    if (dot || length < 3 || text[0] != '#' || text[1] != '!')
        return LANGUAGE_NONE;
    /* #!/bin/sh, #!/usr/bin/env python3 */
    char first[128];
    size_t n = 0;
    while (n < length && n + 1 < sizeof first && text[n] != '\n') {
        first[n] = text[n] ? text[n] : ' ';
        n++;
    }
    first[n] = '\0';
    return strstr(first, "python") ? LANGUAGE_PYTHON : strstr(first, "sh") ? LANGUAGE_SHELL : LANGUAGE_NONE;
}

void literals_read(struct literal_set *set, enum language language, const char *scope, bool in_function, const char *text,
                   size_t length)
{
    switch (language) {
    case LANGUAGE_NONE: break;
    case LANGUAGE_PYTHON:
    case LANGUAGE_C: scan_program(set, language, scope, in_function, text, length); break;
    case LANGUAGE_SHELL: scan_shell(set, text, length); break;
    case LANGUAGE_YAML:
    case LANGUAGE_TOML:
    case LANGUAGE_JSON: scan_configuration(set, language, text, length); break;
    }
}
