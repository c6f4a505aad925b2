/* Tests bytes that change after the mirror has read them, and mirrors that cannot be used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files/fs.h"
#include "mirror/checked_pages.h"
#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;

static const struct row three[] = {
    {"000", "s", .status = "baseline", .metric = "3"},
    {"001", "s", "000", "keep", "2", "alpha=0.3", .expected = "-0.5", .delta = "-1"},
    {"002", "t", "001", "discard", "4", "alpha=0.3; beta=1", .expected = "-0.25", .delta = "0.125"},
    {.id = NULL}};

/* After each edit the notice names the line, the answers are those of the file, and the mirror on disk is unchanged. */
static void assert_change(const char *dir, uint64_t line, const char *ids)
{
    struct heard heard = {0};
    for (int i = 0; i < 2; i++) { /* on each opening until the mirror is rebuilt */
        struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
        assert_string_equal(all_ids(store), ids);
        assert_int_equal(heard.n, i + 1);
        assert_int_equal(heard.line, line);
        assert_non_null(strstr(heard.text, "rebuild"));
        lineage_store_close(store);
    }
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_int_equal(lineage_rebuild(store, &err), LINEAGE_OK);
    lineage_store_close(store);
    heard = (struct heard){0};
    store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(all_ids(store), ids);
    assert_int_equal(heard.n, 0);
    lineage_store_close(store);
}

static char *mirrored(const char *more)
{
    char *dir = make_dir();
    add_rows(dir, three);
    add_bytes(dir, more);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    all_ids(store);
    lineage_store_close(store);
    return dir;
}

static void changed_bytes_are_noticed_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *ids;
        uint64_t line;
    } edits[] = {
        {"h 001", "H 001", "000 001 002 ", 3}, {"000\t", "00x\t", "00x 001 002 ", 2},   {"\n002\t", "\n02x\t", "000 001 02x ", 4},
        {"bad 1", "bad 2", "000 001 002 ", 6}, {"domain", "demain", "000 001 002 ", 1}, {"\n\nbad", "\n.\tad", "000 001 002 ", 6},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        char *dir = mirrored("\nbad 1\tcells\n");
        edit_bytes(dir, edits[i].from, edits[i].to);
        assert_change(dir, edits[i].line, edits[i].ids);
        remove_dir(dir);
    }
}

/* Bytes that somebody adds between two records belong to no row, but the change is reported. */
static void a_row_in_an_empty_line_is_noticed(void **state)
{
    (void)state;
    struct heard heard = {0};
    char *dir = mirrored("\n\n\n\n003\tT\ts\t\t\t\th 003\t\tkeep\t9\t\t\t\t\t\t\t\n");
    edit_bytes(dir, "\n\n\n\n003", "\n7\n\n003");
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(all_ids(store), "000 001 002 003 ");
    assert_int_equal(heard.line, 9); /* the line of the row after those bytes */
    lineage_store_close(store);
    remove_dir(dir);
}

/* A log of empty lines has no header yet; a log whose lines were all emptied has lost its header. */
static void empty_lines_are_no_header(void **state)
{
    (void)state;
    struct heard heard = {0};
    size_t length;
    char *dir = make_dir(), lines[8000];
    memset(lines, '\n', sizeof lines);
    write_file(in_dir(dir, "results.tsv"), lines, 5000); /* more bytes than one read */
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(all_ids(store), "");
    add_bytes(dir, "exp_id\tstatus\n000\tkeep\n");
    assert_string_equal(all_ids(store), "000 ");
    assert_int_equal(heard.n, 0);
    lineage_store_close(store);
    free(read_file(in_dir(dir, "results.tsv"), &length));
    write_file(in_dir(dir, "results.tsv"), lines, length);
    store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(all_ids(store), "");
    assert_non_null(strstr(heard.text, "results.tsv:1: changed"));
    lineage_store_close(store);
    remove_dir(dir);
}

struct cutting {
    const char *path;
    int reads, at;
    off_t to;
};

static int cut_at_a_read(void *context, const char *call)
{
    struct cutting *cutting = context;
    if (strcmp(call, "read") == 0 && ++cutting->reads == cutting->at)
        assert_int_equal(truncate(cutting->path, cutting->to), 0);
    return 0;
}

/* Another tool truncates the file while the file is compared. The next answer, or the one after it, shows what
 * remains. */
static void a_file_that_is_cut_while_it_is_compared(void **state)
{
    (void)state;
    for (int at = 1; at < 8; at++)
        for (int to = 0; to < 2; to++) {
            struct heard heard = {0};
            char *dir = mirrored("\n\n\n"), *path = join(dir, "results.tsv");
            struct cutting cutting = {.path = path, .at = at, .to = to ? 171 : 0};
            assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
            struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
            fs_set_fault(cut_at_a_read, &cutting);
            all_ids(store);
            fs_set_fault(NULL, NULL);
            if (cutting.reads < at)
                assert_string_equal(all_ids(store), "000 001 002 ");
            else {
                assert_string_equal(all_ids(store), "");
                assert_int_not_equal(heard.n, 0);
            }
            lineage_store_close(store);
            remove_dir(dir);
            free(path);
        }
}

