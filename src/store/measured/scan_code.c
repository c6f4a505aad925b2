/*
 * scan_code.c: the literals of Python, C, C++, CUDA and JSON, found by one walk over the tokens of each statement.
 *
 * A statement is a tree of items: the arguments of a call, the entries of a dictionary. An item whose value is one constant is a
 * literal with the item's name. Every other number is identified by the item's name and its shape, which is a hash of the
 * tokens around it: `0.5 * x` and `0.3 * x` differ in one literal, and an edit in the next argument does not matter.
 */
#include "literals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

enum { NESTED_MAX = 32, VALUE_TOKENS = 64, LOOSE_MAX = 32, SCOPES_MAX = 64, SCOPE_NAME_MAX = 200 };

/* What a token is: one of these, or an operator of one character, by that character. -> and :: are dots. */
enum { NAME = 'n', NUMBER = '0', STRING = 's', TEXT = 't', LINE_END = '\n', OPERATOR = 'o', CHANGES = 'a' /* += */ };

struct token {
    uint32_t at, length, line;
    uint32_t indent; /* columns before the first token of a line */
    uint32_t match;  /* of an opening bracket: the token that closes it, or the number of tokens */
    char kind;
};

struct scope {
    const char *name;
    uint32_t indent; /* Python: of the line that opens it */
    bool function;
};

struct scan {
    struct literal_set *set;
    enum language language;
    const char *text;
    size_t length, at;
    struct token *tokens;
    size_t n, capacity;
    uint32_t line, indent, open; /* open: 1 + the innermost open bracket; its match is the next one until it is closed */
    bool at_start;               /* no token on this line yet */
    bool define;                 /* in a line of #define */
    struct scope scopes[SCOPES_MAX];
    size_t n_scopes, deeper;
    uint32_t condition; /* indentation of the if, for or while around a statement of Python; UINT32_MAX for none */
};

/* ---- tokens ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) || is_digit(c);
}

static char peek(const struct scan *s, size_t ahead)
{
    return s->at + ahead < s->length ? s->text[s->at + ahead] : '\0';
}

static void put(struct scan *s, char kind, size_t from, uint32_t line)
{
    if (!LIST_ROOM(s->tokens, s->n, s->capacity)) {
        s->set->failed = true;
        return;
    }
    const uint32_t here = (uint32_t)s->n++;
    s->tokens[here] = (struct token){(uint32_t)from, (uint32_t)(s->at - from), line, s->indent, 0, kind};
    s->at_start = false;
    if (strchr("([{", kind)) {
        s->tokens[here].match = s->open;
        s->open = here + 1;
    } else if (strchr(")]}", kind) && s->open) {
        struct token *opened = &s->tokens[s->open - 1];
        s->open = opened->match;
        opened->match = here;
    }
}

static void close_all(struct scan *s)
{
    while (s->open) {
        struct token *opened = &s->tokens[s->open - 1];
        s->open = opened->match;
        opened->match = (uint32_t)s->n;
    }
}

static bool is(const struct scan *s, size_t i, const char *text)
{
    return i < s->n && s->tokens[i].length == strlen(text) && memcmp(s->text + s->tokens[i].at, text, s->tokens[i].length) == 0;
}

/* Whether a name is one of the words in the list, each surrounded by blanks. */
static bool among(const struct scan *s, size_t i, const char *list)
{
    char word[24] = " ";
    if (i >= s->n || s->tokens[i].kind != NAME || s->tokens[i].length + 3 > sizeof word)
        return false;
    memcpy(word + 1, s->text + s->tokens[i].at, s->tokens[i].length);
    memcpy(word + 1 + s->tokens[i].length, " ", 2);
    return strstr(list, word) != NULL;
}

/* Reads a string from its opening quote. A string of several lines, with a prefix or with escapes is only a text. */
static void read_string(struct scan *s, size_t from, bool plain)
{
    const char quote = s->text[s->at];
    const bool triple = s->language == LANGUAGE_PYTHON && peek(s, 1) == quote && peek(s, 2) == quote;
    const uint32_t line = s->line;
    bool closed = false;
    s->at += triple ? 3 : 1;
    while (s->at < s->length && !closed && (triple || s->text[s->at] != '\n')) {
        const char c = s->text[s->at];
        closed = c == quote && (!triple || (peek(s, 1) == quote && peek(s, 2) == quote));
        plain = plain && (c != '\\' || s->language == LANGUAGE_JSON);
        s->at += c == '\\' && s->at + 1 < s->length;
        s->line += s->text[s->at] == '\n';
        s->at += closed && triple ? 3 : 1;
    }
    put(s, plain && closed && !triple ? STRING : TEXT, from, line);
}

