/* constant.c: expressions whose value is written down: numbers, texts, truth values, short lists. Every function looks at a
 * range of at most CONSTANT_TOKENS tokens, and a call descends into a smaller range, so the cost of an expression is bounded
 * whatever its text is. */
#include <math.h>

#include <lineage/text.h>

#include "literals.h"

enum { DEPTH_MAX = 8, ELEMENTS_MAX = 16 };

static bool set_text(struct constant *value, const char *text, size_t length)
{
    if (length >= sizeof value->text || (length && !literal_name_ok(text, length)))
        return false;
    memcpy(value->text, text, length);
    value->text[length] = '\0';
    value->length = length;
    return true;
}

/* A number of Python, TOML or YAML: 786_432, 1e-8, 0x10; with c, of C: 0.1f, 10UL, 1'000, but not 010, which is 8. */
static bool read_number(struct constant *value, const char *text, size_t length, bool c)
{
    char clean[LITERAL_VALUE_MAX];
    size_t n = 0;
    double number;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == (c ? '\'' : '_'))
            continue;
        if (n + 1 >= sizeof clean)
            return false;
        clean[n++] = text[i];
    }
    clean[n] = '\0';
    if (n > 2 && clean[0] == '0' && (clean[1] | 0x20) == 'x') {
        if (strspn(clean + 2, "0123456789abcdefABCDEF") != n - 2)
            return false;
        number = strtod(clean, NULL);
    } else {
        while (c && n > 1 && strchr("fFlLuU", clean[n - 1]))
            n--;
        if (c && n > 1 && clean[0] == '0' && strspn(clean, "0123456789") >= n)
            return false;
        if (n == (clean[0] == '-') || !lineage_number_parse(&number, clean, n) || !isfinite(number))
            return false;
    }
    value->number = (struct lineage_number){true, number};
    return set_text(value, clean, n);
}

static bool read_bool(struct constant *value, const char *text, size_t length)
{
    static const char *const words[][2] = {{"True", "true"},   {"False", "false"}, {"None", "none"},   {"true", "true"},
                                           {"false", "false"}, {"NULL", "none"},   {"nullptr", "none"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i][0]) == length && memcmp(words[i][0], text, length) == 0)
            return set_text(value, words[i][1], strlen(words[i][1]));
    return false;
}

bool constant_of_word(struct constant *value, const char *word, size_t length)
{
    *value = (struct constant){0};
    const bool digits = length && (strchr("-+.", word[0]) || (word[0] >= '0' && word[0] <= '9'));
    if (digits && read_number(value, word, length, false))
        return true;
    return read_bool(value, word, length) || (set_text(value, word, length) && length > 0);
}

bool constant_of_token(struct constant *value, const struct code_tokens *tokens, size_t at)
{
    const struct code_token *t = &tokens->items[at];
    *value = (struct constant){0};
    if (t->kind == CODE_NUMBER)
        return read_number(value, code_text(tokens, at), t->length, tokens->language == LANGUAGE_C);
    if (t->kind == CODE_NAME)
        return read_bool(value, code_text(tokens, at), t->length);
    if (t->kind != CODE_STRING)
        return false;
    size_t length;
    const char *text = code_string(tokens, at, &length);
    /* "0.1" in quotes is what a default of an environment variable looks like: a number. */
    if (length && (strchr("-.", text[0]) || (text[0] >= '0' && text[0] <= '9')) && read_number(value, text, length, false))
        return true;
    return length ? set_text(value, text, length) : set_text(value, "''", 2);
}

/* ---- arithmetic on numbers ---- */

struct sum {
    const struct code_tokens *tokens;
    size_t at, to;
    unsigned depth;
    bool failed;
    bool real;  /* C: a number of this product has a fraction or exponent */
    bool typed; /* C: the value depends on types, as that of 1/3 does */
};

/* The operators, from those that bind least. ** binds from the right, and more than a sign in front of it. */
enum { SHIFT = 1, SUM, PRODUCT, POWER };
static const struct {
    const char *text;
    unsigned binds;
} operators[] = {{"<<", SHIFT}, {"+", SUM}, {"-", SUM}, {"*", PRODUCT}, {"/", PRODUCT}, {"//", PRODUCT}, {"**", POWER}};

