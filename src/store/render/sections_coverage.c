/* sections_coverage.c: what was tried and how it ended, from the mirror's sums. */
#include <string.h>

#include <lineage/text.h>

#include "native.h"

#define MAX_KEYS 12
#define MAX_VALUES 12
#define MAX_SPECIALISTS 12

/* The outcomes of one parameter value. */
static void add_outcome(struct buf *out, struct native *n, sqlite3_stmt *stmt, bool first)
{
    bool higher = n->store->config.direction == LINEAGE_HIGHER;
    char number[NUMBER_TEXT_MAX];
    int at = higher ? 4 : 3;
    buf_printf(out, "%s%lld %s", first ? " (" : ", ", (long long)sqlite3_column_int64(stmt, 2),
               (const char *)sqlite3_column_text(stmt, 1));
    if (sqlite3_column_type(stmt, at) != SQLITE_NULL)
        buf_printf(out, " %s", metric_text(number, (struct lineage_number){true, sqlite3_column_double(stmt, at)}));
}

/* `- alpha: 0.3 (1 keep 34.960000), 0.9 (1 eval_budget_overrun)` */
static enum lineage_status add_values(struct buf *out, struct native *n, const char *key, struct lineage_error *err)
{
    static const char sql[] = "SELECT value, status, n, low, high FROM param_values WHERE key = ?1 ORDER BY value, status";
    char number[LINEAGE_NUMBER_MAX];
    double last = 0;
    size_t values = 0;
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(n->store->mirror, &stmt, sql, err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, key, -1, SQLITE_TRANSIENT);
    buf_puts(out, "- **");
    add_safe(out, key, 0);
    buf_puts(out, "**:");
    while ((status = mirror_step(n->store->mirror, stmt, err)) == LINEAGE_OK) {
        double value = sqlite3_column_double(stmt, 0);
        bool first = !values || value != last;
        if (first && values == MAX_VALUES) {
            buf_puts(out, "), and more");
            break;
        }
        if (first)
            buf_printf(out, "%s %s", values++ ? ")," : "", lineage_number_format(number, value));
        add_outcome(out, n, stmt, first);
        last = value;
    }
    buf_puts(out, status == LINEAGE_ENOTFOUND ? ")\n" : "\n");
    sqlite3_reset(stmt);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* Each key by one look-up of the next larger: a parameter such as seed may have a million values. */
static const char keys_sql[] =
    "WITH RECURSIVE k(key) AS (SELECT min(key) FROM param_values UNION ALL"
    " SELECT (SELECT min(key) FROM param_values p WHERE p.key > k.key) FROM k WHERE k.key IS NOT NULL)"
    " SELECT key FROM k WHERE key IS NOT NULL"
    " ORDER BY CASE key WHEN 'alpha' THEN 0 WHEN 'beta' THEN 1 WHEN 'gamma' THEN 2 ELSE 3 END, key";

enum lineage_status section_sweep(struct buf *out, struct native *n, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    struct arena arena = {0};
    const char *keys[MAX_KEYS];
    size_t n_keys = 0, left_out = 0;
    enum lineage_status status = mirror_prepare(n->store->mirror, &stmt, keys_sql, err);
    while (status == LINEAGE_OK && (status = mirror_step(n->store->mirror, stmt, err)) == LINEAGE_OK) {
        const char *key = (const char *)sqlite3_column_text(stmt, 0);
        if (n_keys == MAX_KEYS)
            left_out++;
        else if (!(keys[n_keys++] = arena_text(&arena, key, strlen(key))))
            status = store_fail(err, LINEAGE_ENOMEM, "out of memory");
    }
    if (status == LINEAGE_ENOTFOUND)
        status = LINEAGE_OK;
    if (n_keys)
        buf_printf(out, "\n## Sweep Coverage (value, outcomes, best %s)\n", n->metric);
    for (size_t i = 0; status == LINEAGE_OK && i < n_keys; i++)
        status = add_values(out, n, keys[i], err);
    if (left_out)
        buf_printf(out, "- and %zu more parameters\n", left_out);
    arena_release(&arena);
    return status;
}

/* `- **crash**: 7 (opt 5, arch 2)`, the label with most failures first */
enum lineage_status section_failures(struct buf *out, struct native *n, struct lineage_error *err)
{
    static const char sql[] =
        "SELECT status, specialist, n, sum(n) OVER (PARTITION BY status) AS total FROM label_counts"
        " WHERE status NOT IN ('keep', 'discard', 'baseline', 'harness_abort')"
        " ORDER BY total DESC, status, n DESC, specialist";
    sqlite3_stmt *stmt;
    char last[LINEAGE_NAME_MAX] = "";
    size_t shown = 0;
    enum lineage_status status = mirror_prepare(n->store->mirror, &stmt, sql, err);
    while (status == LINEAGE_OK && (status = mirror_step(n->store->mirror, stmt, err)) == LINEAGE_OK) {
        const char *label = (const char *)sqlite3_column_text(stmt, 0);
        const char *specialist = (const char *)sqlite3_column_text(stmt, 1);
        if (strcmp(last, label) != 0) {
            buf_puts(out, last[0] ? ")\n" : "\n## Failure Classes (where they cluster)\n");
            buf_printf(out, "- **%s**: %lld (", label, (long long)sqlite3_column_int64(stmt, 3));
            strncpy(last, label, sizeof last - 1);
            shown = 0;
        }
        if (++shown > MAX_SPECIALISTS) {
            buf_puts(out, shown == MAX_SPECIALISTS + 1 ? ", ..." : "");
            continue;
        }
        buf_puts(out, shown > 1 ? ", " : "");
        add_safe(out, specialist[0] ? specialist : "—", 40);
        buf_printf(out, " %lld", (long long)sqlite3_column_int64(stmt, 2));
    }
    buf_puts(out, last[0] ? ")\n" : "");
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

enum lineage_status section_calibration(struct buf *out, struct native *n, struct lineage_error *err)
{
    static const char sql[] = "SELECT specialist, n, same_sign, expected_sum / n, actual_sum / n, error_sum / n"
                              " FROM calibration WHERE n > 0 ORDER BY n DESC, specialist LIMIT 12";
    sqlite3_stmt *stmt;
    char number[NUMBER_TEXT_MAX];
    bool any = false;
    enum lineage_status status = mirror_prepare(n->store->mirror, &stmt, sql, err);
    while (status == LINEAGE_OK && (status = mirror_step(n->store->mirror, stmt, err)) == LINEAGE_OK) {
        if (!any)
            buf_puts(out, "\n## Calibration (expected_delta against delta_vs_best)\n\n"
                          "| specialist | trials | same sign | expected | happened | mean error |\n"
                          "|---|---|---|---|---|---|\n");
        any = true;
        buf_puts(out, "| ");
        add_safe(out, (const char *)sqlite3_column_text(stmt, 0), 40);
        buf_printf(out, " | %lld | %lld", (long long)sqlite3_column_int64(stmt, 1),
                   (long long)sqlite3_column_int64(stmt, 2));
        for (int i = 3; i < 5; i++)
            buf_printf(out, " | %s", delta_text(number, (struct lineage_number){true, sqlite3_column_double(stmt, i)}));
        buf_printf(out, " | %s |\n", metric_text(number, (struct lineage_number){true, sqlite3_column_double(stmt, 5)}));
    }
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

enum lineage_status section_info_gain(struct buf *out, struct native *n, struct lineage_error *err)
{
    char number[NUMBER_TEXT_MAX];
    const struct lineage_trial *best = &n->best;
    (void)err;
    if (!best->n_turns)
        return LINEAGE_OK;
    buf_puts(out, "\n## Information Gain by Turn (");
    add_id(out, best->exp_id);
    buf_puts(out, ")\n\n| turn | mean | std |\n|---|---|---|\n");
    for (size_t i = 0; i < best->n_turns; i++) {
        buf_printf(out, "| %u | %s", best->turns[i].turn,
                   delta_text(number, (struct lineage_number){true, best->turns[i].mean}));
        buf_printf(out, " | %s |\n", metric_text(number, (struct lineage_number){true, best->turns[i].std}));
    }
    return LINEAGE_OK;
}