static void read_number(struct scan *s)
{
    const size_t from = s->at;
    const bool hex = s->text[from] == '0' && (peek(s, 1) | 0x20) == 'x';
    for (; s->at < s->length; s->at++) {
        const char c = s->text[s->at], last = s->at > from ? (char)(s->text[s->at - 1] | 0x20) : '\0';
        if (!is_name_byte(c) && c != '.' && !((c == '+' || c == '-') && !hex && last == 'e') &&
            !(c == '\'' && s->language == LANGUAGE_C && is_digit(peek(s, 1))))
            break;
    }
    put(s, NUMBER, from, s->line);
}

static void read_name(struct scan *s)
{
    const size_t from = s->at;
    const bool first = s->at_start;
    while (is_name_byte(peek(s, 0)))
        s->at++;
    /* A prefix makes a string a pattern, bytes, or a text with expressions in it, which are not settings. */
    if (s->at - from <= 2 && (peek(s, 0) == '"' || peek(s, 0) == '\'')) {
        read_string(s, from, false);
        return;
    }
    put(s, NAME, from, s->line);
    /* In a part of a file a bracket may never be closed. */
    if (first && s->open && s->language == LANGUAGE_PYTHON &&
        among(s, s->n - 1, " def class import return while with try except finally raise assert del global pass break ")) {
        struct token word = s->tokens[--s->n];
        close_all(s);
        put(s, LINE_END, from, s->line);
        put(s, NAME, from, s->line);
        s->tokens[s->n - 1] = word;
    }
}

static void read_operator(struct scan *s)
{
    const size_t from = s->at;
    const char c = s->text[s->at++], next = peek(s, 0);
    char kind = c && !strchr("n0sto\na", c) && !(c & 0x80) ? c : OPERATOR;
    if ((c == '-' && next == '>') || (c == ':' && next == ':')) {
        kind = '.';
        s->at++;
    } else if (next == '=' && c && strchr("=<>!", c)) {
        kind = OPERATOR;
        s->at++;
    } else if (c && next == c && strchr("*/<>&|", c)) {
        s->at++;
        kind = peek(s, 0) == '=' ? CHANGES : OPERATOR;
        s->at += kind == CHANGES;
    } else if (next == '=' && c && strchr("+-*/%&|^", c)) {
        kind = CHANGES;
        s->at++;
    }
    put(s, kind, from, s->line);
}

/* Whether a comment begins here. Skips it. */
static bool skip_comment(struct scan *s)
{
    const bool slash = s->language != LANGUAGE_PYTHON && peek(s, 0) == '/', block = slash && peek(s, 1) == '*';
    if (!block && !(slash && peek(s, 1) == '/') && !(s->language == LANGUAGE_PYTHON && peek(s, 0) == '#'))
        return false;
    for (s->at += block ? 2 : 0; s->at < s->length; s->at++) {
        if (block ? s->text[s->at] == '*' && peek(s, 1) == '/' : s->text[s->at] == '\n')
            break;
        s->line += s->text[s->at] == '\n';
    }
    s->at = block && s->at + 2 <= s->length ? s->at + 2 : s->at;
    return true;
}

/* A line of the preprocessor. `#define NAME VALUE` is read as `NAME = VALUE;`. */
static void read_directive(struct scan *s)
{
    static const char define[] = "define";
    size_t from = s->at + 1;
    while (from < s->length && (s->text[from] == ' ' || s->text[from] == '\t'))
        from++;
    if (s->length - from > sizeof define && memcmp(s->text + from, define, sizeof define - 1) == 0) {
        for (from += sizeof define - 1; from < s->length && (s->text[from] == ' ' || s->text[from] == '\t');)
            from++;
        s->at = from;
        while (is_name_byte(peek(s, 0)))
            s->at++;
        if (s->at > from && (peek(s, 0) == ' ' || peek(s, 0) == '\t')) {
            put(s, NAME, from, s->line);
            put(s, '=', s->at, s->line);
            s->define = true;
            return;
        }
    }
    while (s->at < s->length && s->text[s->at] != '\n') {
        s->line += s->text[s->at] == '\\' && peek(s, 1) == '\n';
        s->at += s->text[s->at] == '\\' && peek(s, 1) == '\n' ? 2 : 1;
    }
}