static bool take(struct sum *s, const char *op)
{
    const bool there = s->at < s->to && s->tokens->items[s->at].kind == CODE_OP && code_is(s->tokens, s->at, op);
    s->at += there;
    return there;
}

static double apply(struct sum *s, const char *op, double x, double y)
{
    switch (*op) {
    case '<': return ldexp(x, (int)fmin(1024, fmax(0, y)));
    case '+': return x + y;
    case '-': return x - y;
    case '*': return op[1] ? pow(x, y) : x * y;
    default:
        x /= y;
        s->typed = s->typed || (!op[1] && !s->real && x != floor(x));
        return op[1] ? floor(x) : x;
    }
}

/* Reads operands and the operators between them, except those that bind less than `binds`. */
static double read_sum(struct sum *s, unsigned binds)
{
    struct constant value;
    const bool python = s->tokens->language == LANGUAGE_PYTHON, real = s->real;
    double x = 0;
    if (binds <= PRODUCT)
        s->real = false;
    if (++s->depth > DEPTH_MAX * 4) {
        s->failed = true;
    } else if (take(s, "-")) {
        x = -read_sum(s, POWER);
    } else if (take(s, "+")) {
        x = read_sum(s, POWER);
    } else if (take(s, "(")) {
        x = read_sum(s, SHIFT);
        s->failed = s->failed || !take(s, ")");
    } else if (s->at < s->to && s->tokens->items[s->at].kind == CODE_NUMBER && constant_of_token(&value, s->tokens, s->at)) {
        x = value.number.value;
        s->real = s->real || strpbrk(value.text, ".eE");
        s->at++;
    } else
        s->failed = true;
    for (size_t i = 0; i < sizeof operators / sizeof *operators && !s->failed;) {
        const unsigned own = operators[i].binds;
        const bool known = own >= binds && (python ? own != SHIFT : own != POWER);
        if (!known || !take(s, operators[i].text)) {
            i++;
            continue;
        }
        x = apply(s, operators[i].text, x, read_sum(s, own == POWER ? POWER : own + 1));
        i = 0;
    }
    s->real = s->real || real;
    s->depth--;
    return x;
}

/* A fraction or a power keeps its spelling, because people state such values in the same way; other results are
 * formatted. A value of C that depends on types is only a text. */
static bool read_arithmetic(struct constant *value, const struct code_tokens *tokens, size_t from, size_t to)
{
    struct sum s = {.tokens = tokens, .at = from, .to = to};
    const double x = read_sum(&s, SHIFT);
    if (s.failed || s.at != to || !isfinite(x))
        return false;
    const bool typed = s.typed && tokens->language == LANGUAGE_C;
    const bool as_written = typed || (to - from == 3 && (code_is(tokens, from + 1, "/") || code_is(tokens, from + 1, "**")));
    char text[LITERAL_VALUE_MAX] = "";
    size_t length = 0;
    if (to - from == 2 && tokens->items[to - 1].kind == CODE_NUMBER) { /* -1e-4 keeps its spelling */
        struct constant number;
        constant_of_token(&number, tokens, to - 1);
        length = (size_t)snprintf(text, sizeof text, "%s%.80s", code_op(tokens, from) == '-' ? "-" : "", number.text);
    } else if (as_written) {
        for (size_t i = from; i < to; i++) {
            const bool power = code_is(tokens, i, "**");
            const size_t n = power ? 1 : tokens->items[i].length;
            if (length + n >= sizeof text)
                return false;
            memcpy(text + length, power ? "^" : code_text(tokens, i), n);
            length += n;
        }
    } else if (fabs(x) < 1e15 && x == floor(x)) {
        length = (size_t)snprintf(text, sizeof text, "%.0f", x);
    } else {
        lineage_number_format(text, x);
        length = strlen(text);
    }
    value->number = (struct lineage_number){!typed, x};
    return set_text(value, text, length);
}

static bool read(struct constant *value, const struct code_tokens *tokens, size_t from, size_t to, unsigned depth);

