/*
 * sweep_cells.c: lists which values of one or two parameters, metrics or extra columns occurred, and their scores. Rows come in the order of
 * their values, so a cell is complete when the next cell begins. Cells are distinguished by the exact number: 0.1 + 0.2
 * is not 0.3, as in the notes.
 */
#include <lineage/query.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../mirror/statement.h"
#include "load.h"
#include "query_names.h"
#include "questions.h"

/* Reads the sums in the order of the primary key: one row per value and label, however many trials there are. */
static const char sums_sql[] = "SELECT value, status, n, low, high FROM param_values WHERE key = ?1"
                               " ORDER BY value, status";

/* Finds the trial with a value's best score, or the first such trial in the log. The index on scores is used, because
 * few trials share a score, but only for the first 64 trials with that score: if scores are coarse, going through the
 * trials of the value reaches the score early. CROSS JOIN fixes the order of the join, because SQLite has no statistics
 * here. */
#define MEASURED "t.status IN ('keep', 'baseline', 'discard')"
static const char best_by_score_sql[] =
    "SELECT t.exp_id FROM (SELECT seq FROM trials WHERE score = ?1 ORDER BY seq LIMIT 64) s"
    " CROSS JOIN trials t ON t.seq = s.seq WHERE " MEASURED
    " AND EXISTS (SELECT 1 FROM param_rows WHERE key = ?2 AND value = ?3 AND seq = t.seq) ORDER BY s.seq LIMIT 1";
static const char best_by_value_sql[] =
    "SELECT t.exp_id FROM param_rows p CROSS JOIN trials t ON t.seq = p.seq"
    " WHERE p.key = ?2 AND p.value = ?3 AND t.score = ?1 AND " MEASURED " ORDER BY p.seq LIMIT 1";
/* -0.0 equals 0 for SQLite and in the sums, but the value is printed as the first trial that counts wrote it. */
static const char zero_sql[] =
    "SELECT p.value FROM param_rows p CROSS JOIN trials t ON t.seq = p.seq WHERE p.key = ?1 AND p.value = 0.0"
    " AND p.seq >= ?2 AND t.status <> 'harness_abort' ORDER BY p.seq LIMIT 1";
/* Used if nearly every trial has a different value (seed), because one look-up per value would cost more than reading
 * the rows. */
static const char each_sql[] = "SELECT p.value, 0.0, t.status, t.score, t.exp_id FROM param_rows p"
                               " JOIN trials t ON t.seq = p.seq WHERE p.key = ?1 ORDER BY p.value, p.seq";
/* Metrics and extra columns have no sums, so each row of them is read. */
static const char each_metric_sql[] = "SELECT p.number, 0.0, t.status, t.score, t.exp_id FROM metric_rows p"
                                      " JOIN trials t ON t.seq = p.seq WHERE p.name = ?1 ORDER BY p.number, p.seq";
static const char each_extra_sql[] =
    "SELECT p.number, 0.0, t.status, t.score, t.exp_id FROM extras p"
    " JOIN trials t ON t.seq = p.seq WHERE p.name = ?1 AND p.number IS NOT NULL ORDER BY p.number, p.seq";
enum { ROWS_A_VALUE = 4 }; /* with fewer rows per value, on average, each row is read */
enum { FEW_TRIALS = 4 }; /* up to this many trials of a value are as fast to read as the index */

/* For two parameters, the rows of each are read from its index, in the order of the values, and matched by seq in
 * memory, which takes at most 16 bytes per row. A join would look up each row, and parsing the notes would cost ten times as
 * much. Labels and scores come from an index that has nothing else (trials_by_seq). Of the rows themselves, only the one with the
 * best score of each cell is read. */
static const char axis_sql[] = "SELECT value, seq FROM param_rows WHERE key = ?1 ORDER BY value, seq";
static const char axis_metric_sql[] = "SELECT number, seq FROM metric_rows WHERE name = ?1 ORDER BY number, seq";
static const char axis_extra_sql[] = "SELECT number, seq FROM extras WHERE name = ?1 AND number IS NOT NULL"
                                     " ORDER BY number, seq";
