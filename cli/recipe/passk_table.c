#include "recipe/passk_table.h"

#include <csv.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* A policy of a million questions has about 30 MB. */
enum { FILE_BYTES = 1 << 28, SAMPLES_MAX = 1 << 30, N_COLUMNS = 4, NO_COLUMN = -1 };
enum column { POLICY, QUESTION, SAMPLES, CORRECT };
static const char *const column_names[N_COLUMNS] = {"policy", "question", "samples", "correct"};

struct line {
    size_t number, policy;
    const char *question;
    int64_t asked, right;
};

struct reading {
    const char *path;
    struct passk_table *table;
    size_t used; /* bytes of table->text */
    size_t n_lines, room, line, column;
    struct line *lines, now;
    int place[N_COLUMNS]; /* of a column in the file */
    unsigned seen;        /* columns of the line, one bit each */
    bool failed;
};

static void fail(struct reading *r, const char *what, const char *text)
{
    if (!r->failed)
        cli_error(CLI_USAGE, "%s:%zu: %s%s", r->path, r->line, what, text);
    r->failed = true;
}

/* ---- cells ---- */

/* Texts lie one after another in table->text, which has room for the whole file and never moves. */
static char *keep(struct reading *r, const char *text, size_t length)
{
    char *to = r->table->text + r->used;
    memcpy(to, text, length);
    to[length] = '\0';
    r->used += length + 1;
    return to;
}

static size_t policy_of(struct reading *r, const char *name, size_t length)
{
    struct passk_table *t = r->table;
    for (size_t i = t->n; i-- > 0;)
        if (strlen(t->names[i]) == length && memcmp(t->names[i], name, length) == 0)
            return i;
    if (!CLI_ROOM(t->names, t->n, t->room)) {
        fail(r, "out of memory", "");
        return 0;
    }
    t->names[t->n] = keep(r, name, length);
    return t->n++;
}

static int64_t count_of(struct reading *r, const char *text)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < 0 || value > SAMPLES_MAX)
        fail(r, "samples and correct must be whole numbers from 0, at most 2^30, but one is ", *text ? text : "empty");
    return value;
}

static void take_cell(struct reading *r, enum column column, const char *text, size_t length)
{
    r->seen |= 1u << column;
    if (strlen(text) != length)
        fail(r, "a cell contains a NUL byte", "");
    else if (column == POLICY)
        r->now.policy = policy_of(r, text, length);
    else if (column == QUESTION)
        r->now.question = keep(r, text, length);
    else if (column == SAMPLES)
        r->now.asked = count_of(r, text);
    else
        r->now.right = count_of(r, text);
}

/* libcsv ends a cell with NUL, because the parser is opened with CSV_APPEND_NULL. */
static void on_cell(void *cell, size_t length, void *context)
{
    struct reading *r = context;
    const char *text = cell ? cell : "";
    for (int i = 0; i < N_COLUMNS && !r->failed; i++)
        if (r->line == 1 && strcmp(text, column_names[i]) == 0)
            r->place[i] = (int)r->column;
        else if (r->line > 1 && r->place[i] == (int)r->column)
            take_cell(r, (enum column)i, text, length);
    r->column++;
}

static void end_header(struct reading *r)
{
    for (int i = 0; i < N_COLUMNS; i++)
        if (r->place[i] == NO_COLUMN)
            fail(r, "the first line must name the columns policy, question, samples and correct; it lacks ", column_names[i]);
}

static void on_line(int end, void *context)
{
    struct reading *r = context;
    (void)end;
    if (r->line == 1) {
        end_header(r);
    } else if (!r->failed) {
        if (r->seen != (1u << N_COLUMNS) - 1)
            fail(r, "the line has fewer cells than the first one", "");
        else if (r->now.asked < 1 || r->now.right > r->now.asked)
            fail(r, "samples must be at least 1, and correct at most samples", "");
        if (!CLI_ROOM(r->lines, r->n_lines, r->room))
            fail(r, "out of memory", "");
        r->now.number = r->line;
        if (!r->failed)
            r->lines[r->n_lines++] = r->now;
    }
    r->line++;
    r->column = 0;
    r->seen = 0;
}

