/*
 * display_width.c: measures text in columns of a terminal, with utf8proc's widths and graphemes. The widths come from
 * the library, so a newer Unicode needs only a newer package.
 */
#include "output/display_width.h"

#include <utf8proc.h>

#include "cli.h"

/* Decodes the code point at text and returns its bytes; an invalid byte counts as one column. */
static size_t decode(const char *text, utf8proc_int32_t *point)
{
    utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text, -1, point);
    if (n > 0 && *point >= 0)
        return (size_t)n;
    *point = 0xfffd;
    return 1;
}

/* utf8proc reports no width for code points that Unicode has not assigned; terminals draw a box for them. */
static size_t point_width(utf8proc_int32_t point)
{
    int width = utf8proc_charwidth(point);
    if (width == 0 && utf8proc_category(point) == UTF8PROC_CATEGORY_CN)
        return 1;
    return width > 0 ? (size_t)width : 0;
}

/* Returns the bytes of the next character and sets *columns. Two ASCII characters never join into one. */
static size_t next_character(const char *text, size_t *columns)
{
    utf8proc_int32_t point, next, state = 0;
    size_t bytes = decode(text, &point);
    *columns = point_width(point);
    if (point < 0x80 && (unsigned char)text[bytes] < 0x80)
        return bytes;
    for (size_t n; text[bytes]; bytes += n, point = next) {
        n = decode(text + bytes, &next);
        if (utf8proc_grapheme_break_stateful(point, next, &state))
            break;
        *columns += point_width(next);
    }
    return bytes;
}

/* Cuts only between whole characters: half of one would be shown as a different character. */
static size_t display_prefix(const char *text, size_t columns, size_t *taken)
{
    size_t bytes = 0, width;
    *taken = 0;
    while (text[bytes]) {
        size_t n = next_character(text + bytes, &width);
        if (*taken + width > columns)
            break;
        *taken += width;
        bytes += n;
    }
    return bytes;
}

size_t display_width(const char *text)
{
    size_t taken;
    display_prefix(text, SIZE_MAX, &taken);
    return taken;
}

/* Drops blanks before the ellipsis, which would look like an empty word. */
size_t display_cut(FILE *out, const char *text, size_t columns)
{
    size_t taken, bytes = display_prefix(text, columns, &taken);
    if (!text[bytes] || columns == 0)
        return fwrite(text, 1, bytes, out), taken;
    bytes = display_prefix(text, columns - 1, &taken);
    while (bytes && text[bytes - 1] == ' ')
        bytes--, taken--;
    fwrite(text, 1, bytes, out);
    fputs(cli_sign("…", "~"), out);
    return taken + 1;
}

size_t display_line(const char *text, size_t columns, size_t *next)
{
    size_t taken, bytes = display_prefix(text, columns, &taken);
    /* A character that is wider than the line is printed anyway, or the caller would never finish. */
    if (bytes == 0)
        bytes = next_character(text, &taken);
    *next = bytes;
    if (!text[bytes])
        return bytes;
    size_t blank = bytes;
    while (blank && text[blank] != ' ')
        blank--;
    if (blank)
        *next = bytes = blank;
    while (text[*next] == ' ')
        ++*next;
    return bytes;
}

void display_wrapped(FILE *out, const char *text, size_t columns)
{
    for (size_t next; *text; text += next)
        fprintf(out, "%.*s\n", (int)display_line(text, columns, &next), text);
}