static const char outcomes_sql[] = "SELECT seq, status, score FROM trials WHERE seq >= ?1 ORDER BY seq";
static const char id_sql[] = "SELECT exp_id FROM trials WHERE seq = ?1";
/* If the first parameter has few rows, the second is read from the notes of these rows (connection.c), because
 * reading its whole index for a handful of rows would cost more. */
static const char few_sql[] = "SELECT p.value AS x, param(t.notes, ?2) AS y, t.status, t.score, t.exp_id FROM param_rows p"
                              " JOIN trials t ON t.seq = p.seq WHERE p.key = ?1 AND y IS NOT NULL ORDER BY x, y, p.seq";
enum { FEW_ROWS = 2000 };

/* Settings in words have no sums and no place in the notes. Each statement joins what it needs. */
#define SETTINGS "temp.setting_rows"
#define TWO(a, b)                                                                                                                \
    "SELECT p.value AS x, q.value AS y, t.status, t.score, t.exp_id FROM " a " p JOIN " b " q ON q.seq = p.seq AND q.key = ?2"   \
    " JOIN trials t ON t.seq = p.seq WHERE p.key = ?1 ORDER BY x, y, p.seq"
static const char setting_sql[] = "SELECT p.value, 0.0, t.status, t.score, t.exp_id FROM " SETTINGS " p"
                                  " JOIN trials t ON t.seq = p.seq WHERE p.key = ?1 ORDER BY p.value, p.seq";
static const char setting_setting_sql[] = TWO(SETTINGS, SETTINGS);
static const char setting_param_sql[] = TWO(SETTINGS, "param_rows");
static const char param_setting_sql[] = TWO("param_rows", SETTINGS);

struct sweeping {
    struct lineage_sweep *sweep;
    size_t capacity;
    bool higher;
};

/* A value on an axis: a number, or nan and a text. An axis may have text values too (`optimizer=adam`). */
struct value {
    double number;
    const char *text;
};

/* The text is valid until the next step of the statement, so a cell that keeps the value copies it. */
static struct value value_at(sqlite3_stmt *stmt, int at)
{
    if (sqlite3_column_type(stmt, at) == SQLITE_TEXT)
        return (struct value){(double)NAN, mirror_text(stmt, at)};
    return (struct value){sqlite3_column_double(stmt, at), NULL};
}

