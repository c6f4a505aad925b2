/* citations.c: which trials a text mentions: exp_588, #588, "retry of 587", "trials 12, 14 and 15". */
#include "idea_tokens.h"

#include <string.h>

#define BEFORE_ID " exp exps experiment experiments trial trials retry rerun resubmit "

struct visitor {
    const struct tokens *t;
    void (*visit)(void *context, const char *id, size_t length);
    void *context;
};

static bool is_plain_integer(const struct tokens *t, size_t i)
{
    if (!token_is_kind(t, i, TOKEN_NUMBER) || t->items[i].length > 8)
        return false;
    for (size_t k = 0; k < t->items[i].length; k++) {
        char c = t->text[t->items[i].at + k];
        if (c < '0' || c > '9')
            return false;
    }
    return true;
}

/* Reads ids joined by commas, slashes, "and", "or", "&" or "+" after token i, which was an id. Returns the last token
 * read. */
static size_t list_behind(const struct visitor *v, size_t i)
{
    const struct tokens *t = v->t;
    for (;;) {
        size_t next = i + 1, separators = 0;
        while (next < t->n && separators < 2 && (token_in(t, next, " and or ") || token_is_of(t, next, ",/&+#")))
            next++, separators++;
        /* In "exp_091, 0.5" the second number is not an id: further ids are as long as the first one or have a # before
         * them. */
        if (!separators || !is_plain_integer(t, next) || t->items[next].length < 2 ||
            (token_is_kind(t, next + 1, TOKEN_WORD) && t->items[next + 1].glued))
            return i;
        v->visit(v->context, t->text + t->items[next].at, t->items[next].length);
        i = next;
    }
}

/* exp_014, exp014, exp-014, EXP_014v2: visits 014. */
static bool prefixed(const struct visitor *v, size_t i)
{
    const char *text = v->t->text + v->t->items[i].at;
    size_t length = v->t->items[i].length, at = 3, end;
    if (length < 4 || !ascii_begins_same(text, "exp", 3))
        return false;
    if (text[at] == 's')
        at++;
    if (at < length && (text[at] == '_' || text[at] == '-'))
        at++;
    for (end = at; end < length && text[end] >= '0' && text[end] <= '9';)
        end++;
    if (end == at)
        return false;
    v->visit(v->context, text + at, end - at);
    return true;
}

void citations_each(const struct tokens *t, void (*visit)(void *context, const char *id, size_t length), void *context)
{
    struct visitor v = {t, visit, context};
    for (size_t i = 0; i < t->n; i++) {
        if (t->items[i].kind == TOKEN_WORD && prefixed(&v, i)) {
            i = list_behind(&v, i);
        } else if (token_is_mark(t, i, '#') && is_plain_integer(t, i + 1) && t->items[i + 1].glued &&
                   !(i && token_in(t, i - 1, " pr prs pull issue issues "))) {
            visit(context, t->text + t->items[i + 1].at, t->items[i + 1].length);
            i = list_behind(&v, i + 1);
        } else if (token_in(t, i, BEFORE_ID)) {
            size_t next = i + 1;
            if (token_is_mark(t, next, '_') || token_is_mark(t, next, '#') || token_is(t, next, "of"))
                next++;
            if (is_plain_integer(t, next)) {
                visit(context, t->text + t->items[next].at, t->items[next].length);
                i = list_behind(&v, next);
            }
        }
    }
}