/* Reads one token, or skips blanks or a comment. */
static void step(struct scan *s)
{
    const char c = s->text[s->at];
    if (c == '\n') {
        if (s->language == LANGUAGE_PYTHON && !s->open && !s->at_start)
            put(s, LINE_END, s->at, s->line);
        else if (s->define)
            put(s, ';', s->at, s->line);
        s->define = false;
        s->at++;
        s->line++;
        s->at_start = true;
        s->indent = 0;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || c == '\0') {
        if (s->at_start)
            s->indent += c == '\t' ? 8 - s->indent % 8 : 1;
        s->at++;
    } else if (c == '\\') {
        s->at++;
        s->at += peek(s, 0) == '\r';
        s->line += peek(s, 0) == '\n';
        s->at += peek(s, 0) == '\n';
    } else if (!skip_comment(s)) {
        if (c == '#' && s->language == LANGUAGE_C && s->at_start)
            read_directive(s);
        else if (c == '"' || c == '\'')
            read_string(s, s->at, true);
        else if (is_digit(c) || (c == '.' && is_digit(peek(s, 1))))
            read_number(s);
        else if (is_name_byte(c))
            read_name(s);
        else
            read_operator(s);
    }
}

/* ---- constants ---- */

static bool constant_of_token(struct constant *value, const struct scan *s, size_t i)
{
    const struct token *t = &s->tokens[i];
    const char *text = s->text + t->at;
    if (t->kind == STRING)
        return constant_of_word(value, text + 1, t->length - 2);
    if (t->kind == NUMBER)
        return constant_of_word(value, text, t->length) && value->number.present;
    return t->kind == NAME && (s->language == LANGUAGE_JSON || among(s, i, " True False None true false NULL nullptr ")) &&
           constant_of_word(value, text, t->length);
}

struct sum {
    const struct scan *s;
    size_t at, to;
    unsigned depth;
    bool failed;
};

static bool take(struct sum *sum, const char *op)
{
    const bool there = sum->at < sum->to && sum->s->tokens[sum->at].kind != STRING && is(sum->s, sum->at, op);
    sum->at += there;
    return there;
}

static double read_sum(struct sum *sum);

static double read_factor(struct sum *sum)
{
    struct constant value;
    double x = 0;
    if (++sum->depth > NESTED_MAX) {
        sum->failed = true;
    } else if (take(sum, "-")) {
        x = -read_factor(sum);
    } else if (take(sum, "(")) {
        x = read_sum(sum);
        sum->failed = sum->failed || !take(sum, ")");
    } else if (sum->at < sum->to && sum->s->tokens[sum->at].kind == NUMBER && constant_of_token(&value, sum->s, sum->at)) {
        x = value.number.value;
        sum->at++;
    } else
        sum->failed = true;
    sum->depth--;
    return !sum->failed && sum->s->language == LANGUAGE_PYTHON && take(sum, "**") ? pow(x, read_factor(sum)) : x;
}

static double read_product(struct sum *sum)
{
    const bool c = sum->s->language == LANGUAGE_C; /* in C the value of 1/3 depends on types */
    double x = read_factor(sum);
    while (!sum->failed)
        if (take(sum, "*"))
            x *= read_factor(sum);
        else if (!c && take(sum, "//"))
            x = floor(x / read_factor(sum));
        else if (!c && take(sum, "/"))
            x /= read_factor(sum);
        else if (c && take(sum, "<<"))
            x = ldexp(x, (int)fmin(1024, fmax(0, read_factor(sum))));
        else
            break;
    return x;
}

static double read_sum(struct sum *sum)
{
    double x = read_product(sum);
    while (!sum->failed)
        if (take(sum, "+"))
            x += read_product(sum);
        else if (take(sum, "-"))
            x -= read_product(sum);
        else
            break;
    return x;
}

