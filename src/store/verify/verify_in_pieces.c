/*
 * verify_in_pieces.c: checks whether lineage.db is sound, one part of the log at a time.
 *
 * Most stores are sound, and a second mirror of the whole log is not needed to confirm that. The code that fills
 * lineage.db computes the rows of the log again. Each row of `trials` is compared at once with the next one of lineage.db.
 * The other tables, which most trials leave empty, are filled in memory, some ten thousand trials at a time, compared and
 * dropped. Parameters, whose rows are not in the order of the log, are compared by the sum of a hash of each row.
 * param_values is computed again from param_rows, which has the same order, and from the label and score of each row, for
 * which nine bytes per row are kept.
 *
 * A trial that is void differs from its row, and the row that voids it may be in another piece. So a log that voids trials
 * is left to mirror_check, like a mirror that is not sound.
 *
 * The result is only yes or no. After a no, mirror_check finds out what is wrong, with a complete mirror in memory.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include <lineage/verify.h>
#include <lineage/voids.h>

#include "../mirror/ancestors.h"
#include "../mirror/connection.h"
#include "../mirror/ingest.h"
#include "../mirror/meta.h"
#include "../mirror/statement.h"
#include "mirror_checks.h"

/* ---- compares the tables of two mirrors row by row ---- */

/* compares lineage.db with a mirror just built in memory from results.tsv, row by row in every table.
 * Only the first difference of each table is reported, because the others usually follow from it and the remedy
 * (`lineage rebuild`) is the same. */

/* How a table grows with the log. This decides which part of the table can be compared separately. */
enum verify_kind {
    VERIFY_BY_ROW = 1, /* new rows go to the end: any stretch of rows can be compared */
    VERIFY_PARAMS = 2, /* new rows go anywhere, by value: all rows up to some seq can be compared */
    VERIFY_SUMS = 4,   /* few rows, changed by each trial: compared only if both sides have read the same bytes */
    VERIFY_TRIALS = 16, /* like VERIFY_BY_ROW, and one row for each row of the log */
    VERIFY_VALUES = 8  /* like VERIFY_SUMS, with as many rows as values or trials */
};

/* A stretch to compare: rows (after_row, rows] and findings from byte `from` up to `watermark`. */
struct verify_stretch {
    int64_t after_row, rows, from, watermark;
};

/* How far lineage.db has read, according to itself; rows is -1 if it has read nothing yet. */
struct verify_extent {
    int64_t rows, watermark, size, provisional;
};

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
static enum lineage_status verify_extent_read(struct mirror *mirror, struct verify_extent *extent, struct lineage_error *err)
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

