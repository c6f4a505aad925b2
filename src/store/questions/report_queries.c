/*
 * report_queries.c: queries for a report.
 *
 * The cost of a report must not depend on the size of the store, because a report is made after every trial of a night.
 * So each statement here reads a bounded number of rows of an index or one of the tables of sums, and none sorts or
 * counts trials.
 */
#include <math.h>

#include "../mirror/statement.h"
#include "load.h"

#define TRIALS "SELECT " TRIAL_COLUMNS " FROM trials t "

/* The label occurs twice, because SQLite uses the index of kept trials only with its condition IN ('keep',
 * 'baseline'). */
#define KEPT "WHERE t.status IN ('keep', 'baseline') AND t.status = 'keep'"
#define SCORED "WHERE t.score IS NOT NULL AND t.status <> 'harness_abort' "

static const struct {
    const char *lower, *higher;
} statements[] = {
    [MIRROR_BEST_KEPT] = {TRIALS KEPT " AND t.score > -9e999 AND t.score < 9e999 ORDER BY t.score, t.seq LIMIT ?1",
                          TRIALS KEPT " AND t.score > -9e999 AND t.score < 9e999"
                                      " ORDER BY t.score DESC, t.seq LIMIT ?1"},
    [MIRROR_BEST_SCORED] = {TRIALS SCORED "ORDER BY t.score, t.seq LIMIT ?1",
                            TRIALS SCORED "ORDER BY t.score DESC, t.seq LIMIT ?1"},
    [MIRROR_FIRST_SCORED] = {TRIALS "WHERE (t.score IS NOT NULL OR t.special & 32)"
                                    " AND t.status <> 'harness_abort' ORDER BY t.seq LIMIT ?1",
                             NULL},
    [MIRROR_FIRST] = {TRIALS "ORDER BY t.seq LIMIT ?1", NULL},
    [MIRROR_NEWEST] = {TRIALS "ORDER BY t.seq DESC LIMIT ?1", NULL},
    [MIRROR_NEWEST_INFORMATIVE] = {TRIALS "WHERE t.status <> 'harness_abort' ORDER BY t.seq DESC LIMIT ?1", NULL},
};

/* This statement is separate, because the list MIRROR_BEST_KEPT_UNSCORED_INFINITE combines it with another
 * statement. */
static const char kept_unscored[] = TRIALS KEPT " AND (t.score IS NULL OR t.score = 9e999) ORDER BY t.seq LIMIT ?1";
static const char kept_lower[] = TRIALS KEPT " AND t.score < 9e999 ORDER BY t.score, t.seq LIMIT ?1";
static const char kept_higher[] = TRIALS KEPT " AND t.score < 9e999 ORDER BY t.score DESC, t.seq LIMIT ?1";

/* A list of trials while it is being read. It is outside the arena, because its length is not known in advance and an
 * arena cannot grow an allocation. */
struct growing {
    struct lineage_trial *items;
    size_t n, capacity;
    struct arena *arena;
};

/* The statement is reset on every path. Otherwise it would keep a read transaction open, and the write-ahead log could
 * not be emptied. */
static enum lineage_status add_rows(struct growing *list, struct mirror *mirror, sqlite3_stmt *stmt, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    while (mirror_next(&status, mirror, stmt, err)) {
        if (LIST_ROOM(list->items, list->n, list->capacity)) {
            list->items[list->n] = (struct lineage_trial){0};
            status = load_trial(mirror, stmt, &list->items[list->n], list->arena, err);
            list->n += status == LINEAGE_OK;
        } else {
            status = store_no_memory(err);
        }
    }
    return status;
}

/* -1 is SQLite's value for no limit; SIZE_MAX does not fit into its integers. */
static enum lineage_status add_list(struct growing *list, struct mirror *mirror, const char *sql, size_t limit,
                                    struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    TRY(mirror_rows(mirror, &stmt, err, sql, "i", limit > INT64_MAX ? -1 : (int64_t)limit));
    return add_rows(list, mirror, stmt, err);
}

/* Copies the list into the arena once at the end, so that the arena contains no outgrown copies of it. */
static enum lineage_status keep_list(struct growing *list, enum lineage_status status, struct lineage_trial **trials, size_t *n,
                                     struct lineage_error *err)
{
    *n = 0;
    *trials = NULL;
    if (status == LINEAGE_OK && list->n) {
        *trials = arena_alloc(list->arena, list->n, sizeof **trials);
        if (*trials)
            memcpy(*trials, list->items, list->n * sizeof **trials);
        else
            status = store_no_memory(err);
        *n = *trials ? list->n : 0;
    }
    free(list->items);
    return status;
}

