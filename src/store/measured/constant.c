/*
 * Every function looks at a range of at most CONSTANT_TOKENS tokens, and a call descends into a smaller range, so the
 * cost of an expression is bounded whatever its text is.
 */
#include "expressions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <lineage/text.h>

enum { DEPTH_MAX = 8, ELEMENTS_MAX = 16 };

static bool set_text(struct constant *value, const char *text, size_t length)
{
    if (length >= sizeof value->text || !lineage_text_is_utf8(text, length))
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            return false;
    memcpy(value->text, text, length);
    value->text[length] = '\0';
    value->length = length;
    return true;
}

static bool parse_hex(double *value, const char *text, size_t length)
{
    double sum = 0;
    for (size_t i = 2; i < length; i++) {
        char c = (char)(text[i] | 0x20);
        if (c >= '0' && c <= '9')
            sum = sum * 16 + (c - '0');
        else if (c >= 'a' && c <= 'f')
            sum = sum * 16 + (c - 'a' + 10);
        else
            return false;
    }
    *value = sum;
    return length > 2;
}

/* A number of Python, TOML or YAML: 786_432, 1e-8, 0x10; with c, of C: 0.1f, 10UL, 1'000, and 010, which is 8. */
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
    bool negative = n > 0 && clean[0] == '-', hex = n > 2 && clean[0] == '0' && (clean[1] | 0x20) == 'x';
    if (hex) {
        if (!parse_hex(&number, clean, n))
            return false;
    } else {
        while (c && n > 1 && strchr("fFlLuU", clean[n - 1]))
            n--;
        const bool octal = c && n > 1 && clean[0] == '0' && strspn(clean, "0123456789") >= n;
        if (octal || n == (size_t)negative || !lineage_number_parse(&number, clean, n) || !isfinite(number))
            return false;
    }
    value->number = (struct lineage_number){true, number};
    return set_text(value, clean, n);
}

static bool read_bool(struct constant *value, const char *text, size_t length)
{
    static const char *const words[] = {"True", "False", "None", "true", "false", "NULL", "nullptr"};
    static const char *const values[] = {"true", "false", "none", "true", "false", "none", "none"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && memcmp(words[i], text, length) == 0)
            return set_text(value, values[i], strlen(values[i]));
    return false;
}

bool constant_of_word(struct constant *value, const char *word, size_t length)
{
    *value = (struct constant){0};
    bool digits = length && (word[0] == '-' || word[0] == '+' || word[0] == '.' || (word[0] >= '0' && word[0] <= '9'));
    if (digits && read_number(value, word, length, false))
        return true;
    return read_bool(value, word, length) || (set_text(value, word, length) && length > 0);
}

bool constant_of_token(struct constant *value, const struct code_tokens *tokens, size_t at)
{
    const struct code_token *t = &tokens->items[at];
    *value = (struct constant){0};
    if (t->kind == CODE_NUMBER)
        return read_number(value, tokens->text + t->at, t->length, tokens->language == LANGUAGE_C);
    if (t->kind == CODE_NAME)
        return read_bool(value, tokens->text + t->at, t->length);
    if (t->kind != CODE_STRING)
        return false;
    size_t length;
    const char *text = code_string(tokens, at, &length);
    /* "0.1" in quotes is what a default of an environment variable looks like: a number. */
    if (length && (text[0] == '-' || text[0] == '.' || (text[0] >= '0' && text[0] <= '9')) &&
        read_number(value, text, length, false))
        return true;
    return length ? set_text(value, text, length) : set_text(value, "''", 2);
}

struct sum {
    const struct code_tokens *tokens;
    size_t at, to;
    unsigned depth;
    bool failed;
    bool real;  /* C: a number of this product has a fraction or exponent */
    bool typed; /* C: the value depends on types, as that of 1/3 does */
};

static double read_shift(struct sum *s);

static bool take(struct sum *s, const char *op)
{
    bool there = s->at < s->to && s->tokens->items[s->at].kind == CODE_OP && code_is(s->tokens, s->at, op);
    s->at += there;
    return there;
}

