/* idea_tokens.c: splits prose about trials into words, numbers, arrows and marks. */
#include "idea_tokens.h"

#include <math.h>
#include <utf8proc.h>

#include <lineage/ideas.h>
#include <lineage/text.h>

#include "../format/arena.h"

enum { DIGITS_MAX = 40 }; /* longest number in digits; longer ones count as text */

struct reader {
    const char *text;
    size_t length, at;
    struct tokens *tokens;
    size_t capacity;
    uint32_t clause, sentence;
    uint16_t depth;
    bool blank; /* there was white space since the last token */
};

uint32_t code_point(const char *text, size_t at, size_t length, size_t *size)
{
    utf8proc_int32_t c;
    utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(length - at), &c);
    *size = n > 0 ? (size_t)n : 1;
    return n > 0 ? (uint32_t)c : 0xFFFD;
}

static bool is_subscript(uint32_t c)
{
    return c >= 0x2080 && c <= 0x2089;
}

/* The digit of a superscript, 10 for ⁻, or -1. */
static int superscript(uint32_t c)
{
    if (c == 0xB9)
        return 1;
    if (c == 0xB2 || c == 0xB3)
        return (int)(c - 0xB0);
    if (c == 0x2070 || (c >= 0x2074 && c <= 0x2079))
        return (int)(c - 0x2070);
    return c == 0x207B ? 10 : -1;
}

/* Whether c is a letter of any script; beyond ASCII, everything counts that is not punctuation, a sign or a symbol. */
static bool is_letter(uint32_t c)
{
    if (c < 0x80)
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (c < 0xC0)
        return c == 0xB5 || c == 0xAA || c == 0xBA;
    return c != 0xD7 && c != 0xF7 && !(c >= 0x2000 && c < 0x2C00 && !is_subscript(c)) && !(c >= 0x3000 && c < 0x3003) &&
           c != 0xFFFD && c != 0xFEFF;
}

static bool is_arrow(uint32_t c)
{
    return c == 0x2192 || c == 0x27F6 || c == 0x21D2 || c == 0x279C || c == 0x2794 || c == 0x21A6 || c == 0x27A1 || c == 0x279D ||
           c == 0x27F9;
}

static uint32_t peek(const struct reader *r, size_t at)
{
    size_t size;
    return at < r->length ? code_point(r->text, at, r->length, &size) : 0;
}

static bool add(struct reader *r, struct token token, size_t end)
{
    struct tokens *tokens = r->tokens;
    if (!LIST_ROOM(tokens->items, tokens->n, r->capacity))
        return false;
    token.at = (uint32_t)r->at;
    token.length = (uint32_t)(end - r->at);
    token.clause = r->clause;
    token.sentence = r->sentence;
    token.depth = r->depth;
    token.glued = !r->blank && tokens->n > 0;
    tokens->items[tokens->n++] = token;
    r->blank = false;
    r->at = end;
    return true;
}

static size_t skip_digits(const struct reader *r, size_t at)
{
    while (at < r->length && is_digit((unsigned char)r->text[at]))
        at++;
    return at;
}

/* Reads a plain decimal at `at`, with thousands separators and exponent. Returns its end, or `at` if there is none. */
static size_t decimal(const struct reader *r, size_t at, double *value, double *unit)
{
    char digits[DIGITS_MAX + 1];
    size_t n = 0, end = skip_digits(r, at), fraction = end;
    /* Accepts the separators of 65,536, but not those of the lists 0.9,0.95 and 1,024,7. */
    while (end - at <= 12 && end > at && end + 3 < r->length + 1 && r->text[end < r->length ? end : end - 1] == ',' &&
           skip_digits(r, end + 1) == end + 4)
        end += 4;
    fraction = end;
    *unit = 1;
    if (end < r->length && r->text[end] == '.' && end + 1 < r->length && is_digit((unsigned char)r->text[end + 1])) {
        fraction = skip_digits(r, end + 1);
        *unit = pow(10, -fmin((double)(fraction - end - 1), 300));
        end = fraction;
    }
    if (end < r->length && (r->text[end] | 0x20) == 'e') {
        size_t exponent = end + 1;
        if (exponent < r->length && (r->text[exponent] == '-' || r->text[exponent] == '+'))
            exponent++;
        size_t last = skip_digits(r, exponent);
        if (last > exponent && !is_letter(peek(r, last)))
            end = last;
    }
    if (end == at)
        return at;
    *value = NAN;
    if (end - at > DIGITS_MAX)
        return end;
    for (size_t i = at; i < end; i++)
        if (r->text[i] != ',')
            digits[n++] = r->text[i];
    lineage_number_parse(value, digits, n);
    return end;
}