/* The tokens without blanks: -1e-4, 2^20, (0.9, 0.95). */
static bool spell(struct constant *value, const struct scan *s, size_t from, size_t to)
{
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        const struct token *t = &s->tokens[i];
        struct constant part = {.length = t->length};
        const char *text = s->text + t->at;
        const bool literal = t->kind == NUMBER || t->kind == STRING || t->kind == NAME;
        if (literal && !constant_of_token(&part, s, i))
            return false;
        text = literal ? part.text : is(s, i, "**") ? "^" : text;
        part.length = *text == '^' ? 1 : part.length;
        if (n + part.length + 2 >= sizeof value->text)
            return false;
        memcpy(value->text + n, text, part.length);
        n += part.length;
        if (t->kind == ',' && i + 1 < to)
            value->text[n++] = ' ';
    }
    value->text[n] = '\0';
    value->length = n;
    return n > 0;
}

/* A number, a text, a truth value, arithmetic on numbers, or a list of them. */
static bool read_constant(struct constant *value, const struct scan *s, size_t from, size_t to)
{
    *value = (struct constant){0};
    if (from >= to || to - from > VALUE_TOKENS)
        return false;
    if (to - from == 1)
        return constant_of_token(value, s, from);
    struct sum sum = {.s = s, .at = from, .to = to};
    const double x = read_sum(&sum);
    if (!sum.failed && sum.at == to && isfinite(x)) {
        value->number = (struct lineage_number){true, x};
        return spell(value, s, from, to);
    }
    if (!strchr("([{", s->tokens[from].kind) || s->tokens[from].match != to - 1)
        return false;
    for (size_t i = from + 1; i < to - 1; i++) {
        const char kind = s->tokens[i].kind;
        struct constant part;
        if (!strchr(",-[](){}", kind) && !constant_of_token(&part, s, i))
            return false;
    }
    return to - from > 2 && spell(value, s, from, to);
}

/* ---- items ---- */

struct span {
    const char *text;
    size_t length;
};

/* What is around an item. */
struct frame {
    uint64_t context, within; /* see struct literal_place */
    struct span name;  /* of an item that has none of its own */
    struct span call;  /* the name of the call, and of an option or variable that it names: add_argument, --lr */
    struct span label;
    const char *path;  /* of entries: the entries around, "optimizer." */
    bool entries;      /* items are KEY: VALUE, or NAME=VALUE of dict() */
    bool parameters;   /* of a function, or the statement itself */
    bool setting;      /* a new value is a new setting */
    bool preset;       /* so is the default of a variable or option that the call names */
    unsigned depth;
};

static uint64_t mix(uint64_t hash, struct span span)
{
    return span.length ? literal_hash(hash, span.text, span.length) : hash;
}

static struct span span_of(const struct scan *s, size_t first, size_t last)
{
    return (struct span){s->text + s->tokens[first].at, s->tokens[last].at + s->tokens[last].length - s->tokens[first].at};
}

static struct span inside(const struct scan *s, size_t string)
{
    return (struct span){s->text + s->tokens[string].at + 1, s->tokens[string].length - 2};
}

/* The token behind i, or behind the bracket that i opens. */
static size_t behind(const struct scan *s, size_t i)
{
    return strchr("([{", s->tokens[i].kind) ? (size_t)s->tokens[i].match + 1 : i + 1;
}

/* The first, or the last, token of that kind outside of brackets; `to` if there is none. */
static size_t find(const struct scan *s, size_t from, size_t to, char kind, bool last)
{
    size_t found = to;
    for (size_t i = from; i < to && (last || found == to); i = behind(s, i))
        if (s->tokens[i].kind == kind)
            found = i;
    return found;
}

#define KEYWORDS                                                                                                                 \
    " and as assert async await case catch delete do elif else except for from if in is lambda new not or return sizeof "        \
    "switch try while with yield "