/* Sorts like SQLite: numbers ascending, then texts by their bytes. */
static int by_value(const void *a, const void *b)
{
    const struct value *x = a, *y = b;
    if (x->text && y->text)
        return strcmp(x->text, y->text);
    if (x->text || y->text)
        return x->text ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

static struct value x_of(const struct lineage_sweep_cell *cell)
{
    return (struct value){cell->x, cell->x_text};
}

static struct value y_of(const struct lineage_sweep_cell *cell)
{
    return (struct value){cell->y, cell->y_text};
}

/* Uses the comparison of the sort, so that both agree on which values are equal. */
static bool is_at(const struct lineage_sweep_cell *cell, struct value x, struct value y)
{
    const struct value here[] = {x_of(cell), y_of(cell)};
    return by_value(&here[0], &x) == 0 && by_value(&here[1], &y) == 0;
}

/* Rows come sorted, so only the last cell can match. */
static struct lineage_sweep_cell *cell_for(struct sweeping *s, struct value x, struct value y)
{
    struct lineage_sweep *sweep = s->sweep;
    struct lineage_sweep_cell *last = sweep->n_cells ? &sweep->cells[sweep->n_cells - 1] : NULL;
    if (last && is_at(last, x, y))
        return last;
    if (!LIST_ROOM(sweep->cells, sweep->n_cells, s->capacity))
        return NULL;
    last = &sweep->cells[sweep->n_cells++];
    *last = (struct lineage_sweep_cell){.x = x.number, .y = y.number};
    last->x_text = x.text ? strdup(x.text) : NULL;
    last->y_text = y.text ? strdup(y.text) : NULL;
    return (x.text && !last->x_text) || (y.text && !last->y_text) ? NULL : last;
}

static void free_cell(struct lineage_sweep_cell *cell)
{
    free((void *)(uintptr_t)cell->x_text);
    free((void *)(uintptr_t)cell->y_text);
    free(cell->best_id);
}

static bool is_better(const struct lineage_number *best, double score, bool higher)
{
    return !best->present || (higher ? score > best->value : score < best->value);
}

/* Counts a trial, and returns whether it has the best score so far. A score counts if it is finite: score - score is 0 only for
 * finite numbers. */
static bool add_score(struct sweeping *s, struct lineage_sweep_cell *cell, enum lineage_label label, sqlite3_stmt *stmt,
                      int score_at)
{
    cell->count++;
    cell->labels[label]++;
    double score = sqlite3_column_double(stmt, score_at);
    if (sqlite3_column_type(stmt, score_at) == SQLITE_NULL || !lineage_label_is_measured(label) || score - score != 0 ||
        !is_better(&cell->best, score, s->higher))
        return false;
    cell->best = (struct lineage_number){true, score};
    return true;
}

static bool name_cell(struct lineage_sweep_cell *cell, sqlite3_stmt *stmt, int id_at)
{
    free(cell->best_id);
    cell->best_id = strdup(mirror_text(stmt, id_at));
    return cell->best_id != NULL;
}

/* Adds a row of few_sql or each_sql. */
static enum lineage_status add_trial(struct sweeping *s, struct mirror *mirror, sqlite3_stmt *stmt, struct lineage_error *err)
{
    enum lineage_label label;
    enum lineage_status status = mirror_label(mirror, stmt, 2, &label, err);
    if (status != LINEAGE_OK)
        return status;
    if (!lineage_label_is_informational(label)) { /* after harness_abort the setting counts as untried */
        s->sweep->aborted++;
        return LINEAGE_OK;
    }
    struct lineage_sweep_cell *cell = cell_for(s, value_at(stmt, 0), value_at(stmt, 1));
    return cell && (!add_score(s, cell, label, stmt, 3) || name_cell(cell, stmt, 4)) ? LINEAGE_OK : store_no_memory(err);
}

/* Lists the distinct values among n values, as numbers and texts. Returns false if memory runs out. */
static bool list_axis(struct value *values, size_t n, double **numbers, const char ***texts, size_t *kept)
{
    *kept = 0;
    *numbers = calloc(n + 1, sizeof **numbers);
    *texts = calloc(n + 1, sizeof **texts);
    if (!*numbers || !*texts)
        return false;
    qsort(values, n, sizeof *values, by_value);
    for (size_t i = 0; i < n; i++)
        if (!i || by_value(&values[i - 1], &values[i]) != 0) {
            (*numbers)[*kept] = values[i].number;
            (*texts)[(*kept)++] = values[i].text;
        }
    return true;
}

/* The axes are made from the cells instead of by another statement, so that every value of an axis has a cell. */
static enum lineage_status list_axes(struct lineage_sweep *sweep, struct lineage_error *err)
{
    struct value *xs = calloc(sweep->n_cells + 1, sizeof *xs), *ys = calloc(sweep->n_cells + 1, sizeof *ys);
    for (size_t i = 0; xs && ys && i < sweep->n_cells; i++) {
        xs[i] = x_of(&sweep->cells[i]);
        ys[i] = y_of(&sweep->cells[i]);
    }
    bool ok = xs && ys && list_axis(xs, sweep->n_cells, &sweep->xs, &sweep->x_texts, &sweep->n_xs) &&
              list_axis(ys, sweep->n_cells, &sweep->ys, &sweep->y_texts, &sweep->n_ys);
    free(xs);
    free(ys);
    return ok ? LINEAGE_OK : store_no_memory(err);
}

/* y is NULL for a statement of one parameter. */
static enum lineage_status load_rows(struct sweeping *s, struct mirror *mirror, const char *sql, const char *x, const char *y,
                                     size_t *n, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, sql, err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, x, -1, SQLITE_STATIC);
    if (y)
        sqlite3_bind_text(stmt, 2, y, -1, SQLITE_STATIC);
    while ((status = mirror_step(mirror, stmt, err)) == LINEAGE_OK && (status = add_trial(s, mirror, stmt, err)) == LINEAGE_OK)
        ++*n;
    return mirror_end_rows(stmt, status);
}