/* Reads an exponent after a base: ^15, **15, ^-4, ⁻⁴. Returns its end, or `at` if there is none. */
static size_t power(const struct reader *r, size_t at, double *value)
{
    double exponent, unit;
    size_t start = at, size;
    bool minus = false;
    if (superscript(peek(r, at)) >= 0) {
        int sum = 0, digits = 0, digit;
        for (; digits < 6 && (digit = superscript(peek(r, at))) >= 0; digits++, at += size) {
            code_point(r->text, at, r->length, &size);
            if (digit == 10)
                minus = true;
            else
                sum = sum * 10 + digit;
        }
        *value = pow(*value, minus ? -sum : sum);
        return at;
    }
    if (at < r->length && r->text[at] == '^')
        at++;
    else if (at + 1 < r->length && r->text[at] == '*' && r->text[at + 1] == '*')
        at += 2;
    else
        return start;
    if (at < r->length && (r->text[at] == '{' || r->text[at] == '('))
        at++;
    if (at < r->length && r->text[at] == '-')
        minus = true, at++;
    else if (peek(r, at) == 0x2212)
        minus = true, at += 3;
    size_t end = decimal(r, at, &exponent, &unit);
    if (end == at)
        return start;
    if (end < r->length && (r->text[end] == '}' || (r->text[end] == ')' && r->text[at - 1] == '(')))
        end++;
    *value = pow(*value, minus ? -exponent : exponent);
    return end;
}

/* Returns the byte length of a hyphen or en dash that joins digits, as in 3-5 and 0–28%; 0 if there is none. */
static size_t range_dash(const struct reader *r, size_t at)
{
    size_t size = at < r->length && r->text[at] == '-' ? 1 : peek(r, at) == 0x2013 ? 3 : 0;
    return size && is_digit(peek(r, at + size)) ? size : 0;
}

static bool is_power_of_two(double value)
{
    int exponent;
    return frexp(value, &exponent) == 0.5;
}

/* Reads a unit directly after the digits: K, M, B, %, ×. Returns its end. */
static size_t suffix(const struct reader *r, size_t at, double unit, struct token *token)
{
    uint32_t c = peek(r, at), next = peek(r, at + 1);
    double factor = 0;
    if (!is_letter(next) && !is_digit(next)) {
        if (c == 'k' || c == 'K')
            factor = is_power_of_two(token->value) && token->value < 1024 ? 1024 : 1000;
        else if (c == 'M')
            factor = 1e6;
        else if (c == 'B' || c == 'G')
            factor = 1e9;
        if (factor != 0) {
            /* 786k is rounded, so it may mean 786432. 32K may also mean 32000. */
            token->slack = factor == 1024 ? 0 : factor * unit / 2;
            token->other = factor == 1024 ? 1000 * token->value : 0;
            token->value *= factor;
            return at + 1;
        }
        if (c == 'x' || c == 'X') {
            token->times = true;
            return at + 1;
        }
    }
    if (c == 0xD7 && !is_letter(peek(r, at + 2)) && !is_digit(peek(r, at + 2))) {
        token->times = true;
        return at + 2;
    }
    size_t percent = c == ' ' && next == '%' ? at + 1 : at;
    if (peek(r, percent) == '%') {
        token->percent = true;
        token->value /= 100;
        return percent + 1;
    }
    return at;
}

/* Adds the number at r->at; a sign, if any, was before it. If the digits begin a word (2nd, 2-step), adds the word
 * instead. */
