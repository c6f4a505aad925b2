/*
 * query_names.c: resolves names of columns, parameters, metrics and extra columns. An unknown name is an error whose message
 * lists the known names, because an agent that mistyped a parameter would take "no rows" for "never tried". A column
 * has precedence over a parameter with the same name, so that a parameter cannot hide a column that every store has; a
 * condition is met by either.
 */
#include "query_names.h"

#include <lineage/notes.h>
#include <lineage/text.h>

#include "../format/config.h"
#include "../format/row.h"
#include "../mirror/statement.h"

/* The list includes some columns of the mirror outside the 17 that are useful in queries. */
static bool is_number_column(const char *name)
{
    static const char *const more[] = {"score", "ig_clip_scale_mean", "ig_clip_scale_std", "seq", "line", NULL};
    int i = lineage_column_find(name);
    for (size_t j = 0; more[j]; j++)
        if (strcmp(more[j], name) == 0)
            return true;
    return i >= 0 && lineage_column((size_t)i)->kind == LINEAGE_COLUMN_NUMBER;
}

bool name_exists(struct mirror *mirror, const char *sql, const char *name, enum lineage_status *status, struct lineage_error *err)
{
    bool found = false;
    if (*status == LINEAGE_OK)
        *status = mirror_has(mirror, &found, err, sql, "s", name);
    return found;
}

/* The name is looked up in the header, so a column that is empty in every row is known too. */
static bool is_extra(struct mirror *mirror, const char *name)
{
    const struct row_layout *layout = mirror_layout(mirror);
    for (size_t i = 0; layout && i < layout->n_cells; i++)
        if (row_is_extra(layout, i) && strcmp(layout->names[i], name) == 0)
            return true;
    return false;
}

/* Lists at most 40 names, because a message is one line of a terminal or of a model's context. Distinct keys are read
 * from param_values, which has one row per value, while param_rows has one per trial. */
static enum lineage_status list_known(struct mirror *mirror, struct buf *out, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++)
        buf_printf(out, " %s", lineage_column(i)->name);
    buf_puts(out, " score ig_clip_scale_mean ig_clip_scale_std");
    enum lineage_status status =
        mirror_prepare(mirror, &stmt,
                       "SELECT DISTINCT key FROM param_values UNION SELECT DISTINCT name FROM metric_rows UNION"
                       " SELECT DISTINCT name FROM extras LIMIT 40",
                       err);
    while (mirror_next(&status, mirror, stmt, err))
        buf_printf(out, " %s", mirror_text(stmt, 0));
    return status;
}

/* Finds the known name that is nearest to a misspelt one; at most a third of it may differ. Returns its length, 0 for none. */
static size_t nearest(const char **found, const char *known, const char *name)
{
    char word[64];
    size_t n, best = strlen(name) / 3 + 2, length = 0;
    for (; *(known += strspn(known, " ")); known += n) {
        n = strcspn(known, " ");
        snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : 0), known);
        size_t distance = *word ? lineage_name_distance(name, word) : SIZE_MAX;
        if (distance < best) {
            best = distance;
            *found = known;
            length = n;
        }
    }
    return length;
}

/* The list costs two index scans, which only happen after a mistake. */
static enum lineage_status unknown_name(struct mirror *mirror, const char *name, struct lineage_error *err)
{
    SCOPED_BUF known = {0};
    const char *near = "";
    const struct config_more *more = mirror_store(mirror)->more;
    const bool is_score = more && more->score && strcmp(more->score, name) == 0;
    enum lineage_status status = list_known(mirror, &known, err);
    int n = status == LINEAGE_OK && !known.failed && !is_score ? (int)nearest(&near, known.data, name) : 0;
    if (status == LINEAGE_OK)
        status = known.failed ? store_no_memory(err)
                              : store_fail(err, LINEAGE_EINVAL, "no column or parameter '%.60s'%s%s%.*s%s; known are%s", name,
                                           is_score ? " (the name of the score, which is the column 'score')" : "",
                                           n ? " (did you mean '" : "", n, near, n ? "'?)" : "", known.data);
    return status;
}

/* Parameters that may be asked for before any trial has set them: an agent's first question in a new store is often
 * which alpha was tried, and the answer is "nothing yet", not an error. */