/* ---- questions ---- */

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    int by = strcmp(a->question, b->question);
    return by ? by : (a->policy > b->policy) - (a->policy < b->policy);
}

/* Every question must have the policies 0 .. n-1, once each. */
static bool fill(struct reading *r)
{
    struct passk_table *t = r->table;
    qsort(r->lines, r->n_lines, sizeof *r->lines, compare_lines);
    for (size_t i = 0; i < r->n_lines; i++) {
        const struct line *line = &r->lines[i], *first = &r->lines[i - i % t->n];
        bool of_same = strcmp(line->question, first->question) == 0;
        if (!of_same || line->policy != i % t->n) {
            const struct line *wrong = of_same ? line : first;
            return cli_error(CLI_USAGE,
                             "%s:%zu: question '%.100s' has not exactly one line for each of the %zu policies, which are "
                             "compared question by question",
                             r->path, wrong->number, wrong->question, t->n) == CLI_GO_ON;
        }
    }
    t->n_questions = r->n_lines / t->n;
    t->asked = malloc(r->n_lines * sizeof *t->asked);
    t->right = malloc(r->n_lines * sizeof *t->right);
    t->questions = malloc(t->n_questions * sizeof *t->questions);
    if (!t->asked || !t->right || !t->questions)
        return cli_no_memory() == CLI_GO_ON;
    for (size_t i = 0; i < r->n_lines; i++) {
        size_t at = r->lines[i].policy * t->n_questions + i / t->n;
        t->asked[at] = r->lines[i].asked;
        t->right[at] = r->lines[i].right;
        t->questions[i / t->n] = r->lines[i].question;
    }
    return true;
}

static bool parse(struct reading *r, FILE *file, size_t bytes)
{
    struct csv_parser parser;
    char block[16384];
    size_t n, left = bytes;
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0)
        return cli_no_memory() == CLI_GO_ON;
    while (!r->failed && left > 0 && (n = fread(block, 1, left < sizeof block ? left : sizeof block, file)) > 0) {
        left -= n;
        if (csv_parse(&parser, block, n, on_cell, on_line, r) != n)
            fail(r, csv_strerror(csv_error(&parser)), "");
    }
    if (!r->failed && csv_fini(&parser, on_cell, on_line, r) != 0)
        fail(r, csv_strerror(csv_error(&parser)), "");
    csv_free(&parser);
    if (!r->failed && r->n_lines == 0)
        fail(r, "the table has no line behind the first one", "");
    if (!r->failed && r->n_lines % r->table->n != 0)
        fail(r, "not every policy has a line for every question", "");
    return !r->failed && fill(r);
}

/* A pipe would need a growing text; a file's size says how much its cells can need. */
int passk_table_read(struct passk_table *table, const char *path)
{
    struct reading r = {.path = path, .table = table, .line = 1, .place = {NO_COLUMN, NO_COLUMN, NO_COLUMN, NO_COLUMN}};
    *table = (struct passk_table){0};
    FILE *file = fopen(path, "rbe");
    if (!file)
        return cli_error(CLI_USAGE, "cannot read %s: %s", path, strerror(errno));
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    bool done = false;
    if (size < 0 || size > FILE_BYTES || fseek(file, 0, SEEK_SET) != 0)
        cli_error(CLI_USAGE, "%s is not a file of at most %d MB", path, FILE_BYTES >> 20);
    else if (!(table->text = malloc(2 * (size_t)size + 16)))
        cli_no_memory();
    else
        done = parse(&r, file, (size_t)size);
    fclose(file);
    free(r.lines);
    return done ? CLI_GO_ON : CLI_USAGE;
}

void passk_table_release(struct passk_table *table)
{
    free(table->names);
    free(table->questions);
    free(table->asked);
    free(table->right);
    free(table->text);
    *table = (struct passk_table){0};
}
