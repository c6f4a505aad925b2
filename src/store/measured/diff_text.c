/*
 * diff_text.c: reads a unified diff.
 *
 * The two sides of all hunks of a file are two texts, in which a form of the file's literals is visible. Lines of
 * context are on both sides: they show where an edited line belongs, and never differ.
 */

#include "../format/diff_lines.h"
#include "collecting.h"
#include "literals.h"

enum { PATH_LENGTH_MAX = 1024, HEADING_MAX = 120, HEADINGS_MAX = 200 };

/* What was read of one file so far. */
struct diff_file {
    struct collecting *c;
    char path[PATH_LENGTH_MAX];
    bool open;
    struct literal_set from, to;
    struct buf old, new; /* the two sides of the current hunk */
    char scope[HEADING_MAX];
    bool in_function;
    uint32_t line;       /* number of the hunk's first line in the new file */
    size_t added, removed;
    size_t first_code;   /* where the lines of this file begin in c->code */
    size_t last_code;    /* the entry that was counted last */
    bool lone;           /* the file is on one side only */
};

/* A heading of a hunk as a scope: "GPT" of "class GPT(nn.Module):", "step" of "static float step(float x)". */
static void read_heading(struct diff_file *f, const char *text, size_t length)
{
    size_t end = 0, start, blank = 0;
    while (length && (*text == ' ' || *text == '\t'))
        text++, length--;
    bool type = (length > 6 && memcmp(text, "class ", 6) == 0) || (length > 7 && memcmp(text, "struct ", 7) == 0);
    f->in_function = length > 0 && !type;
    while (end < length && !strchr("(:{=", text[end]))
        end++;
    for (start = end; start > 0 && (text[start - 1] == ' ' || text[start - 1] == '\t'); start--)
        ;
    end = start;
    while (start > blank && !strchr(" \t*&", text[start - 1]))
        start--;
    size_t n = end - start < sizeof f->scope && literal_name_ok(text + start, end - start) ? end - start : 0;
    memcpy(f->scope, text + start, n);
    f->scope[n] = '\0';
}

/* Adds lines to the entry of a heading. A file with many headings is counted as a whole. */
static void count(struct diff_file *f, const char *heading, size_t added, size_t removed)
{
    struct collecting *c = f->c;
    size_t at = f->last_code;
    bool many = c->n_code - f->first_code > HEADINGS_MAX;
    if (at <= f->first_code || at >= c->n_code || strcmp(c->code[at].heading, heading) != 0)
        for (at = f->first_code + 1; at < c->n_code && !many && strcmp(c->code[at].heading, heading) != 0; at++)
            ;
    if (many)
        return;
    if (at == c->n_code)
        collect_code(c, f->path, heading, 0, 0, LINEAGE_LINES_COUNTED);
    if (at < c->n_code) {
        c->code[at].added += added;
        c->code[at].removed += removed;
    }
    f->last_code = at;
}

/* Reads the literals of a hunk's side. Its lines are numbered from the hunk's place in the new file. */
static void read_side(struct diff_file *f, struct literal_set *set, const struct file_text *side)
{
    const size_t first = set->n;
    const char *scope = arena_text(&set->arena, f->scope, strlen(f->scope));
    set->failed = set->failed || !scope;
    set->n_scopes = 0;
    if (scope && side->length)
        literals_read(set, language_of(f->path, side->text, side->length), scope, f->in_function, side->text, side->length);
    for (size_t i = first; i < set->n; i++)
        set->items[i].line += f->line - 1;
}

/* Reads a hunk: its two sides, and a mark for each line. Each changed line counts for the function that encloses it. */
static void read_hunk(struct diff_file *f, const struct file_text *from, const struct file_text *to, const struct buf *marks)
{
    uint32_t old = 1, new = 1;
    read_side(f, &f->from, from);
    read_side(f, &f->to, to);
    if (f->c->n_code == f->first_code)
        collect_code(f->c, f->path, NULL, 0, 0, LINEAGE_LINES_COUNTED);
    for (size_t i = 0; i < marks->length && !f->from.failed && !f->to.failed; i++) {
        const bool removed = marks->data[i] == '-', added = marks->data[i] == '+';
        const struct literal_set *set = removed ? &f->from : &f->to;
        if (removed || added)
            count(f, set->n_scopes ? literals_scope_of(set, removed ? old : new) : f->scope, added, removed);
        f->removed += removed;
        f->added += added;
        old += !added;
        new += !removed;
    }
}

static void end_hunk(struct diff_file *f, struct buf *marks)
{
    const struct file_text from = {f->old.data, f->old.length}, to = {f->new.data, f->new.length};
    f->c->failed = f->c->failed || f->old.failed || f->new.failed || marks->failed;
    if (!f->c->failed)
        read_hunk(f, &from, &to, marks);
    buf_reset(&f->old);
    buf_reset(&f->new);
    buf_reset(marks);
}

