/*
 * row_write.c: writes a trial as a record, after checking it. The checks are stricter than those for reading: a file
 * that cannot be changed afterwards should contain nothing that some reader cannot handle (fieldkit stops at long
 * cells, JSON has no nan).
 *
 * Cells are in the order of the file's header if it has one: fieldkit reads by name, but people sort and cut by
 * position, and a row whose order differs from its header is misread by both.
 */
#include <jansson.h>
#include <math.h>

#include <lineage/notes.h>
#include <lineage/store.h>
#include <lineage/text.h>

#include "../fail.h"
#include "number.h"
#include "row.h"
#include "json_text.h"

/* ---- the columns `params` and `metrics` (row.h) ---- */

bool json_column_is(const char *name)
{
    return strcmp(name, JSON_COLUMN_PARAMS) == 0 || strcmp(name, JSON_COLUMN_METRICS) == 0;
}

/* Numbers are written in their shortest form, which jansson does not do; names need no escapes. */
void json_column_write(struct buf *out, const char *name, const char *notes)
{
    struct lineage_trial said = {0};
    struct arena arena = {0};
    if (notes_parse(&said, notes, &arena, NULL) != LINEAGE_OK) {
        out->failed = true;
        arena_release(&arena);
        return;
    }
    bool params = strcmp(name, JSON_COLUMN_PARAMS) == 0;
    const struct lineage_param *list = params ? said.params : said.metrics;
    size_t n = params ? said.n_params : said.n_metrics;
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s\"%s\": ", i ? ", " : "{", list[i].name);
        json_t *text = list[i].text ? json_string(list[i].text) : NULL;
        char *quoted = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL;
        if (quoted)
            buf_puts(out, quoted);
        else if (!list[i].text)
            buf_add_number(out, list[i].value);
        else
            out->failed = true;
        free(quoted);
        json_decref(text);
    }
    if (n)
        buf_put(out, '}');
    arena_release(&arena);
}

/* A member of the merged list; of equal names the last one counts. */
struct member {
    struct lineage_param param;
    size_t order;
};