static void a_shorter_or_replaced_file_is_noticed(void **state)
{
    (void)state;
    char *dir = mirrored("");
    size_t length;
    free(read_file(in_dir(dir, "results.tsv"), &length));
    assert_int_equal(truncate(in_dir(dir, "results.tsv"), (off_t)length - 3), 0);
    assert_change(dir, 4, "000 001 002 ");
    remove_dir(dir);

    dir = mirrored("");
    assert_int_equal(unlink(in_dir(dir, "results.tsv")), 0);
    add_rows(dir, (const struct row[]){{"a", .status = "keep"},
                                       {"b", .status = "keep"},
                                       {"c", .status = "keep"},
                                       {"d", .status = "keep"},
                                       {"e", .status = "keep"},
                                       {.id = NULL}});
    assert_change(dir, 2, "a b c d e ");
    remove_dir(dir);

    dir = mirrored("");
    assert_int_equal(unlink(in_dir(dir, "results.tsv")), 0);
    struct heard heard = {0};
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(all_ids(store), "");
    assert_int_equal(heard.n, 1);
    lineage_store_close(store);
    remove_dir(dir);
}

static void a_copy_or_a_touch_is_no_change(void **state)
{
    (void)state;
    char *dir = mirrored(""), *copy = strdup(in_dir(dir, "copy")), *file = strdup(in_dir(dir, "results.tsv"));
    struct heard heard = {0};
    copy_file(file, copy);
    assert_int_equal(rename(copy, file), 0); /* another inode */
    add_rows(dir, (const struct row[]){{"003", .status = "keep"}, {.id = NULL}});
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(all_ids(store), "000 001 002 003 ");
    edit_bytes(dir, "003", "003"); /* only the file's time changes */
    assert_string_equal(all_ids(store), "000 001 002 003 ");
    assert_int_equal(heard.n, 0);
    lineage_store_close(store);
    free(copy);
    free(file);
    remove_dir(dir);
}

static void a_writer_goes_on_after_a_change(void **state)
{
    (void)state;
    char *dir = mirrored("");
    struct heard heard = {0};
    struct lineage_trial row;
    struct lineage_append_options options;
    lineage_append_options_init(&options);
    options.no_sync = true;
    edit_bytes(dir, "002\t", "902\t");
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
    const struct lineage_trial trial = {.status = LINEAGE_DISCARD, .parent_exp = "902"};
    assert_int_equal(lineage_store_append(store, &trial, &options, &row, &err), LINEAGE_OK);
    assert_string_equal(row.exp_id, "903"); /* the id follows the current file, not the mirror */
    lineage_trial_release(&row);
    assert_string_equal(all_ids(store), "000 001 902 903 ");
    assert_true(heard.n > 0);
    lineage_store_close(store);
    remove_dir(dir);
}