/* Compares the tables of these kinds; reports the first difference of each. */
static enum lineage_status verify_tables(struct mirror *mirror, struct mirror *truth, unsigned kinds,
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

/* Runs SQLite's own check of its trees and indexes.
 * SQLite checks its trees and indexes, because an index with a missing entry gives wrong answers although each table is
 * correct. Five messages are enough, because the remedy is the same for one fault and for a thousand. */
static enum lineage_status verify_integrity(struct mirror *mirror, lineage_finding_fn *report_one, void *context,
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

/* ---- checks whether lineage.db is sound, one part of the log at a time ---- */

enum { PIECE_ROWS = 1 << 13 };
#define PIECE_BYTES ((int64_t)32 << 20)

struct pieces {
    struct mirror *mirror, *apart;
    struct verify_extent extent;
    struct log_state log;
    sqlite3_stmt *trials;  /* the rows of the mirror, at the last one that was compared */
    uint64_t params;       /* sum of the hashes of the rows of param_rows, computed from the log */
    double *scores;        /* [rows + 1], nan: no finite score */
    unsigned char *labels; /* [rows + 1] */
};

/* Turns a difference into LINEAGE_ENOTFOUND, which means here that the mirror is not sound. */
static enum lineage_status unless(bool wrong)
{
    return wrong ? LINEAGE_ENOTFOUND : LINEAGE_OK;
}

/* Hashes a row of param_rows; text is NULL if the value is a number. Equal numbers have equal bits here, because adding 0
 * makes 0 of -0. */
static uint64_t hash_param(const char *key, const char *text, double number, int64_t seq)
{
    uint64_t hash = XXH3_64bits_withSeed(key, strlen(key), (uint64_t)seq);
    if (text)
        return XXH3_64bits_withSeed(text, strlen(text), hash + 1);
    number += 0.0;
    return XXH3_64bits_withSeed(&number, sizeof number, hash);
}

static uint64_t hash_param_row(sqlite3_stmt *row)
{
    const bool is_number = sqlite3_column_type(row, 1) == SQLITE_FLOAT;
    return hash_param(mirror_text(row, 0), is_number ? NULL : mirror_text(row, 1), is_number ? sqlite3_column_double(row, 1) : 0,
                      sqlite3_column_int64(row, 2));
}

static bool is_value(sqlite3_stmt *row, int column, const struct mirror_value *value)
{
    if (sqlite3_column_type(row, column) != value->type)
        return false;
    if (value->type == SQLITE_INTEGER)
        return sqlite3_column_int64(row, column) == value->as.integer;
    if (value->type == SQLITE_FLOAT)
        return sqlite3_column_double(row, column) == value->as.number;
    if (value->type == SQLITE_NULL)
        return true;
    const char *text = mirror_text(row, column);
    size_t n = strlen(value->as.text);
    return (size_t)sqlite3_column_bytes(row, column) == n && memcmp(text, value->as.text, n) == 0;
}

/* Compares a trial of the log with the next row of the mirror, and keeps what the tables of parameters are compared with. */
static enum lineage_status compare_trial(void *context, const struct lineage_trial *trial,
                                         const struct mirror_value values[MIRROR_TRIAL_VALUES], struct lineage_error *err)
{
    struct pieces *p = context;
    const bool scored = trial->score.present && isfinite(trial->score.value);
    enum lineage_status status =
        (int64_t)trial->seq <= p->extent.rows ? mirror_step(p->mirror, p->trials, err) : LINEAGE_ENOTFOUND;
    if (status != LINEAGE_OK)
        return status;
    bool same = !lineage_is_void_row(trial, NULL) && sqlite3_column_count(p->trials) == MIRROR_TRIAL_VALUES;
    for (int i = 0; same && i < MIRROR_TRIAL_VALUES; i++)
        same = is_value(p->trials, i, &values[i]);
    for (size_t i = 0; i < trial->n_params; i++)
        if (trial->params[i].text || !isnan(trial->params[i].value)) /* param_batch.c leaves the others out, too */
            p->params += hash_param(trial->params[i].name, trial->params[i].text, trial->params[i].value, (int64_t)trial->seq);
    p->labels[trial->seq] = (unsigned char)trial->status;
    p->scores[trial->seq] = scored ? trial->score.value : (double)NAN;
    return unless(!same);
}

/* Finds the position at which the row with that number ends. */
static enum lineage_status end_of_row(struct pieces *p, int64_t seq, int64_t *end)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(p->mirror, &stmt, "SELECT offset + length FROM trials WHERE seq = ?1", NULL);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_int64(stmt, 1, seq);
    status = mirror_step(p->mirror, stmt, NULL);
    if (status == LINEAGE_OK)
        *end = sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);
    return status;
}

/* The next stretch ends with a row of lineage.db. If that row does not exist, or no row ends there, the mirror is not
 * sound. */
