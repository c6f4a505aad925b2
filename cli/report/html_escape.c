/*
 * html_escape.c: escapes text of rows for a page; see html_escape.h. The text is shortened before it is escaped,
 * because otherwise the end could fall into the middle of an entity.
 */
#include "report/html_escape.h"

#include <lineage/render.h>
#include <lineage/text.h>

#include "cli.h"

/* Text and attributes in either kind of quotes use the same set of escapes, because two sets would sooner or later be
 * mixed up. */
static void put_html(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        switch (text[i]) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        case '`': fputs("&#96;", out); break; /* old browsers take a backtick for a quote */
        default: putc(text[i], out);
        }
}

/* Control characters were replaced before, so only the characters below need an escape. lineage_text_visible does not
 * treat U+2028 and U+2029 as controls, but they end a line of a script. */
static void put_json(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20 || c == '<' || c == '>' || c == '&' || c == '\'' || c == 0x7f)
            fprintf(out, "\\u%04x", c);
        else if (c == 0xe2 && i + 2 < length && (unsigned char)text[i + 1] == 0x80 &&
                 ((unsigned char)text[i + 2] & 0xfe) == 0xa8) {
            fprintf(out, "\\u20%02x", 0x28 + ((unsigned char)text[i + 2] & 1));
            i += 2;
        } else
            putc(c, out);
    }
}

#define BIT(c) (UINT64_C(1) << ((c) & 63))

/* Most cells need neither a stand-in nor an escape, in HTML and in JSON, and one code point of them is one byte. */
static bool is_plain(const char *text, size_t length)
{
    static const uint64_t odd[2] = {UINT32_MAX | BIT('&') | BIT('<') | BIT('>') | BIT('"') | BIT('\''),
                                    BIT('`') | BIT('\\') | BIT(0x7f)};
    uint64_t any = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        any |= c >> 7 | odd[c >> 6 & 1] >> (c & 63);
    }
    return !(any & 1);
}

static void put(FILE *out, const char *text, size_t length, size_t max, void (*write)(FILE *, const char *, size_t))
{
    const size_t shown = max && length > max ? max : length;
    if (is_plain(text, shown)) {
        fwrite(text, 1, shown, out);
        fputs(shown < length ? "…" : "", out);
        return;
    }
    size_t end = max ? lineage_text_prefix(text, length, max) : length;
    char *visible = lineage_text_visible(text, end, 0);
    if (!visible) /* out of memory: print nothing, never unescaped text */
        return;
    write(out, visible, strlen(visible));
    lineage_free(visible);
    if (end < length)
        fputs("…", out);
}

void html_bytes(FILE *out, const char *text, size_t length, size_t max)
{
    put(out, text, length, max, put_html);
}

void html_text(FILE *out, const char *text, size_t max)
{
    if (text)
        html_bytes(out, text, strlen(text), max);
}

static void put_text(FILE *out, const char *text, int max)
{
    html_text(out, text, max < 0 ? 0 : (size_t)max);
}

void html_print_list(FILE *out, const char *format, va_list args)
{
    cli_print_with(out, put_text, format, args);
}

void html_print(FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    html_print_list(out, format, args);
    va_end(args);
}

void html_json_string(FILE *out, const char *text, size_t max)
{
    putc('"', out);
    if (text)
        put(out, text, strlen(text), max, put_json);
    putc('"', out);
}
