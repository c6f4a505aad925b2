/*
 * sweep_cells.c: lists which values of one or two parameters, metrics or extra columns occurred, and their scores. Rows come in the order of
 * their values, so a cell is complete when the next cell begins. Cells are distinguished by the exact number: 0.1 + 0.2
 * is not 0.3, as in the notes.
 */
#include <lineage/query.h>

#include <math.h>

#include "../mirror/statement.h"
#include "load.h"
#include "query_names.h"

/* Reads the sums in the order of the primary key: one row per value and label, however many trials there are. */
static const char sums_sql[] = "SELECT value, status, n, low, high FROM param_values WHERE key = ?1"
                               " ORDER BY value, status";

/* Finds the trial with a value's best score, or the first such trial in the log. The index on scores is used, because
 * few trials share a score, but only for the first 64 trials with that score: if scores are coarse, going through the
 * trials of the value reaches the score early. CROSS JOIN fixes the order of the join, because SQLite has no statistics
 * here. */
#define OUTCOME " CROSS JOIN trials t INDEXED BY trials_by_seq ON t.seq = p.seq"
/* A row that makes a trial void, or takes that back, is not a trial. All of these have one label, which the index holds. */
#define COUNTED OUTCOME " AND (t.status <> 'harness_abort' OR t.seq NOT IN " VOID_ROWS ")"
#define MEASURED "t.status IN ('keep', 'baseline', 'discard')"
static const char best_by_score_sql[] =
    "SELECT t.exp_id FROM (SELECT seq FROM trials WHERE score = ?1 ORDER BY seq LIMIT 64) s"
    " CROSS JOIN param_rows p ON p.key = ?2 AND p.value = ?3 AND p.seq = s.seq CROSS JOIN trials t ON t.seq = s.seq"
    " WHERE " MEASURED " ORDER BY s.seq LIMIT 1";
static const char best_by_value_sql[] =
    "SELECT t.exp_id FROM param_rows p" OUTCOME " WHERE p.key = ?2 AND p.value = ?3 AND t.score = ?1 AND " MEASURED
    " ORDER BY p.seq LIMIT 1";
/* -0.0 equals 0 for SQLite and in the sums, but the value is printed as the first trial that counts wrote it. */
static const char zero_sql[] = "SELECT p.value FROM param_rows p" OUTCOME " WHERE p.key = ?1 AND p.value = 0.0"
                               " AND t.status <> 'harness_abort' ORDER BY p.seq LIMIT 1";
/* Used if nearly every trial has a different value (seed), because one look-up per value would cost more than reading
 * the rows. Metrics, extra columns and settings in words have no sums, so each row of them is read. Labels and scores come from an
 * index that has nothing else. */
#define EACH(table, name, value)                                                                                                 \
    "SELECT p." value ", 0.0, t.status, t.score, p.seq FROM " table " p" COUNTED " WHERE p." name " = ?1 AND p." value           \
    " IS NOT NULL ORDER BY p." value ", p.seq"
#define SETTINGS "temp.setting_rows"
static const char *const each_sql[] = {[NAME_PARAM] = EACH("param_rows", "key", "value"),
                                       [NAME_METRIC] = EACH("metric_rows", "name", "number"),
                                       [NAME_EXTRA] = EACH("extras", "name", "number"),
                                       [NAME_SETTING] = EACH(SETTINGS, "key", "value")};
enum { ROWS_A_VALUE = 4 }; /* with fewer rows per value, on average, each row is read */
enum { FEW_TRIALS = 4 }; /* up to this many trials of a value are as fast to read as the index */

/* For two parameters, metrics or extra columns the rows of both are brought together by seq. A join would look up each row of one
 * in the other, which has no index by seq, and parsing the notes would cost ten times as much. */
static const char pairs_sql[] = "SELECT p.x, p.y, t.status, t.score, p.seq FROM (SELECT seq, max(x) AS x, max(y) AS y FROM"
                                " (SELECT seq, %w AS x, NULL AS y FROM %w WHERE %w = ?1 UNION ALL"
                                " SELECT seq, NULL, %w FROM %w WHERE %w = ?2)"
                                " GROUP BY seq HAVING count(x) > 0 AND count(y) > 0) p" COUNTED " ORDER BY p.x, p.y, p.seq";