static void record(struct scan *s, const struct frame *f, struct span own, const struct constant *value, uint64_t context,
                   uint32_t line, bool setting)
{
    char name[LITERAL_NAME_MAX];
    size_t n = 0;
    const bool called = own.length && f->call.length && !f->entries && !f->parameters;
    const struct span front = called ? f->call : (struct span){f->path, own.length ? strlen(f->path) : 0};
    if (!own.length)
        own = f->name.length ? f->name : f->label.length ? f->label : f->call;
    if (front.length + own.length + 2 > sizeof name || !own.length)
        return;
    memcpy(name, front.text, front.length);
    n = front.length;
    if (called)
        name[n++] = '.';
    for (size_t i = 0; i < own.length; i++) { /* cfg->lr and Config::lr are written with a dot */
        const bool dot = i + 1 < own.length &&
                         ((own.text[i] == '-' && own.text[i + 1] == '>') || (own.text[i] == ':' && own.text[i + 1] == ':'));
        name[n++] = dot ? '.' : own.text[i];
        i += dot;
    }
    const struct literal_place place = {.context = context,
                                        .within = f->within,
                                        .scope = s->scopes[s->n_scopes - 1].name,
                                        .name = name,
                                        .name_length = n,
                                        .line = line,
                                        .setting = setting};
    literals_add(s->set, &place, value);
}

/* The name that tokens[from..to) give a value to: lr, opt.lr of self.opt.lr, LR of os.environ["LR"]. *other: whether it belongs to
 * another object than the function. */
static struct span target_of(const struct scan *s, size_t from, size_t to, bool *other)
{
    struct span name = {NULL, 0};
    size_t first = to;
    const size_t colon = find(s, from, to, ':', false); /* lr: float */
    for (size_t i = from; i < colon; i = behind(s, i)) {
        const struct token *t = &s->tokens[i];
        if (t->kind == NAME) {
            if (first == to || s->tokens[i - 1].kind != '.')
                first = i;
            else if (among(s, first, " self this cls "))
                first = i;
            name = span_of(s, first, i);
            *other = first < i;
        } else if (t->kind == '[' && t->match == i + 2 && s->tokens[i + 1].kind == STRING) {
            name = inside(s, i + 1);
            *other = true;
        }
    }
    return from < to && s->tokens[from].kind == STRING && to == from + 1 ? inside(s, from) : name;
}

static void read_items(struct scan *s, struct frame *f, size_t from, size_t to);

/* Reads what is in the bracket at token i of an item whose name is `own`. */
static void read_bracket(struct scan *s, const struct frame *f, struct span own, size_t i, size_t first, size_t to)
{
    const char open = s->tokens[i].kind;
    const bool named = i > first && s->tokens[i - 1].kind == NAME && !among(s, i - 1, KEYWORDS);
    const bool subscript = open == '[' && i > first && (named || strchr(")]", s->tokens[i - 1].kind));
    char path[LITERAL_NAME_MAX];
    const size_t length = strlen(f->path), end = s->tokens[i].match < to ? s->tokens[i].match : to;
    if (subscript || f->depth == NESTED_MAX || length + own.length + 2 > sizeof path)
        return;
    memcpy(path, f->path, length + 1);
    if (f->depth && own.length) {
        memcpy(path + length, own.text, own.length);
        memcpy(path + length + own.length, ".", 2);
    }
    struct frame inner = {.context = literal_hash(mix(f->context, own), &open, 1),
                          .name = own.length ? own : f->name,
                          .path = path,
                          .preset = f->depth ? f->preset : f->setting,
                          .depth = f->depth + 1};
    if (named && open == '(')
        inner.call = span_of(s, i - 1, i - 1);
    inner.entries = open == '{' || is(s, i - 1, "dict");
    inner.context = inner.within = mix(inner.context, inner.call);
    literals_add_call(s->set, inner.context);
    read_items(s, &inner, i + 1, end);
}

