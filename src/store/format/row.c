/*
 * row.c: converts a record's cells to a trial.
 *
 * A row that can be understood counts, even if something else is wrong with it (too many cells, too few after the
 * status), and the problem is reported: a history with gaps misleads more than one with warnings. What other tools skip
 * (invalid UTF-8, a repeated header, an unknown label) is skipped here too; otherwise two tools would disagree on the
 * best trial of one file.
 */
#include "row.h"

#include <lineage/text.h>

#include "../fail.h"
#include "ascii.h"

/* ---- reads the header, to find which cell holds which column and which column is the score. Columns are found by
 * name, never by position, because the three tools that write such files order and extend them differently.
 */

/* Column names of the five-column log, and the columns that they correspond to here. karpathy/autoresearch writes
 * `commit val_bpb memory_gb status description`. Such a log can be opened without conversion, so that people can
 * compare trials with it before they decide to import it. */
static const struct {
    const char *theirs, *ours;
} autoresearch_names[] = {{"commit", "exp_id"}, {"description", "hypothesis"}};

size_t row_layout_place(const struct row_layout *layout, const char *name)
{
    size_t low = 0, high = layout->n_cells;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(layout->names[layout->by_name[middle]], name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Names are compared by bytes including case, as in Python's csv.DictReader: `Status` differs from `status`, so it is
 * an extra column. */
int row_layout_find(const struct row_layout *layout, const char *name)
{
    size_t place = row_layout_place(layout, name);
    bool found = place < layout->n_cells && strcmp(layout->names[layout->by_name[place]], name) == 0;
    return found ? (int)layout->by_name[place] : -1;
}

/* Drops the byte order mark that a spreadsheet puts in front of the first name, and blanks that an editor left behind a name. The names
 * are copied, because a layout outlives the bytes of its header by many syncs. */
static bool copy_names(struct row_layout *layout, const struct tsv_cell *cells, size_t n)
{
    static const char mark[] = "\xef\xbb\xbf";
    layout->names = calloc(n + 1, sizeof *layout->names);
    for (size_t i = 0; layout->names && i < n; i++) {
        const char *text = cells[i].text;
        if (i == 0 && strncmp(text, mark, 3) == 0)
            text += 3;
        size_t length = strlen(text);
        while (length && text[length - 1] == ' ')
            length--;
        if (!(layout->names[i] = strndup(text, length)))
            return false;
        layout->n_cells = i + 1;
    }
    return layout->names != NULL;
}

/* A name and its cell, for the sort. */
struct named_cell {
    const char *name;
    size_t cell;
};

static int in_order(const void *a, const void *b)
{
    const struct named_cell *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->cell > y->cell) - (x->cell < y->cell);
}

static bool sort_names(struct row_layout *layout)
{
    SCOPED_FREE struct named_cell *cells = calloc(layout->n_cells + 1, sizeof *cells);
    layout->by_name = calloc(layout->n_cells + 1, sizeof *layout->by_name);
    bool ok = cells && layout->by_name;
    for (size_t i = 0; ok && i < layout->n_cells; i++)
        cells[i] = (struct named_cell){layout->names[i], i};
    if (ok && layout->n_cells)
        qsort(cells, layout->n_cells, sizeof *cells, in_order);
    for (size_t i = 0; ok && i < layout->n_cells; i++)
        layout->by_name[i] = cells[i].cell;
    return ok;
}

/* If two columns have the same name, the first one counts, so adding a column at the end changes nothing. */
static void map_columns(struct row_layout *layout)
{
    layout->identical = layout->n_cells == LINEAGE_N_COLUMNS;
    layout->n_extras = layout->n_cells;
    for (int i = 0; i < LINEAGE_N_COLUMNS; i++) {
        layout->column[i] = row_layout_find(layout, lineage_column((size_t)i)->name);
        layout->n_extras -= layout->column[i] >= 0;
        layout->identical = layout->identical && layout->column[i] == i;
    }
}

/* A file with an exp_id column is not an autoresearch log, even if it also has a commit column; that column is then an
 * extra column. */
static void map_autoresearch(struct row_layout *layout)
{
    if (row_layout_find(layout, "exp_id") >= 0 || row_layout_find(layout, "commit") < 0)
        return;
    layout->shape = ROW_AUTORESEARCH;
    for (size_t i = 0; i < sizeof autoresearch_names / sizeof *autoresearch_names; i++) {
        int column = lineage_column_find(autoresearch_names[i].ours);
        int cell = row_layout_find(layout, autoresearch_names[i].theirs);
        if (layout->column[column] < 0 && cell >= 0) {
            layout->column[column] = cell;
            layout->n_extras--;
        }
    }
}

/* If the configured column is missing, this is an error: a guessed column would rank the trials by another measure, and
 * no output would show it. Without a configured column core_metric is tried first, because every file that this library
 * writes has it. */
static enum lineage_status choose_metric(struct row_layout *layout, const char *metric, struct lineage_error *err)
{
    const char *name = metric;
    if (!name || !*name)
        name = row_layout_find(layout, "core_metric") >= 0 ? "core_metric" : "val_bpb";
    layout->score = row_layout_find(layout, name);
    if (layout->score < 0 && metric && *metric)
        return store_fail(err, LINEAGE_EINVAL, "results.tsv: no column '%s' to take the score from", metric);
    layout->metric = strdup(name);
    return layout->metric ? LINEAGE_OK : store_no_memory(err);
}

enum lineage_status row_layout_read(struct row_layout *layout, const struct tsv_cell *cells, size_t n, const char *metric,
                                    struct lineage_error *err)
{
    enum lineage_status status;
    *layout = (struct row_layout){.score = -1};
    if (!copy_names(layout, cells, n) || !sort_names(layout)) {
        row_layout_release(layout);
        return store_no_memory(err);
    }
    map_columns(layout);
    map_autoresearch(layout);
    if (layout->shape != ROW_AUTORESEARCH && layout->n_extras)
        layout->shape = ROW_BLACKBOARD;
    if (layout->column[0] < 0)
        status = store_fail(err, LINEAGE_ECORRUPT, "results.tsv:1: no exp_id or commit column in the header");
    else
        status = choose_metric(layout, metric, err);
    if (status != LINEAGE_OK)
        row_layout_release(layout);
    return status;
}

enum lineage_status row_layout_take_score(struct row_layout *layout, const char *name, struct lineage_error *err)
{
    const int cell = name && row_layout_find(layout, "core_metric") < 0 ? row_layout_find(layout, name) : -1;
    char *copy = cell < 0 ? NULL : strdup(name);
    if (!copy)
        return cell < 0 ? LINEAGE_OK : store_no_memory(err);
    free(layout->metric);
    layout->metric = copy;
    layout->score = cell;
    return LINEAGE_OK;
}

void row_layout_release(struct row_layout *layout)
{
    for (size_t i = 0; i < layout->n_cells; i++)
        free(layout->names[i]);
    free(layout->names);
    free(layout->by_name);
    free(layout->metric);
    *layout = (struct row_layout){.score = -1};
}

/* Fits a label or number of 40 bytes with its name: a malformed cell may be a whole paragraph, and a reason is one line
 * of a listing. */
#define REASON_MAX 160

struct reading {
    struct lineage_trial *trial;
    const struct row_layout *layout;
    const struct tsv_cell *cells;
    size_t n;
    struct arena *arena;
    char *reason;
    bool out_of_memory;
};

/* A short row ends before its last columns, and the header may lack a column: the missing cell then counts as empty, as
 * in other tools. */
static const struct tsv_cell *cell_at(const struct reading *r, int index)
{
    return index >= 0 && (size_t)index < r->n ? &r->cells[index] : NULL;
}

/* NUL bytes become C0 80, so that cells can be C strings. No cell can contain these two bytes itself, because they are
 * not valid UTF-8, and rows with invalid UTF-8 are refused. So the encoding is reversible, and lineage_text_safe shows
 * these bytes as the symbol for NUL. */
static char *encode_nuls(struct arena *arena, const struct tsv_cell *cell)
{
    char *out = arena_alloc(arena, cell->length * 2 + 1, 1), *end = out;
    for (size_t i = 0; out && i < cell->length; i++) {
        if (!cell->text[i])
            *end++ = '\xc0';
        *end++ = cell->text[i] ? cell->text[i] : '\x80';
    }
    return out;
}

const char *row_cell_text(struct arena *arena, const struct tsv_cell *cell)
{
    return memchr(cell->text, 0, cell->length) ? encode_nuls(arena, cell) : arena_text(arena, cell->text, cell->length);
}

static const char *keep(struct reading *r, const struct tsv_cell *cell)
{
    if (!cell || !cell->length)
        return "";
    const char *out = row_cell_text(r->arena, cell);
    r->out_of_memory = r->out_of_memory || !out;
    return out;
}

/* Checks every cell, not only the 17 standard columns, because extra columns are printed too. */
static bool all_utf8(const struct reading *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (!lineage_text_is_utf8(r->cells[i].text, r->cells[i].length))
            return false;
    return true;
}

/* Two files joined with cat contain the header twice. */
static bool is_header(const struct reading *r)
{
    if (r->n != r->layout->n_cells)
        return false;
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->cells[i].text, r->layout->names[i]) != 0)
            return false;
    return true;
}

