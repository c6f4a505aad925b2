/* scan_c.c: the statements of C, C++ and CUDA, and the functions and types around them. */
#include <stdlib.h>
#include <string.h>

#include "expressions.h"
#include "scan.h"

enum { SCOPES_MAX = 64, SCOPE_NAME_MAX = 200 };

struct c_file {
    struct reading r;
    struct {
        const char *scope;
        bool function, list; /* list: the entries of an enum, separated by commas */
    } blocks[SCOPES_MAX];
    size_t n, deeper; /* blocks; open braces beyond SCOPES_MAX */
};

static const char *outer_scope(const struct c_file *f)
{
    return f->blocks[f->n - 1].scope;
}

static void enter(struct c_file *f, uint32_t line)
{
    f->r.scope = outer_scope(f);
    f->r.in_function = f->blocks[f->n - 1].function;
    literals_add_scope(f->r.set, line, f->r.scope);
}

/* Opens the block whose head is tokens[from..open): a function, a type, or a statement's body, which has no name. */
static void open_block(struct c_file *f, size_t from, size_t open)
{
    const struct code_tokens *t = &f->r.tokens;
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
    if (f->n == SCOPES_MAX) {
        f->deeper++;
        return;
    }
    const char *scope = outer_scope(f);
    if (name) {
        const struct code_token *token = &t->items[name];
        size_t outer = strlen(scope);
        char text[SCOPE_NAME_MAX];
        if (outer + token->length + 2 <= sizeof text && literal_name_ok(t->text + token->at, token->length)) {
            memcpy(text, scope, outer);
            if (outer)
                text[outer++] = '.';
            memcpy(text + outer, t->text + token->at, token->length);
            const char *inner = arena_text(&f->r.set->arena, text, outer + token->length);
            f->r.set->failed = f->r.set->failed || !inner;
            scope = inner ? inner : scope;
        }
    }
    bool function = f->blocks[f->n - 1].function || (name && !type);
    f->blocks[f->n].scope = scope;
    f->blocks[f->n].function = function;
    f->blocks[f->n++].list = list;
    enter(f, t->items[from < open ? from : open].line);
}

static void close_block(struct c_file *f, uint32_t line)
{
    if (f->deeper)
        f->deeper--;
    else if (f->n > 1) {
        f->n--;
        enter(f, line);
    }
}

/* One declarator or assignment: int x = 3, cfg->lr = 0.1, lr = 0.1; or an expression. */
static void read_part(struct c_file *f, size_t from, size_t to)
{
    const struct code_tokens *t = &f->r.tokens;
    struct target target = {.name = "", .setting = !f->r.in_function};
    size_t depth = 0, equals = to, name_end = from;
    for (size_t i = from; i < to && equals == to; i++) {
        if (code_op(t, i, '(') || code_op(t, i, '[') || code_op(t, i, '{'))
            depth++;
        else if (code_op(t, i, ')') || code_op(t, i, ']') || code_op(t, i, '}'))
            depth -= depth > 0;
        else if (depth == 0 && code_op(t, i, '='))
            equals = i;
        else if (depth == 0 && (t->items[i].kind == CODE_NAME))
            name_end = i + 1;
    }
    if (equals == to) {
        expression_read(&f->r, from, to, &target);
        return;
    }
    size_t name = name_end;
    while (name > from + 2 && (code_op(t, name - 2, '.') || code_is(t, name - 2, "->") || code_is(t, name - 2, "::")) &&
           t->items[name - 3].kind == CODE_NAME)
        name -= 2;
    if (name_end == from || !target_of(&target, &f->r, name - 1, name_end))
        target = (struct target){.name = ""};
    expression_read(&f->r, equals + 1, to, &target);
}

static void read_statement(struct c_file *f, size_t from, size_t to)
{
    const struct code_tokens *t = &f->r.tokens;
    struct target none = {.name = ""};
    size_t depth = 0, part = from;
    while (from < to && code_among(t, from, " if for while switch else return do case default using typedef goto ")) {
        bool header = code_among(t, from, " if for while switch ");
        if (code_among(t, from, " using typedef goto "))
            return;
        from++;
        if (!header || from >= to || !code_op(t, from, '('))
            continue;
        size_t close = from, open = from + 1;
        for (depth = 0; close < to; close++) {
            depth += code_op(t, close, '(');
            if (code_op(t, close, ')') && --depth == 0)
                break;
        }
        depth = 0;
        for (size_t i = open; i <= close && i < to; i++)
            if (i == close || code_op(t, i, ';')) { /* for (int i = 0; i < 10; i++) */
                if (open < i)
                    read_part(f, open, i);
                open = i + 1;
            }
        from = close + 1;
    }
    if (from >= to)
        return;
    if (code_is(t, from - (from > 0), "return")) {
        expression_read(&f->r, from, to, &none);
        return;
    }
    for (size_t i = part = from; i <= to; i++) {
        if (i == to || (depth == 0 && code_op(t, i, ','))) {
            if (part < i)
                read_part(f, part, i);
            part = i + 1;
        } else if (code_op(t, i, '(') || code_op(t, i, '[') || code_op(t, i, '{'))
            depth++;
        else if (code_op(t, i, ')') || code_op(t, i, ']') || code_op(t, i, '}'))
            depth -= depth > 0;
    }
}

/* #define NAME VALUE */
static void read_directive(struct c_file *f, size_t at)
{
    const struct code_token *token = &f->r.tokens.items[at];
    struct reading line = f->r;
    size_t hash = 1;
    while (hash < token->length && (f->r.tokens.text[token->at + hash] == ' ' || f->r.tokens.text[token->at + hash] == '\t'))
        hash++;
    code_tokens_split(&line.tokens, LANGUAGE_C, f->r.tokens.text + token->at + hash, token->length - hash, token->line);
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
            f->r.set->failed = true;
        free(line.pending);
    }
    f->r.set->failed = f->r.set->failed || t->failed;
    code_tokens_release(&line.tokens);
}

void scan_c(struct literal_set *set, const char *scope, bool in_function, const char *text, size_t length)
{
    struct c_file *f = calloc(1, sizeof *f);
    if (!f) {
        set->failed = true;
        return;
    }
    f->r = (struct reading){.set = set, .scope = scope};
    f->n = 1;
    f->blocks[0].scope = scope;
    f->blocks[0].function = in_function;
    enter(f, 1);
    code_tokens_split(&f->r.tokens, LANGUAGE_C, text, length, 1);
    const struct code_tokens *t = &f->r.tokens;
    f->r.pending = malloc((t->n + 1) * sizeof *f->r.pending);
    if (t->failed || !f->r.pending)
        set->failed = true;
    size_t from = 0, depth = 0, initialiser = 0;
    bool value = false; /* an = or return outside of brackets came before */
    for (size_t i = 0; i < t->n && !set->failed; i++) {
        const struct code_token *token = &t->items[i];
        char c = token->kind == CODE_OP && token->length == 1 ? t->text[token->at] : '\0';
        if (token->kind == CODE_DIRECTIVE) {
            read_directive(f, i);
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
                 (c == ',' && depth == 0 && !initialiser && f->blocks[f->n - 1].list)) {
            if (c == '{') {
                if (from < i)
                    read_statement(f, from, i);
                open_block(f, from, i);
            } else {
                read_statement(f, from, i);
                if (c == '}')
                    close_block(f, token->line);
            }
            from = i + 1;
            depth = 0;
            value = false;
        }
    }
    if (from < t->n && !set->failed)
        read_statement(f, from, t->n);
    free(f->r.pending);
    code_tokens_release(&f->r.tokens);
    free(f);
}