/* The numbers of an item that are not its whole value, and what is in its brackets. */
static void read_expression(struct scan *s, const struct frame *f, struct span own, size_t from, size_t to)
{
    size_t loose[LOOSE_MAX], n = 0, last_name = to;
    struct frame near = *f;
    uint64_t shape = mix(f->context, own);
    for (size_t i = from; i < to; i = behind(s, i)) {
        const struct token *t = &s->tokens[i];
        const bool literal = t->kind == NUMBER || (s->language != LANGUAGE_JSON && among(s, i, " True False true false "));
        if (strchr("([{", t->kind))
            read_bracket(s, f, own, i, from, to);
        else if (literal && n < LOOSE_MAX)
            loose[n++] = i;
        else if (t->kind == NAME && !n && !among(s, i, KEYWORDS))
            last_name = i;
        shape = literal ? literal_hash(shape, "#", 1) : literal_hash(shape, s->text + t->at, t->kind == TEXT ? 0 : t->length);
    }
    if (!own.length && !f->name.length && last_name < to)
        near.name = span_of(s, last_name, last_name);
    near.within = 0;
    for (size_t i = 0; i < n; i++) {
        struct constant value;
        const size_t at = loose[i];
        const bool minus =
            at > from && s->tokens[at - 1].kind == '-' && (at == from + 1 || !strchr("n0st)]}", s->tokens[at - 2].kind));
        if (read_constant(&value, s, at - minus, at + 1))
            record(s, &near, own, &value, shape, s->tokens[at].line, false);
    }
}

/* One argument, entry, or statement. */
static void read_item(struct scan *s, struct frame *f, size_t from, size_t to)
{
    struct span own = {NULL, 0};
    struct constant value;
    size_t first = from;
    const size_t equals = find(s, from, to, '=', true), changes = find(s, from, to, CHANGES, true);
    bool setting = f->setting;
    if (to > from + 2 && s->tokens[from + 1].kind == ':' && (f->entries || s->tokens[from].kind == STRING)) {
        own = s->tokens[from].kind == STRING ? inside(s, from) : span_of(s, from, from);
        first = from + 2;
    } else if (equals < to || changes < to) {
        const size_t end = equals < to ? equals : changes;
        const size_t before = find(s, from, end, '=', true); /* a = b = 3 */
        bool other = false;
        own = target_of(s, before < end ? before + 1 : from, end, &other);
        first = end + 1;
        for (size_t i = from; i < end; i = behind(s, i)) /* for (int i = 0; i < 10; i++) x = 1 */
            if (s->tokens[i].kind == '(')
                read_bracket(s, f, (struct span){NULL, 0}, i, from, end);
        /* A variable of a function does not count as a setting; config.lr = 0.1 does wherever it is set. */
        if (!f->depth)
            setting = equals < to && setting && own.length && (other || !s->scopes[s->n_scopes - 1].function);
    }
    const bool label = f->call.length && f->label.length && f->label.text[-1] == '-';
    const bool preset = own.length == 7 && memcmp(own.text, "default", 7) == 0 && f->call.length;
    if (label && own.length && !preset)
        return; /* the other arguments of an option describe it */
    if (!read_constant(&value, s, first, to)) {
        struct frame inner = *f;
        inner.setting = setting;
        read_expression(s, &inner, own, first, to);
        return;
    }
    const uint32_t line = s->tokens[first].line;
    if (preset) {
        struct frame named = *f;
        named.name = f->label.length ? f->label : f->name;
        record(s, &named, (struct span){NULL, 0}, &value, mix(f->context, own), line, f->preset);
    } else if (own.length) {
        record(s, f, own, &value, equals < to ? f->context : f->context + 1, line, setting);
    } else if (s->tokens[first].kind == STRING && f->call.length && (!f->label.length || label)) { /* -l, --lr */
        struct span text = inside(s, first);
        const bool option = text.length && *text.text == '-';
        for (; text.length && *text.text == '-'; text.length--)
            text.text++;
        if (option || strncmp(f->call.text, "get", 3) == 0 || strncmp(f->call.text, "set", 3) == 0 ||
            strncmp(f->call.text, "DEFINE", 6) == 0)
            f->label = text;
        f->context = mix(f->context, f->label);
    } else if (s->tokens[first].kind != STRING || f->label.length) {
        struct frame place = *f;
        place.within = 0; /* a new argument without a name does not count as a setting */
        record(s, &place, own, &value, f->context + 2, line, f->label.length && f->preset);
    }
}

static void read_items(struct scan *s, struct frame *f, size_t from, size_t to)
{
    for (size_t i = from, end; i < to; i = end + 1) {
        const size_t comma = find(s, i, to, ',', false);
        end = find(s, i, comma, ';', false);
        read_item(s, f, i, end);
    }
}

