/*
 * query.c: trials by conditions. The statement is put together from fixed pieces and the names of known
 * columns; every value, and every name that a user gave, is bound.
 */
#include <lineage/query.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/notes.h>

#include "internal.h"

struct lineage_cursor {
    struct mirror *mirror;
    sqlite3_stmt *stmt;
    struct arena arena;
};

/* What a name in a query stands for. */
enum name_kind { NAME_NUMBER_COLUMN, NAME_TEXT_COLUMN, NAME_PARAM, NAME_EXTRA, NAME_UNKNOWN };

struct named {
    enum name_kind kind;
    const char *name; /* of the column; the canonical parameter; the extra column */
};

/* A piece of statement with its values, in the order of the question marks. */
struct builder {
    struct mirror *mirror;
    struct buf sql;
    struct bound {
        const char *text; /* NULL: number */
        double number;
    } bound[64];
    int n;
};

static void bind_text(struct builder *b, const char *text)
{
    if (b->n < 64)
        b->bound[b->n++].text = text;
    else
        b->sql.failed = true;
}

static void bind_number(struct builder *b, double number)
{
    bind_text(b, NULL);
    if (!b->sql.failed)
        b->bound[b->n - 1].number = number;
}

static bool is_number_column(const char *name)
{
    static const char *const more[] = {"score", "ig_clip_scale_mean", "ig_clip_scale_std", "seq", "line", NULL};
    int i = lineage_column_find(name);
    for (size_t j = 0; more[j]; j++)
        if (strcmp(more[j], name) == 0)
            return true;
    return i >= 0 && lineage_column((size_t)i)->kind == LINEAGE_COLUMN_NUMBER;
}

static bool exists(struct mirror *mirror, const char *sql, const char *name, enum lineage_status *status,
                   struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    if (*status != LINEAGE_OK || (*status = mirror_prepare(mirror, &stmt, sql, err)) != LINEAGE_OK)
        return false;
    sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
    *status = mirror_step(mirror, stmt, err);
    bool found = *status == LINEAGE_OK;
    sqlite3_reset(stmt);
    if (*status == LINEAGE_ENOTFOUND)
        *status = LINEAGE_OK;
    return found;
}

static enum lineage_status list_known(struct mirror *mirror, struct buf *out, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++)
        buf_printf(out, " %s", lineage_column(i)->name);
    buf_puts(out, " score ig_clip_scale_mean ig_clip_scale_std");
    enum lineage_status status = mirror_prepare(
        mirror, &stmt, "SELECT DISTINCT key FROM param_values UNION SELECT DISTINCT name FROM extras LIMIT 40", err);
    while (status == LINEAGE_OK && (status = mirror_step(mirror, stmt, err)) == LINEAGE_OK)
        buf_printf(out, " %s", (const char *)sqlite3_column_text(stmt, 0));
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static enum lineage_status unknown_name(struct mirror *mirror, const char *name, struct lineage_error *err)
{
    struct buf known = {0};
    enum lineage_status status = list_known(mirror, &known, err);
    if (status == LINEAGE_OK)
        status = store_fail(err, LINEAGE_EINVAL, "no column or parameter '%.60s'; known are%s", name,
                            known.data ? known.data : "");
    buf_release(&known);
    return status;
}

/* Parameters that may be asked for before any trial has set them. */
static bool is_usual(const char *param)
{
    return strcmp(param, "alpha") == 0 || strcmp(param, "beta") == 0 || strcmp(param, "gamma") == 0;
}

static bool is_param(struct mirror *mirror, const char *param, enum lineage_status *status,
                     struct lineage_error *err)
{
    return is_usual(param) || exists(mirror, "SELECT 1 FROM params WHERE key = ? LIMIT 1", param, status, err);
}

enum lineage_status mirror_check_param(struct mirror *mirror, const char *name, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    if (is_param(mirror, lineage_param_canonical(name), &status, err) || status != LINEAGE_OK)
        return status;
    return unknown_name(mirror, name, err);
}

static enum lineage_status resolve(struct mirror *mirror, const char *name, struct named *out,
                                   struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    *out = (struct named){NAME_UNKNOWN, name};
    if (is_number_column(name)) {
        out->kind = NAME_NUMBER_COLUMN;
        return LINEAGE_OK;
    }
    if (lineage_column_find(name) >= 0) {
        out->kind = NAME_TEXT_COLUMN;
        return LINEAGE_OK;
    }
    const char *param = lineage_param_canonical(name);
    if (is_param(mirror, param, &status, err)) {
        *out = (struct named){NAME_PARAM, param};
        return LINEAGE_OK;
    }
    if (exists(mirror, "SELECT 1 FROM extras WHERE name = ? LIMIT 1", name, &status, err))
        out->kind = NAME_EXTRA;
    if (status == LINEAGE_OK && out->kind == NAME_UNKNOWN)
        return unknown_name(mirror, name, err);
    return status;
}

