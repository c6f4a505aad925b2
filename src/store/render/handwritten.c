/*
 * handwritten.c: finds the text that a person wrote in a rendered file.
 *
 * If it is uncertain who wrote some bytes, nothing is lost: text that a person may have written is carried over, and a
 * copy of the whole old file is set aside. Keeping too much is a nuisance, but a lost byte may be somebody's lost
 * thought.
 */
#define _GNU_SOURCE /* memmem */
#include "handwritten.h"

#include <inttypes.h>
#include <xxhash.h>

#include "../format/ascii.h"

static const char line_head[] = "<!-- rendered by lineage: ";
static const char line_tail[] = "; text below is kept -->\n";
_Static_assert(sizeof line_head + sizeof line_tail - 2 + 16 == HANDWRITTEN_LINE_LENGTH, "what a budget leaves for the line");

/* The line is a comment: Markdown viewers hide it, and it ends a table or a paragraph above it without a blank line. */
void handwritten_add_line(struct buf *text)
{
    uint64_t digest = XXH3_64bits(text->data ? text->data : "", text->length);
    buf_printf(text, "%s%016" PRIx64 "%s", line_head, digest, line_tail);
}

/* Length of the line at `at` if it is the line that ends a rendered block, else 0. It must be at the beginning of a
 * line: a quoted cell may contain the same text, but never at the beginning of a line. */
static size_t line_at(const char *text, size_t length, size_t at, uint64_t *digest)
{
    const size_t head = sizeof line_head - 1, tail = sizeof line_tail - 1;
    char digits[17] = "", *end;
    if (length - at < head + 16 + tail || memcmp(text + at, line_head, head) != 0 ||
        memcmp(text + at + head + 16, line_tail, tail) != 0)
        return 0;
    memcpy(digits, text + at + head, 16);
    *digest = strtoull(digits, &end, 16);
    return *end ? 0 : head + 16 + tail;
}

/* Finds the first such line with a correct digest, else the first such line. All of them are checked, because a person
 * may have copied the line further down, or damaged the first one. */
static bool find_line(const char *old, size_t length, size_t *line, struct handwritten *keep)
{
    bool any = false;
    for (size_t at = 0; at < length;) {
        uint64_t digest;
        size_t n = line_at(old, length, at, &digest);
        if (n && XXH3_64bits(old, at) == digest) {
            *keep = (struct handwritten){.start = at + n};
            *line = at;
            return true;
        }
        if (n && !any) {
            *keep = (struct handwritten){.start = at + n, .aside = true};
            *line = at;
        }
        any = any || n;
        /* Uses the length instead of a NUL, because a person may have pasted anything. */
        const char *end = memchr(old + at, '\n', length - at);
        at = end ? (size_t)(end - old) + 1 : length;
    }
    return any;
}

/* The length comes first: the digest covers a prefix, and text that a person adds after that prefix changes neither
 * length nor digest. */
void handwritten_note(struct buf *note, const char *text, size_t length)
{
    buf_printf(note, "%zu %016" PRIx64 "\n", length, (uint64_t)XXH3_64bits(text, length));
}

/* The note is parsed strictly, because anybody may have edited it. */
static bool is_as_noted(const char *old, size_t length, const char *note, struct handwritten *keep)
{
    char *end;
    unsigned long long noted = strtoull(note, &end, 10);
    if (end == note || *end != ' ' || noted > length || strtoull(end + 1, NULL, 16) != (uint64_t)XXH3_64bits(old, (size_t)noted))
        return false;
    *keep = (struct handwritten){.start = (size_t)noted};
    return true;
}

/* Only the beginning of a file shows which tool wrote it; anything further down may have been pasted. */
static bool begins(const char *text, size_t length, const char *with)
{
    size_t n = strlen(with);
    return length >= n && memcmp(text, with, n) == 0;
}

/* In styles that print cells unchanged, any line of the file may be forged, including this library's line. */
static bool is_another_tools(const char *old, size_t length)
{
    static const char leaderboard[] = "\n## LEADERBOARD.md\n\n## Current Best\n";
    return begins(old, length, "# Research Knowledge Base\n*Auto-generated") ||
           begins(old, length, "# Leaderboard\n*Auto-generated") ||
           (begins(old, length, "# Session start") && memmem(old, length, leaderboard, sizeof leaderboard - 1));
}

/* A heading of any level and spelling that mentions key insights. */
static bool is_insights(const char *line, size_t length)
{
    static const char words[] = "key insights";
    size_t i = 0;
    while (i < length && (line[i] == ' ' || line[i] == '#'))
        i++;
    return i && memchr(line, '#', i) && length - i >= sizeof words - 1 && ascii_begins_same(line + i, words, sizeof words - 1);
}

/* Headings count inside and outside a code fence, because an unclosed fence must not hide text that a person wrote
 * after it. The first heading counts: its section reaches to the end of the file, including further headings. */
static size_t find_insights(const char *old, size_t length)
{
    for (size_t at = 0; at < length;) {
        const char *end = memchr(old + at, '\n', length - at);
        size_t n = end ? (size_t)(end - old) - at : length - at;
        if (is_insights(old + at, n))
            return at;
        at += n + 1;
    }
    return length;
}

/* The evidence is checked in the order of certainty: a digest noted elsewhere, a style in which lines can be forged, a
 * digest in the file, a title. A file with none of these belongs to a person. */
struct handwritten handwritten_find(const char *old, size_t length, const char *note)
{
    struct handwritten keep = {.start = length};
    size_t line = length;
    if (!length || is_as_noted(old, length, note, &keep))
        return keep;
    bool has_line = find_line(old, length, &line, &keep);
    if (is_another_tools(old, line)) /* text that a person pasted below the line proves nothing */
        keep = (struct handwritten){.start = length, .aside = true};
    else if (has_line)
        return keep;
    else if (begins(old, length, "# Session start"))
        keep = (struct handwritten){.start = find_insights(old, length), .aside = true};
    else
        keep = (struct handwritten){.foreign = true};
    return keep;
}
