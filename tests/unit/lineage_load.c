/*
 * Tests that a long log, which is loaded in one go (with a second thread if possible), gives the same rows as one that
 * is read piece by piece.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/verify.h>
#include "mirror/checked_pages.h"
#include "support/files.h"
#include "support/rows.h"

enum { ROWS = 12000, LONG_ROW = 9000, LONG_CELL = 700 * 1024 };

static struct lineage_error err;
static bool no_threads;
static int threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *), void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *), void *context);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *), void *context)
{
    threads += !no_threads;
    return no_threads ? EAGAIN : __real_pthread_create(thread, attributes, work, context);
}

/* Writes records of every kind: quoted cells with line ends, empty lines, CR LF, a row longer than one read, text
 * parameters, turns, faults, and a last record without a line end. */
static void put_row(FILE *out, int i)
{
    static const char *const labels[] = {"discard", "keep", "crash", "harness_abort"};
    if (i % 1000 == 999)
        fputs("\xff\tnot utf8\n\r\n\n", out);
    if (i % 1500 == 1499)
        fputs("short\t2026\n", out);
    fprintf(out, "%03d\t2026-05-12T00:00:00Z\tsp%d\t", i, i % 7);
    if (i)
        fprintf(out, "%03d", i * 7919 % i);
    fprintf(out, "\t000\t%s\t", i % 11 ? "opt" : "\"two\nlines\"");
    for (int k = 0; k < 6 + (i == LONG_ROW ? LONG_CELL / 50 : 0); k++)
        fputs("Raise the learning rate and lower the weight dec; ", out);
    fprintf(out,
            "\t-0.0015\t%s\t%.5f\t\t-0.00123\t5.5\t7.25\tjob-%d\t\talpha=0.%d; seed=%d; optimizer=%s; info_gain turn=%d "
            "mean=0.5 std=%d",
            labels[i % 4], 1 + i * 7919 % 10007 * 1e-5, i, i % 9 + 1, i, i % 2 ? "adam" : "sgd", i % 3, i % 5);
    fputs(i == ROWS - 1 ? "" : i % 13 ? "\n" : "\r\n", out);
}

static char *make_log(void)
{
    char *dir = make_dir(), *path = join(dir, "results.tsv");
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    fputs("exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\tstatus\tcore_metric\t"
          "val_bpb\tdelta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes\n",
          out);
    for (int i = 0; i < ROWS; i++)
        put_row(out, i);
    assert_int_equal(fclose(out), 0);
    free(path);
    return dir;
}

static void sync_store(const char *dir)
{
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    struct lineage_trial best;
    assert_int_equal(lineage_best(store, &best, &err), LINEAGE_OK);
    lineage_trial_release(&best);
    lineage_store_close(store);
}

/* Copies the log one megabyte at a time and syncs the mirror after each, even in the middle of a row. */
static char *make_in_pieces(const char *from)
{
    enum { PIECE = 1 << 20 };
    size_t length;
    char *dir = make_dir(), *path = join(dir, "results.tsv"), *source = join(from, "results.tsv");
    char *bytes = read_file(source, &length);
    assert_true(length > 5 * PIECE);
    for (size_t at = 0; at < length; at += PIECE) {
        FILE *out = fopen(path, "ab");
        assert_non_null(out);
        size_t n = length - at < PIECE ? length - at : PIECE;
        assert_int_equal(fwrite(bytes + at, 1, n, out), n);
        assert_int_equal(fclose(out), 0);
        sync_store(dir);
    }
    free(bytes);
    free(source);
    free(path);
    return dir;
}

static int count(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int n = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return n;
}

static void assert_same(const char *dir, const char *other)
{
    static const char *const tables[] = {
        "trials",
        "param_rows",
        "param_values",
        "turn_stats",
        "night_rows",
        "findings",
        "label_counts",
        "calibration",
        "(SELECT watermark, line, rows, size, last_offset, last_digest, next_id, id_width, provisional FROM %s.meta)"};
    char sql[1024];
    sqlite3 *db;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    snprintf(sql, sizeof sql, "ATTACH '%s/lineage.db' AS a; ATTACH '%s/lineage.db' AS b", dir, other);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char a[256], b[256];
        bool whole = tables[i][0] != '(';
        snprintf(a, sizeof a, whole ? "a.%s" : "%s", tables[i]);
        snprintf(b, sizeof b, whole ? "b.%s" : "%s", tables[i]);
        if (!whole) {
            memcpy(strstr(a, "%s"), " a", 2);
            memcpy(strstr(b, "%s"), " b", 2);
        }
        snprintf(sql, sizeof sql, "SELECT (SELECT count(*) FROM %s) = (SELECT count(*) FROM %s)", a, b);
        assert_int_equal(count(db, sql), 1);
        snprintf(sql, sizeof sql, "SELECT count(*) FROM (SELECT * FROM %s EXCEPT SELECT * FROM %s)", a, b);
        assert_int_equal(count(db, sql), 0);
    }
    assert_int_equal(count(db, "SELECT count(*) FROM a.trials"), ROWS);
    assert_true(count(db, "SELECT count(*) FROM a.findings") > ROWS / 1000);
    sqlite3_close(db);
}

