/*
 * diffstat.c: how large a diff is, and what it is about.
 *
 * The lines of a hunk are counted by the numbers in its head, so that a removed line `-- x`, which a diff shows as
 * `--- x`, is not taken for the name of a file. The diff may come from anybody, so every text that leaves this file is
 * cleaned.
 */
#include <lineage/code.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

struct line {
    const char *text;
    size_t length;
};

struct reading {
    struct lineage_diffstat *stat;
    size_t old_left, new_left; /* lines of the hunk that are still to come */
    char first[sizeof((struct lineage_diffstat *)0)->heading]; /* the first line that a hunk adds, else that it removes */
    bool first_is_added;
    struct line old_name; /* of the last --- */
    bool named;           /* this file was counted by its line `diff --git` */
};

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool begins(struct line line, const char *with)
{
    return line.length >= strlen(with) && memcmp(line.text, with, strlen(with)) == 0;
}

/* Copies a text on one line. Semicolons would end a piece of notes. A text that is too long is cut between characters. */
static void clean(char *out, size_t size, const char *text, size_t length)
{
    size_t n = length < size - 1 ? length : size - 1;
    while (n < length && n && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    bool is_text = lineage_text_is_utf8(text, n);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        out[i] = (char)(c == ';' ? ',' : c < 0x20 || c == 0x7f ? ' ' : !is_text && c >= 0x80 ? '?' : c);
    }
    while (n && is_blank(out[n - 1]))
        n--;
    out[n] = '\0';
}

/* The name behind `--- ` or `+++ `, without the a/ or b/ of git and without the time that diff(1) adds behind a tab. */
static struct line name_in(struct line line)
{
    const char *tab = memchr(line.text + 4, '\t', line.length - 4);
    struct line name = {line.text + 4, (tab ? (size_t)(tab - line.text) : line.length) - 4};
    if (name.length > 2 && (name.text[0] == 'a' || name.text[0] == 'b') && name.text[1] == '/')
        name = (struct line){name.text + 2, name.length - 2};
    return name;
}

static bool is_null(struct line name)
{
    return name.length == 9 && memcmp(name.text, "/dev/null", 9) == 0;
}

static void take_name(struct reading *r, struct line name)
{
    if (!r->stat->file[0])
        clean(r->stat->file, sizeof r->stat->file, name.text, name.length);
}

/* `diff --git a/NAME b/NAME`: both halves are equal unless the file is renamed, and then one of them is enough. */
static void take_git_head(struct reading *r, struct line line)
{
    size_t half = line.length > 16 ? (line.length - 16) / 2 : 0;
    r->stat->files++;
    r->named = true;
    if (half)
        take_name(r, (struct line){line.text + 13, half});
}

/* Reads "-1,5" or "-1", and leaves *text behind it. */
static bool take_range(const char **text, char sign, size_t *lines)
{
    char *end;
    if (**text != sign || (*text)[1] < '0' || (*text)[1] > '9')
        return false;
    strtoull(*text + 1, &end, 10);
    *lines = 1;
    if (*end == ',' && end[1] >= '0' && end[1] <= '9')
        *lines = (size_t)strtoull(end + 1, &end, 10);
    *text = end;
    return true;
}

/* @@ -OLD[,LINES] +NEW[,LINES] @@ HEADING */
static bool take_hunk_head(struct reading *r, struct line line)
{
    char head[96];
    size_t old_lines, new_lines;
    snprintf(head, sizeof head, "%.*s", (int)(line.length < sizeof head ? line.length : sizeof head - 1), line.text);
    const char *at = head + 3;
    if (!begins(line, "@@ ") || !take_range(&at, '-', &old_lines) || *at++ != ' ' || !take_range(&at, '+', &new_lines) ||
        strncmp(at, " @@", 3) != 0)
        return false;
    r->old_left = old_lines;
    r->new_left = new_lines;
    size_t skip = (size_t)(at - head) + 3;
    while (skip < line.length && is_blank(line.text[skip]))
        skip++;
    if (!r->stat->heading[0])
        clean(r->stat->heading, sizeof r->stat->heading, line.text + skip, line.length - skip);
    return true;
}

/* Keeps the first line with a letter or digit in it; what a diff adds says more than what it removes. */
static void take_changed(struct reading *r, struct line line, bool added)
{
    size_t skip = 1;
    while (skip < line.length && (is_blank(line.text[skip]) || strchr("#/*-", line.text[skip])))
        skip++;
    bool says = false;
    for (size_t i = skip; i < line.length; i++)
        says = says || (unsigned char)line.text[i] >= 0x80 || strchr("_0123456789", line.text[i]) ||
               ((line.text[i] | 0x20) >= 'a' && (line.text[i] | 0x20) <= 'z');
    if (!says || r->first_is_added || (r->first[0] && !added))
        return;
    clean(r->first, sizeof r->first, line.text + skip, line.length - skip);
    r->first_is_added = added;
}

static void take_body(struct reading *r, struct line line)
{
    char kind = line.length ? line.text[0] : ' '; /* some tools cut the blank of an empty line */
    if (kind == '\\')
        return; /* "\ No newline at end of file" */
    r->old_left -= r->old_left && kind != '+';
    r->new_left -= r->new_left && kind != '-';
    r->stat->added += kind == '+';
    r->stat->removed += kind == '-';
    if (kind == '+' || kind == '-')
        take_changed(r, line, kind == '+');
}

static void take_head(struct reading *r, struct line line)
{
    if (take_hunk_head(r, line))
        return;
    if (begins(line, "diff --git "))
        take_git_head(r, line);
    else if (begins(line, "--- "))
        r->old_name = name_in(line);
    else if (begins(line, "+++ ") && r->old_name.text) {
        struct line name = name_in(line);
        r->stat->files += !r->named;
        r->named = false;
        take_name(r, is_null(name) ? r->old_name : name);
        r->old_name = (struct line){0};
    }
}

void lineage_diffstat_read(struct lineage_diffstat *stat, const char *diff, size_t length)
{
    struct reading r = {.stat = stat};
    *stat = (struct lineage_diffstat){0};
    for (const char *at = diff, *end = diff + length; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        struct line line = {at, (size_t)((stop ? stop : end) - at)};
        if (line.length && line.text[line.length - 1] == '\r')
            line.length--;
        if (r.old_left || r.new_left)
            take_body(&r, line);
        else
            take_head(&r, line);
        at = stop ? stop + 1 : end;
    }
    if (!stat->heading[0])
        memcpy(stat->heading, r.first, sizeof stat->heading);
}

const char *lineage_diffstat_format(char out[LINEAGE_DIFFSTAT_MAX], const struct lineage_diffstat *stat)
{
    char more[40] = "";
    if (stat->files > 1)
        snprintf(more, sizeof more, " and %zu more file%s", stat->files - 1, stat->files > 2 ? "s" : "");
    snprintf(out, LINEAGE_DIFFSTAT_MAX, "+%zu -%zu%s%s%s%s%s", stat->added, stat->removed, stat->file[0] ? " in " : "",
             stat->file, more, stat->heading[0] ? ": " : "", stat->heading);
    return out;
}