/* Settings in words have an index by seq. */
#define TWO(a, b)                                                                                                                \
    "SELECT p.value AS x, q.value AS y, t.status, t.score, p.seq FROM " a " p JOIN " b                                           \
    " q ON q.seq = p.seq AND q.key = ?2" COUNTED " WHERE p.key = ?1 ORDER BY x, y, p.seq"
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

/* Names the trial with the best score. Rows of trials are wide, so only those are looked up. */
static enum lineage_status name_cell(struct lineage_sweep_cell *cell, struct mirror *mirror, int64_t seq,
                                     struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    free(cell->best_id);
    cell->best_id = NULL;
    enum lineage_status status = mirror_row(mirror, &stmt, err, "SELECT exp_id FROM trials WHERE seq = ?1", "i", seq);
    if (status == LINEAGE_OK && !(cell->best_id = strdup(mirror_text(stmt, 0))))
        status = store_no_memory(err);
    sqlite3_reset(stmt);
    return status == LINEAGE_ENOTFOUND ? load_missing_row(mirror, err) : status;
}

/* Adds a row of a statement that reads each row: x, y, label, score and seq. */
static enum lineage_status add_trial(struct sweeping *s, struct mirror *mirror, sqlite3_stmt *stmt, struct lineage_error *err)
{
    enum lineage_label label;
    TRY(mirror_label(mirror, stmt, 2, &label, err));
    if (!lineage_label_is_informational(label)) { /* after harness_abort the setting counts as untried */
        s->sweep->aborted++;
        return LINEAGE_OK;
    }
    struct lineage_sweep_cell *cell = cell_for(s, value_at(stmt, 0), value_at(stmt, 1));
    if (!cell)
        return store_no_memory(err);
    return add_score(s, cell, label, stmt, 3) ? name_cell(cell, mirror, sqlite3_column_int64(stmt, 4), err) : LINEAGE_OK;
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
    enum lineage_status status = mirror_rows(mirror, &stmt, err, sql, y ? "ss" : "s", x, y);
    while (mirror_next(&status, mirror, stmt, err) && (status = add_trial(s, mirror, stmt, err)) == LINEAGE_OK)
        ++*n;
    return mirror_end_rows(stmt, status);
}

/* ---- one parameter ------------------------------------------------------------------------------------------------- */

