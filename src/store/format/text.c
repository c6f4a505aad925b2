/*
 * text.c: UTF-8 (utf8proc): validity, cutting by code points, and cells made harmless for one line.
 *
 * Texts come from agents and from other people's stores, and are shown in a terminal, in Markdown and to a model.
 * Characters that move the cursor, end a table cell or reverse the order of text could disguise a row. They are
 * replaced by a visible sign instead of being dropped, because a missing character leaves no trace of the attempt.
 */
#include <lineage/render.h>
#include <lineage/text.h>

#include <utf8proc.h>

#include "arena.h"

/* Returns the number of bytes of the code point at text; for invalid UTF-8, returns 1 and sets *point to -1. */
static size_t step(const char *text, size_t length, int32_t *point)
{
    if ((unsigned char)text[0] < 0x80) {
        *point = text[0];
        return 1;
    }
    if (length > 1 && memcmp(text, "\xc0\x80", 2) == 0) {
        *point = 0; /* the encoding of NUL in a trial's text */
        return 2;
    }
    utf8proc_int32_t code;
    utf8proc_ssize_t n =
        /* Passes at most four bytes, the length of the longest code point. An invalid byte is skipped alone, so that
         * reading resumes at the next code point. */
        utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)(length < 4 ? length : 4), &code);
    *point = n > 0 ? code : -1;
    return n > 0 ? (size_t)n : 1;
}

/* Number of leading ASCII bytes, found eight at a time: cells are mostly ASCII, and every cell is checked. */
static size_t ascii_length(const char *text, size_t length)
{
    size_t i = 0;
    uint64_t eight;
    for (; length - i >= sizeof eight; i += sizeof eight) {
        memcpy(&eight, text + i, sizeof eight);
        if (eight & 0x8080808080808080u)
            break;
    }
    while (i < length && (unsigned char)text[i] < 0x80)
        i++;
    return i;
}

bool lineage_text_is_utf8(const char *text, size_t length)
{
    for (size_t i = ascii_length(text, length); i < length; i += ascii_length(text + i, length - i)) {
        int32_t point;
        size_t bytes = step(text + i, length - i, &point);
        if (point < 0 || (point == 0 && bytes == 2))
            return false;
        i += bytes;
    }
    return true;
}

size_t lineage_text_prefix(const char *text, size_t length, size_t n)
{
    size_t i = 0;
    int32_t point;
    while (i < length && n--)
        i += step(text + i, length - i, &point);
    return i;
}

/* Stand-in for a code point that could act on the page or the terminal, NULL if it is harmless. A bar ends a cell of a
 * Markdown table and a backquote ends code, so either would let a note add table cells of its own. */
static const char *stand_in(int32_t point)
{
    switch (point) {
    case '\n': return "⏎";
    case '\r': return "␍";
    case '\t': return "⇥";
    case '|': return "∣";
    case '`': return "ˋ";
    case 0x2028: return "⏎";
    case 0x2029: return "¶";
    case 0x85: return "⏎";
    case 0x7f: return "␡";
    default: break;
    }
    return NULL;
}

/* C0 controls become the control pictures from U+2400 on, so nothing is lost: an escape sequence in a note is visible
 * and has no effect. */
static void add_picture(struct buf *out, int32_t point)
{
    utf8proc_uint8_t bytes[4];
    utf8proc_ssize_t n = utf8proc_encode_char(0x2400 + point, bytes);
    buf_add(out, bytes, (size_t)n);
}

/* Format characters (bidirectional controls, zero-width marks, tags) and C1 controls hide or reorder text. The joiners
 * U+200C and U+200D stay, because scripts and emoji need them. CVE-2021-42574 is the same attack against source
 * code. */
static bool is_hidden(int32_t point)
{
    if (point == 0x200c || point == 0x200d)
        return false;
    utf8proc_category_t category = utf8proc_category(point);
    return category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CC;
}