/* Trials without a score come last if lower is better, first if higher is; one index cannot give both. */
static enum lineage_status add_unscored_infinite(struct growing *list, struct mirror *mirror, bool up, size_t limit,
                                                 struct lineage_error *err)
{
    TRY(add_list(list, mirror, up ? kept_unscored : kept_lower, limit, err));
    return list->n < limit
               ? add_list(list, mirror, up ? kept_higher : kept_unscored, limit == MIRROR_ALL ? limit : limit - list->n, err)
               : LINEAGE_OK;
}

/* Callers name the order, and this function chooses the statements for it. */
enum lineage_status mirror_list(struct mirror *mirror, enum mirror_order order, size_t limit, struct lineage_trial **trials,
                                size_t *n, struct arena *arena, struct lineage_error *err)
{
    struct growing list = {.arena = arena};
    bool up = mirror_store(mirror)->config.direction == LINEAGE_HIGHER;
    enum lineage_status status;
    if (order == MIRROR_BEST_KEPT_UNSCORED_INFINITE)
        status = add_unscored_infinite(&list, mirror, up, limit, err);
    else
        status = add_list(&list, mirror, up && statements[order].higher ? statements[order].higher : statements[order].lower,
                          limit, err);
    return keep_list(&list, status, trials, n, err);
}

enum lineage_status mirror_newest_failed(struct mirror *mirror, enum lineage_label label, size_t limit,
                                         struct lineage_trial **trials, size_t *n, struct arena *arena, struct lineage_error *err)
{
    /* The conditions after the first are written exactly as in the index; otherwise SQLite would not use it. The NOT IN
     * list is the condition of indexes made by earlier versions. */
    static const char sql[] = TRIALS "WHERE t.status = ?2 AND t.status <> 'keep' AND t.status <> 'discard'"
                                     " AND t.status <> 'baseline' AND t.status <> 'harness_abort'"
                                     " AND t.status NOT IN ('keep', 'discard', 'baseline', 'harness_abort')"
                                     " ORDER BY t.seq DESC LIMIT ?1";
    struct growing list = {.arena = arena};
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_rows(mirror, &stmt, err, sql, "is", (int64_t)limit, lineage_label_name(label));
    if (status == LINEAGE_OK)
        status = add_rows(&list, mirror, stmt, err);
    return keep_list(&list, status, trials, n, err);
}

/* ---- sums ---- */

/* The text is copied at once, because SQLite's text is gone at the next step. */
static const char *text_of(sqlite3_stmt *stmt, int at, struct arena *arena)
{
    const char *text = mirror_text(stmt, at);
    return arena_text(arena, text, strlen(text));
}

enum lineage_status mirror_count_voids(struct mirror *mirror, uint64_t *voids, uint64_t *void_rows, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status =
        mirror_row(mirror, &stmt, err, "SELECT (SELECT count(*) FROM voided), (SELECT count(*) FROM " VOID_ROWS ")", "");
    *voids = status == LINEAGE_OK ? (uint64_t)sqlite3_column_int64(stmt, 0) : 0;
    *void_rows = status == LINEAGE_OK ? (uint64_t)sqlite3_column_int64(stmt, 1) : 0;
    return mirror_end_rows(stmt, status);
}

enum lineage_status mirror_count_findings(struct mirror *mirror, uint64_t *n, struct lineage_error *err)
{
    int64_t count = 0;
    enum lineage_status status = mirror_integer(mirror, &count, err, "SELECT count(*) FROM findings", "");
    *n = (uint64_t)count;
    return status;
}