static void add_range(struct builder *b, const char *value, const struct lineage_range *range)
{
    if (range->low.present) {
        buf_printf(&b->sql, " AND %s >= ?", value);
        bind_number(b, range->low.value);
    }
    if (range->high.present) {
        buf_printf(&b->sql, " AND %s <= ?", value);
        bind_number(b, range->high.value);
    }
}

static enum lineage_status add_condition(struct builder *b, const struct lineage_condition *condition,
                                         struct lineage_error *err)
{
    struct named named;
    enum lineage_status status = resolve(b->mirror, condition->name, &named, err);
    if (status != LINEAGE_OK)
        return status;
    if (named.kind == NAME_TEXT_COLUMN)
        return store_fail(err, LINEAGE_EINVAL, "column '%s' holds text; a range needs numbers", named.name);
    if (named.kind == NAME_NUMBER_COLUMN) {
        struct buf column = {0};
        buf_printf(&column, "t.%s", named.name);
        buf_printf(&b->sql, " AND %s IS NOT NULL", column.data);
        add_range(b, column.data, &condition->range);
        buf_release(&column);
        return LINEAGE_OK;
    }
    bool param = named.kind == NAME_PARAM;
    buf_printf(&b->sql, " AND t.seq IN (SELECT seq FROM %s AND %s IS NOT NULL",
               param ? "params WHERE key = ?" : "extras WHERE name = ?", param ? "value" : "number");
    bind_text(b, named.name);
    add_range(b, param ? "value" : "number", &condition->range);
    buf_puts(&b->sql, ")");
    return LINEAGE_OK;
}

static void add_labels(struct builder *b, unsigned labels)
{
    const char *comma = "";
    if (!labels)
        return;
    buf_puts(&b->sql, " AND t.status IN (");
    for (int i = 0; i < LINEAGE_N_LABELS; i++)
        if (labels & (1u << i)) {
            buf_printf(&b->sql, "%s'%s'", comma, lineage_label_name((enum lineage_label)i));
            comma = ", ";
        }
    buf_puts(&b->sql, ")");
}

static void add_text(struct builder *b, const char *test, const char *text)
{
    if (!text)
        return;
    buf_printf(&b->sql, " AND %s", test);
    bind_text(b, text);
}

/* Sort values are looked up per row; rows without one are left out. Ties keep file order. */
static enum lineage_status add_order(struct builder *b, const char *sort, struct lineage_error *err)
{
    struct named named;
    if (!sort) {
        buf_puts(&b->sql, " ORDER BY t.seq");
        return LINEAGE_OK;
    }
    bool down = sort[0] == '-';
    enum lineage_status status = resolve(b->mirror, sort + down, &named, err);
    if (status != LINEAGE_OK)
        return status;
    if (named.kind == NAME_NUMBER_COLUMN || named.kind == NAME_TEXT_COLUMN) {
        buf_printf(&b->sql, " AND t.%s IS NOT NULL ORDER BY t.%s%s, t.seq", named.name, named.name,
                   down ? " DESC" : "");
        return LINEAGE_OK;
    }
    const char *value = named.kind == NAME_PARAM ? "(SELECT value FROM params WHERE seq = t.seq AND key = ?)"
                                                 : "(SELECT number FROM extras WHERE seq = t.seq AND name = ?)";
    buf_printf(&b->sql, " AND %s IS NOT NULL ORDER BY %s%s, t.seq", value, value, down ? " DESC" : "");
    bind_text(b, named.name);
    bind_text(b, named.name);
    return LINEAGE_OK;
}

static enum lineage_status build(struct builder *b, const struct lineage_query *query, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    buf_puts(&b->sql, "SELECT " TRIAL_COLUMNS " FROM trials t WHERE 1");
    add_labels(b, query->labels);
    add_text(b, "t.specialist = ?", query->specialist);
    add_text(b, "t.timestamp >= ?", query->since);
    add_text(b, "t.timestamp < ?", query->until);
    for (size_t i = 0; status == LINEAGE_OK && i < query->n_conditions; i++)
        status = add_condition(b, &query->conditions[i], err);
    if (status == LINEAGE_OK)
        status = add_order(b, query->sort, err);
    if (query->limit) {
        buf_puts(&b->sql, " LIMIT ?");
        bind_number(b, (double)query->limit);
    }
    if (status == LINEAGE_OK && b->sql.failed)
        status = store_fail(err, LINEAGE_ELIMIT, "the query has too many conditions");
    return status;
}

