/*
 * compare_mirrors.c: compares lineage.db with a mirror just built from results.tsv, row by row in every table. Only the first
 * difference of each table is reported, because the others usually follow from it and the remedy (`lineage rebuild`) is the same.
 */
#include <time.h>

#include <lineage/verify.h>

#include "../mirror/connection.h"
#include "../mirror/statement.h"
#include "mirror_checks.h"

/* How far lineage.db has read, according to itself; rows is -1 if it has read nothing yet. */
struct verify_extent {
    int64_t rows, watermark, size, provisional;
};

/* One statement per table. Its first columns are line and exp_id. ?1 is the last row to compare and ?2 the end of its bytes. Sums
 * are changed by each trial, so they are compared only if both sides have read the same bytes. */
static const struct {
    const char *table, *sql;
    bool sums;
} tables[] = {
    {"trials", "SELECT t.line, t.exp_id, t.* FROM trials t WHERE t.seq <= ?1 AND ?2 ORDER BY t.seq", false},
#define PART(table, from, order)                                                                                                 \
    {table,                                                                                                                      \
     "SELECT t.line, t.exp_id, p.* FROM " from                                                                                   \
     " p LEFT JOIN trials t ON t.seq = p.seq WHERE p.seq <= ?1 AND ?2 ORDER BY " order,                                          \
     false}
    PART("params", "param_rows", "p.key, p.value, p.seq"),
    PART("turn_stats", "turn_stats", "p.seq, p.turn"),
    PART("step_metrics", "step_metrics", "p.seq, p.step, p.key"),
    PART("extras", "extras", "p.seq, p.name"),
    PART("metrics", "metric_rows", "p.seq, p.name"),
    PART("night_rows", "night_rows", "p.seq"),
    PART("again_rows", "again_rows", "p.seq"),
    PART("voided", "voided", "p.seq"),
    PART("judged", "judged", "p.seq"),
#undef PART
    {"findings", "SELECT line, exp_id, f.* FROM findings f WHERE ?1 >= 0 AND offset < ?2 ORDER BY offset", false},
    {"label_counts", "SELECT 0, '', c.* FROM label_counts c WHERE ?1 >= 0 AND ?2 ORDER BY specialist, status", true},
    {"param_values", "SELECT 0, '', v.* FROM param_values v WHERE ?1 >= 0 AND ?2 ORDER BY key, value, status", true},
    {"ancestors",
     "SELECT t.line, t.exp_id, a.* FROM ancestors a LEFT JOIN trials t ON t.seq = a.seq WHERE ?1 >= 0 AND ?2 ORDER BY a.seq",
     true},
    {"calibration", "SELECT 0, '', c.* FROM calibration c WHERE ?1 >= 0 AND ?2 ORDER BY specialist", true},
};

struct comparison {
    const char *table;
    sqlite3_stmt *mirror, *truth;
    lineage_finding_fn *report;
    void *context;
};

/* Compares numbers exactly too: both sides were computed from the same bytes in the same order, so even a difference in
 * the last digit is a fault. */
static bool same_value(sqlite3_value *a, sqlite3_value *b)
{
    int type = sqlite3_value_type(a);
    if (type != sqlite3_value_type(b))
        return false;
    if (type == SQLITE_INTEGER)
        return sqlite3_value_int64(a) == sqlite3_value_int64(b);
    if (type == SQLITE_FLOAT)
        return sqlite3_value_double(a) == sqlite3_value_double(b);
    int n = sqlite3_value_bytes(a);
    return type == SQLITE_NULL ||
           (n == sqlite3_value_bytes(b) && memcmp(sqlite3_value_text(a), sqlite3_value_text(b), (size_t)n) == 0);
}

/* Every finding ends with the remedy, because there is only one remedy and it is harmless. */
static void report(const struct comparison *c, sqlite3_stmt *at, const char *what)
{
    char text[200];
    struct lineage_finding finding = {"mirror", (uint64_t)sqlite3_column_int64(at, 0), mirror_text(at, 1), text};
    sqlite3_snprintf(sizeof text, text, "lineage.db: table %s: %s; run 'lineage rebuild'", c->table, what);
    c->report(c->context, &finding);
}

/* Distinguishes a changed record from a wrong value: if position or bytes differ, somebody edited the log; otherwise
 * the mirror is at fault. */
static void report_column(const struct comparison *c, int column)
{
    static const char *const place[] = {"line", "offset", "length", "digest"};
    char what[120];
    const char *name = sqlite3_column_name(c->truth, column);
    for (size_t i = 0; i < sizeof place / sizeof *place; i++)
        if (strcmp(name, place[i]) == 0) {
            report(c, c->truth, "the record changed since lineage.db was made");
            return;
        }
    sqlite3_snprintf(sizeof what, what, "%s is not what results.tsv says", name);
    report(c, c->truth, what);
}

/* Returns false at the first difference. */
static bool compare_rows(const struct comparison *c)
{
    for (int i = 2; i < sqlite3_column_count(c->truth); i++)
        if (!same_value(sqlite3_column_value(c->mirror, i), sqlite3_column_value(c->truth, i))) {
            report_column(c, i);
            return false;
        }
    return true;
}

