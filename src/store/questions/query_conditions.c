#include "query_conditions.h"

#include <math.h>

#include <lineage/text.h>
#include <lineage/trial.h>

/* ---- finds an index of trials that leads to few rows of a query without conditions on parameters.
 *
 * SQLite would rather read all trials in the order of the log than sort the rows that an index finds, because it has no
 * statistics here. So the rows of a time range are counted first, and the sums tell how many trials have a label.
 */

#define KEPT_LABELS (1u << LINEAGE_KEEP | 1u << LINEAGE_BASELINE)
#define NOT_FAILED (KEPT_LABELS | 1u << LINEAGE_DISCARD | 1u << LINEAGE_HARNESS_ABORT)

/* Counts the trials with a timestamp in [since, until), up to LIMIT_OF_COUNT; NULL: without that bound. */
static enum lineage_status count_time(size_t *n, struct mirror *mirror, const char *since, const char *until,
                                      struct lineage_error *err)
{
    static const char sql[] = "SELECT count(*) FROM (SELECT 1 FROM trials INDEXED BY trials_by_timestamp"
                              " WHERE timestamp >= ?1 AND timestamp < ?2 LIMIT ?3)";
    sqlite3_stmt *stmt;
    TRY(mirror_prepare(mirror, &stmt, sql, err));
    sqlite3_bind_text(stmt, 1, since ? since : "", -1, SQLITE_STATIC);
    if (until)
        sqlite3_bind_text(stmt, 2, until, -1, SQLITE_STATIC);
    else
        sqlite3_bind_blob(stmt, 2, "", 0, SQLITE_STATIC); /* blobs sort after all texts */
    sqlite3_bind_int64(stmt, 3, LIMIT_OF_COUNT);
    enum lineage_status status = mirror_step(mirror, stmt, err);
    *n = status == LINEAGE_OK ? (size_t)sqlite3_column_int64(stmt, 0) : LIMIT_OF_COUNT;
    return mirror_end_rows(stmt, status);
}

/* Counts the trials with one of the labels (0: any), by one specialist (NULL: any). */
static enum lineage_status count_labels(size_t *n, struct mirror *mirror, unsigned labels, const char *specialist,
                                        struct lineage_error *err)
{
    static const char sql[] = "SELECT status, n FROM label_counts WHERE ?1 IS NULL OR specialist = ?1";
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_rows(mirror, &stmt, err, sql, "s", specialist);
    *n = 0;
    while (mirror_next(&status, mirror, stmt, err)) {
        enum lineage_label label;
        status = mirror_label(mirror, stmt, 0, &label, err);
        if (status == LINEAGE_OK && (!labels || labels & 1u << label))
            *n += (size_t)sqlite3_column_int64(stmt, 1);
    }
    return status;
}

/* The index of kept or of failed trials; NULL for other labels. */
static const char *index_of(unsigned labels)
{
    if (!(labels & ~KEPT_LABELS))
        return "SELECT t.seq FROM trials t INDEXED BY kept_by_score WHERE t.status IN ('keep', 'baseline')";
    if (!(labels & NOT_FAILED))
        return "SELECT t.seq FROM trials t INDEXED BY failed_by_label WHERE t.status <> 'keep' AND t.status <> 'discard'"
               " AND t.status <> 'baseline' AND t.status <> 'harness_abort'";
    return NULL;
}

enum lineage_status query_find_narrow(struct narrow *narrow, struct mirror *mirror, const struct lineage_query *query,
                                      const char *since, const char *until, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    size_t n = LIMIT_OF_COUNT;
    *narrow = (struct narrow){NULL, LIMIT_OF_COUNT};
    if (since || until)
        status = count_time(&n, mirror, since, until, err);
    if (n < LIMIT_OF_COUNT)
        *narrow = (struct narrow){"SELECT t.seq FROM trials t INDEXED BY trials_by_timestamp WHERE 1", n};
    if (status != LINEAGE_OK || (!query->labels && !query->specialist))
        return status;
    TRY(count_labels(&n, mirror, query->labels, query->specialist, err));
    if (!n)
        *narrow = (struct narrow){"SELECT t.seq FROM trials t WHERE 0", 0};
    if (!query->labels || !index_of(query->labels))
        return LINEAGE_OK;
    /* The index has the trials of all specialists, and kept trials with either label. */
    TRY(count_labels(&n, mirror, query->labels & KEPT_LABELS ? KEPT_LABELS : query->labels, NULL, err));
    if (n < narrow->n)
        *narrow = (struct narrow){index_of(query->labels), n};
    return LINEAGE_OK;
}

