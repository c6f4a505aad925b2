/* diffstat.c: how large a diff is, and what it is about. The diff may come from anybody, so every text that leaves this file is
 * cleaned. */
#include <lineage/code.h>

#include <stdio.h>
#include <string.h>

#include <lineage/text.h>

#include "diff_lines.h"

struct reading {
    struct lineage_diffstat *stat;
    char first[sizeof((struct lineage_diffstat *)0)->heading]; /* the first line that a hunk adds, else that it removes */
    bool first_is_added;
    char old_name[sizeof((struct lineage_diffstat *)0)->file]; /* of the last --- */
    bool has_old;         /* there was one since the last +++ */
    bool named;           /* this file was counted by its line `diff --git` */
};

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
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

static void take_name(struct reading *r, const char *name, size_t length)
{
    if (!r->stat->file[0])
        clean(r->stat->file, sizeof r->stat->file, name, length);
}

/* `diff --git a/NAME b/NAME`: both halves are equal unless the file is renamed, and then one of them is enough. */
static void take_git_head(struct reading *r, const struct diff_reader *line)
{
    const size_t half = line->length > 16 ? (line->length - 16) / 2 : 0;
    r->stat->files++;
    r->named = true;
    if (half)
        take_name(r, line->text + 13, half);
}

/* Keeps the first line with a letter or digit in it; what a diff adds says more than what it removes. */
static void take_changed(struct reading *r, const char *text, size_t length, bool added)
{
    size_t skip = 0;
    while (skip < length && (is_blank(text[skip]) || strchr("#/*-", text[skip])))
        skip++;
    bool says = false;
    for (size_t i = skip; i < length; i++)
        says = says || (unsigned char)text[i] >= 0x80 || strchr("_0123456789", text[i]) ||
               ((text[i] | 0x20) >= 'a' && (text[i] | 0x20) <= 'z');
    if (!says || r->first_is_added || (r->first[0] && !added))
        return;
    clean(r->first, sizeof r->first, text + skip, length - skip);
    r->first_is_added = added;
}

static void take_new_name(struct reading *r, const struct diff_reader *line)
{
    if (!r->has_old)
        return;
    r->stat->files += !r->named;
    r->named = r->has_old = false;
    if (line->length)
        take_name(r, line->text, line->length);
    else
        take_name(r, r->old_name, strlen(r->old_name));
}

void lineage_diffstat_read(struct lineage_diffstat *stat, const char *diff, size_t length)
{
    struct reading r = {.stat = stat};
    struct diff_reader line = {.at = diff, .end = diff + length};
    *stat = (struct lineage_diffstat){0};
    for (enum diff_line kind; (kind = diff_next(&line)) != DIFF_END;) {
        if (kind == DIFF_TEXT && line.mark != ' ') {
            stat->added += line.mark == '+';
            stat->removed += line.mark == '-';
            take_changed(&r, line.text, line.length, line.mark == '+');
        } else if (kind == DIFF_HUNK && !stat->heading[0]) {
            clean(stat->heading, sizeof stat->heading, line.text, line.length);
        } else if (kind == DIFF_OLD) {
            clean(r.old_name, sizeof r.old_name, line.text, line.length);
            r.has_old = true;
        } else if (kind == DIFF_NEW) {
            take_new_name(&r, &line);
        } else if (kind == DIFF_OTHER && line.length >= 11 && memcmp(line.text, "diff --git ", 11) == 0)
            take_git_head(&r, &line);
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
