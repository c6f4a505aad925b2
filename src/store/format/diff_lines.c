#include "diff_lines.h"

#include <string.h>

enum { NUMBER_MAX = 100000000 };

static bool begins(const struct diff_reader *r, const char *with)
{
    return r->length >= strlen(with) && memcmp(r->text, with, strlen(with)) == 0;
}

static void skip(struct diff_reader *r, size_t n)
{
    r->text += n;
    r->length -= n;
}

const char *diff_name(const char *text, size_t *length)
{
    const char *tab = memchr(text, '\t', *length);
    *length = tab ? (size_t)(tab - text) : *length;
    if (*length >= 2 && text[0] == '"' && text[*length - 1] == '"') {
        text++;
        *length -= 2;
    }
    if (*length > 2 && (text[0] == 'a' || text[0] == 'b') && text[1] == '/') {
        text += 2;
        *length -= 2;
    }
    if (*length == 9 && memcmp(text, "/dev/null", 9) == 0)
        *length = 0;
    return text;
}

static bool take(struct diff_reader *r, const char *with)
{
    const bool there = begins(r, with);
    if (there)
        skip(r, strlen(with));
    return there;
}

/* A number that is too large for a file stops growing. */
static bool take_number(struct diff_reader *r, size_t *n)
{
    const char *from = r->text;
    *n = 0;
    for (; r->length && *r->text >= '0' && *r->text <= '9'; skip(r, 1))
        *n = *n < NUMBER_MAX ? *n * 10 + (size_t)(*r->text - '0') : *n;
    return r->text > from;
}

/* "-1,5" or "-1". */
static bool take_range(struct diff_reader *r, const char *sign, size_t *start, size_t *lines)
{
    *lines = 1;
    return take(r, sign) && take_number(r, start) && (!take(r, ",") || take_number(r, lines));
}

static bool take_hunk_head(struct diff_reader *r)
{
    struct diff_reader head = *r;
    size_t old_start;
    if (!take(&head, "@@ ") || !take_range(&head, "-", &old_start, &head.old_left) ||
        !take_range(&head, " +", &head.new_start, &head.new_left) || !take(&head, " @@"))
        return false;
    while (head.length && (*head.text == ' ' || *head.text == '\t'))
        skip(&head, 1);
    *r = head;
    return true;
}

enum diff_line diff_next(struct diff_reader *r)
{
    do {
        if (r->at == r->end)
            return DIFF_END;
        const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
        r->text = r->at;
        r->length = (size_t)((stop ? stop : r->end) - r->at);
        r->at = stop ? stop + 1 : r->end;
    } while ((r->old_left || r->new_left) && begins(r, "\\")); /* "\ No newline at end of file" */
    r->mark = r->length ? *r->text : ' ';                       /* some tools cut the blank of an empty line */
    if ((r->old_left || r->new_left) && r->mark && strchr(" +-", r->mark)) {
        r->old_left -= r->old_left && r->mark != '+';
        r->new_left -= r->new_left && r->mark != '-';
        skip(r, r->length > 0);
        return DIFF_TEXT;
    }
    r->old_left = r->new_left = 0;
    while (r->length && r->text[r->length - 1] == '\r')
        r->length--;
    if (take_hunk_head(r))
        return DIFF_HUNK;
    const enum diff_line line = take(r, "--- ") ? DIFF_OLD : take(r, "+++ ") ? DIFF_NEW : DIFF_OTHER;
    if (line != DIFF_OTHER)
        r->text = diff_name(r->text, &r->length);
    return line;
}