/* ---- runs a statement that was built from parts, with its values bound.
 *
 * A list of row numbers is collected completely before it is returned. It takes eight bytes per row, and no statement
 * stays open while the caller uses the list; an open statement would keep the write-ahead log from being emptied.
 */

void builder_release(struct builder *b)
{
    buf_release(&b->sql);
    buf_release(&b->met);
}

void builder_bind_text(struct builder *b, const char *text)
{
    if (b->n < MAX_BOUND)
        b->bound[b->n++].text = text;
    else
        b->sql.failed = true;
}

void builder_bind_number(struct builder *b, double number)
{
    builder_bind_text(b, NULL);
    if (!b->sql.failed)
        b->bound[b->n - 1].number = number;
}

/* Values are bound and never printed into the statement, because names and texts come from users and agents. The values
 * are not copied: they live longer than the statement, and a copy for which memory runs out would become NULL. */
static void bind_all(sqlite3_stmt *stmt, const struct builder *b)
{
    for (int i = 0; i < b->n; i++) {
        if (b->bound[i].text)
            sqlite3_bind_text(stmt, i + 1, b->bound[i].text, -1, SQLITE_STATIC);
        else
            sqlite3_bind_double(stmt, i + 1, b->bound[i].number);
    }
}

/* Does not use the cache of statements, which identifies a statement by the address of a constant text, because this
 * text is different each time. */
enum lineage_status builder_collect(struct mirror_seqs *found, const struct builder *b, struct lineage_error *err)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(mirror_db(b->mirror), b->sql.data, -1, &stmt, NULL) != SQLITE_OK)
        return mirror_fail(b->mirror, "cannot prepare the query", err);
    bind_all(stmt, b);
    enum lineage_status status = mirror_list_seqs(found, b->mirror, stmt, err);
    sqlite3_finalize(stmt);
    return status;
}

enum lineage_status builder_count(size_t *n, const struct builder *b, struct lineage_error *err)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(mirror_db(b->mirror), b->sql.data, -1, &stmt, NULL) != SQLITE_OK)
        return mirror_fail(b->mirror, "cannot prepare the query", err);
    bind_all(stmt, b);
    enum lineage_status status = mirror_step(b->mirror, stmt, err);
    if (status == LINEAGE_OK)
        *n = (size_t)sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return status;
}

/* Both ends belong to the range: alpha=0.1:0.5 includes 0.5. */
void query_add_range(struct builder *b, const char *value, const struct lineage_range *range)
{
    if (range->low.present) {
        buf_printf(&b->sql, " AND %s >= ?", value);
        builder_bind_number(b, range->low.value);
    }
    if (range->high.present) {
        buf_printf(&b->sql, " AND %s <= ?", value);
        builder_bind_number(b, range->high.value);
    }
}

static bool is_any(const struct lineage_condition *condition)
{
    return !condition->n_texts && !condition->range.low.present && !condition->range.high.present;
}

static enum lineage_status find_kinds(struct mirror *mirror, const struct named *named, bool *numbers, bool *texts,
                                      struct lineage_error *err)
{
    static const char param_numbers[] = "SELECT 1 FROM param_rows WHERE key = ?1 AND value < '' LIMIT 1";
    static const char param_texts[] = "SELECT 1 FROM param_rows WHERE key = ?1 AND value >= '' LIMIT 1";
    static const char setting_numbers[] = "SELECT 1 FROM temp.setting_rows WHERE key = ?1 AND value < '' LIMIT 1";
    static const char setting_texts[] = "SELECT 1 FROM temp.setting_rows WHERE key = ?1 AND value >= '' LIMIT 1";
    enum lineage_status status = LINEAGE_OK;
    bool param = named->kind == NAME_PARAM;
    *numbers = name_exists(mirror, param ? param_numbers : setting_numbers, named->name, &status, err);
    *texts = name_exists(mirror, param ? param_texts : setting_texts, named->name, &status, err);
    return status;
}