static enum lineage_status sign_zero(struct mirror *mirror, const struct named *named, size_t seq, const char *text,
                                     double *value, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    if (text || *value != 0 || named->kind != NAME_PARAM)
        return LINEAGE_OK;
    enum lineage_status status = mirror_prepare(mirror, &stmt, zero_sql, err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, named->name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 2, (int64_t)seq);
    status = mirror_step(mirror, stmt, err);
    if (status == LINEAGE_OK)
        *value = sqlite3_column_double(stmt, 0);
    return mirror_end_rows(stmt, status);
}

/* ---- one parameter ------------------------------------------------------------------------------------------------- */

/* Adds a row of sums_sql. The smallest and largest scores of the sums are finite. */
static enum lineage_status add_sum(struct sweeping *s, struct mirror *mirror, sqlite3_stmt *stmt, struct lineage_error *err)
{
    enum lineage_label label;
    const int best_at = s->higher ? 4 : 3;
    const size_t n = (size_t)sqlite3_column_int64(stmt, 2);
    enum lineage_status status = mirror_label(mirror, stmt, 1, &label, err);
    if (status != LINEAGE_OK)
        return status;
    if (!lineage_label_is_informational(label)) {
        s->sweep->aborted += n;
        return LINEAGE_OK;
    }
    struct lineage_sweep_cell *cell = cell_for(s, value_at(stmt, 0), (struct value){0, NULL});
    if (!cell)
        return store_no_memory(err);
    cell->count += n;
    cell->labels[label] += n;
    double best = sqlite3_column_double(stmt, best_at);
    if (sqlite3_column_type(stmt, best_at) != SQLITE_NULL && lineage_label_is_measured(label) &&
        is_better(&cell->best, best, s->higher))
        cell->best = (struct lineage_number){true, best};
    return LINEAGE_OK;
}

/* *id stays NULL if the statement finds none. */
static enum lineage_status look_for_best(struct mirror *mirror, const char *sql, const char *key,
                                         const struct lineage_sweep_cell *cell, char **id, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, sql, err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_double(stmt, 1, cell->best.value);
    sqlite3_bind_text(stmt, 2, key, -1, SQLITE_STATIC);
    if (cell->x_text)
        sqlite3_bind_text(stmt, 3, cell->x_text, -1, SQLITE_STATIC);
    else
        sqlite3_bind_double(stmt, 3, cell->x);
    status = mirror_step(mirror, stmt, err);
    if (status == LINEAGE_OK && !(*id = strdup(mirror_text(stmt, 0))))
        status = store_no_memory(err);
    return mirror_end_rows(stmt, status);
}

/* If no row has the best score, the mirror's sums do not match its rows, so the mirror is damaged. */
static enum lineage_status name_best(struct mirror *mirror, const char *key, struct lineage_sweep_cell *cell,
                                     struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    if (cell->count > FEW_TRIALS)
        status = look_for_best(mirror, best_by_score_sql, key, cell, &cell->best_id, err);
    if (status == LINEAGE_OK && !cell->best_id)
        status = look_for_best(mirror, best_by_value_sql, key, cell, &cell->best_id, err);
    if (status == LINEAGE_OK && !cell->best_id) {
        mirror_note_damage(mirror);
        status = store_fail(err, LINEAGE_EDB, "lineage.db: its sums are not those of its rows");
    }
    return status;
}

static enum lineage_status read_sums(struct sweeping *s, struct mirror *mirror, const char *x, size_t *n,
                                     struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, sums_sql, err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, x, -1, SQLITE_STATIC);
    while ((status = mirror_step(mirror, stmt, err)) == LINEAGE_OK && (status = add_sum(s, mirror, stmt, err)) == LINEAGE_OK)
        *n += (size_t)sqlite3_column_int64(stmt, 2);
    return mirror_end_rows(stmt, status);
}