static int by_name(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = strcmp(x->param.name, y->param.name);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* Returns the parameter or metric of a member, with a NULL name if the member cannot be one. */
static struct lineage_param read_member(const char *name, const json_t *value, bool texts, struct arena *arena, bool *ok)
{
    struct lineage_param param = {NULL, json_number_value(value), NULL};
    const char *text = texts ? json_string_value(value) : NULL;
    bool good = lineage_param_name_ok(name) &&
                (json_is_number(value) ? isfinite(param.value)
                                       : text && strlen(text) == json_string_length(value) && lineage_param_text_ok(text));
    if (!good)
        return param;
    param.name = arena_text(arena, name, strlen(name));
    if (text) {
        param.text = arena_text(arena, text, strlen(text));
        param.value = (double)NAN;
    }
    *ok = *ok && param.name && (!text || param.text);
    if (param.name && texts)
        param.name = lineage_param_canonical(param.name);
    return param;
}

/* Merges the members of the object into the list. Sorts them, because a cell may hold ten thousand members. */
static bool merge(const struct lineage_param **list, size_t *n, const char *text, bool texts, struct arena *arena)
{
    const char *name;
    json_t *value, *object;
    if (!text || *text != '{')
        return true;
    if (json_text_parse(&object, "cell", LINEAGE_EINVAL, text, strlen(text), 0, NULL) == LINEAGE_ENOMEM)
        return false;
    size_t most = *n + json_object_size(object), found = 0, kept = 0;
    struct member *members = arena_alloc(arena, most, sizeof *members);
    struct lineage_param *merged = arena_alloc(arena, most, sizeof *merged);
    bool ok = members && merged;
    for (size_t i = 0; ok && i < *n; i++, found++)
        members[found] = (struct member){(*list)[i], found};
    json_object_foreach(object, name, value) {
        struct lineage_param param = ok ? read_member(name, value, texts, arena, &ok) : (struct lineage_param){0};
        if (ok && param.name) {
            members[found] = (struct member){param, found};
            found++;
        }
    }
    json_decref(object);
    if (!ok)
        return false;
    if (found)
        qsort(members, found, sizeof *members, by_name);
    for (size_t i = 0; i < found; i++)
        if (i + 1 == found || strcmp(members[i].param.name, members[i + 1].param.name) != 0)
            merged[kept++] = members[i].param;
    *list = merged;
    *n = kept;
    return true;
}

bool json_params_read(struct lineage_trial *trial, const char *text, struct arena *arena)
{
    return merge(&trial->params, &trial->n_params, text, true, arena);
}

bool json_columns_read(struct lineage_trial *trial, struct arena *arena)
{
    bool ok = true;
    for (size_t i = 0; ok && i < trial->n_extras; i++) {
        const struct lineage_extra *extra = &trial->extras[i];
        if (strcmp(extra->column, JSON_COLUMN_PARAMS) == 0)
            ok = json_params_read(trial, extra->text, arena);
        else if (strcmp(extra->column, JSON_COLUMN_METRICS) == 0)
            ok = merge(&trial->metrics, &trial->n_metrics, extra->text, false, arena);
    }
    return ok;
}

static const struct lineage_number *number_at(const struct lineage_trial *trial, size_t column)
{
    return (const struct lineage_number *)(const void *)((const char *)trial + trial_columns[column].offset);
}

static const char *text_at(const struct lineage_trial *trial, size_t column)
{
    return *(const char *const *)(const void *)((const char *)trial + trial_columns[column].offset);
}

static void write_column(struct buf *out, const struct lineage_trial *trial, size_t i)
{
    const char *text = NULL;
    switch (trial_columns[i].kind) {
    case LINEAGE_COLUMN_TEXT: text = text_at(trial, i); break;
    case LINEAGE_COLUMN_LABEL: text = lineage_label_name(trial->status); break;
    case LINEAGE_COLUMN_NUMBER:
        if (number_at(trial, i)->present)
            buf_add_number(out, number_at(trial, i)->value);
        break;
    }
    if (text && *text)
        tsv_write_cell(out, text, strlen(text));
}

/* Searches the columns for each cell, because the layout only maps columns to cells. 17 comparisons cost little
 * compared with writing the cell. */
static int column_of_cell(const struct row_layout *layout, size_t cell)
{
    for (int i = 0; i < LINEAGE_N_COLUMNS; i++)
        if (layout->column[i] == (int)cell)
            return i;
    return -1;
}

static void write_json(struct buf *out, const struct lineage_trial *trial, const char *name)
{
    SCOPED_BUF text = {0};
    json_column_write(&text, name, trial->notes);
    out->failed = out->failed || text.failed;
    if (!out->failed && text.length)
        tsv_write_cell(out, text.data, text.length);
}

/* Writes a cell outside the 17 columns: the trial's own extra, or the score if that is another column. Extra columns
 * without a value become empty cells; otherwise the row would be too short and would be reported for ever. */
static void write_other(struct buf *out, const struct lineage_trial *trial, const struct row_layout *layout, size_t cell,
                        const struct lineage_extra *extra)
{
    if (extra)
        tsv_write_cell(out, extra->text, strlen(extra->text));
    else if (json_column_is(layout->names[cell]))
        write_json(out, trial, layout->names[cell]);
    else if (layout->score == (int)cell && trial->core_metric.present)
        buf_add_number(out, trial->core_metric.value);
}

static void write_canonical(struct buf *out, const struct lineage_trial *trial)
{
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++) {
        if (i)
            buf_put(out, '\t');
        write_column(out, trial, i);
    }
}

/* Finds the extra of each cell; the first of two extras with one name counts. */
static void place_extras(const struct lineage_extra **of_cell, const struct lineage_trial *trial, const struct row_layout *layout)
{
    for (size_t i = trial->n_extras; i--;)
        for (size_t at = row_layout_place(layout, trial->extras[i].column);
             at < layout->n_cells && strcmp(layout->names[layout->by_name[at]], trial->extras[i].column) == 0; at++)
            of_cell[layout->by_name[at]] = &trial->extras[i];
}

static void write_in_order(struct buf *out, const struct lineage_trial *trial, const struct row_layout *layout)
{
    const struct lineage_extra **of_cell = trial->n_extras ? calloc(layout->n_cells + 1, sizeof *of_cell) : NULL;
    if (of_cell)
        place_extras(of_cell, trial, layout);
    else
        out->failed = out->failed || trial->n_extras;
    for (size_t cell = 0; cell < layout->n_cells; cell++) {
        int column = column_of_cell(layout, cell);
        if (cell)
            buf_put(out, '\t');
        if (column >= 0)
            write_column(out, trial, (size_t)column);
        else
            write_other(out, trial, layout, cell, of_cell ? of_cell[cell] : NULL);
    }
    free(of_cell);
}

void row_write(struct buf *out, const struct lineage_trial *trial, const struct row_layout *layout)
{
    if (!layout || layout->identical)
        write_canonical(out, trial);
    else
        write_in_order(out, trial, layout);
    buf_put(out, '\n');
}

/* Uses the same table of columns as the rows, so header and rows always agree. */
void row_write_header(struct buf *out)
{
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++) {
        if (i)
            buf_put(out, '\t');
        buf_puts(out, trial_columns[i].name);
    }
    buf_put(out, '\n');
}