/* Refuses a condition on a parameter whose trials all have the other kind of value, because no trial could match. */
static enum lineage_status check_kind(struct mirror *mirror, const struct named *named, const struct lineage_condition *condition,
                                      struct lineage_error *err)
{
    const char *name = named->name;
    bool numbers, texts;
    TRY(find_kinds(mirror, named, &numbers, &texts, err));
    if (is_any(condition) || numbers == texts)
        return LINEAGE_OK;
    if (numbers && condition->n_texts)
        return store_fail(err, LINEAGE_EINVAL, "parameter '%.60s' holds numbers; '%.60s' is %s", name, condition->texts[0],
                          lineage_param_is_text(condition->texts[0]) ? "not a number"
                                                                     : "a text; give one number or, in a query, a range");
    if (texts && !condition->n_texts)
        return store_fail(err, LINEAGE_EINVAL, "parameter '%.60s' holds text; a range needs numbers", name);
    return LINEAGE_OK;
}

enum lineage_status query_mean_wide(struct lineage_condition *condition, struct mirror *mirror, double tolerance,
                                    struct lineage_error *err)
{
    struct named named;
    double value, slack;
    bool numbers = true, texts = false;
    if (!condition->n_texts)
        return LINEAGE_OK;
    const char *text = condition->texts[0];
    condition->range = (struct lineage_range){.low = {false, 0}};
    if (condition->n_texts > 1 || !lineage_param_is_text(text) || !lineage_number_parse(&value, text, strlen(text)))
        return LINEAGE_OK;
    TRY(name_find_param(mirror, condition->name, &named, err));
    if (named.kind == NAME_PARAM || named.kind == NAME_SETTING)
        TRY(find_kinds(mirror, &named, &numbers, &texts, err));
    if (!numbers || named.kind == NAME_TEXT_COLUMN)
        return LINEAGE_OK;
    slack = texts ? 0 : lineage_slack(tolerance, value);
    condition->range = (struct lineage_range){{true, value - slack}, {true, value + slack}};
    condition->n_texts = texts;
    return LINEAGE_OK;
}

void query_as_declared(struct named *named, const struct lineage_condition *condition)
{
    if (named->declared && (named->kind == NAME_TEXT_COLUMN) != (condition->n_texts > 0))
        *named = (struct named){NAME_PARAM, named->name, false};
}

enum lineage_status query_resolve_condition(struct mirror *mirror, const struct lineage_condition *condition, struct named *named,
                                            struct lineage_error *err)
{
    enum lineage_status status = name_resolve(mirror, condition->name, named, err);
    query_as_declared(named, condition);
    if (status == LINEAGE_OK && named->kind == NAME_TEXT_COLUMN && !condition->n_texts)
        return store_fail(err, LINEAGE_EINVAL, "column '%s' holds text; a range needs numbers", named->name);
    if (status == LINEAGE_OK && named->kind == NAME_METRIC && condition->n_texts)
        return store_fail(err, LINEAGE_EINVAL, "metric '%s' holds numbers; '%.60s' is not a number", named->name,
                          condition->texts[0]);
    if (status == LINEAGE_OK && named->kind == NAME_NUMBER_COLUMN && condition->n_texts)
        return store_fail(err, LINEAGE_EINVAL, "column '%s' holds numbers; '%.60s' is not a number", named->name,
                          condition->texts[0]);
    bool checked = named->kind == NAME_PARAM || named->kind == NAME_SETTING;
    return status == LINEAGE_OK && checked ? check_kind(mirror, named, condition, err) : status;
}

/* Adds `= ?` or `IN (?, ?)`. A single text uses `=`, so that the index returns the rows in the order of the log and no
 * sort is needed. A text that is also meant as a number has a range besides (query_mean_wide). */
static void add_texts(struct builder *b, const struct lineage_condition *condition)
{
    const bool one = condition->n_texts == 1 && !condition->range.low.present;
    buf_puts(&b->sql, one ? " = ?" : " IN (?");
    builder_bind_text(b, condition->texts[0]);
    for (size_t i = 1; i < condition->n_texts; i++) {
        buf_puts(&b->sql, ", ?");
        builder_bind_text(b, condition->texts[i]);
    }
    if (condition->range.low.present) {
        buf_puts(&b->sql, ", ?");
        builder_bind_number(b, condition->range.low.value);
    }
    buf_puts(&b->sql, one ? "" : ")");
}

/* A trial may give a setting several values, so each of them is tested. Texts are compared without regard to case, as
 * people write them. */