static bool number(struct reader *r, size_t at, bool minus)
{
    struct token token = {.kind = TOKEN_NUMBER, .has_value = true};
    double unit, second, ignored;
    size_t end = decimal(r, at, &token.value, &unit), next;
    if ((next = power(r, end, &token.value)) > end)
        end = next;
    else if (end < r->length && r->text[end] == '/' && is_digit(peek(r, end + 1))) {
        /* 1/3 is a ratio, 32/64/64 and 0.095/0.115 are lists. */
        bool ratio = unit == 1;
        next = decimal(r, end + 1, &second, &ignored);
        ratio = ratio && ignored == 1 && second != 0;
        while (next < r->length && r->text[next] == '/' && is_digit(peek(r, next + 1)))
            next = decimal(r, next + 1, &ignored, &unit), ratio = false;
        end = next;
        token.has_value = ratio;
        token.value /= second;
    } else if ((next = range_dash(r, end))) {
        while ((next = range_dash(r, end)) ||
               (end + 1 < r->length && r->text[end] == '.' && is_digit(peek(r, end + 1)) && (next = 1)))
            end = decimal(r, end + next, &ignored, &unit);
        token.has_value = false;
    } else if (end + 1 < r->length && r->text[end] == '.' && is_digit(peek(r, end + 1))) {
        /* 1.2.3 is a version. */
        while (end + 1 < r->length && r->text[end] == '.' && is_digit(peek(r, end + 1)))
            end = decimal(r, end + 1, &ignored, &unit);
        token.has_value = false;
    }
    end = suffix(r, end, unit, &token);
    if (minus)
        token.value = -token.value;
    if (!token.has_value || !isfinite(token.value))
        token.value = 0, token.has_value = false;
    return add(r, token, end);
}

/* 2nd, 2-step-ahead, 3D: words that begin with digits. 43ep and 512ch are numbers with a unit. */
static bool digits_begin_word(const struct reader *r, size_t at)
{
    size_t end = skip_digits(r, at);
    uint32_t c = peek(r, end), next = peek(r, end + 1);
    if (c == '-')
        return is_letter(next) && next < 0x80;
    if (end + 1 >= r->length || is_letter(peek(r, end + 2)))
        return false;
    return (c == 's' && next == 't') || (c == 'n' && next == 'd') || (c == 'r' && next == 'd') || (c == 't' && next == 'h') ||
           ((c == 'D' || c == 'd') && !is_letter(next));
}

static size_t word_end(const struct reader *r, size_t at)
{
    size_t size;
    while (at < r->length) {
        uint32_t c = code_point(r->text, at, r->length, &size), next = peek(r, at + size);
        if (is_letter(c) || is_digit(c) || is_subscript(c) || (superscript(c) >= 0 && superscript(c) < 10))
            at += size;
        else if ((c == '.' || c == '-') && (is_letter(next) || (c == '-' && is_digit(next))) && peek(r, at + 1) != 0)
            at += size;
        else
            break;
    }
    return at;
}

static bool word(struct reader *r)
{
    size_t end = word_end(r, r->at);
    if (!add(r, (struct token){.kind = TOKEN_WORD}, end))
        return false;
    /* The possessive 's of "exp_005's" is skipped. */
    uint32_t c = peek(r, r->at);
    size_t size = c == '\'' ? 1 : c == 0x2019 ? 3 : 0;
    if (size && peek(r, r->at + size) == 's' && !is_letter(peek(r, r->at + size + 1)))
        r->at += size + 1;
    return true;
}

static bool ends_with_blank(const struct reader *r, size_t at)
{
    return at >= r->length || r->text[at] == ' ' || r->text[at] == '\n' || r->text[at] == '\t' || r->text[at] == '\r';
}

static bool mark(struct reader *r, char mark, size_t size)
{
    bool closes = mark == ')' || mark == ']' || mark == '}', opens = mark == '(' || mark == '[' || mark == '{';
    if (closes && r->depth)
        r->depth--;
    if (!add(r, (struct token){.kind = TOKEN_MARK, .mark = mark}, r->at + size))
        return false;
    if (opens && r->depth < UINT16_MAX)
        r->depth++;
    bool blank = ends_with_blank(r, r->at);
    if (mark == '\n' || ((mark == '.' || mark == '!' || mark == '?') && blank)) {
        r->clause++, r->sentence++;
        if (mark == '\n')
            r->depth = 0;
    } else if (mark == ';' || mark == '|' || (mark == ':' && blank))
        r->clause++;
    return true;
}

/* A sign belongs to a number if nothing that could be a left operand precedes it. */
static bool may_sign(const struct reader *r)
{
    if (r->tokens->n == 0 || r->blank)
        return true;
    const struct token *last = &r->tokens->items[r->tokens->n - 1];
    return last->kind == TOKEN_ARROW || (last->kind == TOKEN_MARK && !strchr(")]}", last->mark));
}