enum lineage_status mirror_wall_measure(struct mirror *mirror, enum lineage_label label, const char *name,
                                        struct mirror_wall *wall, struct lineage_error *err)
{
    /* Counts finite numbers only. A bound seq makes each sum a walk over the extra column's own index. */
    static const char extra[] = "SELECT t.status IN ('keep', 'baseline'), count(*), min(e.number), max(e.number) FROM extras e"
                                " JOIN trials t ON t.seq = e.seq WHERE e.name = ?1 AND e.number > -9e999 AND e.number < 9e999"
                                " AND t.status IN ('keep', 'baseline', ?2) GROUP BY 1";
    static const char train[] = "SELECT status IN ('keep', 'baseline'), count(*), min(train_s), max(train_s) FROM trials"
                                " WHERE ?1 = 'train_s' AND train_s > -9e999 AND train_s < 9e999"
                                " AND status IN ('keep', 'baseline', ?2) GROUP BY 1";
    sqlite3_stmt *stmt;
    *wall = (struct mirror_wall){.n = 0};
    enum lineage_status status =
        mirror_rows(mirror, &stmt, err, strcmp(name, "train_s") == 0 ? train : extra, "ss", name, lineage_label_name(label));
    while (mirror_next(&status, mirror, stmt, err)) {
        if (sqlite3_column_int(stmt, 0)) {
            wall->kept_n = (uint64_t)sqlite3_column_int64(stmt, 1);
            wall->kept_high = sqlite3_column_double(stmt, 3);
        } else {
            wall->n = (uint64_t)sqlite3_column_int64(stmt, 1);
            wall->low = sqlite3_column_double(stmt, 2);
            wall->high = sqlite3_column_double(stmt, 3);
        }
    }
    return status;
}

/* The counts are sorted here and not by each printer, so that all printers use the same order. */
enum lineage_status mirror_label_counts(struct mirror *mirror, struct mirror_label_count **counts, size_t *n, struct arena *arena,
                                        struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    int64_t there = 0;
    *n = 0;
    TRY(mirror_integer(mirror, &there, err, "SELECT count(*) FROM label_counts", ""));
    if (!(*counts = arena_alloc(arena, (size_t)there, sizeof **counts)))
        return store_no_memory(err);
    enum lineage_status status =
        mirror_prepare(mirror, &stmt, "SELECT specialist, status, n FROM label_counts ORDER BY specialist, status", err);
    while (mirror_next(&status, mirror, stmt, err) && *n < (size_t)there) {
        struct mirror_label_count *count = &(*counts)[(*n)++];
        *count = (struct mirror_label_count){.specialist = text_of(stmt, 0, arena), .n = (uint64_t)sqlite3_column_int64(stmt, 2)};
        status = count->specialist ? mirror_label(mirror, stmt, 1, &count->label, err) : store_no_memory(err);
    }
    return mirror_end_rows(stmt, status);
}

/* Each step looks up the next larger name in the index instead of reading all rows, because a parameter such as seed
 * may have a million values. */
static const char names_sql[] =
    "WITH RECURSIVE k(key) AS (SELECT min(key) FROM param_values UNION ALL"
    " SELECT (SELECT min(key) FROM param_values p WHERE p.key > k.key) FROM k WHERE k.key IS NOT NULL)"
    " SELECT key FROM k WHERE key IS NOT NULL"
    " ORDER BY CASE key WHEN 'alpha' THEN 0 WHEN 'beta' THEN 1 WHEN 'gamma' THEN 2 ELSE 3 END, key";

enum lineage_status mirror_param_names(struct mirror *mirror, const char ***names, size_t *n, size_t *more, struct arena *arena,
                                       struct lineage_error *err)
{
    sqlite3_stmt *stmt = NULL;
    *n = *more = 0;
    *names = arena_alloc(arena, LINEAGE_REPORT_PARAMS, sizeof **names);
    enum lineage_status status = *names ? mirror_prepare(mirror, &stmt, names_sql, err) : store_no_memory(err);
    while (mirror_next(&status, mirror, stmt, err)) {
        if (*n == LINEAGE_REPORT_PARAMS)
            ++*more;
        else if (!((*names)[(*n)++] = text_of(stmt, 0, arena)))
            status = store_no_memory(err);
    }
    return status;
}

/* Adds one row of param_values: the outcomes of a value under one label. The smallest and the largest score were
 * tracked as rows came in, so the best is known without looking at a trial. */
static void add_outcome(struct lineage_report_value *value, sqlite3_stmt *stmt, enum lineage_label label, bool higher)
{
    int at = higher ? 4 : 3;
    double score = sqlite3_column_double(stmt, at);
    uint64_t n = (uint64_t)sqlite3_column_int64(stmt, 2);
    value->n += n;
    value->labels[label] += n;
    if (sqlite3_column_type(stmt, at) != SQLITE_NULL && lineage_label_is_measured(label) &&
        (!value->best.present || (higher ? score > value->best.value : score < value->best.value)))
        value->best = (struct lineage_number){true, score};
}