static enum lineage_status load_one(struct sweeping *s, struct mirror *mirror, const struct named *named, size_t *n,
                                    struct lineage_error *err)
{
    struct lineage_sweep *sweep = s->sweep;
    const char *x = named->name;
    if (named->kind != NAME_PARAM)
        return load_rows(s, mirror, named->kind == NAME_METRIC ? each_metric_sql : each_extra_sql, x, NULL, n, err);
    enum lineage_status status = read_sums(s, mirror, x, n, err);
    if (status == LINEAGE_OK && sweep->n_cells > *n / ROWS_A_VALUE) {
        lineage_sweep_release(sweep);
        s->capacity = *n = 0;
        return load_rows(s, mirror, each_sql, x, NULL, n, err);
    }
    for (size_t i = 0; status == LINEAGE_OK && i < sweep->n_cells; i++) {
        status = sign_zero(mirror, named, 0, sweep->cells[i].x_text, &sweep->cells[i].x, err);
        if (status == LINEAGE_OK && sweep->cells[i].best.present)
            status = name_best(mirror, x, &sweep->cells[i], err);
    }
    return status;
}

/* ---- two parameters ------------------------------------------------------------------------------------------------ */

/* A value, and behind which of the seqs its trials end. */
struct axis_value {
    struct value value;
    size_t end;
};

struct axis {
    struct axis_value *values;
    size_t n, capacity;
};

/* The trials that have both parameters. Arrays by seq have n_by_seq entries, for seqs below it. */
struct pairing {
    struct axis axes[2];
    uint32_t *seqs; /* trials that have the first parameter, by its value and seq */
    size_t n, capacity;
    uint32_t *y_of_seq;    /* position on the second axis + 1, 0 for none */
    uint32_t *cell_of_seq; /* cell + 1, 0 for none */
    size_t n_by_seq;
    int64_t *best; /* [cells] seq of the trial with the best score, 0 for none */
};

/* Values come in order, so this value equals the last one or is new. */
static bool note_value(struct axis *axis, struct value value)
{
    if (axis->n && by_value(&axis->values[axis->n - 1].value, &value) == 0)
        return true;
    if (!LIST_ROOM(axis->values, axis->n, axis->capacity))
        return false;
    if (value.text && !(value.text = strdup(value.text)))
        return false;
    axis->values[axis->n++] = (struct axis_value){value, 0};
    return true;
}

/* Rows that were added since the last sync do not belong to this answer. */
static bool is_known(const struct pairing *p, sqlite3_stmt *stmt)
{
    return (uint64_t)sqlite3_column_int64(stmt, 1) < p->n_by_seq;
}

static bool note_x(struct pairing *p, sqlite3_stmt *stmt)
{
    if (!note_value(&p->axes[0], value_at(stmt, 0)) || !LIST_ROOM(p->seqs, p->n, p->capacity))
        return false;
    p->seqs[p->n++] = (uint32_t)sqlite3_column_int64(stmt, 1);
    p->axes[0].values[p->axes[0].n - 1].end = p->n;
    return true;
}

static bool note_y(struct pairing *p, sqlite3_stmt *stmt)
{
    if (!note_value(&p->axes[1], value_at(stmt, 0)))
        return false;
    p->y_of_seq[sqlite3_column_int64(stmt, 1)] = (uint32_t)p->axes[1].n;
    return true;
}

static enum lineage_status read_axis(struct mirror *mirror, const struct named *named, struct pairing *p,
                                     bool (*note)(struct pairing *, sqlite3_stmt *), struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    const char *sql = named->kind == NAME_METRIC ? axis_metric_sql : named->kind == NAME_EXTRA ? axis_extra_sql : axis_sql;
    enum lineage_status status = mirror_prepare(mirror, &stmt, sql, err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, named->name, -1, SQLITE_STATIC);
    while ((status = mirror_step(mirror, stmt, err)) == LINEAGE_OK)
        if (is_known(p, stmt) && !note(p, stmt)) {
            status = store_no_memory(err);
            break;
        }
    return mirror_end_rows(stmt, status);
}