/* Changes the mirror with correct page digests, as another version of the library would. */
static void exec_db(const char *dir, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(in_dir(dir, "lineage.db"), &db, SQLITE_OPEN_READWRITE, checked_pages_vfs()), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void a_deleted_or_damaged_mirror_is_made_anew(void **state)
{
    (void)state;
    struct heard heard = {0};
    char *dir = mirrored(""), garbage[5000];
    assert_int_equal(unlink(in_dir(dir, "lineage.db")), 0);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(all_ids(store), "000 001 002 ");
    assert_int_equal(heard.n, 0);
    lineage_store_close(store);
    memset(garbage, 'g', sizeof garbage);
    write_file(in_dir(dir, "lineage.db"), garbage, sizeof garbage);
    store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(all_ids(store), "000 001 002 ");
    assert_int_equal(heard.n, 1);
    lineage_store_close(store);
    store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(all_ids(store), "000 001 002 ");
    assert_int_equal(heard.n, 1); /* only one notice */
    lineage_store_close(store);
    remove_dir(dir);
}

static void a_newer_mirror_is_left_alone(void **state)
{
    (void)state;
    struct heard heard = {0};
    char *dir = mirrored("");
    exec_db(dir, "PRAGMA user_version = 99; CREATE TABLE theirs (a); DROP TABLE param_rows");
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(all_ids(store), "000 001 002 ");
    assert_int_equal(heard.n, 1);
    assert_non_null(strstr(heard.text, "99"));
    lineage_store_close(store);
    exec_db(dir, "DROP TABLE theirs"); /* fails if the table was removed before */
    remove_dir(dir);
}

static void another_score_column_does_not_use_the_mirror(void **state)
{
    (void)state;
    struct heard heard = {0};
    struct lineage_trial trial;
    const struct lineage_config config = {.metric = "val_bpb"};
    char *dir = make_dir();
    add_bytes(dir, "exp_id\tstatus\tcore_metric\tval_bpb\na\tkeep\t1\t2\nb\tkeep\t2\t1\n");
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(best_of(store), "a");
    lineage_store_close(store);
    assert_int_equal(lineage_store_create(dir, &config, &err), LINEAGE_OK); /* the setting changes after the mirror was made */
    store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(best_of(store), "b");
    assert_int_equal(heard.n, 1);
    assert_int_equal(lineage_rebuild(store, &err), LINEAGE_OK);
    assert_string_equal(best_of(store), "b");
    lineage_store_close(store);
    store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(best_of(store), "b");
    assert_int_equal(heard.n, 1);
    assert_int_equal(lineage_find(store, "a", &trial, &err), LINEAGE_OK);
    assert_true(trial.score.value == 2 && trial.core_metric.value == 1);
    lineage_trial_release(&trial);
    lineage_store_close(store);
    remove_dir(dir);
}

static void no_mirror_leaves_no_file(void **state)
{
    (void)state;
    char *dir = make_dir();
    struct lineage_store *store;
    const struct lineage_open_options options = {.no_mirror = true};
    add_rows(dir, three);
    assert_int_equal(lineage_store_open(&store, dir, &options, &err), LINEAGE_OK);
    assert_string_equal(best_of(store), "001");
    assert_false(file_exists(in_dir(dir, "lineage.db")));
    lineage_store_close(store);
    remove_dir(dir);
}

static void a_read_only_directory_is_answered_from_memory(void **state)
{
    (void)state;
    char *dir = make_dir();
    struct heard heard = {0};
    add_rows(dir, three);
    if (geteuid() == 0) { /* root ignores permissions, so a directory takes the file's place */
        assert_int_equal(mkdir(in_dir(dir, "lineage.db"), 0755), 0);
    } else {
        assert_int_equal(chmod(dir, 0555), 0);
    }
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(best_of(store), "001");
    assert_int_equal(heard.n, 1);
    lineage_store_close(store);
    chmod(dir, 0755);
    remove_dir(dir);
}

static void a_locked_mirror_is_answered_from_memory(void **state)
{
    (void)state;
    struct heard heard = {0};
    char *dir = mirrored("");
    sqlite3 *db;
    assert_int_equal(sqlite3_open(in_dir(dir, "lineage.db"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    add_rows(dir, (const struct row[]){{"003", .status = "keep", .metric = "1"}, {.id = NULL}});
    struct lineage_store *store;
    const struct lineage_open_options options = {.busy_ms = 20, .notice = NULL, .context = &heard};
    assert_int_equal(lineage_store_open(&store, dir, &options, &err), LINEAGE_OK);
    assert_string_equal(best_of(store), "003");
    lineage_store_close(store);
    sqlite3_close(db);
    remove_dir(dir);
}

static void best_and_ranges_use_indexes(void **state)
{
    (void)state;
    char *dir = mirrored("");
    sqlite3 *db;
    sqlite3_stmt *stmt;
    static const char *const plans[][2] = {
        {"SELECT seq FROM trials WHERE status IN ('keep', 'baseline') AND score > -9e999 AND score "
         "< 9e999"
         " ORDER BY score, seq LIMIT 1",
         "kept_by_score ("},
        {"SELECT seq FROM trials WHERE status IN ('keep', 'baseline') AND score > -9e999 AND score "
         "< 9e999"
         " ORDER BY score DESC, seq LIMIT 1",
         "kept_by_score_down"},
        {"SELECT seq FROM trials WHERE exp_id = '1' ORDER BY seq DESC LIMIT 1", "trials_by_id"},
        {"SELECT seq FROM param_rows WHERE key = 'alpha' AND value >= 1 AND value <= 2", "PRIMARY KEY"},
        {"SELECT seq FROM trials t WHERE 1 AND t.score >= 1 AND t.score <= 2", "trials_by_score"},
    };
    assert_int_equal(sqlite3_open(in_dir(dir, "lineage.db"), &db), SQLITE_OK);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        char sql[512];
        snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", plans[i][0]);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        assert_non_null(strstr((const char *)sqlite3_column_text(stmt, 3), plans[i][1]));
        assert_int_equal(sqlite3_step(stmt), SQLITE_DONE); /* no second step, which would sort */
        sqlite3_finalize(stmt);
    }
    sqlite3_close(db);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_bytes_are_noticed_with_their_line),
        cmocka_unit_test(a_row_in_an_empty_line_is_noticed),
        cmocka_unit_test(empty_lines_are_no_header),
        cmocka_unit_test(a_file_that_is_cut_while_it_is_compared),
        cmocka_unit_test(a_shorter_or_replaced_file_is_noticed),
        cmocka_unit_test(a_copy_or_a_touch_is_no_change),
        cmocka_unit_test(a_writer_goes_on_after_a_change),
        cmocka_unit_test(a_deleted_or_damaged_mirror_is_made_anew),
        cmocka_unit_test(a_newer_mirror_is_left_alone),
        cmocka_unit_test(another_score_column_does_not_use_the_mirror),
        cmocka_unit_test(no_mirror_leaves_no_file),
        cmocka_unit_test(a_read_only_directory_is_answered_from_memory),
        cmocka_unit_test(a_locked_mirror_is_answered_from_memory),
        cmocka_unit_test(best_and_ranges_use_indexes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