static bool is_usual(const char *param)
{
    return strcmp(param, "alpha") == 0 || strcmp(param, "beta") == 0 || strcmp(param, "gamma") == 0;
}

/* Notes are enough unless the store has the column, so other stores pay nothing for it. */
const char *name_param_sql(struct mirror *mirror, char out[PARAM_SQL_MAX], const char *row)
{
    if (is_extra(mirror, JSON_COLUMN_PARAMS))
        snprintf(out, PARAM_SQL_MAX, "param(%s.notes, ?, (SELECT value FROM extras WHERE seq = %s.seq AND name = '%s'))", row,
                 row, JSON_COLUMN_PARAMS);
    else
        snprintf(out, PARAM_SQL_MAX, "param(%s.notes, ?)", row);
    return out;
}

/* The settings of a later environment of a run: env1.lr is an lr, too (lineage_tried). */
static const char environment_sql[] =
    "SELECT 1 FROM param_values WHERE key > 'env' AND key < 'enw' AND key GLOB 'env[0-9]*.' || ? LIMIT 1";
static const char param_sql[] = "SELECT 1 FROM param_rows WHERE key = ? LIMIT 1";

static bool is_param(struct mirror *mirror, const char *param, enum lineage_status *status, struct lineage_error *err)
{
    return is_usual(param) || name_exists(mirror, param_sql, param, status, err) ||
           (!strchr(param, '.') && name_exists(mirror, environment_sql, param, status, err));
}

static bool is_setting(struct mirror *mirror, const char *name, enum lineage_status *status, struct lineage_error *err)
{
    return mirror_store(mirror)->settings_on &&
           name_exists(mirror, "SELECT 1 FROM temp.setting_rows WHERE key = ? LIMIT 1", name, status, err);
}

const struct named_table *name_table(enum name_kind kind)
{
    static const struct named_table tables[] = {
        [NAME_PARAM] = {"param_rows", "key", "value"},
        [NAME_METRIC] = {"metric_rows", "name", "number"},
        [NAME_EXTRA] = {"extras", "name", "number"},
    };
    return kind == NAME_PARAM || kind == NAME_METRIC || kind == NAME_EXTRA ? &tables[kind] : NULL;
}

/* Finds everything but the columns of trials. A parameter has precedence over a metric of the same name; `metrics.NAME`
 * is always the metric. Extra columns come last, because they differ from file to file, and a new extra column must not
 * change what a query for a parameter finds. The kind is NAME_UNKNOWN if the name is none of them. */
static enum lineage_status find_value(struct mirror *mirror, const char *name, struct named *out, struct lineage_error *err)
{
    static const char metric_sql[] = "SELECT 1 FROM metric_rows WHERE name = ? LIMIT 1";
    enum lineage_status status = LINEAGE_OK;
    bool prefixed = strncmp(name, "metrics.", 8) == 0 && name_exists(mirror, metric_sql, name + 8, &status, err);
    const char *param = lineage_param_canonical(name);
    *out = (struct named){NAME_UNKNOWN, name, false};
    if (prefixed)
        *out = (struct named){NAME_METRIC, name + 8, false};
    else if (status == LINEAGE_OK && is_setting(mirror, name, &status, err))
        out->kind = NAME_SETTING;
    else if (status == LINEAGE_OK && is_param(mirror, param, &status, err))
        *out = (struct named){NAME_PARAM, param, false};
    else if (name_exists(mirror, metric_sql, name, &status, err))
        out->kind = NAME_METRIC;
    else if (status == LINEAGE_OK && is_extra(mirror, name))
        out->kind = NAME_EXTRA;
    return status;
}

/* The columns of trials are refused, because nearly every trial has a value of its own there. */
enum lineage_status name_resolve_axis(struct mirror *mirror, const char *name, struct named *out, struct lineage_error *err)
{
    enum lineage_status status = find_value(mirror, name, out, err);
    if (status != LINEAGE_OK || out->kind != NAME_UNKNOWN)
        return status;
    if (is_number_column(name) || lineage_column_find(name) >= 0)
        return store_fail(err, LINEAGE_EINVAL,
                          "'%.60s' is a column, not a parameter: nearly every trial has a value of its own there", name);
    return unknown_name(mirror, name, err);
}