/* ---- statements ---- */

static void enter(struct scan *s, uint32_t line)
{
    literals_add_scope(s->set, line, s->scopes[s->n_scopes - 1].name);
}

/* Opens a class, a function, or in C a block; `name` is the token with its name, 0 for none. */
static void open_scope(struct scan *s, size_t name, uint32_t indent, bool function, uint32_t line)
{
    const struct scope *outer = &s->scopes[s->n_scopes - 1];
    char text[SCOPE_NAME_MAX];
    size_t length = strlen(outer->name);
    const char *scope = outer->name;
    if (s->n_scopes == SCOPES_MAX) {
        s->deeper++;
        return;
    }
    const struct span own = name ? span_of(s, name, name) : (struct span){NULL, 0};
    if (name && length + own.length + 2 < sizeof text && literal_name_ok(own.text, own.length)) {
        memcpy(text, scope, length);
        if (length)
            text[length++] = '.';
        memcpy(text + length, own.text, own.length);
        scope = arena_text(&s->set->arena, text, length + own.length);
        s->set->failed = s->set->failed || !scope;
    }
    s->scopes[s->n_scopes++] = (struct scope){scope ? scope : "", indent, function || outer->function};
    enter(s, line);
}

static struct frame statement(const struct scan *s, bool setting)
{
    const char *scope = s->scopes[s->n_scopes - 1].name;
    return (struct frame){.context = literal_hash(7, scope, strlen(scope)), .path = "", .setting = setting, .parameters = true};
}

/* a, b = 1, 2: each name and its value, if there are equally many. */
static bool read_pairs(struct scan *s, size_t from, size_t equals, size_t to)
{
    struct frame f = statement(s, false);
    struct constant value;
    size_t name = from, at = equals + 1;
    if (find(s, from, equals, ',', false) == equals)
        return false;
    while (name < equals && at < to) {
        const size_t name_end = find(s, name, equals, ',', false), end = find(s, at, to, ',', false);
        bool other;
        const struct span own = target_of(s, name, name_end, &other);
        if (own.length && read_constant(&value, s, at, end))
            record(s, &f, own, &value, f.context, s->tokens[at].line, false);
        name = name_end + 1;
        at = end + 1;
    }
    return true;
}

/* The part of a statement of Python in front of the colon, and what follows on the same line: `if x: y = 3`. */
static void read_python(struct scan *s, size_t from, size_t to, uint32_t indent)
{
    while (from < to) {
        const size_t colon = find(s, from, to, ':', false), keyword = from + is(s, from, "async");
        struct frame f = statement(s, s->condition == UINT32_MAX);
        if (among(s, keyword, " def class ") && keyword + 1 < to) {
            const bool function = is(s, keyword, "def");
            open_scope(s, keyword + 1, indent, function, s->tokens[keyword].line);
            f = statement(s, true);
            f.depth = 1;
            if (function && keyword + 2 < to && s->tokens[keyword + 2].kind == '(')
                read_items(s, &f, keyword + 3, s->tokens[keyword + 2].match < to ? s->tokens[keyword + 2].match : to);
        } else if (among(s, from, " if elif while with for else try except finally match case ") && colon < to) {
            size_t value = from + 1;
            /* The settings of a script are often below if __name__ == "__main__". */
            if (!among(s, from, " with try finally ") && !is(s, value, "__name__") && s->condition == UINT32_MAX)
                s->condition = indent;
            if (is(s, from, "for") && is(s, value + 1, "in")) { /* for epoch in range(3): 3 is reported under the name of epoch */
                f.name = span_of(s, value, value);
                value += 2;
            }
            read_expression(s, &f, (struct span){NULL, 0}, value, colon);
        } else {
            const size_t equals = find(s, from, to, '=', false);
            if (among(s, from, " return yield ")) { /* What a function returns is reported under its name. */
                const char *scope = s->scopes[s->n_scopes - 1].name, *dot = strrchr(scope, '.');
                f.name = (struct span){dot ? dot + 1 : scope, strlen(dot ? dot + 1 : scope)};
                from++;
            }
            from += s->tokens[from].kind == '@';
            to -= to > from + 1 && s->tokens[to - 1].kind == ','; /* an argument on a line of its own */
            if (!among(s, from, " import from global nonlocal del pass break continue assert raise print ") &&
                (equals >= to || !read_pairs(s, from, equals, to)))
                read_item(s, &f, from, to);
            return;
        }
        from = colon + 1;
    }
}