static enum lineage_status next_stretch(struct pieces *p, struct verify_stretch *next)
{
    int64_t rows = PIECE_ROWS, from = next->watermark, after = next->rows;
    enum lineage_status status;
    do {
        *next = (struct verify_stretch){after, after + rows, from, p->extent.watermark};
        if (next->rows >= p->extent.rows) {
            next->rows = p->extent.rows;
            status = LINEAGE_OK;
        } else {
            status = end_of_row(p, next->rows, &next->watermark);
        }
        rows /= 2;
    } while (status == LINEAGE_OK && next->watermark - from > PIECE_BYTES && rows);
    return status == LINEAGE_OK ? unless(next->watermark <= from) : status;
}

static enum lineage_status read_stretch(struct pieces *p, const struct verify_stretch *stretch)
{
    struct log_state log = p->log;
    log.size = (uint64_t)stretch->watermark;
    enum lineage_status status = mirror_exec(p->apart, "BEGIN", NULL);
    if (status == LINEAGE_OK)
        status = mirror_ingest_parts(p->apart, &log, compare_trial, p, NULL);
    if (status == LINEAGE_OK)
        status = mirror_exec(p->apart, "COMMIT", NULL);
    const struct mirror_position *read = mirror_position(p->apart);
    return status == LINEAGE_OK ? unless(read->watermark != log.size || read->rows != (uint64_t)stretch->rows) : status;
}

static enum lineage_status compare(struct pieces *p, unsigned kinds, const struct verify_stretch *stretch)
{
    size_t n = 0;
    enum lineage_status status = verify_tables(p->mirror, p->apart, kinds, stretch, count_finding, &n, NULL);
    return status == LINEAGE_OK ? unless(n > 0) : status;
}

/* Drops the rows of the stretch. The sums per specialist are kept, because they are compared when everything has been
 * read. */
static enum lineage_status forget_rows(struct mirror *apart)
{
    return mirror_exec(apart,
                       "DELETE FROM turn_stats; DELETE FROM step_metrics; DELETE FROM extras; DELETE FROM metric_rows;"
                       "DELETE FROM night_rows; DELETE FROM again_rows; DELETE FROM findings",
                       NULL);
}

static enum lineage_status compare_pieces(struct pieces *p)
{
    struct verify_stretch stretch = {0};
    enum lineage_status status = mirror_prepare(p->mirror, &p->trials, "SELECT * FROM trials ORDER BY seq", NULL);
    while (status == LINEAGE_OK && stretch.watermark < p->extent.watermark) {
        status = next_stretch(p, &stretch);
        if (status == LINEAGE_OK)
            status = read_stretch(p, &stretch);
        if (status == LINEAGE_OK)
            status = compare(p, VERIFY_BY_ROW, &stretch);
        if (status == LINEAGE_OK)
            status = forget_rows(p->apart);
    }
    if (status == LINEAGE_OK) /* checks that no row is left over */
        status = unless(mirror_step(p->mirror, p->trials, NULL) != LINEAGE_ENOTFOUND);
    if (p->trials)
        sqlite3_reset(p->trials);
    return status == LINEAGE_OK ? compare(p, VERIFY_SUMS, &stretch) : status;
}

/* The rows of one parameter value, summed by label. */
struct group {
    sqlite3_value *key, *value;
    int64_t n[LINEAGE_N_LABELS];
    double low[LINEAGE_N_LABELS], high[LINEAGE_N_LABELS];
};

static bool same_bytes(sqlite3_value *a, sqlite3_value *b)
{
    int n = sqlite3_value_bytes(a);
    return n == sqlite3_value_bytes(b) && memcmp(sqlite3_value_text(a), sqlite3_value_text(b), (size_t)n) == 0;
}

static bool same_setting(sqlite3_value *a, sqlite3_value *b)
{
    int type = sqlite3_value_type(a);
    if (type != sqlite3_value_type(b))
        return false;
    return type == SQLITE_FLOAT ? sqlite3_value_double(a) == sqlite3_value_double(b) : same_bytes(a, b);
}

static void forget_group(struct group *group)
{
    sqlite3_value_free(group->key);
    sqlite3_value_free(group->value);
    *group = (struct group){.key = NULL};
}