/* Reads a value: a number, or nan and a text in the arena. False when out of memory. */
static bool read_value(double *number, const char **text, sqlite3_stmt *stmt, int at, struct arena *arena)
{
    bool is_text = sqlite3_column_type(stmt, at) == SQLITE_TEXT;
    *number = is_text ? (double)NAN : sqlite3_column_double(stmt, at);
    *text = is_text ? text_of(stmt, at, arena) : NULL;
    return !is_text || *text;
}

static bool is_of(const struct lineage_report_value *value, sqlite3_stmt *stmt, int at)
{
    bool is_text = sqlite3_column_type(stmt, at) == SQLITE_TEXT;
    if (is_text || value->text)
        return is_text && value->text && strcmp(value->text, mirror_text(stmt, at)) == 0;
    return value->value == sqlite3_column_double(stmt, at);
}

/* Reads one value more than is listed, to know whether there are more. */
static enum lineage_status read_values(struct mirror *mirror, struct lineage_report_param *param,
                                       struct lineage_report_value *values, struct arena *arena, struct lineage_error *err)
{
    static const char sql[] = "SELECT value, status, n, low, high FROM param_values"
                              " WHERE key = ?1 AND status <> 'harness_abort' ORDER BY value, status";
    bool higher = mirror_store(mirror)->config.direction == LINEAGE_HIGHER;
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_rows(mirror, &stmt, err, sql, "s", param->name);
    while (mirror_next(&status, mirror, stmt, err)) {
        enum lineage_label label;
        if ((status = mirror_label(mirror, stmt, 1, &label, err)) != LINEAGE_OK)
            break;
        if (!param->n_values || !is_of(&values[param->n_values - 1], stmt, 0)) {
            struct lineage_report_value *next = &values[param->n_values];
            if ((param->more = param->n_values == LINEAGE_REPORT_VALUES))
                break;
            if (!read_value(&next->value, &next->text, stmt, 0, arena)) {
                status = store_no_memory(err);
                break;
            }
            param->n_values++;
        }
        add_outcome(&values[param->n_values - 1], stmt, label, higher);
    }
    return mirror_end_rows(stmt, status);
}

/* Low and high are taken from the listed values, unless there are more values than are listed. */
enum lineage_status mirror_param_values(struct mirror *mirror, const char *name, struct lineage_report_param *param,
                                        struct arena *arena, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    struct lineage_report_value *values = arena_alloc(arena, LINEAGE_REPORT_VALUES, sizeof *values);
    *param = (struct lineage_report_param){.name = name, .values = values};
    if (!values)
        return store_no_memory(err);
    TRY(read_values(mirror, param, values, arena, err));
    if (param->n_values) {
        param->low = values[0].value;
        param->low_text = values[0].text;
        param->high = values[param->n_values - 1].value;
        param->high_text = values[param->n_values - 1].text;
    }
    if (!param->more)
        return LINEAGE_OK;
    /* The largest value is at the other end of the same index, so it costs one look-up, however many values there
     * are. */
    enum lineage_status status = mirror_row(mirror, &stmt, err, "SELECT max(value) FROM param_values WHERE key = ?1", "s", name);
    if (status == LINEAGE_OK && !read_value(&param->high, &param->high_text, stmt, 0, arena))
        status = store_no_memory(err);
    sqlite3_reset(stmt);
    return status;
}

/* Finds the first trial from `seq` on that has the parameter at that value, or returns LINEAGE_ENOTFOUND. This is one
 * look-up in the primary key of param_rows, which is ordered by seq within a value. */
static enum lineage_status leap(struct mirror *mirror, const struct lineage_param *param, int64_t *seq, struct lineage_error *err)
{
    return mirror_integer(mirror, seq, err,
                          "SELECT seq FROM param_rows WHERE key = ?1 AND value = ?2 AND seq >= ?3 ORDER BY seq LIMIT 1", "svi",
                          param->name, param, *seq);
}

/* The label is checked only after a pair was found, because aborts are rare and param_rows has no labels. */
static enum lineage_status is_informational(struct mirror *mirror, int64_t seq, bool *yes, struct lineage_error *err)
{
    int64_t informational = 0;
    enum lineage_status status =
        mirror_integer(mirror, &informational, err, "SELECT status <> 'harness_abort' FROM trials WHERE seq = ?1", "i", seq);
    *yes = informational != 0;
    return status;
}

