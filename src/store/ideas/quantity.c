/* quantity.c: numbers as people write them, and their units. */
#include <lineage/ideas.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stated.h"

/* Units of time and storage. Others are only compared by their letters. */
static const struct unit {
    const char *name;
    char dimension;
    double size;
} units[] = {
    {"ns", 't', 1e-9},    {"us", 't', 1e-6},    {"µs", 't', 1e-6},    {"ms", 't', 1e-3},   {"s", 't', 1},
    {"sec", 't', 1},      {"secs", 't', 1},     {"second", 't', 1},   {"seconds", 't', 1}, {"min", 't', 60},
    {"mins", 't', 60},    {"minute", 't', 60},  {"minutes", 't', 60}, {"h", 't', 3600},    {"hour", 't', 3600},
    {"hours", 't', 3600}, {"b", 'b', 1},        {"byte", 'b', 1},     {"bytes", 'b', 1},   {"kb", 'b', 0x1p10},
    {"kib", 'b', 0x1p10}, {"mb", 'b', 0x1p20},  {"mib", 'b', 0x1p20}, {"gb", 'b', 0x1p30}, {"gib", 'b', 0x1p30},
    {"tb", 'b', 0x1p40},  {"tib", 'b', 0x1p40},
};

static const struct unit *known(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == length && ascii_begins_same(text, units[i].name, length))
            return &units[i];
    return NULL;
}

bool unit_at(const struct tokens *t, size_t i)
{
    if (i == 0 || !token_is_kind(t, i, TOKEN_WORD) || !token_is_kind(t, i - 1, TOKEN_NUMBER))
        return false;
    const char *text = t->text + t->items[i].at;
    size_t length = t->items[i].length;
    if (!t->items[i].glued)
        return length > 1 && known(text, length);
    for (size_t k = 0; k < length; k++)
        if (!((text[k] & 0x80) || ascii_is_letter(text[k])))
            return false;
    return true;
}

bool units_agree(double *ratio, const char *a, size_t a_length, const char *b, size_t b_length)
{
    const struct unit *x = known(a, a_length), *y = known(b, b_length);
    size_t shorter = a_length < b_length ? a_length : b_length;
    *ratio = 1;
    if (x && y && x->dimension == y->dimension) {
        *ratio = x->size / y->size;
        return true;
    }
    /* "3 ep" and "3 epochs" */
    return !shorter || (!(x && y) && ascii_begins_same(a, b, shorter));
}

/* Reads a whole text as one value. *unit receives the word behind the number, with length 0 if there is none. */
static bool whole(struct token *token, struct span *unit, const char *text, size_t length)
{
    struct tokens t;
    struct span span;
    struct lineage_number number;
    if (length > LINEAGE_IDEAS_TEXT || !tokens_read(&t, text, length))
        return false;
    size_t end = stated_value(&t, 0, false, &span, &number);
    /* "5.0 nats": one word after a number is its unit. */
    bool ok = end > 0 && number.present && (end == t.n || (end + 1 == t.n && t.items[end].kind == TOKEN_WORD));
    if (ok) {
        *token = t.items[end - 1];
        token->value = number.value;
        *unit = end < t.n ? (struct span){t.items[end].at, t.items[end].length} : (struct span){0};
    }
    free(t.items);
    return ok;
}

bool lineage_quantity_parse(double *value, const char *text, size_t length)
{
    struct token token;
    struct span unit;
    if (!whole(&token, &unit, text, length))
        return false;
    *value = token.value;
    return true;
}

static bool is_near(double a, double b, double slack)
{
    return fabs(a - b) <= fmax(1e-6 * fmax(fabs(a), fabs(b)), slack);
}

/* The next letter, digit or dot in lower case; 0 at the end. */
static char next_letter(const char **text)
{
    while (**text) {
        const char at = *(*text)++;
        if (at & 0x80 || ascii_is_word(at) || at == '.')
            return ascii_lower(at);
    }
    return 0;
}

bool lineage_quantity_equal(const char *a, const char *b)
{
    struct token x, y;
    struct span of_a, of_b;
    double ratio;
    bool number = whole(&x, &of_a, a, strlen(a));
    if (number != whole(&y, &of_b, b, strlen(b)))
        return false;
    if (number) {
        double slack = fmax(x.slack, y.slack);
        return units_agree(&ratio, a + of_a.at, of_a.length, b + of_b.at, of_b.length) &&
               (is_near(x.value * ratio, y.value, slack) || (x.other != 0 && is_near(x.other * ratio, y.value, slack)) ||
                (y.other != 0 && is_near(x.value * ratio, y.other, slack)));
    }
    char c, d;
    do {
        c = next_letter(&a);
        d = next_letter(&b);
    } while (c && c == d);
    return c == d;
}
