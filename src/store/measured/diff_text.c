/*
 * diff_text.c: reads a unified diff.
 *
 * The two sides of all hunks of a file are two texts, in which a form of the file's literals is visible. Lines of
 * context are on both sides: they show where an edited line belongs, and never differ.
 */

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
    struct buf marks = {0};
    struct diff_file *f = calloc(1, sizeof *f);
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
    buf_release(&marks);
    free(f);
}

/* The path of a line "+++ b/train.py" or "--- a/train.py", without a time behind a tab. */
static bool read_path(char path[PATH_LENGTH_MAX], const char *line, size_t length)
{
    line += 4;
    length -= 4;
    const char *tab = memchr(line, '\t', length);
    if (tab)
        length = (size_t)(tab - line);
    while (length && line[length - 1] == '\r')
        length--;
    if (length >= 2 && line[0] == '"' && line[length - 1] == '"')
        line++, length -= 2;
    if (length == 9 && memcmp(line, "/dev/null", 9) == 0)
        return false;
    if (length > 2 && (line[0] == 'a' || line[0] == 'b') && line[1] == '/')
        line += 2, length -= 2;
    if (!length || length >= PATH_LENGTH_MAX || memchr(line, '\0', length))
        return false;
    memcpy(path, line, length);
    path[length] = '\0';
    return true;
}

static uint32_t read_number(const char **text, const char *end)
{
    uint64_t n = 0;
    while (*text < end && **text >= '0' && **text <= '9') {
        n = n < 100000000 ? n * 10 + (uint64_t)(**text - '0') : n;
        (*text)++;
    }
    return (uint32_t)n;
}

/* "@@ -10,7 +10,8 @@ heading". Returns false if the line is something else. */
static bool read_hunk_line(struct diff_file *f, const char *line, size_t length, uint32_t *old, uint32_t *new)
{
    const char *at = line + 3, *end = line + length;
    uint32_t counts[2] = {1, 1}, starts[2];
    if (length < 8 || memcmp(line, "@@ ", 3) != 0)
        return false;
    for (int side = 0; side < 2; side++) {
        if (at >= end || *at++ != (side ? '+' : '-'))
            return false;
        starts[side] = read_number(&at, end);
        if (at < end && *at == ',') {
            at++;
            counts[side] = read_number(&at, end);
        }
        if (at >= end || *at++ != ' ')
            return false;
    }
    if (end - at < 2 || memcmp(at, "@@", 2) != 0)
        return false;
    at += 2;
    read_heading(f, at, (size_t)(end - at));
    f->line = starts[1] ? starts[1] : 1;
    *old = counts[0];
    *new = counts[1];
    return true;
}

void collect_diff(struct collecting *c, const char *diff, size_t length)
{
    struct diff_file *f = calloc(1, sizeof *f);
    char path[PATH_LENGTH_MAX], old_path[PATH_LENGTH_MAX] = "";
    struct buf marks = {0};
    uint32_t old = 0, new = 0; /* lines of the hunk that are still to come */
    bool in_hunk = false;
    if (!f) {
        c->failed = true;
        return;
    }
    f->c = c;
    for (const char *line = diff, *end = diff + length, *next; line < end && !c->failed; line = next) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t n = stop ? (size_t)(stop - line) : (size_t)(end - line);
        next = stop ? stop + 1 : end;
        char mark = n ? line[0] : ' ';
        if (in_hunk && (old || new) && (mark == ' ' || mark == '+' || mark == '-')) {
            const char *text = n ? line + 1 : line;
            size_t text_length = n ? n - 1 : 0;
            if (mark != '+') {
                buf_add(&f->old, text, text_length);
                buf_put(&f->old, '\n');
                old -= old > 0;
            }
            if (mark != '-') {
                buf_add(&f->new, text, text_length);
                buf_put(&f->new, '\n');
                new -= new > 0;
            }
            buf_put(&marks, mark);
            continue;
        }
        if (in_hunk && mark == '\\')
            continue;
        if (in_hunk)
            end_hunk(f, &marks);
        in_hunk = false;
        if (n > 4 && memcmp(line, "--- ", 4) == 0) {
            if (!read_path(old_path, line, n))
                old_path[0] = '\0';
        } else if (n > 4 && memcmp(line, "+++ ", 4) == 0) {
            bool known = read_path(path, line, n);
            if (known || old_path[0])
                begin_file(f, known ? path : old_path, !known || !old_path[0]);
        } else if (n > 13 && memcmp(line, "Binary files ", 13) == 0) {
            const char *both = NULL;
            for (const char *at = line + 13; at + 5 < line + n && !both; at++)
                both = memcmp(at, " and ", 5) == 0 ? at + 1 : NULL;
            size_t rest = both ? (size_t)(line + n - both) : 0;
            rest -= rest > 7 && memcmp(line + n - 7, " differ", 7) == 0 ? 7 : 0;
            if (both && rest > 4 && read_path(path, both, rest)) {
                begin_file(f, path, false);
                collect_code(c, f->path, NULL, 0, 0, LINEAGE_LINES_BINARY);
            }
        } else
            in_hunk = f->open && read_hunk_line(f, line, n, &old, &new);
    }
    if (in_hunk)
        end_hunk(f, &marks);
    end_file(f);
    buf_release(&marks);
    buf_release(&f->old);
    buf_release(&f->new);
    free(f);
}