static int by_position(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Lists which values of y occurred with the x of seqs[from..to), sorted. cell_of_y is 0 for all, and gets a mark for each that
 * is listed. */
static size_t list_ys(const struct pairing *p, size_t from, size_t to, uint32_t *ys, uint32_t *cell_of_y)
{
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        uint32_t y = p->y_of_seq[p->seqs[i]];
        if (y && !cell_of_y[y - 1]) {
            cell_of_y[y - 1] = 1;
            ys[n++] = y - 1;
        }
    }
    if (n)
        qsort(ys, n, sizeof *ys, by_position);
    return n;
}

/* Makes the cells of the i-th value of x, and notes the cell of each trial. Trials without the second parameter are left out;
 * *both counts the others. */
static bool make_cells_of(struct sweeping *s, struct pairing *p, size_t i, uint32_t *ys, uint32_t *cell_of_y, size_t *both)
{
    size_t from = i ? p->axes[0].values[i - 1].end : 0, to = p->axes[0].values[i].end;
    size_t n = list_ys(p, from, to, ys, cell_of_y);
    for (size_t k = 0; k < n; k++) {
        if (!cell_for(s, p->axes[0].values[i].value, p->axes[1].values[ys[k]].value))
            return false;
        cell_of_y[ys[k]] = (uint32_t)s->sweep->n_cells;
    }
    for (size_t k = from; k < to; k++) {
        uint32_t y = p->y_of_seq[p->seqs[k]];
        if (y) {
            p->cell_of_seq[p->seqs[k]] = cell_of_y[y - 1];
            ++*both;
        }
    }
    for (size_t k = 0; k < n; k++)
        cell_of_y[ys[k]] = 0;
    return true;
}

/* Makes the cells in sorted order: trials come in the order of x, so only the values of y within one of x are sorted. */
static bool make_cells(struct sweeping *s, struct pairing *p, size_t *both)
{
    uint32_t *ys = calloc(p->axes[1].n + 1, sizeof *ys), *cell_of_y = calloc(p->axes[1].n + 1, sizeof *cell_of_y);
    p->cell_of_seq = calloc(p->n_by_seq, sizeof *p->cell_of_seq);
    bool ok = ys && cell_of_y && p->cell_of_seq;
    for (size_t i = 0; ok && i < p->axes[0].n; i++)
        ok = make_cells_of(s, p, i, ys, cell_of_y, both);
    free(ys);
    free(cell_of_y);
    return ok && (p->best = calloc(s->sweep->n_cells + 1, sizeof *p->best));
}

/* Moves the statement to the next trial that is in a cell: by stepping if the trial is near, otherwise by a look-up of
 * its key. */
static enum lineage_status go_to(struct mirror *mirror, sqlite3_stmt *stmt, size_t seq, size_t *at, struct lineage_error *err)
{
    enum { NEAR = 8 };
    enum lineage_status status = LINEAGE_OK;
    if (!*at || seq - *at > NEAR) {
        sqlite3_reset(stmt);
        sqlite3_bind_int64(stmt, 1, (int64_t)seq);
        *at = 0;
    }
    while (status == LINEAGE_OK && *at < seq) {
        status = mirror_step(mirror, stmt, err);
        if (status == LINEAGE_OK)
            *at = (size_t)sqlite3_column_int64(stmt, 0);
    }
    return status;
}

static enum lineage_status sign_zeros(struct mirror *mirror, const struct named *x, const struct named *y, size_t seq,
                                      struct lineage_sweep_cell *cell, struct lineage_error *err)
{
    enum lineage_status status = sign_zero(mirror, x, seq, cell->x_text, &cell->x, err);
    return status == LINEAGE_OK ? sign_zero(mirror, y, seq, cell->y_text, &cell->y, err) : status;
}