static void bind_all(sqlite3_stmt *stmt, const struct builder *b)
{
    for (int i = 0; i < b->n; i++) {
        if (b->bound[i].text)
            sqlite3_bind_text(stmt, i + 1, b->bound[i].text, -1, SQLITE_TRANSIENT);
        else if (b->bound[i].number == floor(b->bound[i].number) && fabs(b->bound[i].number) < 9e15)
            sqlite3_bind_int64(stmt, i + 1, (int64_t)b->bound[i].number);
        else
            sqlite3_bind_double(stmt, i + 1, b->bound[i].number);
    }
}

/* A cursor has a statement of its own: the cache is for constant text. */
static enum lineage_status open_cursor(struct lineage_cursor **out, const struct builder *b,
                                       struct lineage_error *err)
{
    struct lineage_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    cursor->mirror = b->mirror;
    if (sqlite3_prepare_v2(mirror_db(b->mirror), b->sql.data, -1, &cursor->stmt, NULL) != SQLITE_OK) {
        enum lineage_status status = mirror_fail(b->mirror, "cannot prepare the query", err);
        lineage_cursor_close(cursor);
        return status;
    }
    bind_all(cursor->stmt, b);
    *out = cursor;
    return LINEAGE_OK;
}

enum lineage_status lineage_query_open(struct lineage_cursor **cursor, struct lineage_store *store,
                                       const struct lineage_query *query, struct lineage_error *err)
{
    struct builder b = {.mirror = store->mirror};
    *cursor = NULL;
    enum lineage_status status = mirror_sync(store->mirror, err);
    if (status == LINEAGE_OK)
        status = build(&b, query, err);
    if (status == LINEAGE_OK)
        status = open_cursor(cursor, &b, err);
    buf_release(&b.sql);
    return status;
}

enum lineage_status lineage_cursor_next(struct lineage_cursor *cursor, struct lineage_trial *trial,
                                        struct lineage_error *err)
{
    *trial = (struct lineage_trial){0};
    enum lineage_status status = mirror_step(cursor->mirror, cursor->stmt, err);
    if (status != LINEAGE_OK)
        return status;
    arena_reset(&cursor->arena);
    return mirror_trial(cursor->mirror, cursor->stmt, trial, &cursor->arena, err);
}

void lineage_cursor_close(struct lineage_cursor *cursor)
{
    if (!cursor)
        return;
    sqlite3_finalize(cursor->stmt);
    arena_release(&cursor->arena);
    free(cursor);
}

/* A parameter that no trial has was never tried: that is an answer, not an error. */
static void add_wanted(struct builder *b, const struct lineage_param *wanted, double tolerance)
{
    double slack = tolerance * fmax(1, fabs(wanted->value));
    buf_puts(&b->sql, " AND t.seq IN (SELECT seq FROM params WHERE key = ? AND value >= ? AND value <= ?)");
    bind_text(b, lineage_param_canonical(wanted->name));
    bind_number(b, wanted->value - slack);
    bind_number(b, wanted->value + slack);
}

enum lineage_status lineage_tried(struct lineage_cursor **cursor, struct lineage_store *store,
                                  const struct lineage_param *wanted, size_t n_wanted, double tolerance,
                                  struct lineage_error *err)
{
    struct builder b = {.mirror = store->mirror};
    *cursor = NULL;
    if (!n_wanted || !(tolerance >= 0) || isinf(tolerance))
        return store_fail(err, LINEAGE_EINVAL, n_wanted ? "tolerance must be a finite number from 0 on"
                                                        : "name at least one parameter to look for");
    enum lineage_status status = mirror_sync(store->mirror, err);
    buf_puts(&b.sql, "SELECT " TRIAL_COLUMNS " FROM trials t WHERE 1");
    for (size_t i = 0; i < n_wanted; i++)
        add_wanted(&b, &wanted[i], tolerance);
    buf_puts(&b.sql, " ORDER BY t.seq");
    if (status == LINEAGE_OK && b.sql.failed)
        status = store_fail(err, LINEAGE_ELIMIT, "too many parameters to look for");
    if (status == LINEAGE_OK)
        status = open_cursor(cursor, &b, err);
    buf_release(&b.sql);
    return status;
}