/* For most pairs one of the first trials with the first value also has the second, and one statement finds it. Other
 * pairs need the walk. */
static enum lineage_status first_trials_tried(struct mirror *mirror, const struct lineage_param pair[2], bool *tried,
                                              struct lineage_error *err)
{
    static const char sql[] = "SELECT 1 FROM (SELECT seq FROM param_rows WHERE key = ?1 AND value = ?2 LIMIT 16) a"
                              " CROSS JOIN param_rows b CROSS JOIN trials t WHERE b.key = ?3 AND b.value = ?4 AND b.seq = a.seq"
                              " AND t.seq = a.seq AND t.status <> 'harness_abort' LIMIT 1";
    return mirror_has(mirror, tried, err, sql, "svsv", pair[0].name, &pair[0], pair[1].name, &pair[1]);
}

enum lineage_status mirror_pair_tried(struct mirror *mirror, const struct lineage_param pair[2], size_t *steps,
                                      enum mirror_cell *cell, struct lineage_error *err)
{
    int64_t at = 0;
    bool early = false;
    enum lineage_status first = first_trials_tried(mirror, pair, &early, err);
    *cell = early ? MIRROR_TRIED : MIRROR_UNSETTLED;
    if (first != LINEAGE_OK || early)
        return first;
    while (*steps) {
        int64_t x = at, y;
        bool yes = false;
        --*steps;
        enum lineage_status status = leap(mirror, &pair[0], &x, err);
        /* The second list starts at the first trial of the first list, because no earlier trial can have both
         * values. */
        y = x;
        if (status == LINEAGE_OK)
            status = leap(mirror, &pair[1], &y, err);
        if (status == LINEAGE_OK && x == y)
            status = is_informational(mirror, x, &yes, err);
        if (status == LINEAGE_ENOTFOUND || yes) {
            *cell = yes ? MIRROR_TRIED : MIRROR_UNTRIED;
            return LINEAGE_OK;
        }
        TRY(status);
        /* If both are equal, the trial is an abort and the walk goes on after it. Otherwise the first list skips ahead
         * to the second. */
        at = x == y ? x + 1 : y;
    }
    return LINEAGE_OK;
}

/* The sync adds up sums in the order of the log, so after a rebuild a mean is the same to the last digit. */
enum lineage_status mirror_calibration(struct mirror *mirror, size_t limit, struct lineage_report_calibration **list, size_t *n,
                                       struct arena *arena, struct lineage_error *err)
{
    static const char sql[] = "SELECT specialist, n, same_sign, expected_sum / n, actual_sum / n, error_sum / n"
                              " FROM calibration WHERE n > 0 ORDER BY n DESC, specialist LIMIT ?1";
    sqlite3_stmt *stmt = NULL;
    *n = 0;
    *list = arena_alloc(arena, limit, sizeof **list);
    enum lineage_status status = *list ? mirror_rows(mirror, &stmt, err, sql, "i", (int64_t)limit) : store_no_memory(err);
    while (*n < limit && mirror_next(&status, mirror, stmt, err)) {
        struct lineage_report_calibration *item = &(*list)[(*n)++];
        *item = (struct lineage_report_calibration){.specialist = text_of(stmt, 0, arena),
                                                    .n = (uint64_t)sqlite3_column_int64(stmt, 1),
                                                    .same_sign = (uint64_t)sqlite3_column_int64(stmt, 2),
                                                    .expected = sqlite3_column_double(stmt, 3),
                                                    .happened = sqlite3_column_double(stmt, 4),
                                                    .error = sqlite3_column_double(stmt, 5)};
        if (!item->specialist)
            status = store_no_memory(err);
    }
    return mirror_end_rows(stmt, status);
}

/* The seq of t's parent, NULL if it has none or it is missing. */
#define PARENT "(SELECT nullif(a.parent, 0) FROM ancestors a WHERE a.seq = t.seq)"
/* The number of rows is bounded by their seq and not by LIMIT, so that a store without such rows is not searched to its
 * beginning. */
#define NEWEST "t.seq > (SELECT coalesce(max(seq), 0) FROM trials) - 1000 "

