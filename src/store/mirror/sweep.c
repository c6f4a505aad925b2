/* sweep.c: which values of one or two parameters were tried, and how it went. */
#include <lineage/query.h>

#include <stdlib.h>
#include <string.h>

#include <lineage/notes.h>

#include "internal.h"

static const char one_sql[] = "SELECT p.value, 0.0, t.status, t.score, t.exp_id FROM param_rows p "
                              "JOIN trials t ON t.seq = p.seq"
                              " WHERE p.key = ?1 ORDER BY p.value, p.seq";
static const char two_sql[] =
    "SELECT p.value AS x, param(t.notes, ?2) AS y, t.status, t.score, t.exp_id FROM param_rows p"
    " JOIN trials t ON t.seq = p.seq WHERE p.key = ?1 AND y IS NOT NULL ORDER BY x, y, p.seq";

struct sweeping {
    struct lineage_sweep *sweep;
    size_t capacity;
    bool higher;
};

static struct lineage_sweep_cell *cell_for(struct sweeping *s, double x, double y)
{
    struct lineage_sweep *sweep = s->sweep;
    struct lineage_sweep_cell *last = sweep->n_cells ? &sweep->cells[sweep->n_cells - 1] : NULL;
    if (last && last->x == x && last->y == y)
        return last;
    if (sweep->n_cells == s->capacity) {
        size_t capacity = s->capacity ? s->capacity * 2 : 32;
        struct lineage_sweep_cell *cells = realloc(sweep->cells, capacity * sizeof *cells);
        if (!cells)
            return NULL;
        sweep->cells = cells;
        s->capacity = capacity;
    }
    last = &sweep->cells[sweep->n_cells++];
    *last = (struct lineage_sweep_cell){.x = x, .y = y};
    return last;
}

/* A measured score counts as best whether it was kept or discarded; a failure's does not. */
static bool counts(enum lineage_label label)
{
    return lineage_label_is_kept(label) || label == LINEAGE_DISCARD;
}

static bool is_better(const struct lineage_number *best, double score, bool higher)
{
    return !best->present || (higher ? score > best->value : score < best->value);
}

static bool add_trial(struct sweeping *s, sqlite3_stmt *stmt)
{
    enum lineage_label label;
    struct lineage_sweep_cell *cell =
        cell_for(s, sqlite3_column_double(stmt, 0), sqlite3_column_double(stmt, 1));
    if (!cell || !lineage_label_parse(&label, (const char *)sqlite3_column_text(stmt, 2)))
        return false;
    cell->count++;
    cell->labels[label]++;
    double score = sqlite3_column_double(stmt, 3);
    if (sqlite3_column_type(stmt, 3) == SQLITE_NULL || !counts(label) || score - score != 0 ||
        !is_better(&cell->best, score, s->higher))
        return true;
    free(cell->best_id);
    cell->best = (struct lineage_number){true, score};
    cell->best_id = strdup((const char *)sqlite3_column_text(stmt, 4));
    return cell->best_id != NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static size_t distinct(double *values, size_t n)
{
    size_t kept = 0;
    qsort(values, n, sizeof *values, by_value);
    for (size_t i = 0; i < n; i++)
        if (!kept || values[kept - 1] != values[i])
            values[kept++] = values[i];
    return kept;
}

static enum lineage_status list_axes(struct lineage_sweep *sweep, struct lineage_error *err)
{
    sweep->xs = calloc(sweep->n_cells + 1, sizeof *sweep->xs);
    sweep->ys = calloc(sweep->n_cells + 1, sizeof *sweep->ys);
    if (!sweep->xs || !sweep->ys)
        return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    for (size_t i = 0; i < sweep->n_cells; i++) {
        sweep->xs[i] = sweep->cells[i].x;
        sweep->ys[i] = sweep->cells[i].y;
    }
    sweep->n_xs = distinct(sweep->xs, sweep->n_cells);
    sweep->n_ys = distinct(sweep->ys, sweep->n_cells);
    return LINEAGE_OK;
}

static enum lineage_status load(struct sweeping *s, struct mirror *mirror, const char *x,
                                const char *y, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    size_t n = 0;
    enum lineage_status status = mirror_prepare(mirror, &stmt, y ? two_sql : one_sql, err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, lineage_param_canonical(x), -1, SQLITE_STATIC);
    if (y)
        sqlite3_bind_text(stmt, 2, lineage_param_canonical(y), -1, SQLITE_STATIC);
    while ((status = mirror_step(mirror, stmt, err)) == LINEAGE_OK) {
        if (!add_trial(s, stmt)) {
            sqlite3_reset(stmt);
            return store_fail(err, LINEAGE_ENOMEM, "out of memory");
        }
        n++;
    }
    size_t rows = (size_t)mirror_position(mirror)->rows;
    s->sweep->without = rows > n ? rows - n : 0;
    return status == LINEAGE_ENOTFOUND ? list_axes(s->sweep, err) : status;
}

enum lineage_status lineage_sweep_load(struct lineage_store *store, const char *x, const char *y,
                                       struct lineage_sweep *sweep, struct lineage_error *err)
{
    struct sweeping s = {.sweep = sweep, .higher = store->config.direction == LINEAGE_HIGHER};
    *sweep = (struct lineage_sweep){0};
    enum lineage_status status = mirror_sync(store->mirror, err);
    if (status == LINEAGE_OK)
        status = mirror_check_param(store->mirror, x, err);
    if (status == LINEAGE_OK && y)
        status = mirror_check_param(store->mirror, y, err);
    if (status == LINEAGE_OK)
        status = load(&s, store->mirror, x, y, err);
    if (status == LINEAGE_OK && !sweep->n_cells)
        status = store_fail(err, LINEAGE_ENOTFOUND, "no trial has %s%s%s", x, y ? " and " : "",
                            y ? y : "");
    if (status != LINEAGE_OK)
        lineage_sweep_release(sweep);
    return status;
}

void lineage_sweep_release(struct lineage_sweep *sweep)
{
    if (!sweep)
        return;
    for (size_t i = 0; i < sweep->n_cells; i++)
        free(sweep->cells[i].best_id);
    free(sweep->cells);
    free(sweep->xs);
    free(sweep->ys);
    *sweep = (struct lineage_sweep){0};
}
