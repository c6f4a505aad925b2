/* quantity.c: parses numbers as people write them. */
#include <lineage/ideas.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "idea_tokens.h"
#include "stated.h"

/* Reads a whole text as one value. */
static bool whole(struct token *token, const char *text, size_t length)
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
    }
    free(t.items);
    return ok;
}

bool lineage_quantity_parse(double *value, const char *text, size_t length)
{
    struct token token;
    if (!whole(&token, text, length))
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
    bool number = whole(&x, a, strlen(a));
    if (number != whole(&y, b, strlen(b)))
        return false;
    if (number) {
        double slack = fmax(x.slack, y.slack);
        return is_near(x.value, y.value, slack) || (x.other != 0 && is_near(x.other, y.value, slack)) ||
               (y.other != 0 && is_near(x.value, y.other, slack));
    }
    for (char c, d;;) {
        bool more = next_letter(&a, &c);
        if (more != next_letter(&b, &d))
            return false;
        if (!more || c != d)
            return !more;
    }
}