static void add_setting(struct builder *b, const struct named *named, const struct lineage_condition *condition)
{
    const struct lineage_range *range = &condition->range;
    buf_puts(&b->sql, " AND t.seq IN (SELECT seq FROM temp.setting_rows WHERE key = ?");
    builder_bind_text(b, named->name);
    if (condition->n_texts) {
        buf_puts(&b->sql, " AND value COLLATE NOCASE");
        add_texts(b, condition);
    } else if (!is_any(condition)) {
        buf_puts(&b->sql, " AND value BETWEEN ? AND ?");
        builder_bind_number(b, range->low.present ? range->low.value : (double)-INFINITY);
        builder_bind_number(b, range->high.present ? range->high.value : (double)INFINITY);
    }
    buf_puts(&b->sql, ")");
}

static void add_text_condition(struct builder *b, const struct named *named, const struct lineage_condition *condition)
{
    char param[PARAM_SQL_MAX];
    if (named->kind == NAME_TEXT_COLUMN) {
        buf_printf(&b->sql, " AND t.%s", named->name);
    } else {
        buf_printf(&b->sql, " AND %s",
                   named->kind == NAME_PARAM ? name_param_sql(b->mirror, param, "t")
                                             : "(SELECT value FROM extras WHERE seq = t.seq AND name = ?)");
        builder_bind_text(b, named->name);
    }
    add_texts(b, condition);
}

/* At most two values are bound after the name. */
static void add_condition(struct builder *b, const struct named *named, const struct lineage_condition *condition)
{
    const struct lineage_range any = {{true, -INFINITY}, {true, INFINITY}}, *range = &condition->range;
    char column[96], of_row[PARAM_SQL_MAX];
    const char *value = name_param_sql(b->mirror, of_row, "t");
    if (named->kind == NAME_SETTING) {
        add_setting(b, named, condition);
        return;
    }
    if (condition->n_texts) {
        add_text_condition(b, named, condition);
        return;
    }
    if (named->kind == NAME_PARAM && is_any(condition)) {
        buf_printf(&b->sql, " AND %s IS NOT NULL", value);
        builder_bind_text(b, named->name);
        return;
    }
    if (named->kind == NAME_NUMBER_COLUMN) {
        snprintf(column, sizeof column, "t.%s", named->name);
        buf_printf(&b->sql, " AND %s IS NOT NULL", column);
        query_add_range(b, column, range);
        return;
    }
    if (named->kind != NAME_PARAM) {
        snprintf(of_row, sizeof of_row, "(SELECT number FROM %s WHERE seq = t.seq AND name = ?)", name_table(named->kind)->table);
        value = of_row;
    }
    buf_printf(&b->sql, " AND %s BETWEEN ? AND ?", value);
    builder_bind_text(b, named->name);
    builder_bind_number(b, range->low.present ? range->low.value : any.low.value);
    builder_bind_number(b, range->high.present ? range->high.value : any.high.value);
}

/* A trial that declares a parameter with the name of a column, and one whose column has the value, both meet the condition. */
void query_add_condition(struct builder *b, const struct named *named, const struct lineage_condition *condition)
{
    if (!named->declared) {
        add_condition(b, named, condition);
        return;
    }
    buf_puts(&b->sql, " AND ((1");
    add_condition(b, named, condition);
    buf_puts(&b->sql, ") OR (1");
    add_condition(b, &(struct named){NAME_PARAM, named->name, false}, condition);
    buf_puts(&b->sql, "))");
}