/* The elements tokens[from..to) of a list or tuple. */
static bool read_list(struct constant *value, const struct code_tokens *tokens, size_t from, size_t to, char open, unsigned depth)
{
    char text[LITERAL_VALUE_MAX] = {open};
    size_t length = 1, n = 0;
    for (size_t at = from, end; at < to; at = end + 1, n++) {
        struct constant part;
        end = code_find(tokens, at, to, ",", false);
        if (n == ELEMENTS_MAX || !read(&part, tokens, at, end, depth + 1) || length + part.length + 4 >= sizeof text)
            return false;
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", n ? ", " : "", part.text);
    }
    text[length++] = open == '(' ? ')' : open == '[' ? ']' : '}';
    return n > 0 && set_text(value, text, length);
}

/* The default in the arguments of a call: default=VALUE, or NAME, VALUE, or the only argument of a conversion. */
static bool read_call(struct constant *value, const struct code_tokens *tokens, size_t name, size_t from, size_t to,
                      unsigned depth)
{
    size_t n = 0, starts[2] = {0}, ends[2] = {0};
    for (size_t at = from, end; at < to; at = end + 1) {
        end = code_find(tokens, at, to, ",", false);
        const bool named = end > at + 2 && tokens->items[at].kind == CODE_NAME && code_op(tokens, at + 1) == '=';
        if (named && code_is(tokens, at, "default"))
            return read(value, tokens, at + 2, end, depth + 1);
        if (!named && n < 2) {
            starts[n] = at;
            ends[n] = end;
        }
        n += !named;
    }
    if (n == 2 && ends[0] == from + 1 && tokens->items[from].kind == CODE_STRING)
        return read(value, tokens, starts[1], ends[1], depth + 1);
    const bool first = n >= 1 && code_among(tokens, name, " Option Argument Field field ");
    return (first || (n == 1 && code_among(tokens, name, " int float str bool tuple list Path Decimal Fraction tensor "))) &&
           read(value, tokens, starts[0], ends[0], depth + 1);
}

/* The value of an entry of a configuration: a list, or the text as it is written, on one line. */
static bool read_entry(struct constant *value, const struct code_tokens *tokens, size_t from, size_t to, unsigned depth)
{
    const char *text = code_text(tokens, from);
    if (to - from == 1 && tokens->items[from].kind == CODE_STRING)
        return constant_of_token(value, tokens, from);
    if (is_opening(code_op(tokens, from)))
        return *text == '[' && code_close(tokens, from, to) == to - 1 && read_list(value, tokens, from + 1, to - 1, '[', depth);
    return tokens->items[to - 1].line == tokens->items[from].line &&
           constant_of_word(value, text, code_end(tokens, to - 1) - tokens->items[from].at);
}

static bool read(struct constant *value, const struct code_tokens *tokens, size_t from, size_t to, unsigned depth)
{
    *value = (struct constant){0};
    if (from >= to || to - from > CONSTANT_TOKENS || depth > DEPTH_MAX)
        return false;
    if (is_configuration(tokens->language))
        return read_entry(value, tokens, from, to, depth);
    if (to - from == 1)
        return constant_of_token(value, tokens, from);
    if (read_arithmetic(value, tokens, from, to))
        return true;
    const char open = code_op(tokens, from);
    if (is_opening(open) && code_close(tokens, from, to) == to - 1) {
        if (open == '(' && code_find(tokens, from + 1, to - 1, ",", false) == to - 1)
            return read(value, tokens, from + 1, to - 1, depth + 1);
        return read_list(value, tokens, from + 1, to - 1, open, depth);
    }
    if (code_find(tokens, from, to, ",", false) != to)
        return tokens->language == LANGUAGE_PYTHON && read_list(value, tokens, from, to, '(', depth);
    if (to - from > 2 && code_is(tokens, to - 2, "or"))
        return read(value, tokens, to - 1, to, depth + 1);
    size_t name = from;
    while (name + 2 < to && tokens->items[name].kind == CODE_NAME &&
           (code_op(tokens, name + 1) == '.' || code_is(tokens, name + 1, "::")))
        name += 2;
    return name + 1 < to && tokens->items[name].kind == CODE_NAME && code_op(tokens, name + 1) == '(' &&
           code_close(tokens, name + 1, to) == to - 1 && read_call(value, tokens, name, name + 2, to - 1, depth);
}

bool constant_read(struct constant *value, const struct code_tokens *tokens, size_t from, size_t to)
{
    return read(value, tokens, from, to, 0);
}