/* Adds a row of sums_sql. The smallest and largest scores of the sums are finite. */
static enum lineage_status add_sum(struct sweeping *s, struct mirror *mirror, sqlite3_stmt *stmt, struct lineage_error *err)
{
    enum lineage_label label;
    const int best_at = s->higher ? 4 : 3;
    const size_t n = (size_t)sqlite3_column_int64(stmt, 2);
    TRY(mirror_label(mirror, stmt, 1, &label, err));
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

static enum lineage_status sign_zero(struct mirror *mirror, const char *name, struct lineage_sweep_cell *cell,
                                     struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    if (cell->x_text || cell->x != 0)
        return LINEAGE_OK;
    enum lineage_status status = mirror_row(mirror, &stmt, err, zero_sql, "s", name);
    if (status == LINEAGE_OK)
        cell->x = sqlite3_column_double(stmt, 0);
    return mirror_end_rows(stmt, status);
}

/* *id stays NULL if the statement finds none. */
static enum lineage_status look_for_best(struct mirror *mirror, const char *sql, const char *key,
                                         const struct lineage_sweep_cell *cell, char **id, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    const struct lineage_param value = {key, cell->x, cell->x_text};
    enum lineage_status status = mirror_row(mirror, &stmt, err, sql, "dsv", cell->best.value, key, &value);
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
        TRY(look_for_best(mirror, best_by_score_sql, key, cell, &cell->best_id, err));
    if (!cell->best_id)
        TRY(look_for_best(mirror, best_by_value_sql, key, cell, &cell->best_id, err));
    if (!cell->best_id) {
        mirror_note_damage(mirror);
        status = store_fail(err, LINEAGE_EDB, "lineage.db: its sums are not those of its rows");
    }
    return status;
}

static enum lineage_status read_sums(struct sweeping *s, struct mirror *mirror, const char *x, size_t *n,
                                     struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_rows(mirror, &stmt, err, sums_sql, "s", x);
    while (mirror_next(&status, mirror, stmt, err) && (status = add_sum(s, mirror, stmt, err)) == LINEAGE_OK)
        *n += (size_t)sqlite3_column_int64(stmt, 2);
    status = mirror_end_rows(stmt, status);
    int64_t voids = 0;
    if (status == LINEAGE_OK && s->sweep->aborted)
        status =
            mirror_integer(mirror, &voids, err, "SELECT count(*) FROM param_rows WHERE key = ?1 AND seq IN " VOID_ROWS, "s", x);
    s->sweep->aborted -= (size_t)voids;
    *n -= (size_t)voids;
    return status;
}

static enum lineage_status load_one(struct sweeping *s, struct mirror *mirror, const struct named *named, size_t *n,
                                    struct lineage_error *err)
{
    struct lineage_sweep *sweep = s->sweep;
    const char *x = named->name;
    if (named->kind != NAME_PARAM)
        return load_rows(s, mirror, each_sql[named->kind], x, NULL, n, err);
    TRY(read_sums(s, mirror, x, n, err));
    if (sweep->n_cells > *n / ROWS_A_VALUE) {
        lineage_sweep_release(sweep);
        s->capacity = *n = 0;
        return load_rows(s, mirror, each_sql[NAME_PARAM], x, NULL, n, err);
    }
    for (size_t i = 0; i < sweep->n_cells; i++) {
        TRY(sign_zero(mirror, x, &sweep->cells[i], err));
        if (sweep->cells[i].best.present)
            TRY(name_best(mirror, x, &sweep->cells[i], err));
    }
    return LINEAGE_OK;
}

/* ---- two parameters ------------------------------------------------------------------------------------------------ */

static enum lineage_status load_two(struct sweeping *s, struct mirror *mirror, const struct named *x, const struct named *y,
                                    size_t *n, struct lineage_error *err)
{
    const struct named_table *a = name_table(x->kind), *b = name_table(y->kind);
    char *sql = sqlite3_mprintf(pairs_sql, a->value, a->table, a->name, b->value, b->table, b->name);
    sqlite3_stmt *stmt = NULL;
    enum lineage_status status = sql ? LINEAGE_OK : store_no_memory(err);
    if (status == LINEAGE_OK && sqlite3_prepare_v2(mirror_db(mirror), sql, -1, &stmt, NULL) != SQLITE_OK)
        status = mirror_fail(mirror, "cannot prepare", err);
    mirror_bind_text(stmt, 1, x->name);
    mirror_bind_text(stmt, 2, y->name);
    while (mirror_next(&status, mirror, stmt, err) && (status = add_trial(s, mirror, stmt, err)) == LINEAGE_OK)
        ++*n;
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return status;
}

/* Trials without the parameter are counted, because a table of ten cells from a store of a thousand trials should say
 * so. */
static enum lineage_status load(struct sweeping *s, struct mirror *mirror, const struct named *x, const struct named *y,
                                struct lineage_error *err)
{
    size_t n = 0;
    int64_t rows = 0;
    enum lineage_status status = mirror_integer(mirror, &rows, err, "SELECT ?1 - (SELECT count(*) FROM " VOID_ROWS ")", "i",
                                                (int64_t)mirror_position(mirror)->rows);
    TRY(status);
    if (!y)
        status = load_one(s, mirror, x, &n, err);
    else if (x->kind != NAME_SETTING && y->kind != NAME_SETTING)
        status = load_two(s, mirror, x, y, &n, err);
    else
        status = load_rows(s, mirror,
                           x->kind == y->kind        ? setting_setting_sql
                           : x->kind == NAME_SETTING ? setting_param_sql
                                                     : param_setting_sql,
                           x->name, y->name, &n, err);
    s->sweep->without = rows > (int64_t)n ? (size_t)rows - n : 0;
    return status == LINEAGE_OK ? list_axes(s->sweep, err) : status;
}

/* All reads are in one transaction, because another process may remove the provisional row in between, and a sum or a
 * parameter would then refer to a missing row. It ends with COMMIT instead of ROLLBACK, because a cursor of the handle
 * may be open. */
static enum lineage_status load_at_once(struct sweeping *s, struct mirror *mirror, const struct named *x, const struct named *y,
                                        struct lineage_error *err)
{
    TRY(mirror_exec(mirror, "BEGIN", err));
    enum lineage_status status = load(s, mirror, x, y, err);
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