static bool begin_group(struct group *group, sqlite3_stmt *row)
{
    forget_group(group);
    group->key = sqlite3_value_dup(sqlite3_column_value(row, 0));
    group->value = sqlite3_value_dup(sqlite3_column_value(row, 1));
    for (int i = 0; i < LINEAGE_N_LABELS; i++) {
        group->low[i] = INFINITY;
        group->high[i] = -INFINITY;
    }
    return group->key && group->value;
}

/* Compares a column of sums with a number, where NULL stands for a number that is not finite (no score was). */
static bool same_number(sqlite3_stmt *sum, int column, double number)
{
    if (!isfinite(number))
        return sqlite3_column_type(sum, column) == SQLITE_NULL;
    return sqlite3_column_type(sum, column) == SQLITE_FLOAT && sqlite3_column_double(sum, column) == number;
}

/* param_values must have one row for each label that occurred; its primary key guarantees that no label occurs
 * twice. */
static enum lineage_status compare_group(struct pieces *p, sqlite3_stmt *sums, const struct group *group)
{
    enum lineage_status status = LINEAGE_OK;
    enum lineage_label label;
    for (int i = 0; status == LINEAGE_OK && group->key && i < LINEAGE_N_LABELS; i++) {
        if (!group->n[i])
            continue;
        status = mirror_step(p->mirror, sums, NULL);
        if (status == LINEAGE_OK)
            status =
                unless(!same_bytes(sqlite3_column_value(sums, 0), group->key) ||
                       !same_setting(sqlite3_column_value(sums, 1), group->value) ||
                       !lineage_label_parse(&label, mirror_text(sums, 2)) || sqlite3_column_int64(sums, 3) != group->n[label] ||
                       !group->n[label] || !same_number(sums, 4, group->low[label]) || !same_number(sums, 5, group->high[label]));
    }
    return status;
}

static enum lineage_status add_to_group(struct pieces *p, sqlite3_stmt *row, struct group *group)
{
    int64_t seq = sqlite3_column_int64(row, 2);
    if (seq < 1 || seq > p->extent.rows)
        return LINEAGE_ENOTFOUND;
    int label = p->labels[seq];
    group->n[label]++;
    group->low[label] = fmin(group->low[label], p->scores[seq]); /* fmin and fmax ignore a nan */
    group->high[label] = fmax(group->high[label], p->scores[seq]);
    return LINEAGE_OK;
}

static enum lineage_status walk_params(struct pieces *p, sqlite3_stmt *rows, sqlite3_stmt *sums, struct group *group)
{
    uint64_t params = 0;
    enum lineage_status status;
    while ((status = mirror_step(p->mirror, rows, NULL)) == LINEAGE_OK) {
        params += hash_param_row(rows);
        bool same = group->key && same_bytes(sqlite3_column_value(rows, 0), group->key) &&
                    same_setting(sqlite3_column_value(rows, 1), group->value);
        if (!same) {
            status = compare_group(p, sums, group);
            if (status == LINEAGE_OK && !begin_group(group, rows))
                status = LINEAGE_ENOMEM;
        }
        if (status == LINEAGE_OK)
            status = add_to_group(p, rows, group);
        if (status != LINEAGE_OK)
            return status;
    }
    if (status != LINEAGE_ENOTFOUND)
        return status;
    status = compare_group(p, sums, group);
    if (status == LINEAGE_OK) /* checks that no row is left over */
        status = unless(mirror_step(p->mirror, sums, NULL) != LINEAGE_ENOTFOUND);
    return status == LINEAGE_OK ? unless(params != p->params) : status;
}