static void add_safe(struct buf *out, const char *bytes, size_t n, int32_t point)
{
    const char *other = point < 0 ? "\xef\xbf\xbd" : stand_in(point);
    if (other)
        buf_puts(out, other);
    else if (point < 0x20)
        add_picture(out, point);
    else if (point >= 0x80 && is_hidden(point))
        buf_printf(out, "⟨U+%04X⟩", (unsigned)point);
    else
        buf_add(out, bytes, n);
}

/* Whether the code point continues the character before it, so the text must not be cut between them: a letter without
 * its accent, or a hand emoji without its colour, is a different character. */
static bool continues(int32_t point)
{
    if (point < 0x300)
        return false;
    utf8proc_category_t category = utf8proc_category(point);
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME || category == UTF8PROC_CATEGORY_MC ||
           point == 0x200d || (point >= 0x1f3fb && point <= 0x1f3ff);
}

/* Number of bytes to keep of a text that is cut to n code points including the final mark: n - 1 code points, without a
 * character that the cut would split. */
static size_t cut_at(const char *text, size_t length, size_t n)
{
    size_t end = lineage_text_prefix(text, length, n);
    if (end == length)
        return length;
    end = lineage_text_prefix(text, length, n - 1);
    int32_t point;
    step(text + end, length - end, &point);
    while (end && continues(point)) {
        do
            end--;
        while (end && ((unsigned char)text[end] & 0xC0) == 0x80);
        step(text + end, length - end, &point);
    }
    return end;
}

/* Copies the text, cut to n code points, with stand-ins; bars and backquotes stay if `keep_marks` is set. */
static char *copy_harmless(const char *text, size_t length, size_t n, bool keep_marks)
{
    struct buf out = {0};
    size_t end = n ? cut_at(text, length, n) : length;
    buf_puts(&out, "");
    for (size_t i = 0; i < end;) {
        int32_t point;
        size_t bytes = step(text + i, length - i, &point);
        if (keep_marks && (point == '|' || point == '`'))
            buf_add(&out, text + i, bytes);
        else
            add_safe(&out, text + i, bytes, point);
        i += bytes;
    }
    if (end < length)
        buf_puts(&out, "…");
    if (out.failed)
        buf_release(&out);
    return out.data;
}

char *lineage_text_safe(const char *text, size_t length, size_t n)
{
    return copy_harmless(text, length, n, false);
}

/* Messages and JSON have no tables and should show a file name or a value unchanged. */
char *lineage_text_visible(const char *text, size_t length, size_t n)
{
    return copy_harmless(text, length, n, true);
}

char *lineage_text_word(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+=:@%-";
    const bool bare = *text && !text[strspn(text, plain)];
    struct buf out = {0};
    buf_puts(&out, bare ? "" : "'");
    for (const char *c = text; *c; c++)
        *c == '\'' ? buf_puts(&out, "'\\''") : buf_put(&out, *c);
    buf_puts(&out, bare ? "" : "'");
    if (out.failed)
        buf_release(&out);
    return out.data;
}

bool text_has_stand_in(const char *text)
{
    static const char *const signs[] = {"∣", "ˋ", "⏎", "⇥", "¶", "\xe2\x90" /* the control pictures */, "⟨U+"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strstr(text, signs[i]))
            return true;
    return false;
}

bool text_is_shown_as(const char *text, const char *shown)
{
    char *safe = lineage_text_safe(text, strlen(text), 0), *again = lineage_text_safe(shown, strlen(shown), 0);
    bool same = safe && again && strcmp(safe, again) == 0;
    free(safe);
    free(again);
    return same;
}

void lineage_free(void *memory)
{
    free(memory);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* One row of the table suffices, because a cell depends only on neighbours in this row and the previous one. */
size_t lineage_name_distance(const char *a, const char *b)
{
    size_t row[64], n = strlen(b);
    if (n >= 64)
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(change, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}