static const char on_parents_sql[] =
    "WITH told AS MATERIALIZED (SELECT t.specialist, t.expected, t.score, " PARENT " AS parent FROM trials t "
    "WHERE " NEWEST "AND t.status IN ('keep', 'discard') AND abs(t.expected) < 9e999), "
    "compared AS (SELECT told.specialist, told.expected, told.score - p.score AS delta FROM told JOIN trials p ON p.seq = "
    "parent) "
    "SELECT specialist, count(*), sum(expected * delta > 0), avg(expected), avg(delta), avg(abs(expected - delta)) "
    "FROM compared WHERE abs(delta) < 9e999 GROUP BY specialist";

enum lineage_status mirror_calibration_on_parents(struct mirror *mirror, struct lineage_report_calibration *items, size_t n,
                                                  struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    if (!n)
        return LINEAGE_OK;
    enum lineage_status status = mirror_prepare(mirror, &stmt, on_parents_sql, err);
    while (mirror_next(&status, mirror, stmt, err))
        for (size_t i = 0; i < n; i++)
            if (strcmp(items[i].specialist, mirror_text(stmt, 0)) == 0) {
                items[i].on_parent.n = (uint64_t)sqlite3_column_int64(stmt, 1);
                items[i].on_parent.same_sign = (uint64_t)sqlite3_column_int64(stmt, 2);
                items[i].on_parent.expected = sqlite3_column_double(stmt, 3);
                items[i].on_parent.happened = sqlite3_column_double(stmt, 4);
                items[i].on_parent.error = sqlite3_column_double(stmt, 5);
            }
    return status;
}

enum lineage_status mirror_calibration_verdicts(struct mirror *mirror, double margin, struct lineage_report_calibration *items,
                                                size_t n, struct lineage_error *err)
{
    static const char sql[] = "SELECT t.specialist, t.expected, t.delta_vs_best FROM trials t WHERE " NEWEST
                              "AND t.status IN ('keep', 'discard') AND abs(t.expected) < 9e999 AND abs(t.delta_vs_best) < 9e999";
    sqlite3_stmt *stmt;
    if (!n || !(margin > 0))
        return LINEAGE_OK;
    enum lineage_status status = mirror_prepare(mirror, &stmt, sql, err);
    while (mirror_next(&status, mirror, stmt, err)) {
        struct lineage_hypothesis h =
            lineage_hypothesis_judge(sqlite3_column_double(stmt, 1), sqlite3_column_double(stmt, 2), margin);
        size_t i = 0;
        while (i < n && strcmp(items[i].specialist, mirror_text(stmt, 0)) != 0)
            i++;
        if (i == n)
            continue;
        items[i].verdicts[h.verdict]++;
        items[i].covered += h.covered;
    }
    return status;
}

/* ---- near misses and seconds ---- */

/* ?1 is 1 if higher is better and -1 if lower is; gains are positive if the score is better. */
static const char near_sql[] =
    "WITH lost AS MATERIALIZED (SELECT t.seq, t.score, " PARENT " AS parent FROM trials t "
    "WHERE " NEWEST "AND t.status = 'discard' AND abs(t.score) < 9e999) "
    "SELECT lost.seq, lost.score - p.score AS delta FROM lost LEFT JOIN trials p ON p.seq = parent AND p.seq <> lost.seq "
    "AND abs(p.score) < 9e999 WHERE ?1 * (lost.score - ?2) >= -?3 OR ?1 * (lost.score - p.score) > 0 "
    "OR (?3 > 0 AND ?1 * (lost.score - p.score) >= -?3) ORDER BY ?1 * lost.score DESC, lost.seq DESC LIMIT ?4";

enum lineage_status mirror_near_misses(struct mirror *mirror, double best, double slack, size_t limit,
                                       struct lineage_report_near_miss **list, size_t *n, struct arena *arena,
                                       struct lineage_error *err)
{
    bool higher = mirror_store(mirror)->config.direction == LINEAGE_HIGHER;
    int64_t *seqs = arena_alloc(arena, limit, sizeof *seqs);
    sqlite3_stmt *stmt = NULL;
    *n = 0;
    *list = arena_alloc(arena, limit, sizeof **list);
    enum lineage_status status =
        *list && seqs ? mirror_rows(mirror, &stmt, err, near_sql, "dddi", higher ? 1.0 : -1.0, best, slack, (int64_t)limit)
                      : store_no_memory(err);
    while (*n < limit && mirror_next(&status, mirror, stmt, err)) {
        seqs[*n] = sqlite3_column_int64(stmt, 0);
        (*list)[(*n)++].delta_vs_parent =
            (struct lineage_number){sqlite3_column_type(stmt, 1) == SQLITE_FLOAT, sqlite3_column_double(stmt, 1)};
    }
    status = mirror_end_rows(stmt, status);
    /* The trials are read after the walk, because mirror_borrow runs a statement of its own. */
    for (size_t i = 0; status == LINEAGE_OK && i < *n; i++)
        status = mirror_borrow(mirror, seqs[i], &(*list)[i].trial, arena, err);
    return status;
}