static double read_factor(struct sum *s)
{
    struct constant value;
    double x = 0;
    if (++s->depth > DEPTH_MAX * 4) {
        s->failed = true;
    } else if (take(s, "-")) {
        x = -read_factor(s);
    } else if (take(s, "+")) {
        x = read_factor(s);
    } else if (take(s, "(")) {
        x = read_shift(s);
        s->failed = s->failed || !take(s, ")");
    } else if (s->at < s->to && s->tokens->items[s->at].kind == CODE_NUMBER && constant_of_token(&value, s->tokens, s->at)) {
        x = value.number.value;
        s->real = s->real || strpbrk(value.text, ".eE");
        s->at++;
    } else
        s->failed = true;
    s->depth--;
    if (!s->failed && s->tokens->language == LANGUAGE_PYTHON && take(s, "**"))
        x = pow(x, read_factor(s));
    return x;
}

static double read_product(struct sum *s)
{
    const bool real = s->real;
    s->real = false;
    double x = read_factor(s);
    while (!s->failed) {
        if (take(s, "*"))
            x *= read_factor(s);
        else if (take(s, "//"))
            x = floor(x / read_factor(s));
        else if (take(s, "/")) {
            x /= read_factor(s);
            s->typed = s->typed || (!s->real && x != floor(x));
        } else
            break;
    }
    s->real = s->real || real;
    return x;
}

static double read_sum(struct sum *s)
{
    double x = read_product(s);
    while (!s->failed) {
        if (take(s, "+"))
            x += read_product(s);
        else if (take(s, "-"))
            x -= read_product(s);
        else
            break;
    }
    return x;
}

static double read_shift(struct sum *s)
{
    double x = read_sum(s);
    while (!s->failed && s->tokens->language == LANGUAGE_C && take(s, "<<"))
        x = ldexp(x, (int)fmin(1024, fmax(0, read_sum(s))));
    return x;
}

/* A fraction or a power keeps its spelling, because people state such values in the same way; other results are
 * formatted. A value of C that depends on types is only a text. */
static bool read_arithmetic(struct constant *value, const struct code_tokens *tokens, size_t from, size_t to)
{
    struct sum s = {.tokens = tokens, .at = from, .to = to};
    char text[LINEAGE_NUMBER_MAX], written[LITERAL_VALUE_MAX] = "";
    double x = read_shift(&s);
    size_t length = 0;
    if (s.failed || s.at != to || !isfinite(x))
        return false;
    s.typed = s.typed && tokens->language == LANGUAGE_C;
    bool keep = s.typed || (to - from == 3 && (code_is(tokens, from + 1, "/") || code_is(tokens, from + 1, "**")));
    for (size_t i = from; keep && i < to; i++) {
        const struct code_token *t = &tokens->items[i];
        const char *part = t->length == 2 && tokens->text[t->at] == '*' ? "^" : tokens->text + t->at;
        size_t n = *part == '^' ? 1 : t->length;
        keep = length + n < sizeof written;
        if (keep)
            memcpy(written + length, part, n);
        length += n;
    }
    if (s.typed && !keep)
        return false;
    bool whole = fabs(x) < 1e15 && x == floor(x);
    if (!keep && whole)
        snprintf(text, sizeof text, "%.0f", x);
    else if (!keep)
        lineage_number_format(text, x);
    bool sign = to - from == 2 && tokens->items[to - 1].kind == CODE_NUMBER; /* -1e-4 keeps its spelling */
    if (sign) {
        struct constant number;
        constant_of_token(&number, tokens, to - 1);
        length = (size_t)snprintf(value->text, sizeof value->text, "%s%.80s", x < 0 || code_op(tokens, from, '-') ? "-" : "",
                                  number.text);
        value->length = length;
    } else if (keep ? !set_text(value, written, length) : !set_text(value, text, strlen(text)))
        return false;
    value->number = (struct lineage_number){!s.typed, x};
    return true;
}

static bool read(struct constant *value, const struct code_tokens *tokens, size_t from, size_t to, unsigned depth);

