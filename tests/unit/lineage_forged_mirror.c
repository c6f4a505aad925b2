/*
 * Tests mirrors that somebody forged. The page digests of a forged file are right, because anybody can compute them: the tests
 * write through the same VFS.
 */
#include "support/unit.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"
#include "mirror/checked_pages.h"
#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;

static const struct row rows[] = {
    {.id = "000", .status = "baseline", .metric = "2.0"}, {.id = "001", .status = "keep", .metric = "1.0"}, {.id = NULL}};

#define SCORE "UPDATE trials SET score = -999, core_metric = -999 WHERE exp_id = '000'"
#define TRIGGER "CREATE TRIGGER forged AFTER INSERT ON trials BEGIN UPDATE trials SET score = -999 WHERE exp_id = '000'; END"
#define ENDLESS                                                                                                                  \
    "ALTER TABLE trials RENAME TO other; CREATE VIEW trials AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"  \
    " SELECT other.* FROM other, n WHERE n.i < 0"

static char *mirrored(void)
{
    char *dir = make_dir();
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(best_of(store), "001");
    lineage_store_close(store);
    return dir;
}

static void forge(const char *dir, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(in_dir(dir, "lineage.db"), &db, SQLITE_OPEN_READWRITE, checked_pages_vfs()), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

/* The files of a store in a new directory, as an archive or a checkout brings them. */
static char *received(const char *from)
{
    static const char *const names[] = {"results.tsv", "lineage.db", "lineage.db-wal", "lineage.db-journal"};
    char *dir = make_dir();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *a = join(from, names[i]), *b = join(dir, names[i]);
        if (file_exists(a))
            copy_file(a, b);
        free(a);
        free(b);
    }
    return dir;
}

/* The answer, the decision and the difference of an append, and the answer after it are those of results.tsv. */
static void must_be_right(const char *dir)
{
    size_t n;
    struct lineage_trial row;
    const struct lineage_trial trial = {.status = LINEAGE_KEEP, .core_metric = {true, 0.5}};
    struct lineage_append_options options;
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(best_of(store), "001");
    lineage_append_options_init(&options);
    options.auto_status = true;
    assert_int_equal(lineage_store_append(store, &trial, &options, &row, &err), LINEAGE_OK);
    assert_int_equal(row.status, LINEAGE_KEEP);
    assert_true(row.delta_vs_best.present && row.delta_vs_best.value == -0.5);
    assert_string_equal(row.baseline_exp, "001");
    lineage_trial_release(&row);
    assert_string_equal(best_of(store), "002");
    lineage_store_close(store);
    store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(best_of(store), "002");
    assert_int_equal(lineage_verify(store, &n, NULL, NULL, &err), LINEAGE_OK);
    assert_int_equal(n, 0);
    lineage_store_close(store);
}

static void a_forged_mirror_of_a_received_directory_is_not_used(void **state)
{
    (void)state;
    static const char *const attacks[] = {SCORE, TRIGGER, ENDLESS};
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
        char *theirs = mirrored();
        forge(theirs, attacks[i]);
        char *dir = received(theirs);
        must_be_right(dir);
        remove_dir(dir);
        remove_dir(theirs);
    }
}

/* A forged file that comes later, in the place of the one that this user made: it is not used, and `rebuild` replaces it. */
static void a_forged_mirror_that_comes_later_is_not_used(void **state)
{
    (void)state;
    struct heard heard = {0};
    char *theirs = mirrored(), *dir = mirrored(), *from, *to;
    forge(theirs, SCORE);
    from = join(theirs, "lineage.db");
    to = join(dir, "received");
    copy_file(from, to);
    assert_int_equal(rename(to, in_dir(dir, "lineage.db")), 0);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(best_of(store), "001");
    assert_non_null(strstr(heard.text, "lineage rebuild"));
    assert_int_equal(lineage_rebuild(store, &err), LINEAGE_OK);
    lineage_store_close(store);
    heard = (struct heard){0};
    store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(best_of(store), "001");
    assert_int_equal(heard.n, 0);
    lineage_store_close(store);
    must_be_right(dir);
    free(from);
    free(to);
    remove_dir(theirs);
    remove_dir(dir);
}

/* Leaves a write-ahead log with a forged score beside lineage.db, as a kill does. */
static void leave_wal(const char *dir, const char *wal)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(in_dir(dir, "lineage.db"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, SCORE, NULL, NULL, NULL), SQLITE_OK);
    copy_file(in_dir(dir, "lineage.db-wal"), wal);
    sqlite3_close(db);
}

/* A write-ahead log has pages without a digest, so one that comes alone could change the mirror of this user. */
static void a_forged_write_ahead_log_is_not_used(void **state)
{
    (void)state;
    char *dir = mirrored(), *copy = make_dir(), *wal = join(copy, "wal"), *plain = join(copy, "plain"),
         *to = join(dir, "lineage.db");
    copy_file(to, plain);
    leave_wal(dir, wal);
    size_t length;
    char *bytes = read_file(plain, &length);
    write_file(to, bytes, length); /* in place: the file is the one that this user made */
    copy_file(wal, in_dir(dir, "lineage.db-wal"));
    must_be_right(dir);
    free(bytes);
    free(wal);
    free(plain);
    free(to);
    remove_dir(copy);
    remove_dir(dir);
}

/* A journal would be played back into the file. */
static void a_forged_journal_is_not_used(void **state)
{
    (void)state;
    char *dir = mirrored();
    write_file(in_dir(dir, "lineage.db-journal"), "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7 forged", 15);
    must_be_right(dir);
    remove_dir(dir);
}

/* Nothing says which mirrors this user made, so the log answers. */
static void without_a_state_directory_the_log_answers(void **state)
{
    (void)state;
    struct heard heard = {0};
    char *dir = mirrored(), *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    xdg = xdg ? strdup(xdg) : NULL;
    home = home ? strdup(home) : NULL;
    forge(dir, SCORE);
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(best_of(store), "001");
    assert_non_null(strstr(heard.text, "neither XDG_STATE_HOME nor HOME"));
    lineage_store_close(store);
    if (xdg)
        setenv("XDG_STATE_HOME", xdg, 1);
    if (home)
        setenv("HOME", home, 1);
    free(xdg);
    free(home);
    remove_dir(dir);
}

/* A moved directory keeps its mirror: the record is about the file, and not about its path. */
static void a_moved_directory_keeps_its_mirror(void **state)
{
    (void)state;
    struct stat before, after;
    char *dir = mirrored(), *base = make_dir(), *to = join(base, "moved");
    assert_int_equal(stat(in_dir(dir, "lineage.db"), &before), 0);
    assert_int_equal(rename(dir, to), 0);
    must_be_right(to);
    assert_int_equal(stat(in_dir(to, "lineage.db"), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    free(dir);
    free(to);
    remove_dir(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forged_mirror_of_a_received_directory_is_not_used),
        cmocka_unit_test(a_forged_mirror_that_comes_later_is_not_used),
        cmocka_unit_test(a_forged_write_ahead_log_is_not_used),
        cmocka_unit_test(a_forged_journal_is_not_used),
        cmocka_unit_test(without_a_state_directory_the_log_answers),
        cmocka_unit_test(a_moved_directory_keeps_its_mirror),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