/* The kind is NAME_UNKNOWN if the name is none of them. */
static enum lineage_status find_name(struct mirror *mirror, const char *name, struct named *out, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    bool number = is_number_column(name);
    if (!number && lineage_column_find(name) < 0)
        return find_value(mirror, name, out, err);
    *out = (struct named){number ? NAME_NUMBER_COLUMN : NAME_TEXT_COLUMN, name, false};
    out->declared = name_exists(mirror, param_sql, name, &status, err);
    return status;
}

enum lineage_status name_find_param(struct mirror *mirror, const char *name, struct named *out, struct lineage_error *err)
{
    enum lineage_status status = find_name(mirror, name, out, err);
    if (out->kind == NAME_UNKNOWN)
        *out = (struct named){NAME_PARAM, lineage_param_canonical(name), false};
    return status;
}

enum lineage_status name_resolve(struct mirror *mirror, const char *name, struct named *out, struct lineage_error *err)
{
    enum lineage_status status = find_name(mirror, name, out, err);
    return status == LINEAGE_OK && out->kind == NAME_UNKNOWN ? unknown_name(mirror, name, err) : status;
}

enum lineage_status mirror_find_name(struct mirror *mirror, const char *name, enum mirror_name *kind, struct lineage_error *err)
{
    struct named found;
    enum lineage_status status = find_name(mirror, name, &found, err);
    *kind = found.kind == NAME_UNKNOWN ? MIRROR_NAME_UNKNOWN : found.kind == NAME_PARAM ? MIRROR_NAME_PARAM : MIRROR_NAME_COLUMN;
    return status;
}

/* A store with hundreds of different values is not described in words, however many trials it has. */
enum lineage_status mirror_is_in_words(struct mirror *mirror, bool *in_words, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    *in_words = false;
    enum lineage_status status =
        mirror_row(mirror, &stmt, err, "SELECT count(*), sum(n) FROM (SELECT n FROM param_values LIMIT 200)", "");
    if (status == LINEAGE_OK)
        *in_words =
            sqlite3_column_int64(stmt, 0) < 200 && 2 * (uint64_t)sqlite3_column_int64(stmt, 1) < mirror_position(mirror)->rows;
    return mirror_end_rows(stmt, status);
}

/* Writes the statement that selects all texts of the name (?1), which may be a column and a parameter; false for numbers. */
static bool value_sql(char sql[160], const struct named *named)
{
    if (named->kind == NAME_PARAM)
        snprintf(sql, 160, "SELECT DISTINCT value FROM param_values WHERE key = ?1 AND typeof(value) = 'text'");
    else if (named->kind == NAME_SETTING)
        snprintf(sql, 160, "SELECT DISTINCT value FROM temp.setting_rows WHERE key = ?1 AND typeof(value) = 'text'");
    else if (named->kind == NAME_EXTRA)
        snprintf(sql, 160, "SELECT DISTINCT value FROM extras WHERE name = ?1");
    else if (named->kind == NAME_TEXT_COLUMN)
        snprintf(
            sql, 160,
            "SELECT %s FROM trials WHERE ?1 <> '' UNION SELECT value FROM param_values WHERE key = ?1 AND typeof(value) = 'text'",
            named->name);
    else
        return false;
    return true;
}

enum lineage_status name_exact_text(const char **text, struct mirror *mirror, const char *name, struct arena *arena,
                                    struct lineage_error *err)
{
    char sql[160];
    struct named named;
    sqlite3_stmt *stmt;
    const char *found = NULL;
    bool exact = false;
    if (!text_has_stand_in(*text))
        return LINEAGE_OK;
    enum lineage_status status = find_name(mirror, name, &named, err);
    if (status != LINEAGE_OK || !value_sql(sql, &named) || (status = mirror_prepare(mirror, &stmt, sql, err)) != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, named.name, -1, SQLITE_STATIC);
    while (!exact && mirror_next(&status, mirror, stmt, err)) {
        const char *value = mirror_text(stmt, 0);
        exact = strcmp(value, *text) == 0;
        if (!exact && !found && text_is_shown_as(value, *text) && !(found = arena_text(arena, value, strlen(value))))
            return mirror_end_rows(stmt, store_no_memory(err));
    }
    if (found && !exact)
        *text = found;
    return mirror_end_rows(stmt, status);
}