static bool read_list(struct constant *value, const struct code_tokens *tokens, size_t from, size_t to, char open, unsigned depth)
{
    char text[LITERAL_VALUE_MAX];
    size_t length = 0, n = 0;
    text[length++] = open;
    for (size_t at = from; at < to; n++) {
        struct constant part;
        size_t end = code_find(tokens, at, to, ",", false);
        if (n == ELEMENTS_MAX || !read(&part, tokens, at, end, depth + 1) || length + part.length + 4 >= sizeof text)
            return false;
        if (n) {
            memcpy(text + length, ", ", 2);
            length += 2;
        }
        memcpy(text + length, part.text, part.length);
        length += part.length;
        at = end + 1;
    }
    text[length++] = open == '(' ? ')' : open == '[' ? ']' : '}';
    return n > 0 && set_text(value, text, length);
}

/* The default in the arguments of a call: default=VALUE, or NAME, VALUE, or the only argument of a conversion. */
static bool read_call(struct constant *value, const struct code_tokens *tokens, size_t name, size_t from, size_t to,
                      unsigned depth)
{
    size_t positional = 0, second = 0, second_end = 0;
    bool first_is_text = false;
    for (size_t at = from; at < to;) {
        size_t end = code_find(tokens, at, to, ",", false);
        bool named = end > at + 2 && tokens->items[at].kind == CODE_NAME && code_op(tokens, at + 1, '=');
        if (named && code_is(tokens, at, "default"))
            return read(value, tokens, at + 2, end, depth + 1);
        if (!named && positional++ == 0)
            first_is_text = end == at + 1 && tokens->items[at].kind == CODE_STRING;
        else if (!named && positional == 2) {
            second = at;
            second_end = end;
        }
        at = end + 1;
    }
    if (positional == 2 && first_is_text)
        return read(value, tokens, second, second_end, depth + 1);
    if (positional >= 1 && code_among(tokens, name, " Option Argument Field field "))
        return read(value, tokens, from, code_find(tokens, from, to, ",", false), depth + 1);
    return positional == 1 && code_among(tokens, name, " int float str bool tuple list Path Decimal Fraction tensor ") &&
           read(value, tokens, from, code_find(tokens, from, to, ",", false), depth + 1);
}

/* The value of an entry of a configuration: a list, or the text as it is written, on one line. */
static bool read_entry(struct constant *value, const struct code_tokens *tokens, size_t from, size_t to, unsigned depth)
{
    const struct code_token *first = &tokens->items[from], *last = &tokens->items[to - 1];
    const char *text = tokens->text + first->at;
    if (to - from == 1 && first->kind == CODE_STRING)
        return constant_of_token(value, tokens, from);
    if (code_bracket(tokens, from) > 0)
        return *text == '[' && code_close(tokens, from, to) == to - 1 && read_list(value, tokens, from + 1, to - 1, '[', depth);
    return last->line == first->line && constant_of_word(value, text, last->at + last->length - first->at);
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
    bool bracket = code_bracket(tokens, from) > 0 && code_close(tokens, from, to) == to - 1;
    char open = tokens->text[tokens->items[from].at];
    if (bracket && open == '(' && code_find(tokens, from + 1, to - 1, ",", false) == to - 1)
        return read(value, tokens, from + 1, to - 1, depth + 1);
    if (bracket)
        return read_list(value, tokens, from + 1, to - 1, open, depth);
    if (code_find(tokens, from, to, ",", false) != to)
        return tokens->language == LANGUAGE_PYTHON && read_list(value, tokens, from, to, '(', depth);
    if (to - from > 2 && code_is(tokens, to - 2, "or"))
        return read(value, tokens, to - 1, to, depth + 1);
    size_t name = from;
    while (name + 2 < to && tokens->items[name].kind == CODE_NAME &&
           (code_op(tokens, name + 1, '.') || code_is(tokens, name + 1, "::")))
        name += 2;
    if (name + 1 < to && tokens->items[name].kind == CODE_NAME && code_op(tokens, name + 1, '(') &&
        code_close(tokens, name + 1, to) == to - 1)
        return read_call(value, tokens, name, name + 2, to - 1, depth);
    return false;
}

bool constant_read(struct constant *value, const struct code_tokens *tokens, size_t from, size_t to)
{
    return read(value, tokens, from, to, 0);
}
