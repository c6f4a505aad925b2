/* quantity.c: parses numbers as people write them. */
#include <lineage/ideas.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "idea_tokens.h"
#include "stated.h"
#include "units.h"

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

static bool next_letter(const char **text, char *c)
{
    for (; **text; (*text)++) {
        char at = **text;
        if ((at >= 'a' && at <= 'z') || (at >= '0' && at <= '9') || at == '.' || (at & 0x80)) {
            *c = at;
            (*text)++;
            return true;
        }
        if (at >= 'A' && at <= 'Z') {
            *c = (char)(at | 0x20);
            (*text)++;
            return true;
        }
    }
    return false;
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
    for (char c, d;;) {
        bool more = next_letter(&a, &c);
        if (more != next_letter(&b, &d))
            return false;
        if (!more || c != d)
            return !more;
    }
}