static enum lineage_status count_range(struct mirror *mirror, const struct named *named,
                                       const struct lineage_condition *condition, int64_t limit, int64_t *n,
                                       struct lineage_error *err)
{
    const struct lineage_range *range = &condition->range;
    static const char params[] = "SELECT count(*) FROM (SELECT 1 FROM param_rows WHERE key = ?1 AND value"
                                 " BETWEEN ?2 AND ?3 LIMIT ?4)";
    static const char metrics[] = "SELECT count(*) FROM (SELECT 1 FROM metric_rows WHERE name = ?1 AND number"
                                  " BETWEEN ?2 AND ?3 LIMIT ?4)";
    static const char extras[] = "SELECT count(*) FROM (SELECT 1 FROM extras WHERE name = ?1 AND number"
                                 " BETWEEN ?2 AND ?3 LIMIT ?4)";
    sqlite3_stmt *stmt;
    TRY(mirror_prepare(mirror, &stmt, named->kind == NAME_PARAM ? params : named->kind == NAME_METRIC ? metrics : extras, err));
    sqlite3_bind_text(stmt, 1, named->name, -1, SQLITE_STATIC);
    sqlite3_bind_double(stmt, 2, range->low.present ? range->low.value : (double)-INFINITY);
    if (is_any(condition) && named->kind == NAME_PARAM)
        sqlite3_bind_blob(stmt, 3, "", 0, SQLITE_STATIC); /* blobs sort after all texts, and texts after all numbers */
    else
        sqlite3_bind_double(stmt, 3, range->high.present ? range->high.value : (double)INFINITY);
    sqlite3_bind_int64(stmt, 4, limit);
    enum lineage_status status = mirror_step(mirror, stmt, err);
    *n = status == LINEAGE_OK ? sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_reset(stmt);
    return status;
}

static enum lineage_status count_texts(struct mirror *mirror, const char *name, const struct lineage_condition *condition,
                                       int64_t limit, int64_t *n, struct lineage_error *err)
{
    int64_t count = 0;
    enum lineage_status status = LINEAGE_OK;
    *n = 0;
    for (size_t i = 0; status == LINEAGE_OK && i < condition->n_texts; i++) {
        status = mirror_integer(mirror, &count, err,
                                "SELECT count(*) FROM (SELECT 1 FROM param_rows WHERE key = ?1 AND value = ?2"
                                " LIMIT ?3)",
                                "ssi", name, condition->texts[i], limit);
        *n += status == LINEAGE_OK ? count : 0;
    }
    if (status != LINEAGE_OK || !condition->range.low.present)
        return status;
    status = count_range(mirror, &(struct named){NAME_PARAM, name, false}, condition, limit, &count, err);
    *n += count;
    return status;
}

enum lineage_status query_count_rows(struct mirror *mirror, const struct named *named, const struct lineage_condition *condition,
                                     int64_t limit, int64_t *n, struct lineage_error *err)
{
    return condition->n_texts ? count_texts(mirror, named->name, condition, limit, n, err)
                              : count_range(mirror, named, condition, limit, n, err);
}

/* A text in an extra column has no index (extras_by_number is on numbers), so it cannot lead. */
enum lineage_status lead_consider(struct builder *b, struct lead *lead, const struct named *named,
                                  const struct lineage_condition *condition, size_t at, struct lineage_error *err)
{
    int64_t n;
    if (!name_table(named->kind) || (named->kind == NAME_EXTRA && condition->n_texts))
        return LINEAGE_OK;
    TRY(query_count_rows(b->mirror, named, condition, lead->limit, &n, err));
    if (!lead->found || n < lead->n)
        *lead = (struct lead){*named, *condition, n, lead->limit, at, true};
    return LINEAGE_OK;
}

/* Adds the trials that the lead finds, or all trials. CROSS JOIN tells SQLite to begin with the left table; its planner
 * has no statistics here and would guess. */
void lead_add_source(struct builder *b, const struct lead *lead, bool alone)
{
    const struct named_table *from = lead->found ? name_table(lead->named.kind) : NULL;
    struct lineage_range range = lead->condition.range;
    if (!lead->found) {
        buf_puts(&b->sql, "SELECT t.seq FROM trials t WHERE 1");
        return;
    }
    buf_printf(&b->sql,
               "SELECT l.seq FROM %s l%s WHERE l.%s = ? AND "
               "l.%s IS NOT NULL",
               from->table, alone ? "" : " CROSS JOIN trials t ON t.seq = l.seq", from->name, from->value);
    builder_bind_text(b, lead->named.name);
    if (lead->condition.n_texts) {
        buf_puts(&b->sql, " AND l.value");
        add_texts(b, &lead->condition);
        return;
    }
    if (range.low.present && !range.high.present) /* excludes texts, which sort after all numbers */
        range.high = (struct lineage_number){true, (double)INFINITY};
    if (range.low.present && range.low.value == range.high.value) {
        buf_printf(&b->sql, " AND l.%s = ?", from->value); /* rows of one value are in the order of the log */
        builder_bind_number(b, range.low.value);
    } else {
        char value[16];
        snprintf(value, sizeof value, "l.%s", from->value);
        query_add_range(b, value, &range);
    }
}
