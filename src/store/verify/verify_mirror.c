/*
 * verify_mirror.c: compares lineage.db with a mirror just built in memory from results.tsv, row by row in every table.
 * Only the first difference of each table is reported, because the others usually follow from it and the remedy
 * (`lineage rebuild`) is the same.
 */
#include "verify_mirror.h"

#include <string.h>
#include <time.h>

/* One statement per table. Its first columns are line and exp_id. ?1 is the last row of the stretch and ?2 the end of
 * its bytes; ?3 is the row and ?4 the byte where the stretch begins. LEFT, because verify_in_pieces.c compares parts of trials that
 * it has not inserted. */
static const struct {
    const char *table, *sql;
    enum verify_kind kind;
} tables[] = {
    {"trials", "SELECT t.line, t.exp_id, t.* FROM trials t WHERE t.seq <= ?1 AND ?2 AND t.seq > ?3 ORDER BY t.seq",
     VERIFY_TRIALS},
    {"params",
     "SELECT t.line, t.exp_id, p.* FROM param_rows p JOIN trials t ON t.seq = p.seq"
     " WHERE p.seq <= ?1 AND ?2 ORDER BY p.key, p.value, p.seq",
     VERIFY_PARAMS},
    {"turn_stats",
     "SELECT t.line, t.exp_id, s.* FROM turn_stats s LEFT JOIN trials t ON t.seq = s.seq"
     " WHERE s.seq <= ?1 AND ?2 AND s.seq > ?3 ORDER BY s.seq, s.turn",
     VERIFY_BY_ROW},
    {"step_metrics",
     "SELECT t.line, t.exp_id, s.* FROM step_metrics s LEFT JOIN trials t ON t.seq = s.seq"
     " WHERE s.seq <= ?1 AND ?2 AND s.seq > ?3 ORDER BY s.seq, s.step, s.key",
     VERIFY_BY_ROW},
    {"extras",
     "SELECT t.line, t.exp_id, e.* FROM extras e LEFT JOIN trials t ON t.seq = e.seq"
     " WHERE e.seq <= ?1 AND ?2 AND e.seq > ?3 ORDER BY e.seq, e.name",
     VERIFY_BY_ROW},
    {"metrics",
     "SELECT t.line, t.exp_id, m.* FROM metric_rows m LEFT JOIN trials t ON t.seq = m.seq"
     " WHERE m.seq <= ?1 AND ?2 AND m.seq > ?3 ORDER BY m.seq, m.name",
     VERIFY_BY_ROW},
    {"night_rows",
     "SELECT t.line, t.exp_id, n.* FROM night_rows n LEFT JOIN trials t ON t.seq = n.seq"
     " WHERE n.seq <= ?1 AND ?2 AND n.seq > ?3 ORDER BY n.seq",
     VERIFY_BY_ROW},
    {"again_rows",
     "SELECT t.line, t.exp_id, a.* FROM again_rows a LEFT JOIN trials t ON t.seq = a.seq"
     " WHERE a.seq <= ?1 AND ?2 AND a.seq > ?3 ORDER BY a.seq",
     VERIFY_BY_ROW},
    {"voided",
     "SELECT t.line, t.exp_id, v.* FROM voided v LEFT JOIN trials t ON t.seq = v.seq"
     " WHERE v.seq <= ?1 AND ?2 AND v.seq > ?3 ORDER BY v.seq",
     VERIFY_BY_ROW},
    {"judged",
     "SELECT t.line, t.exp_id, j.* FROM judged j LEFT JOIN trials t ON t.seq = j.seq"
     " WHERE j.seq <= ?1 AND ?2 AND j.seq > ?3 ORDER BY j.seq",
     VERIFY_BY_ROW},
    {"findings",
     "SELECT line, exp_id, f.* FROM findings f WHERE ?1 >= 0 AND offset < ?2 AND ?3 >= 0 AND offset >= ?4 ORDER BY"
     " offset",
     VERIFY_BY_ROW},
    {"label_counts", "SELECT 0, '', c.* FROM label_counts c WHERE ?1 >= 0 AND ?2 ORDER BY specialist, status", VERIFY_SUMS},
    {"param_values", "SELECT 0, '', v.* FROM param_values v WHERE ?1 >= 0 AND ?2 ORDER BY key, value, status", VERIFY_VALUES},
    {"ancestors",
     "SELECT t.line, t.exp_id, a.* FROM ancestors a LEFT JOIN trials t ON t.seq = a.seq WHERE ?1 >= 0 AND ?2 ORDER BY a.seq",
     VERIFY_VALUES},
    {"calibration", "SELECT 0, '', c.* FROM calibration c WHERE ?1 >= 0 AND ?2 ORDER BY specialist", VERIFY_SUMS},
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

/* Statements are not cached, because each is used once per database. Not every statement uses all four values. */
static int prepare(sqlite3 *db, sqlite3_stmt **stmt, const char *sql, const struct verify_stretch *stretch)
{
    int code = sqlite3_prepare_v2(db, sql, -1, stmt, NULL);
    if (code == SQLITE_OK) {
        sqlite3_bind_int64(*stmt, 1, stretch->rows);
        sqlite3_bind_int64(*stmt, 2, stretch->watermark);
        sqlite3_bind_int64(*stmt, 3, stretch->after_row);
        sqlite3_bind_int64(*stmt, 4, stretch->from);
    }
    return code;
}

/* The extent is read from the file and not from the handle, because the file is what is being checked. */
enum lineage_status verify_extent_read(struct mirror *mirror, struct verify_extent *extent, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, "SELECT rows, watermark, size, provisional > 0 FROM meta", err);
    *extent = (struct verify_extent){.rows = -1};
    if (status == LINEAGE_OK && (status = mirror_step(mirror, stmt, err)) == LINEAGE_OK) {
        *extent = (struct verify_extent){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
                                         sqlite3_column_int64(stmt, 2), sqlite3_column_int64(stmt, 3)};
        sqlite3_reset(stmt);
    }
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

enum lineage_status verify_tables(struct mirror *mirror, struct mirror *truth, unsigned kinds,
                                  const struct verify_stretch *stretch, lineage_finding_fn *report_one, void *context,
                                  struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < sizeof tables / sizeof *tables; i++) {
        struct comparison c = {.table = tables[i].table, .report = report_one, .context = context};
        if (!(tables[i].kind & kinds))
            continue;
        int code = prepare(mirror_db(mirror), &c.mirror, tables[i].sql, stretch);
        if (code == SQLITE_OK)
            code = prepare(mirror_db(truth), &c.truth, tables[i].sql, stretch);
        if (code == SQLITE_OK)
            code = compare_table(&c);
        if (code != SQLITE_OK)
            status = mirror_fail(mirror, "cannot compare it with results.tsv", err);
        sqlite3_finalize(c.mirror);
        sqlite3_finalize(c.truth);
    }
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
    struct verify_stretch all = {.rows = extent.rows + (whole ? extent.provisional : 0), .watermark = extent.watermark};
    if (status != LINEAGE_OK || all.rows < 0)
        return status;
    unsigned kinds = VERIFY_TRIALS | VERIFY_BY_ROW | VERIFY_PARAMS | (whole ? VERIFY_SUMS | VERIFY_VALUES : 0);
    return verify_tables(mirror, truth, kinds, &all, report_one, context, err);
}