static void scan_python(struct scan *s)
{
    bool first = true;
    uint32_t indent = 0;
    for (size_t from = 0, to; from < s->n; from = to + 1) {
        for (to = from; to < s->n && s->tokens[to].kind != LINE_END && s->tokens[to].kind != ';'; to = behind(s, to))
            ;
        to = to < s->n ? to : s->n;
        if (to > from && first) {
            const size_t open = s->n_scopes;
            indent = s->tokens[from].indent;
            while (s->n_scopes > 1 && s->scopes[s->n_scopes - 1].indent >= indent)
                s->n_scopes--;
            if (s->n_scopes < open)
                enter(s, s->tokens[from].line);
            if (s->condition != UINT32_MAX && indent <= s->condition)
                s->condition = UINT32_MAX;
        }
        if (to > from)
            read_python(s, from, to, indent);
        first = to < s->n && s->tokens[to].kind == LINE_END;
    }
}

/* Opens the block whose head is tokens[from..open): a function, a type, or a statement's body, which has no name. */
static void open_block(struct scan *s, size_t from, size_t open)
{
    size_t name = 0;
    bool type = false;
    for (size_t i = from; i < open && !name && !among(s, i, " if for while switch do else try catch return "); i++) {
        if (among(s, i, " struct union enum class namespace ")) {
            type = true;
            if (i + 1 < open && s->tokens[i + 1].kind == NAME && !is(s, i + 1, "class"))
                name = i + 1;
        } else if (s->tokens[i].kind == '(' && i > from && s->tokens[i - 1].kind == NAME) {
            name = i - 1;
            type = false;
        }
    }
    open_scope(s, name, 0, name && !type, s->tokens[from < open ? from : open].line);
}

static void read_c_statement(struct scan *s, size_t from, size_t to)
{
    for (size_t i = from, end; i < to; i = end + 1) {
        struct frame f = statement(s, true);
        end = find(s, i, to, ',', false);
        read_item(s, &f, i, end);
    }
}

static void scan_c(struct scan *s)
{
    size_t from = 0;
    for (size_t i = 0; i < s->n && !s->set->failed;) {
        const char kind = s->tokens[i].kind;
        const bool value = i > from && (strchr("=,(", s->tokens[i - 1].kind) || is(s, i - 1, "return"));
        const bool block = (kind == '{' && !value) || kind == '}';
        if (block || kind == ';') {
            const size_t head = from;
            if (kind != '{')
                read_c_statement(s, from, i);
            from = i + 1;
            if (kind == '{') {
                open_block(s, head, i);
                read_c_statement(s, head, i);
            } else if (kind == '}' && s->deeper) {
                s->deeper--;
            } else if (kind == '}' && s->n_scopes > 1) {
                s->n_scopes--;
                enter(s, s->tokens[i].line);
            }
        }
        i = block ? i + 1 : behind(s, i);
    }
    read_c_statement(s, from < s->n ? from : s->n, s->n);
}

void scan_code(struct literal_set *set, enum language language, const char *scope, bool in_function, const char *text,
               size_t length)
{
    struct scan *s = calloc(1, sizeof *s);
    if (!s) {
        set->failed = true;
        return;
    }
    *s = (struct scan){.set = set,
                       .language = language,
                       .text = text,
                       .length = length,
                       .line = 1,
                       .at_start = true,
                       .scopes = {{scope, 0, in_function}},
                       .n_scopes = 1,
                       .condition = UINT32_MAX};
    enter(s, 1);
    while (s->at < length && !set->failed)
        step(s);
    close_all(s);
    if (!set->failed && language == LANGUAGE_PYTHON)
        scan_python(s);
    else if (!set->failed && language == LANGUAGE_C)
        scan_c(s);
    else if (!set->failed) {
        struct frame f = statement(s, true);
        f.entries = true;
        f.depth = 1;
        read_items(s, &f, 0, s->n);
    }
    free(s->tokens);
    free(s);
}