static void end_file(struct diff_file *f)
{
    struct collecting *c = f->c;
    c->failed = c->failed || f->from.failed || f->to.failed;
    if (f->open && !c->failed) {
        if (c->n_code > f->first_code) { /* the first entry of a file is its sum */
            c->code[f->first_code].added = f->added;
            c->code[f->first_code].removed = f->removed;
        }
        if (!f->lone) /* everything in a new file is new */
            collect_literals(c, f->path, &f->from, &f->to);
    }
    literals_release(&f->from);
    literals_release(&f->to);
    f->open = false;
    f->added = f->removed = 0;
}

static void begin_file(struct diff_file *f, const char *path, bool lone)
{
    end_file(f);
    f->lone = lone;
    snprintf(f->path, sizeof f->path, "%s", path);
    f->open = true;
    f->first_code = f->last_code = f->c->n_code;
}

static int by_heading(const void *a, const void *b)
{
    return strcmp(((const struct lineage_measured_lines *)a)->heading, ((const struct lineage_measured_lines *)b)->heading);
}

/* Two versions of a file are one hunk without a heading. */
void collect_file(struct collecting *c, const char *path, const struct file_text *from, const struct file_text *to)
{
    static const struct file_text none = {"", 0};
    const struct file_text *old = from->text ? from : &none, *new = to->text ? to : &none;
    if (memchr(old->text, '\0', old->length) || memchr(new->text, '\0', new->length)) {
        collect_code(c, path, NULL, 0, 0, LINEAGE_LINES_BINARY);
        return;
    }
    SCOPED_BUF marks = {0};
    SCOPED_FREE struct diff_file *f = calloc(1, sizeof *f);
    if (f && line_diff(&marks, old, new)) {
        f->c = c;
        f->line = 1;
        begin_file(f, path, !from->text || !to->text);
        read_hunk(f, old, new, &marks);
        if (f->added + f->removed == 0) /* only the ends of lines differ */
            c->n_code = f->first_code;
        else if (c->n_code > f->first_code)
            qsort(c->code + f->first_code + 1, c->n_code - f->first_code - 1, sizeof *c->code, by_heading);
        end_file(f);
    } else
        c->failed = true;
}

/* Copies a name; "" if it cannot be a path. */
static void set_path(char path[PATH_LENGTH_MAX], const char *name, size_t length)
{
    snprintf(path, PATH_LENGTH_MAX, "%.*s", length < PATH_LENGTH_MAX && !memchr(name, '\0', length) ? (int)length : 0, name);
}

/* "Binary files a/w.bin and b/w.bin differ" */
static void read_binary(struct diff_file *f, const char *line, size_t length)
{
    char text[2 * PATH_LENGTH_MAX + 64], path[PATH_LENGTH_MAX];
    snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : 0), line);
    const char *and = strncmp(text, "Binary files ", 13) == 0 ? strstr(text, " and ") : NULL;
    char *end = and ? strstr(and, " differ") : NULL;
    if (!end)
        return;
    size_t n = (size_t)(end - and)-5;
    const char *name = diff_name(and+5, &n);
    set_path(path, name, n);
    if (*path) {
        begin_file(f, path, false);
        collect_code(f->c, f->path, NULL, 0, 0, LINEAGE_LINES_BINARY);
    }
}

void collect_diff(struct collecting *c, const char *diff, size_t length)
{
    SCOPED_FREE struct diff_file *f = calloc(1, sizeof *f);
    struct diff_reader line = {.at = diff, .end = diff + length};
    char path[PATH_LENGTH_MAX], old_path[PATH_LENGTH_MAX] = "";
    SCOPED_BUF marks = {0};
    bool in_hunk = false;
    if (!f) {
        c->failed = true;
        return;
    }
    f->c = c;
    for (enum diff_line kind = DIFF_OTHER; kind != DIFF_END && !c->failed;) {
        kind = diff_next(&line);
        if (kind == DIFF_TEXT) {
            struct buf *const sides[] = {line.mark == '+' ? NULL : &f->old, line.mark == '-' ? NULL : &f->new};
            for (size_t i = 0; i < 2; i++)
                if (sides[i]) {
                    buf_add(sides[i], line.text, line.length);
                    buf_put(sides[i], '\n');
                }
            buf_put(&marks, line.mark);
            continue;
        }
        if (in_hunk)
            end_hunk(f, &marks);
        in_hunk = false;
        if (kind == DIFF_OLD) {
            set_path(old_path, line.text, line.length);
        } else if (kind == DIFF_NEW) {
            set_path(path, line.text, line.length);
            if (*path || *old_path)
                begin_file(f, *path ? path : old_path, !*path || !*old_path);
        } else if (kind == DIFF_HUNK) {
            f->line = line.new_start ? (uint32_t)line.new_start : 1;
            in_hunk = f->open;
            read_heading(f, line.text, line.length);
        } else if (kind == DIFF_OTHER)
            read_binary(f, line.text, line.length);
    }
    end_file(f);
    buf_release(&f->old);
    buf_release(&f->new);
}
