/*
 * query.c: trials by conditions. The statement is put together from fixed pieces and the names of
 * known columns; every value, and every name that a user gave, is bound.
 */
#include <lineage/query.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/notes.h>

#include "internal.h"
#include "cursor.h"
#include "names.h"

#define KEPT_LABELS (1u << LINEAGE_KEEP | 1u << LINEAGE_BASELINE)

static void bind_text(struct builder *b, const char *text)
{
    if (b->n < MAX_BOUND)
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

static enum lineage_status resolve_condition(struct mirror *mirror,
                                             const struct lineage_condition *condition,
                                             struct named *named, struct lineage_error *err)
{
    enum lineage_status status = name_resolve(mirror, condition->name, named, err);
    if (status == LINEAGE_OK && named->kind == NAME_TEXT_COLUMN)
        return store_fail(err, LINEAGE_EINVAL, "column '%s' holds text; a range needs numbers",
                          named->name);
    return status;
}

/* Two values are bound at most, after the name: the expression that gives the number, then its
 * range. */
static void add_condition(struct builder *b, const struct named *named,
                          const struct lineage_range *range)
{
    const struct lineage_range any = {{true, -INFINITY}, {true, INFINITY}};
    const char *value = "param(t.notes, ?)";
    char column[96];
    if (named->kind == NAME_NUMBER_COLUMN) {
        snprintf(column, sizeof column, "t.%s", named->name);
        buf_printf(&b->sql, " AND %s IS NOT NULL", column);
        add_range(b, column, range);
        return;
    }
    if (named->kind == NAME_EXTRA)
        value = "(SELECT number FROM extras WHERE seq = t.seq AND name = ?)";
    buf_printf(&b->sql, " AND %s BETWEEN ? AND ?", value);
    bind_text(b, named->name);
    bind_number(b, range->low.present ? range->low.value : any.low.value);
    bind_number(b, range->high.present ? range->high.value : any.high.value);
}

#define LIMIT_OF_COUNT "10000"

/* How many rows a range of a parameter or extra column leads to, up to a limit. */
static enum lineage_status count_range(struct mirror *mirror, const struct named *named,
                                       const struct lineage_range *range, int64_t *n,
                                       struct lineage_error *err)
{
    static const char params[] =
        "SELECT count(*) FROM (SELECT 1 FROM param_rows WHERE key = ?1 AND value"
        " BETWEEN ?2 AND ?3 LIMIT " LIMIT_OF_COUNT ")";
    static const char extras[] =
        "SELECT count(*) FROM (SELECT 1 FROM extras WHERE name = ?1 AND number"
        " BETWEEN ?2 AND ?3 LIMIT " LIMIT_OF_COUNT ")";
    sqlite3_stmt *stmt;
    enum lineage_status status =
        mirror_prepare(mirror, &stmt, named->kind == NAME_PARAM ? params : extras, err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, named->name, -1, SQLITE_STATIC);
    sqlite3_bind_double(stmt, 2, range->low.present ? range->low.value : (double)-INFINITY);
    sqlite3_bind_double(stmt, 3, range->high.present ? range->high.value : (double)INFINITY);
    status = mirror_step(mirror, stmt, err);
    *n = status == LINEAGE_OK ? sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_reset(stmt);
    return status;
}

/* The conditions on names that have an index of their own, and the one that leads to the fewest
 * rows. */
struct lead {
    struct named named;
    struct lineage_range range;
    int64_t n;
    size_t at; /* index of the condition, which need not be tested again */
    bool found;
};

static enum lineage_status consider(struct builder *b, struct lead *lead, const struct named *named,
                                    const struct lineage_range *range, size_t at,
                                    struct lineage_error *err)
{
    int64_t n;
    if (named->kind != NAME_PARAM && named->kind != NAME_EXTRA)
        return LINEAGE_OK;
    enum lineage_status status = count_range(b->mirror, named, range, &n, err);
    if (status == LINEAGE_OK && (!lead->found || n < lead->n))
        *lead = (struct lead){*named, *range, n, at, true};
    return status;
}

/* Trials that the lead finds, else all of them. */
static void add_source(struct builder *b, const struct lead *lead)
{
    bool param = lead->named.kind == NAME_PARAM;
    if (!lead->found) {
        buf_puts(&b->sql, "SELECT t.seq FROM trials t WHERE 1");
        return;
    }
    buf_printf(&b->sql,
               "SELECT l.seq FROM %s l CROSS JOIN trials t ON t.seq = l.seq WHERE l.%s = ? AND "
               "l.%s IS NOT NULL",
               param ? "param_rows" : "extras", param ? "key" : "name", param ? "value" : "number");
    bind_text(b, lead->named.name);
    if (lead->range.low.present && lead->range.high.present &&
        lead->range.low.value == lead->range.high.value) {
        buf_printf(&b->sql, " AND l.%s = ?",
                   param ? "value" : "number"); /* one value: its rows are in file order */
        bind_number(b, lead->range.low.value);
    } else {
        add_range(b, param ? "l.value" : "l.number", &lead->range);
    }
}

static void add_labels(struct builder *b, unsigned labels)
{
    const char *comma = "";
    if (!labels)
        return;
    if (!(labels & ~KEPT_LABELS))
        buf_puts(&b->sql, " AND t.status IN ('keep', 'baseline')"); /* these have an index */
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

/* Rows without a value are left out. Ties keep file order. */
static void add_order(struct builder *b, const struct named *sort, bool down,
                      const struct lead *lead)
{
    const char *order = down ? " DESC" : "";
    bool column = sort->kind == NAME_NUMBER_COLUMN || sort->kind == NAME_TEXT_COLUMN;
    const char *value = sort->kind == NAME_PARAM
                            ? "param(t.notes, ?)"
                            : "(SELECT number FROM extras WHERE seq = t.seq AND name = ?)";
    if (sort->kind == NAME_UNKNOWN) {
        buf_puts(&b->sql, lead->found ? " ORDER BY l.seq" : " ORDER BY t.seq");
    } else if (column) {
        buf_printf(&b->sql,
                   sort->kind == NAME_TEXT_COLUMN ? " AND t.%s <> ''" : " AND t.%s IS NOT NULL",
                   sort->name);
        buf_printf(&b->sql, " ORDER BY t.%s%s, t.seq", sort->name, order);
    } else if (lead->found && lead->named.kind == sort->kind &&
               strcmp(lead->named.name, sort->name) == 0) {
        buf_printf(&b->sql, " ORDER BY l.%s%s, t.seq",
                   sort->kind == NAME_PARAM ? "value" : "number", order);
    } else {
        buf_printf(&b->sql, " AND %s IS NOT NULL ORDER BY %s%s, t.seq", value, value, order);
        bind_text(b, sort->name);
        bind_text(b, sort->name);
    }
}

static void add_limit(struct builder *b, size_t limit)
{
    if (limit)
        buf_printf(&b->sql, " LIMIT %zu", limit > INT64_MAX ? (size_t)INT64_MAX : limit);
}

static enum lineage_status resolve_sort(struct mirror *mirror, const char *sort,
                                        struct named *named, bool *down, struct lineage_error *err)
{
    *named = (struct named){NAME_UNKNOWN, NULL};
    *down = sort && sort[0] == '-';
    return sort ? name_resolve(mirror, sort + *down, named, err) : LINEAGE_OK;
}

/* Without another lead, the order of a parameter comes from its index. */
static enum lineage_status find_lead(struct builder *b, const struct lineage_query *query,
                                     const struct named *sort, struct lead *lead,
                                     struct lineage_error *err)
{
    struct named named;
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < query->n_conditions; i++) {
        status = resolve_condition(b->mirror, &query->conditions[i], &named, err);
        if (status == LINEAGE_OK)
            status = consider(b, lead, &named, &query->conditions[i].range, i, err);
    }
    if (status == LINEAGE_OK && !lead->found &&
        (sort->kind == NAME_PARAM || sort->kind == NAME_EXTRA))
        *lead = (struct lead){.named = *sort, .at = SIZE_MAX, .found = true};
    return status;
}

static enum lineage_status build(struct builder *b, const struct lineage_query *query,
                                 struct lineage_error *err)
{
    struct named sort, named;
    struct lead lead = {.named = {NAME_UNKNOWN, NULL}};
    bool down;
    enum lineage_status status = resolve_sort(b->mirror, query->sort, &sort, &down, err);
    if (status == LINEAGE_OK)
        status = find_lead(b, query, &sort, &lead, err);
    if (status != LINEAGE_OK)
        return status;
    add_source(b, &lead);
    add_labels(b, query->labels);
    add_text(b, "t.specialist = ?", query->specialist);
    add_text(b, "t.timestamp >= ?", query->since);
    add_text(b, "t.timestamp < ?", query->until);
    for (size_t i = 0; status == LINEAGE_OK && i < query->n_conditions; i++) {
        status = resolve_condition(b->mirror, &query->conditions[i], &named, err);
        if (status == LINEAGE_OK && !(lead.found && lead.at == i))
            add_condition(b, &named, &query->conditions[i].range);
    }
    add_order(b, &sort, down, &lead);
    add_limit(b, query->limit);
    if (status == LINEAGE_OK && b->sql.failed)
        status = store_fail(err, LINEAGE_ELIMIT, "the query has too many conditions");
    return status;
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
        status = cursor_open(cursor, &b, err);
    buf_release(&b.sql);
    return status;
}

/* The wanted value whose neighbourhood holds the fewest trials leads. */
static enum lineage_status build_tried(struct builder *b, const struct lineage_param *wanted,
                                       size_t n_wanted, double tolerance, struct lineage_error *err)
{
    struct lead lead = {.named = {NAME_UNKNOWN, NULL}};
    enum lineage_status status = LINEAGE_OK;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; status == LINEAGE_OK && i < n_wanted; i++) {
            double slack = tolerance * fmax(1, fabs(wanted[i].value));
            struct named named = {NAME_PARAM, lineage_param_canonical(wanted[i].name)};
            struct lineage_range range = {{true, wanted[i].value - slack},
                                          {true, wanted[i].value + slack}};
            if (!pass)
                status = consider(b, &lead, &named, &range, i, err);
            else if (lead.at != i)
                add_condition(b, &named, &range);
        }
        if (!pass)
            add_source(b, &lead);
    }
    buf_puts(&b->sql, " ORDER BY l.seq");
    if (status == LINEAGE_OK && b->sql.failed)
        status = store_fail(err, LINEAGE_ELIMIT, "too many parameters to look for");
    return status;
}

enum lineage_status lineage_tried(struct lineage_cursor **cursor, struct lineage_store *store,
                                  const struct lineage_param *wanted, size_t n_wanted,
                                  double tolerance, struct lineage_error *err)
{
    struct builder b = {.mirror = store->mirror};
    *cursor = NULL;
    if (!n_wanted || !(tolerance >= 0) || isinf(tolerance))
        return store_fail(err, LINEAGE_EINVAL,
                          n_wanted ? "tolerance must be a finite number from 0 on"
                                   : "name at least one parameter to look for");
    enum lineage_status status = mirror_sync(store->mirror, err);
    if (status == LINEAGE_OK)
        status = build_tried(&b, wanted, n_wanted, tolerance, err);
    if (status == LINEAGE_OK)
        status = cursor_open(cursor, &b, err);
    buf_release(&b.sql);
    return status;
}