/* The limit is that of Python's csv module (131072): fieldkit stops at a longer cell. */
static enum lineage_status check_text(const char *name, const char *text, struct lineage_error *err)
{
    size_t length = text ? strlen(text) : 0;
    if (length > LINEAGE_CELL_MAX)
        return store_fail(err, LINEAGE_ELIMIT, "%s is %zu bytes long, %d are allowed", name, length, LINEAGE_CELL_MAX);
    if (!lineage_text_is_utf8(text, length))
        return store_fail(err, LINEAGE_EINVAL, "%s is not valid UTF-8", name);
    return LINEAGE_OK;
}

/* Refuses nan, because every comparison with nan is false: a nan score could neither be beaten nor chosen. JSON and
 * SQLite have no nan, so two readers of one row would disagree. */
static enum lineage_status check_number(const char *name, struct lineage_number number, struct lineage_error *err)
{
    char text[LINEAGE_NUMBER_MAX];
    if (!number.present || isfinite(number.value))
        return LINEAGE_OK;
    return store_fail(err, LINEAGE_EINVAL, "%s is %s; only finite numbers are recorded, leave it empty instead", name,
                      lineage_number_format(text, number.value));
}

enum lineage_status row_check_cells(const struct lineage_trial *trial, const struct lineage_trial *checked,
                                    struct lineage_error *err)
{
    static const struct lineage_trial empty;
    enum lineage_status status = LINEAGE_OK;
    if (!lineage_label_name(trial->status))
        return store_fail(err, LINEAGE_EINVAL, "status %d is not a label", (int)trial->status);
    if (!checked)
        checked = &empty;
    for (size_t i = 0; status == LINEAGE_OK && i < LINEAGE_N_COLUMNS; i++)
        if (trial_columns[i].kind == LINEAGE_COLUMN_NUMBER)
            status = check_number(trial_columns[i].name, *number_at(trial, i), err);
        else if (trial_columns[i].kind == LINEAGE_COLUMN_TEXT && text_at(trial, i) != text_at(checked, i))
            status = check_text(trial_columns[i].name, text_at(trial, i), err);
    return status;
}

/* A name that does not fit the grammar of notes would be read as prose: the setting would look recorded, but no query
 * would find it. */
static enum lineage_status check_param(const struct lineage_param *param, struct lineage_error *err)
{
    if (!param->name || !lineage_param_name_ok(param->name))
        return store_fail(err, LINEAGE_EINVAL,
                          "parameter name '%s' is not letters, digits, `_`, `.`, `-` beginning with a letter",
                          param->name ? param->name : "");
    if (!param->text)
        return check_number(param->name, (struct lineage_number){true, param->value}, err);
    if (strncmp(param->name, "ig_clip_scale_", 14) == 0 || !lineage_param_text_ok(param->text))
        return store_fail(err, LINEAGE_EINVAL,
                          "parameter %s: its text must be 1 to %d bytes of UTF-8 without semicolons and control "
                          "characters",
                          param->name, LINEAGE_PARAM_TEXT_MAX);
    return LINEAGE_OK;
}

/* An alias would be read back under another name, so that queries for the metric would not find it. */
static enum lineage_status check_metric(const struct lineage_param *metric, struct lineage_error *err)
{
    if (!metric->name || !lineage_param_name_ok(metric->name) || lineage_param_canonical(metric->name) != metric->name)
        return store_fail(err, LINEAGE_EINVAL, "metric name '%s' is not letters, digits, `_`, `.`, `-` beginning with a letter",
                          metric->name ? metric->name : "");
    return check_number(metric->name, (struct lineage_number){true, metric->value}, err);
}

static enum lineage_status check_turn(const struct lineage_turn_stat *turn, struct lineage_error *err)
{
    if (isfinite(turn->mean) && isfinite(turn->std))
        return LINEAGE_OK;
    return store_fail(err, LINEAGE_EINVAL, "information gain of turn %u is not finite", turn->turn);
}

/* Parameters and statistics are checked before they are written into notes, so that the message names the caller's
 * field instead of a cell that the caller never saw. */
enum lineage_status row_check(const struct lineage_trial *trial, struct lineage_error *err)
{
    TRY(row_check_cells(trial, NULL, err));
    TRY(check_number("ig_clip_scale_mean", trial->ig_clip_scale_mean, err));
    TRY(check_number("ig_clip_scale_std", trial->ig_clip_scale_std, err));
    for (size_t i = 0; i < trial->n_params; i++)
        TRY(check_param(&trial->params[i], err));
    for (size_t i = 0; i < trial->n_metrics; i++)
        TRY(check_metric(&trial->metrics[i], err));
    for (size_t i = 0; i < trial->n_turns; i++)
        TRY(check_turn(&trial->turns[i], err));
    return LINEAGE_OK;
}