static bool other(struct reader *r, uint32_t c, size_t size)
{
    uint32_t next = peek(r, r->at + size);
    const char *rest = r->text + r->at;
    size_t left = r->length - r->at;
    if (is_arrow(c))
        return add(r, (struct token){.kind = TOKEN_ARROW}, r->at + size);
    for (size_t dashes = 1; dashes <= 3 && dashes < left && rest[dashes - 1] == '-'; dashes++)
        if (rest[dashes] == '>')
            return add(r, (struct token){.kind = TOKEN_ARROW}, r->at + dashes + 1);
    if (c == '=' && next == '>')
        return add(r, (struct token){.kind = TOKEN_ARROW}, r->at + 2);
    if ((c == '-' || c == 0x2212) && (is_digit(next) || (next == '.' && is_digit(peek(r, r->at + size + 1)))) && may_sign(r))
        return number(r, r->at + size, true);
    if (c == 0x2014 || c == 0x2013 || (c == '-' && r->blank && ends_with_blank(r, r->at + 1)))
        return mark(r, '|', size);
    if (c == '-' && next == '-' && r->blank && ends_with_blank(r, r->at + 2))
        return mark(r, '|', 2);
    if (c == 0xD7 || c == 0xB7 || c == 0x22C5)
        return mark(r, 'x', size);
    if (c == 0x2248 || c == '~')
        return mark(r, '~', size);
    if (c == 0x201C || c == 0x201D)
        return mark(r, '"', size);
    if ((c == '=' || c == '!' || c == '<' || c == '>') && next == '=')
        return mark(r, '<', 2);
    if (c == ':' && next == '=')
        return mark(r, '=', 2);
    return mark(r, c < 0x80 ? (char)c : ' ', size);
}

bool tokens_read(struct tokens *tokens, const char *text, size_t length)
{
    struct reader r = {.text = text, .length = length, .tokens = tokens};
    *tokens = (struct tokens){.text = text, .length = length};
    while (r.at < length && tokens->n < TOKENS_MAX) {
        size_t size;
        uint32_t c = code_point(text, r.at, length, &size);
        bool ok = true;
        if (c == ' ' || c == '\t' || c == '\r' || c == 0xA0 || c == 0x2009 || c == 0x202F)
            r.blank = true, r.at += size;
        else if (c == '\n')
            ok = mark(&r, '\n', 1), r.blank = true;
        else if (is_digit(c) || (c == '.' && is_digit(peek(&r, r.at + 1)) && may_sign(&r)))
            ok = digits_begin_word(&r, r.at) ? word(&r) : number(&r, r.at, false);
        else if (is_letter(c))
            ok = word(&r);
        else
            ok = other(&r, c, size);
        if (!ok) {
            free(tokens->items);
            *tokens = (struct tokens){0};
            return false;
        }
    }
    return true;
}

bool tokens_of_text(struct tokens *tokens, const char *text)
{
    return tokens_read(tokens, text, strnlen(text, LINEAGE_IDEAS_TEXT));
}

bool token_is(const struct tokens *tokens, size_t i, const char *text)
{
    return token_is_kind(tokens, i, TOKEN_WORD) && tokens->items[i].length == strlen(text) &&
           ascii_begins_same(tokens->text + tokens->items[i].at, text, tokens->items[i].length);
}

bool text_in(const char *word, size_t length, const char *list)
{
    char text[34] = " ";
    if (length > sizeof text - 3)
        return false;
    for (size_t k = 0; k < length; k++)
        text[k + 1] = ascii_lower(word[k]);
    memcpy(text + 1 + length, " ", 2);
    return strstr(list, text) != NULL;
}

bool token_has_digit(const struct tokens *tokens, size_t i)
{
    for (size_t k = 0; k < tokens->items[i].length; k++) {
        char c = tokens->text[tokens->items[i].at + k];
        if (c >= '0' && c <= '9')
            return true;
    }
    return false;
}

bool token_in(const struct tokens *tokens, size_t i, const char *list)
{
    return token_is_kind(tokens, i, TOKEN_WORD) && text_in(tokens->text + tokens->items[i].at, tokens->items[i].length, list);
}