/* Trials are read in the order of the log, so that the first of equal scores is named and each page is read once. */
static enum lineage_status fill_cells(struct sweeping *s, struct mirror *mirror, const struct named *x, const struct named *y,
                                      struct pairing *p, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_label label;
    size_t at = 0;
    enum lineage_status status = mirror_prepare(mirror, &stmt, outcomes_sql, err);
    for (size_t seq = 1; status == LINEAGE_OK && seq < p->n_by_seq; seq++) {
        if (!p->cell_of_seq[seq])
            continue;
        status = go_to(mirror, stmt, seq, &at, err);
        if (status != LINEAGE_OK)
            break;
        struct lineage_sweep_cell *cell = &s->sweep->cells[p->cell_of_seq[seq] - 1];
        status = mirror_label(mirror, stmt, 1, &label, err);
        if (status == LINEAGE_OK && !lineage_label_is_informational(label)) {
            s->sweep->aborted++;
            continue;
        }
        if (status == LINEAGE_OK && !cell->count)
            status = sign_zeros(mirror, x, y, seq, cell, err);
        if (status == LINEAGE_OK && add_score(s, cell, label, stmt, 2))
            p->best[p->cell_of_seq[seq] - 1] = (int64_t)seq;
    }
    sqlite3_reset(stmt);
    return status == LINEAGE_ENOTFOUND ? load_missing_row(mirror, err) : status;
}

/* Names the best trial of each cell, in the order of the log, so that each page is read once. */
static enum lineage_status name_cells(struct sweeping *s, struct mirror *mirror, const struct pairing *p,
                                      struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, id_sql, err);
    for (size_t seq = 1; status == LINEAGE_OK && seq < p->n_by_seq; seq++) {
        size_t cell = p->cell_of_seq[seq];
        if (!cell || p->best[cell - 1] != (int64_t)seq)
            continue;
        sqlite3_bind_int64(stmt, 1, (int64_t)seq);
        status = mirror_step(mirror, stmt, err);
        if (status == LINEAGE_OK && !name_cell(&s->sweep->cells[cell - 1], stmt, 0))
            status = store_no_memory(err);
        sqlite3_reset(stmt);
    }
    return status == LINEAGE_ENOTFOUND ? load_missing_row(mirror, err) : status;
}

/* Drops the cells whose trials are all harness_abort. */
static void drop_empty_cells(struct lineage_sweep *sweep)
{
    size_t kept = 0;
    for (size_t i = 0; i < sweep->n_cells; i++)
        if (sweep->cells[i].count)
            sweep->cells[kept++] = sweep->cells[i];
        else
            free_cell(&sweep->cells[i]);
    sweep->n_cells = kept;
}

static void release_pairing(struct pairing *p)
{
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < p->axes[k].n; i++)
            free((void *)(uintptr_t)p->axes[k].values[i].value.text);
        free(p->axes[k].values);
    }
    free(p->seqs);
    free(p->y_of_seq);
    free(p->cell_of_seq);
    free(p->best);
}

static enum lineage_status load_many(struct sweeping *s, struct mirror *mirror, const struct named *x, const struct named *y,
                                     struct pairing *p, size_t *n, struct lineage_error *err)
{
    p->y_of_seq = calloc(p->n_by_seq, sizeof *p->y_of_seq);
    if (!p->y_of_seq)
        return store_no_memory(err);
    enum lineage_status status = read_axis(mirror, y, p, note_y, err);
    if (status == LINEAGE_OK && !make_cells(s, p, n))
        status = store_no_memory(err);
    if (status == LINEAGE_OK)
        status = fill_cells(s, mirror, x, y, p, err);
    if (status == LINEAGE_OK)
        status = name_cells(s, mirror, p, err);
    drop_empty_cells(s->sweep);
    return status;
}

/* The statement for few rows reads the notes only. */
static bool has_params_column(struct mirror *mirror)
{
    char sql[PARAM_SQL_MAX];
    return strcmp(name_param_sql(mirror, sql, "t"), "param(t.notes, ?)") != 0;
}