static void lower(char *text)
{
    for (; *text; text++)
        *text = ascii_lower(*text);
}

/* Agents write the labels of the five-column log by hand, so there they may be in upper or lower case; in other logs
 * they must be lower case. If the status column is missing, the label is discard, because it claims the least: with
 * keep the first row would be the best trial, and with crash its score would be ignored. */
static bool read_status(struct reading *r)
{
    char text[LINEAGE_NAME_MAX];
    int index = r->layout->column[lineage_column_find("status")];
    const struct tsv_cell *cell = cell_at(r, index);
    if (index < 0) {
        r->trial->status = LINEAGE_DISCARD;
        return true;
    }
    if (!cell)
        return false;
    snprintf(text, sizeof text, "%s", cell->text);
    if (r->layout->shape == ROW_AUTORESEARCH)
        lower(text);
    return strlen(cell->text) == cell->length && cell->length < sizeof text && lineage_label_parse(&r->trial->status, text);
}

/* Nan and infinities are numbers here, because other tools write them: the row survives, and the rules that compare
 * scores ignore it. A cell counts as absent unless all of it is a number, because the leading number of `0.91 (old)`
 * would otherwise be compared like a score. */
static bool read_number(struct reading *r, struct lineage_number *number, int index, const char *name)
{
    const struct tsv_cell *cell = cell_at(r, index);
    *number = (struct lineage_number){0};
    if (!cell || !cell->length)
        return true;
    number->present = lineage_number_parse(&number->value, cell->text, cell->length);
    if (!number->present)
        snprintf(r->reason, REASON_MAX, "%s '%.40s' is not a number", name, cell->text);
    return number->present;
}