/* SQLite checks its trees and indexes, because an index with a missing entry gives wrong answers although each table is
 * correct. Five messages are enough, because the remedy is the same for one fault and for a thousand. */
enum lineage_status verify_integrity(struct mirror *mirror, lineage_finding_fn *report_one, void *context,
                                     struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, "PRAGMA integrity_check(5)", err);
    while (status == LINEAGE_OK && (status = mirror_step(mirror, stmt, err)) == LINEAGE_OK) {
        const struct lineage_finding finding = {"mirror", 0, "", mirror_text(stmt, 0)};
        if (strcmp(finding.text, "ok") != 0)
            report_one(context, &finding);
    }
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* BEGIN is used without IMMEDIATE, because the check only reads and writers can continue. */
static enum lineage_status check_once(struct mirror *mirror, struct mirror *truth, lineage_finding_fn *report_one, void *context,
                                      struct lineage_error *err)
{
    enum lineage_status status = mirror_exec(mirror, "BEGIN", err);
    if (status != LINEAGE_OK)
        return status;
    status = verify_integrity(mirror, report_one, context, err);
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
    for (int look = 1; look < LOOKS; look++) {
        size_t n = 0;
        enum lineage_status status = check_once(mirror, truth, count_finding, &n, NULL);
        if (status == LINEAGE_OK && !n)
            return LINEAGE_OK;
        nanosleep(&pause, NULL);
        mirror_forget_damage(mirror);
        status = mirror_sync(truth, err);
        if (status != LINEAGE_OK)
            return status;
    }
    return check_once(mirror, truth, report_one, context, err);
}