static enum lineage_status compare_params(struct pieces *p)
{
    sqlite3_stmt *rows, *sums = NULL;
    struct group group = {.key = NULL};
    enum lineage_status status =
        mirror_prepare(p->mirror, &rows, "SELECT key, value, seq FROM param_rows ORDER BY key, value, seq", NULL);
    if (status == LINEAGE_OK)
        status = mirror_prepare(p->mirror, &sums, "SELECT * FROM param_values ORDER BY key, value, status", NULL);
    if (status == LINEAGE_OK) {
        status = walk_params(p, rows, sums, &group);
        sqlite3_reset(rows);
        sqlite3_reset(sums);
    }
    forget_group(&group);
    return status;
}

/* Checks that the mirror covers the whole log, that the log ends in a line end, and that there is no provisional
 * row. */
static enum lineage_status is_whole(struct pieces *p)
{
    char metric[LINEAGE_NAME_MAX];
    const struct verify_extent *extent = &p->extent;
    enum lineage_status status = mirror_load_meta(p->mirror, metric, NULL);
    if (status == LINEAGE_OK)
        status = log_look(mirror_store(p->mirror)->log, &p->log, NULL);
    if (status == LINEAGE_OK)
        status = verify_extent_read(p->mirror, &p->extent, NULL);
    if (status == LINEAGE_OK)
        status = unless(extent->rows < 1 || extent->provisional || extent->watermark != extent->size ||
                        (uint64_t)extent->size != p->log.size || strcmp(metric, mirror_store(p->mirror)->config.metric) != 0);
    return status;
}

static enum lineage_status has_no_voids(struct pieces *p)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(p->mirror, &stmt, "SELECT 1 FROM judged_with LIMIT 1", NULL);
    if (status != LINEAGE_OK)
        return status;
    status = mirror_step(p->mirror, stmt, NULL);
    sqlite3_reset(stmt);
    return unless(status != LINEAGE_ENOTFOUND);
}

/* The table of ancestors is computed from other tables, which are sound if this is called. */
static enum lineage_status compare_ancestors(struct pieces *p)
{
    bool same;
    enum lineage_status status = ancestors_check(p->mirror, &same, NULL);
    return status == LINEAGE_OK ? unless(!same) : status;
}

static enum lineage_status check(struct pieces *p)
{
    size_t n = 0;
    enum lineage_status status = is_whole(p);
    if (status == LINEAGE_OK)
        status = has_no_voids(p);
    if (status == LINEAGE_OK)
        status = verify_integrity(p->mirror, count_finding, &n, NULL);
    if (status != LINEAGE_OK || n)
        return LINEAGE_ENOTFOUND;
    p->scores = malloc(((size_t)p->extent.rows + 1) * sizeof *p->scores);
    p->labels = malloc((size_t)p->extent.rows + 1);
    status = p->scores && p->labels ? compare_pieces(p) : LINEAGE_ENOMEM;
    if (status == LINEAGE_OK)
        status = compare_params(p);
    free(p->scores);
    free(p->labels);
    return status == LINEAGE_OK ? compare_ancestors(p) : status;
}

/* The larger cache speeds up look-ups of ids in random order; without it almost every look-up would read a page. */
enum lineage_status mirror_enter_sound(struct mirror *mirror, struct mirror *apart, bool *sound, struct lineage_error *err)
{
    struct pieces pieces = {.mirror = mirror, .apart = apart};
    if (mirror_can_thaw(mirror)) /* the whole check reads one state of the file */
        (void)!mirror_thaw(mirror, NULL);
    bool tried = mirror_on_disk(mirror) && !mirror_fallback(mirror) &&
                 mirror_exec(mirror, "PRAGMA cache_size = -16384; BEGIN", NULL) == LINEAGE_OK;
    *sound = tried && check(&pieces) == LINEAGE_OK;
    if (tried && !*sound)
        mirror_leave_sound(mirror);
    mirror_forget_damage(mirror); /* mirror_check looks for damage again */
    return mirror_connect(apart, false, err);
}

void mirror_leave_sound(struct mirror *mirror)
{
    sqlite3_exec(mirror_db(mirror), "ROLLBACK; PRAGMA cache_size = -8192", NULL, NULL, NULL);
}