static bool read_columns(struct reading *r)
{
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++) {
        const struct lineage_column *column = lineage_column(i);
        int index = r->layout->column[i];
        if (column->kind == LINEAGE_COLUMN_TEXT)
            *trial_text_member(r->trial, i) = keep(r, cell_at(r, index));
        else if (column->kind == LINEAGE_COLUMN_NUMBER && !read_number(r, trial_number_member(r->trial, i), index, column->name))
            return false;
    }
    return true;
}

/* A crash in the five-column log has 0.000000 instead of a measurement. If lower is better, a zero would rank above
 * every measured score and look like a result. */
static bool is_placeholder(const struct reading *r)
{
    return r->layout->shape == ROW_AUTORESEARCH && !lineage_label_is_kept(r->trial->status) &&
           r->trial->status != LINEAGE_DISCARD && r->trial->score.value == 0;
}

static bool read_score(struct reading *r)
{
    if (!read_number(r, &r->trial->score, r->layout->score, r->layout->metric ? r->layout->metric : "score"))
        return false;
    if (r->trial->score.present && is_placeholder(r)) {
        r->trial->score.present = false;
        r->trial->val_bpb.present = false;
    }
    return true;
}

/* The mirror calls this function too, so that it names a row's extra columns in the same order. */
bool row_is_extra(const struct row_layout *layout, size_t index)
{
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++)
        if (layout->column[i] == (int)index)
            return false;
    return true;
}