/* Steps both statements together, so that only one row of each is in memory, however large the tables are. */
static int compare_table(const struct comparison *c)
{
    for (;;) {
        int mirror = sqlite3_step(c->mirror), truth = sqlite3_step(c->truth);
        if (mirror != SQLITE_ROW && mirror != SQLITE_DONE)
            return mirror;
        if (truth != SQLITE_ROW && truth != SQLITE_DONE)
            return truth;
        if (mirror == SQLITE_DONE && truth == SQLITE_DONE)
            return SQLITE_OK;
        if (mirror == SQLITE_DONE)
            report(c, c->truth, "a row of results.tsv is missing");
        else if (truth == SQLITE_DONE)
            report(c, c->mirror, "a row is not in results.tsv");
        if (mirror != truth || !compare_rows(c))
            return SQLITE_OK;
    }
}

/* The extent is read from the file and not from the handle, because the file is what is being checked. */
static enum lineage_status verify_extent_read(struct mirror *mirror, struct verify_extent *extent, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, "SELECT rows, watermark, size, provisional > 0 FROM meta", err);
    *extent = (struct verify_extent){.rows = -1};
    while (mirror_next(&status, mirror, stmt, err))
        *extent = (struct verify_extent){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
                                         sqlite3_column_int64(stmt, 2), sqlite3_column_int64(stmt, 3)};
    return status;
}

/* Other processes may write meanwhile. Inside the transaction lineage.db does not change. If lineage.db has read more
 * of the log than `truth`, `truth` is synced first. Only rows of terminated records are compared, unless both mirrors
 * saw the log at the same length. */
static enum lineage_status compare_tables(struct mirror *mirror, struct mirror *truth, lineage_finding_fn *report_one,
                                          void *context, struct lineage_error *err)
{
    struct verify_extent extent;
    enum lineage_status status = verify_extent_read(mirror, &extent, err);
    if (status == LINEAGE_OK && (uint64_t)extent.size > mirror_position(truth)->log.size)
        status = mirror_sync(truth, err);
    bool whole = (uint64_t)extent.size == mirror_position(truth)->log.size;
    int64_t rows = extent.rows + (whole ? extent.provisional : 0);
    for (size_t i = 0; status == LINEAGE_OK && rows >= 0 && i < sizeof tables / sizeof *tables; i++) {
        struct comparison c = {.table = tables[i].table, .report = report_one, .context = context};
        if (tables[i].sums && !whole)
            continue;
        status = mirror_rows(mirror, &c.mirror, err, tables[i].sql, "ii", rows, extent.watermark);
        if (status == LINEAGE_OK)
            status = mirror_rows(truth, &c.truth, err, tables[i].sql, "ii", rows, extent.watermark);
        if (status == LINEAGE_OK && compare_table(&c) != SQLITE_OK)
            status = mirror_fail(mirror, "cannot compare it with results.tsv", err);
        sqlite3_reset(c.mirror);
        sqlite3_reset(c.truth);
    }
    return status;
}

/* SQLite checks its trees and indexes, because an index with a missing entry gives wrong answers although each table is
 * correct. Five messages are enough, because the remedy is the same for one fault and for a thousand. */
static enum lineage_status verify_integrity(struct mirror *mirror, lineage_finding_fn *report_one, void *context,
                                            struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, "PRAGMA integrity_check(5)", err);
    while (mirror_next(&status, mirror, stmt, err)) {
        const struct lineage_finding finding = {"mirror", 0, "", mirror_text(stmt, 0)};
        if (strcmp(finding.text, "ok") != 0)
            report_one(context, &finding);
    }
    return status;
}

/* BEGIN is used without IMMEDIATE, because the check only reads and writers can continue. */
static enum lineage_status check_once(struct mirror *mirror, struct mirror *truth, lineage_finding_fn *report_one, void *context,
                                      struct lineage_error *err)
{
    TRY(mirror_exec(mirror, "BEGIN", err));
    enum lineage_status status = verify_integrity(mirror, report_one, context, err);
    if (status == LINEAGE_OK)
        status = compare_tables(mirror, truth, report_one, context, err);
    sqlite3_exec(mirror_db(mirror), "ROLLBACK", NULL, NULL, NULL);
    return status;
}

static void count_finding(void *context, const struct lineage_finding *finding)
{
    (void)finding;
    ++*(size_t *)context;
}

enum { LOOKS = 5, PAUSE_MS = 50 };

/* Differences are reported only if several checks in a row find some. A writer that finds a torn end mends the log
 * first and then the mirror, so the two may differ for a moment although nothing is wrong. */
enum lineage_status mirror_check(struct mirror *mirror, struct mirror *truth, lineage_finding_fn *report_one, void *context,
                                 struct lineage_error *err)
{
    const struct timespec pause = {0, PAUSE_MS * 1000000L};
    if (mirror_can_thaw(mirror)) /* each check reads one state of the file */
        (void)!mirror_connect(mirror, MIRROR_WRITE, NULL);
    for (int look = 1; look < LOOKS; look++) {
        size_t n = 0;
        enum lineage_status status = check_once(mirror, truth, count_finding, &n, NULL);
        if (status == LINEAGE_OK && !n)
            return LINEAGE_OK;
        nanosleep(&pause, NULL);
        mirror_forget_damage(mirror);
        TRY(mirror_sync(truth, err));
    }
    return check_once(mirror, truth, report_one, context, err);
}