static void a_load_gives_what_pieces_give(void **state)
{
    (void)state;
    char *whole = make_log(), *pieces = make_in_pieces(whole);
    assert_int_equal(threads, 0); /* a short sync starts no thread */
    sync_store(whole);
    assert_true(threads > 0);
    assert_same(whole, pieces);
    struct lineage_store *store = open_store(whole, LINEAGE_LOWER, NULL);
    no_threads = true;
    assert_int_equal(lineage_rebuild(store, &err), LINEAGE_OK);
    no_threads = false;
    lineage_store_close(store);
    assert_same(whole, pieces);
    remove_dir(whole);
    remove_dir(pieces);
}

static void edit_mirror(const char *dir, const char *sql)
{
    sqlite3 *db;
    char *path = join(dir, "lineage.db");
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, checked_pages_vfs()), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_changes(db), 1);
    sqlite3_close(db);
    free(path);
}

/* Writes findings, one on each line. */
static void put_finding(void *context, const struct lineage_finding *finding)
{
    fprintf(context, "%s %d %s %s\n", finding->kind, (int)finding->line, finding->exp_id, finding->text);
}

static char *findings_of(const char *dir)
{
    char *text;
    size_t length, n;
    FILE *out = open_memstream(&text, &length);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_verify(store, &n, put_finding, out, &err), LINEAGE_OK);
    lineage_store_close(store);
    assert_int_equal(fclose(out), 0);
    return text;
}

struct edits {
    const char *table;
    const char *changed, *removed, *added;
};

#define TRIALS                                                                                                                   \
    " line, offset, length, digest, 'x', timestamp, specialist, '', '', domain, hypothesis, expected_delta, status, "            \
    "core_metric,"                                                                                                               \
    " val_bpb, delta_vs_best, train_s, total_s, job_name, snapshot_path, notes, score, NULL, NULL, expected, special FROM "      \
    "trials"

static const struct edits edits[] = {
    {"trials", "UPDATE trials SET hypothesis = 'x' WHERE seq = 11500", "DELETE FROM trials WHERE seq = 12000",
     "INSERT INTO trials SELECT 0," TRIALS " WHERE seq = 1"},
    {"params", "UPDATE param_rows SET seq = 1 WHERE key = 'seed' AND value = 10003",
     "DELETE FROM param_rows WHERE key = 'seed' AND value = 10003", "INSERT INTO param_rows VALUES ('seed', 1, 3)"},
    {"param_values", "UPDATE param_values SET low = 0 WHERE key = 'seed' AND value = 10001",
     "DELETE FROM param_values WHERE key = 'seed' AND value = 10004",
     "INSERT INTO param_values VALUES ('a', 1, 'keep', 1, 1, 1)"},
    {"again_rows", "UPDATE again_rows SET setting = setting + 1 WHERE seq = 9", "DELETE FROM again_rows WHERE seq = 12000", NULL},
    {"ancestors", "UPDATE ancestors SET parent = parent + 1 WHERE seq = 9000", "DELETE FROM ancestors WHERE seq = 12000",
     "INSERT INTO ancestors VALUES (12001, 0, 0, 0, 0, 0, 0, 12001, 0)"},
    {"turn_stats", "UPDATE turn_stats SET std = std + 1 WHERE seq = 8500", "DELETE FROM turn_stats WHERE seq = 8500",
     "INSERT INTO turn_stats SELECT 8500, exp_id, 7, 1, 1, 1 FROM trials WHERE seq = 8500"},
    {"findings", "UPDATE findings SET line = line + 1 WHERE offset = (SELECT max(offset) FROM findings)",
     "DELETE FROM findings WHERE offset = (SELECT max(offset) FROM findings)", NULL},
    {"night_rows", NULL, NULL, "INSERT INTO night_rows SELECT 8200, exp_id, 'sweep', 1 FROM trials WHERE seq = 8200"},
};

enum edit { CHANGED, REMOVED, ADDED, N_EDITS };

static const char *edit_of(const struct edits *e, enum edit edit)
{
    return edit == CHANGED ? e->changed : edit == REMOVED ? e->removed : e->added;
}

/* One difference of each table is reported, so each check is about one edit of each. */
static void each_changed_row_is_found(void **state)
{
    (void)state;
    char *dir = make_log(), *path = join(dir, "results.tsv");
    FILE *out = fopen(path, "ab");
    assert_true(out && fputs("\n", out) >= 0 && fclose(out) == 0);
    char *without = findings_of(dir);
    sync_store(dir);
    char *with = findings_of(dir);
    assert_string_equal(with, without);
    assert_non_null(strstr(with, "utf8"));
    assert_null(strstr(with, "mirror "));
    char *mirror = join(dir, "lineage.db"), *kept = join(dir, "kept.db");
    copy_file(mirror, kept);
    for (int edit = 0; edit < N_EDITS; edit++) {
        char table[60];
        for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
            if (edit_of(&edits[i], edit))
                edit_mirror(dir, edit_of(&edits[i], edit));
        char *found = findings_of(dir);
        for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
            snprintf(table, sizeof table, "table %s:", edits[i].table);
            if (edit_of(&edits[i], edit) && !strstr(found, table))
                fail_msg("edit %d of %s is not found in\n%s", edit, edits[i].table, found);
        }
        free(found);
        copy_file(kept, mirror);
    }
    char *again = findings_of(dir);
    assert_string_equal(again, with);
    free(again);
    free(mirror);
    free(kept);
    free(with);
    free(without);
    free(path);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_gives_what_pieces_give),
        cmocka_unit_test(each_changed_row_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