static void read_extras(struct reading *r)
{
    struct lineage_extra *extras = arena_alloc(r->arena, r->layout->n_extras, sizeof *extras);
    size_t n = 0;
    r->out_of_memory = r->out_of_memory || !extras;
    for (size_t i = 0; extras && r->layout->n_extras && i < r->layout->n_cells; i++)
        if (row_is_extra(r->layout, i)) {
            extras[n].column = arena_text(r->arena, r->layout->names[i], strlen(r->layout->names[i]));
            r->out_of_memory = r->out_of_memory || !extras[n].column;
            extras[n++].text = keep(r, cell_at(r, (int)i));
        }
    r->trial->extras = extras;
    r->trial->n_extras = n;
}

static enum row_fault fail(struct reading *r, enum row_fault fault, const char *text)
{
    snprintf(r->reason, REASON_MAX, "%s", text);
    return fault;
}

/*
 * Returns ROW_SOUND, or the reason for refusing the row. The order decides how a row with several faults is reported.
 * UTF-8 is checked first, because each later message quotes a cell, and SQLite, JSON and the terminal need valid text.
 * A repeated header is checked before the status, because `status` in that column would be reported as a wrong label.
 * The status is checked before the numbers, because a row too short to have a status was cut off, whatever else it
 * contains. Notes come last, because parsing them fails only if memory runs out: text that is not a setting is prose.
 */
static enum row_fault read_trial(struct reading *r)
{
    if (!all_utf8(r))
        return fail(r, ROW_NOT_UTF8, "not valid UTF-8");
    if (is_header(r))
        return fail(r, ROW_HEADER_AGAIN, "header repeated");
    if (!read_status(r)) {
        if (r->n < r->layout->n_cells)
            return ROW_SHORT;
        snprintf(r->reason, REASON_MAX, "'%.40s' is not a status label",
                 cell_at(r, r->layout->column[lineage_column_find("status")])->text);
        return ROW_BAD_STATUS;
    }
    if (!read_columns(r) || !read_score(r))
        return ROW_BAD_NUMBER;
    read_extras(r);
    if (notes_parse(r->trial, r->trial->notes, r->arena, NULL) != LINEAGE_OK)
        r->out_of_memory = true;
    r->out_of_memory = r->out_of_memory || !json_columns_read(r->trial, r->arena);
    return ROW_SOUND;
}

bool row_read(struct lineage_trial *trial, const struct row_layout *layout, const struct tsv_cell *cells, size_t n,
              struct arena *arena, enum row_fault *fault, char reason[REASON_MAX], enum lineage_status *status)
{
    struct reading r = {.trial = trial, .layout = layout, .cells = cells, .n = n, .arena = arena};
    char why[REASON_MAX] = "";
    r.reason = why;
    *trial = (struct lineage_trial){0};
    *fault = read_trial(&r);
    bool is_row = *fault == ROW_SOUND;
    /* A row of the wrong length still counts and is reported, unless another fault was found already. */
    if (n != layout->n_cells && (is_row || *fault == ROW_SHORT)) {
        *fault = n > layout->n_cells ? ROW_LONG : ROW_SHORT;
        snprintf(why, sizeof why, "%zu cells, header has %zu", n, layout->n_cells);
    }
    snprintf(reason, REASON_MAX, "%s", why);
    *status = r.out_of_memory ? LINEAGE_ENOMEM : LINEAGE_OK;
    return is_row && !r.out_of_memory;
}