static enum lineage_status load_two(struct sweeping *s, struct mirror *mirror, const struct named *x, const struct named *y,
                                    size_t *n, struct lineage_error *err)
{
    /* Seqs are counted from 1, and the provisional row may add one more. */
    struct pairing p = {.n_by_seq = (size_t)mirror_position(mirror)->rows + 2};
    enum lineage_status status = read_axis(mirror, x, &p, note_x, err);
    bool few = p.n <= FEW_ROWS && !has_params_column(mirror) && x->kind == NAME_PARAM && y->kind == NAME_PARAM;
    if (status == LINEAGE_OK)
        status = few ? load_rows(s, mirror, few_sql, x->name, y->name, n, err) : load_many(s, mirror, x, y, &p, n, err);
    release_pairing(&p);
    return status;
}

/* y is NULL for one setting. */
static const char *sql_of_settings(const struct named *x, const struct named *y)
{
    if (!y)
        return setting_sql;
    if (x->kind != y->kind)
        return x->kind == NAME_SETTING ? setting_param_sql : param_setting_sql;
    return setting_setting_sql;
}

/* Trials without the parameter are counted, because a table of ten cells from a store of a thousand trials should say
 * so. */
static enum lineage_status load(struct sweeping *s, struct mirror *mirror, const struct named *x, const struct named *y,
                                struct lineage_error *err)
{
    size_t n = 0, rows = (size_t)mirror_position(mirror)->rows;
    enum lineage_status status;
    if (x->kind == NAME_SETTING || (y && y->kind == NAME_SETTING))
        status = load_rows(s, mirror, sql_of_settings(x, y), x->name, y ? y->name : NULL, &n, err);
    else
        status = y ? load_two(s, mirror, x, y, &n, err) : load_one(s, mirror, x, &n, err);
    s->sweep->without = rows > n ? rows - n : 0;
    return status == LINEAGE_OK ? list_axes(s->sweep, err) : status;
}

/* All reads are in one transaction, because another process may remove the provisional row in between, and a sum or a
 * parameter would then refer to a missing row. It ends with COMMIT instead of ROLLBACK, because a cursor of the handle
 * may be open. */
static enum lineage_status load_at_once(struct sweeping *s, struct mirror *mirror, const struct named *x, const struct named *y,
                                        struct lineage_error *err)
{
    enum lineage_status status = mirror_exec(mirror, "BEGIN", err);
    if (status != LINEAGE_OK)
        return status;
    status = load(s, mirror, x, y, err);
    sqlite3_exec(mirror_db(mirror), "COMMIT", NULL, NULL, NULL);
    return status;
}

static bool is_measured(const struct named *axis)
{
    return axis->kind == NAME_METRIC || axis->kind == NAME_EXTRA;
}

enum lineage_status mirror_sweep(struct mirror *mirror, const char *x, const char *y, struct lineage_sweep *sweep,
                                 struct lineage_error *err)
{
    struct sweeping s = {.sweep = sweep, .higher = mirror_store(mirror)->config.direction == LINEAGE_HIGHER};
    *sweep = (struct lineage_sweep){0};
    struct named axes[2];
    enum lineage_status status = name_resolve_axis(mirror, x, &axes[0], err);
    if (status == LINEAGE_OK && y)
        status = name_resolve_axis(mirror, y, &axes[1], err);
    if (status == LINEAGE_OK) {
        bool words = axes[0].kind == NAME_SETTING || (y && axes[1].kind == NAME_SETTING);
        sweep->measured = is_measured(&axes[0]) || (y && is_measured(&axes[1]));
        if (words && sweep->measured)
            status = store_fail(err, LINEAGE_EINVAL,
                                "one of '%.60s' and '%.60s' is a setting in words, the other was measured; "
                                "only settings and parameters can be crossed",
                                x, y);
    }
    if (status == LINEAGE_OK)
        status = load_at_once(&s, mirror, &axes[0], y ? &axes[1] : NULL, err);
    if (status != LINEAGE_OK)
        lineage_sweep_release(sweep);
    return status;
}

void lineage_sweep_release(struct lineage_sweep *sweep)
{
    if (!sweep)
        return;
    for (size_t i = 0; i < sweep->n_cells; i++)
        free_cell(&sweep->cells[i]);
    free(sweep->cells);
    free(sweep->x_texts);
    free(sweep->y_texts);
    free(sweep->xs);
    free(sweep->ys);
    *sweep = (struct lineage_sweep){0};
}