enum lineage_status mirror_median_seconds(struct mirror *mirror, struct lineage_number *seconds, struct lineage_error *err)
{
    static const char sql[] =
        "WITH s AS MATERIALIZED (SELECT coalesce(t.total_s, t.train_s) AS x FROM trials t WHERE " NEWEST
        "AND t.status IN ('keep', 'discard', 'baseline') AND coalesce(t.total_s, t.train_s) BETWEEN 0 AND 1e300) "
        "SELECT avg(x) FROM (SELECT x FROM s ORDER BY x LIMIT 2 - (SELECT count(*) FROM s) % 2 "
        "OFFSET max(((SELECT count(*) FROM s) - 1) / 2, 0))";
    sqlite3_stmt *stmt;
    *seconds = (struct lineage_number){0};
    enum lineage_status status = mirror_row(mirror, &stmt, err, sql, "");
    if (status == LINEAGE_OK && sqlite3_column_type(stmt, 0) == SQLITE_FLOAT)
        *seconds = (struct lineage_number){true, sqlite3_column_double(stmt, 0)};
    sqlite3_reset(stmt);
    return status;
}

/* ---- proposers ---- */

/* There is no table of sums for proposers, because few stores name a proposer, and those have only as many trials as
 * nights can run. */
static const char proposers_sql[] =
    "SELECT name, count(*), sum(status = 'keep'), sum(told), sum(told AND expected * delta > 0), "
    "avg(CASE WHEN told THEN expected END), avg(CASE WHEN told THEN delta END), "
    "avg(CASE WHEN told THEN abs(expected - delta) END), "
    "sum(CASE WHEN status = 'keep' THEN delta ELSE 0 END) / nullif(sum(coalesce(total_s, 0)) / 3600, 0) "
    "FROM (SELECT p.value AS name, t.status, t.expected, t.delta_vs_best AS delta, t.total_s, "
    "t.status IN ('keep', 'discard') AND abs(t.expected) < 9e999 AND abs(t.delta_vs_best) < 9e999 AS told "
    "FROM param_rows p JOIN trials t ON t.seq = p.seq "
    "WHERE p.key = 'proposer' AND typeof(p.value) = 'text' AND t.status <> 'harness_abort') "
    "GROUP BY name ORDER BY count(*) DESC, name LIMIT ?1";

static struct lineage_report_proposer read_proposer(sqlite3_stmt *stmt, bool lower, struct arena *arena)
{
    double gain = sqlite3_column_double(stmt, 8);
    return (struct lineage_report_proposer){
        .name = text_of(stmt, 0, arena),
        .n = (uint64_t)sqlite3_column_int64(stmt, 1),
        .kept = (uint64_t)sqlite3_column_int64(stmt, 2),
        .n_expected = (uint64_t)sqlite3_column_int64(stmt, 3),
        .same_sign = (uint64_t)sqlite3_column_int64(stmt, 4),
        .expected = sqlite3_column_double(stmt, 5),
        .happened = sqlite3_column_double(stmt, 6),
        .error = sqlite3_column_double(stmt, 7),
        .gain_per_hour = {sqlite3_column_type(stmt, 8) == SQLITE_FLOAT, lower ? 0 - gain : gain}};
}

enum lineage_status mirror_proposers(struct mirror *mirror, size_t limit, bool lower, struct lineage_report_proposer **list,
                                     size_t *n, struct arena *arena, struct lineage_error *err)
{
    sqlite3_stmt *stmt = NULL;
    *n = 0;
    *list = arena_alloc(arena, limit, sizeof **list);
    enum lineage_status status =
        *list ? mirror_rows(mirror, &stmt, err, proposers_sql, "i", (int64_t)limit) : store_no_memory(err);
    while (*n < limit && mirror_next(&status, mirror, stmt, err)) {
        (*list)[*n] = read_proposer(stmt, lower, arena);
        if (!(*list)[(*n)++].name)
            status = store_no_memory(err);
    }
    return mirror_end_rows(stmt, status);
}
