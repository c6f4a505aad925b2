/* Tests how the mirror follows results.tsv: appended bytes, sums, unterminated records, and several processes. */
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
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/files.h"
#include "support/last_words.h"
#include "support/rows.h"

static struct lineage_error err;

static const struct row three[] = {
    {"000", "s", .status = "baseline", .metric = "3"},
    {"001", "s", "000", "keep", "2", "alpha=0.3", .expected = "-0.5", .delta = "-1"},
    {"002", "t", "001", "discard", "4", "alpha=0.3; beta=1", .expected = "-0.25", .delta = "0.125"},
    {.id = NULL}};

static void an_empty_directory_is_an_empty_store(void **state)
{
    (void)state;
    char *dir = make_dir();
    struct heard heard = {0};
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(best_of(store), "none");
    assert_string_equal(all_ids(store), "");
    assert_string_equal(lineage_store_metric(store), "core_metric");
    add_rows(dir, three); /* the file is created while a handle is open */
    assert_string_equal(best_of(store), "001");
    assert_int_equal(heard.n, 0);
    lineage_store_close(store);
    remove_dir(dir);
}

static void appended_rows_are_read_by_every_handle(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_rows(dir, three);
    struct heard heard = {0};
    struct lineage_store *a = open_store(dir, LINEAGE_LOWER, &heard), *b = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(best_of(a), "001");
    assert_string_equal(best_of(b), "001");
    for (int i = 3; i < 40; i++) {
        char id[8], metric[8];
        snprintf(id, sizeof id, "%03d", i);
        snprintf(metric, sizeof metric, "%d", -i);
        add_rows(dir, (const struct row[]){{id, .status = "keep", .metric = metric}, {.id = NULL}});
        assert_string_equal(best_of(i % 2 ? a : b), id);
    }
    assert_string_equal(sql_value(a, "SELECT count(*) || ' ' || max(seq) || ' ' || max(line) FROM trials"), "40 40 41");
    assert_int_equal(heard.n, 0);
    lineage_store_close(a);
    lineage_store_close(b);
    remove_dir(dir);
}

/* Returns everything that readers can see of the sums, as one text. */
static const char *sums(struct lineage_store *store)
{
    return sql_value(store, "SELECT (SELECT group_concat(specialist || status || n, ';') FROM label_counts) || '|' ||"
                            " (SELECT group_concat(key || value || status || n || coalesce(low, '') || coalesce(high, "
                            "''), ';')"
                            " FROM param_values) || '|' || (SELECT group_concat(specialist || n || same_sign ||"
                            " printf('%.17g %.17g %.17g', expected_sum, actual_sum, error_sum), ';') FROM "
                            "calibration)");
}

static void sums_do_not_depend_on_when_the_file_was_read(void **state)
{
    (void)state;
    char *dir = make_dir(), *again = make_dir(), want[512], id[8];
    static const char *const labels[] = {"keep", "discard", "crash", "harness_abort"};
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    for (int i = 0; i < 60; i++) {
        char metric[32], notes[64], expected[32];
        snprintf(id, sizeof id, "%03d", i);
        snprintf(metric, sizeof metric, "%.17g", 1.0 / (i + 3));
        snprintf(notes, sizeof notes, "alpha=%d.1; beta=nan", i % 3);
        snprintf(expected, sizeof expected, "-0.%d", i * 7 + 1);
        const struct row rows[] = {{id, i % 5 ? "s" : "t", NULL, labels[i % 4], i % 7 ? metric : NULL, notes,
                                    .expected = expected, .delta = i % 6 ? metric : "nan"},
                                   {.id = NULL}};
        add_rows(dir, rows);
        add_rows(again, rows);
        if (i % 11 == 0)
            best_of(store); /* the rows are read in many pieces */
    }
    snprintf(want, sizeof want, "%s", sums(store));
    struct lineage_store *fresh = open_store(again, LINEAGE_LOWER, NULL);
    assert_string_equal(sums(fresh), want); /* read at once */
    assert_int_equal(lineage_rebuild(store, &err), LINEAGE_OK);
    assert_string_equal(sums(store), want);
    assert_string_equal(sql_value(store, "SELECT sum(n) FROM label_counts"), "60");
    assert_string_equal(sql_value(store, "SELECT sum(n) FROM param_values WHERE key = 'alpha'"), "60");
    assert_string_equal(sql_value(store, "SELECT count(*) FROM param_values WHERE key = 'beta'"), "0");
    lineage_store_close(store);
    lineage_store_close(fresh);
    remove_dir(dir);
    remove_dir(again);
}

static void calibration_compares_kept_and_discarded_trials(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_rows(dir, three);
    add_rows(dir, (const struct row[]){{"3", "s", .status = "crash", .expected = "-1", .delta = "-1"},
                                       {"4", "s", .status = "keep", .expected = "≥ +0.5pp EM", .delta = "0.25"},
                                       {"5", "s", .status = "keep", .expected = "minus_1", .delta = "1"},
                                       {"6", "s", .status = "keep", .expected = "-1", .delta = "inf"},
                                       {.id = NULL}});
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(sql_value(store, "SELECT n || ' ' || same_sign || ' ' || error_sum FROM calibration WHERE"
                                         " specialist = 's'"),
                        "2 2 0.75");
    assert_string_equal(sql_value(store, "SELECT n || ' ' || same_sign || ' ' || error_sum FROM calibration WHERE"
                                         " specialist = 't'"),
                        "1 0 0.375");
    lineage_store_close(store);
    remove_dir(dir);
}

static void an_unterminated_record_is_read_again(void **state)
{
    (void)state;
    char *dir = make_dir(), before[512];
    add_rows(dir, three);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL), *other = open_store(dir, LINEAGE_LOWER, NULL);
    snprintf(before, sizeof before, "%s", sums(store));
    add_bytes(dir, "003\tt\ts\t002\t\t\th\t-1\tkeep\t1\t\t-1\t\t\t\t\talpha=0.3");
    assert_string_equal(all_ids(store), "000 001 002 003 "); /* the unfinished row is shown too */
    assert_string_equal(best_of(other), "003");
    assert_string_equal(sql_value(store, "SELECT sum(n) FROM label_counts"), "4");
    assert_string_equal(sql_value(store, "SELECT low FROM param_values WHERE key = 'alpha' AND status = 'keep'"), "1.0");
    add_bytes(dir, "5; gamma=2"); /* the row was not complete */
    assert_string_equal(sql_value(other, "SELECT group_concat(key || value) FROM (SELECT * FROM params WHERE"
                                         " exp_id = '003' ORDER BY key)"),
                        "alpha0.35,gamma2.0");
    assert_string_equal(sql_value(other, "SELECT low FROM param_values WHERE key = 'alpha' AND value = 0.3"
                                         " AND status = 'keep'"),
                        "2.0");
    add_bytes(dir, "\n");
    assert_string_equal(sql_value(store, "SELECT sum(n) || ' ' || count(*) FROM label_counts"), "4 3");
    assert_string_equal(sql_value(store, "SELECT provisional || ' ' || rows FROM meta"), "0 4");
    lineage_store_close(store);
    lineage_store_close(other);
    remove_dir(dir);
}

static void a_torn_record_taken_away_leaves_no_trace(void **state)
{
    (void)state;
    char *dir = make_dir(), before[512];
    struct lineage_trial row;
    struct heard heard = {0};
    struct lineage_append_options options;
    add_rows(dir, three);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
    snprintf(before, sizeof before, "%s", sums(store));
    add_bytes(dir, "777\tt\ts\t002\t\t\th\t-1\tkeep\t1.0"); /* ten cells, cut off */
    assert_string_equal(all_ids(store), "000 001 002 777 ");
    lineage_append_options_init(&options);
    options.no_sync = true;
    const struct lineage_trial trial = {.status = LINEAGE_CRASH, .specialist = "u"};
    assert_int_equal(lineage_store_append(store, &trial, &options, &row, &err), LINEAGE_OK);
    assert_string_equal(row.exp_id, "003"); /* the torn record's id was never used */
    assert_string_equal(row.baseline_exp, "001");
    lineage_trial_release(&row);
    assert_string_equal(all_ids(store), "000 001 002 003 ");
    assert_string_equal(sql_value(store, "SELECT count(*) FROM findings"), "0");
    assert_int_equal(strncmp(sums(store), before, 20), 0);
    assert_string_equal(sql_value(store, "SELECT sum(n) FROM label_counts"), "4");
    lineage_store_close(store);
    remove_dir(dir);
}

static void line_ends_of_every_kind_are_followed(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_bytes(dir, "\r\n\nexp_id\tstatus\tnotes\r\n");
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(all_ids(store), "");
    add_bytes(dir, "a\tkeep\tx\r"); /* a complete line end, or half of CR LF */
    assert_string_equal(all_ids(store), "a ");
    add_bytes(dir, "\nb\tkeep\t\"two\r\nlines\"\r\rc\tkeep\t\n\n\n");
    assert_string_equal(all_ids(store), "a b c ");
    assert_string_equal(sql_value(store, "SELECT group_concat(line) FROM trials"), "4,5,8");
    add_bytes(dir, "d\tkeep\t\n");
    assert_string_equal(sql_value(store, "SELECT line FROM trials WHERE exp_id = 'd'"), "11");
    lineage_store_close(store);
    struct heard heard = {0};
    store = open_store(dir, LINEAGE_LOWER, &heard);
    add_bytes(dir, "e\tkeep\t\n");
    assert_string_equal(all_ids(store), "a b c d e ");
    assert_int_equal(heard.n, 0);
    lineage_store_close(store);
    remove_dir(dir);
}

static void long_cells_and_many_chunks(void **state)
{
    (void)state;
    char *dir = make_dir(), *path = strdup(in_dir(dir, "results.tsv"));
    size_t length = (size_t)9 << 20;
    char *cell = malloc(length);
    FILE *out = fopen(path, "wb");
    memset(cell, 'x', length);
    memset(cell + 100, '\n', 50);
    fputs("exp_id\tstatus\tnotes\n1\tkeep\t\"", out);
    fwrite(cell, 1, length, out);
    fputs("\"\n2\tkeep\t", out);
    fwrite(cell + 200, 1, length - 200, out);
    fputs("\n3\tdiscard\t\n", out);
    assert_int_equal(fclose(out), 0);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(all_ids(store), "1 2 3 ");
    /* Values of this length are not for SQL, where no function outlasts a limit. */
    const size_t lengths[] = {length, length - 200, 0};
    const struct lineage_query query = {.sort = "seq"};
    struct lineage_cursor *cursor;
    struct lineage_trial trial;
    assert_int_equal(lineage_query_open(&cursor, store, &query, NULL), LINEAGE_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(lineage_cursor_next(cursor, &trial, NULL), LINEAGE_OK);
        assert_int_equal(trial.notes ? strlen(trial.notes) : 0, lengths[i]);
    }
    lineage_cursor_close(cursor);
    assert_string_equal(sql_value(store, "SELECT line FROM trials WHERE exp_id = '3'"), "54");
    lineage_store_close(store);
    free(cell);
    free(path);
    remove_dir(dir);
}

static int read_while_growing(const char *dir)
{
    struct heard heard = {0};
    for (int i = 0; i < 40; i++) {
        struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
        size_t n = strlen(all_ids(store)) / 4;
        char *end;
        const size_t counted = strtoul(sql_value(store, "SELECT sum(n) FROM label_counts"), &end, 10);
        if (counted < n || heard.n) {
            fprintf(stderr, "after %zu rows %zu are counted, and %u notices came: %s\n", n, counted, heard.n, heard.text);
            return 1;
        }
        lineage_store_close(store);
    }
    return 0;
}

/* The first command of a new store makes the mirror although another first command has already taken its share of the place. */
static void first_commands_together(void **state)
{
    (void)state;
    char *dir = make_dir();
    struct heard heard = {0};
    add_rows(dir, (const struct row[]){{"001", "s", .status = "keep", .metric = "1"}, {.id = NULL}});
    const int other = open(dir, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(other, LOCK_SH), 0);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, &heard);
    assert_string_equal(all_ids(store), "001 ");
    assert_string_equal(heard.text, "");
    lineage_store_close(store);
    assert_int_equal(access(in_dir(dir, "lineage.db"), F_OK), 0);
    assert_int_equal(close(other), 0);
    remove_dir(dir);
}

static void processes_follow_together(void **state)
{
    (void)state;
    char *dir = make_dir(), id[8];
    pid_t readers[4];
    for (int i = 0; i < 4; i++)
        if ((readers[i] = fork()) == 0)
            leave(read_while_growing(dir));
    for (int i = 0; i < 300; i++) {
        snprintf(id, sizeof id, "%03d", i);
        add_rows(dir, (const struct row[]){{id, "s", .status = "keep", .metric = "1", .notes = "alpha=1"}, {.id = NULL}});
        if (i % 20 == 0)
            usleep(2000);
    }
    for (int i = 0; i < 4; i++) {
        int status;
        assert_int_equal(waitpid(readers[i], &status, 0), readers[i]);
        assert_int_equal(status, 0);
    }
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(sql_value(store, "SELECT count(*) || ' ' || count(DISTINCT exp_id) FROM trials"), "300 300");
    assert_string_equal(sql_value(store, "SELECT group_concat(n) FROM label_counts"), "300");
    assert_string_equal(sql_value(store, "SELECT n FROM param_values"), "300");
    lineage_store_close(store);
    remove_dir(dir);
}

static void assert_rows(const char *dir, size_t rows)
{
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    size_t n;
    assert_int_equal(lineage_query_count(&n, store, &(struct lineage_query){0}, &err), LINEAGE_OK);
    assert_int_equal(n, rows);
    assert_int_equal(lineage_verify(store, &n, NULL, NULL, &err), LINEAGE_OK);
    assert_int_equal(n, 0);
    lineage_store_close(store);
}

/* First the file more than doubles, and then it grows by less than its size, but still by much. Each time all sums and
 * indexes equal those of a single reading. */
static void a_file_that_grows_by_much(void **state)
{
    (void)state;
    enum { LONG = 500000 };
    char *dir = make_dir(), *text = malloc(LONG + 1), ids[22][8];
    struct row rows[12] = {{.id = NULL}};
    assert_non_null(text);
    memset(text, 'x', LONG);
    text[LONG] = '\0';
    add_rows(dir, (const struct row[]){{"a", "s", .status = "keep", .metric = "2", .notes = "lr=1"}, {.id = NULL}});
    assert_rows(dir, 1);
    for (int time = 0; time < 2; time++) {
        for (int i = 0; i < 11; i++) {
            snprintf(ids[11 * time + i], sizeof *ids, "%d", 11 * time + i);
            rows[i] = (struct row){ids[11 * time + i], "s", .status = "keep", .metric = "1", .notes = text};
        }
        rows[11].id = NULL;
        add_rows(dir, rows);
        assert_rows(dir, (size_t)(1 + 11 * (time + 1)));
    }
    free(text);
    remove_dir(dir);
}

/* There are more specialists and parameters than are kept in memory before they are written. */
static void many_specialists_and_parameters(void **state)
{
    (void)state;
    enum { N = 600 };
    static char ids[N][8], notes[N][16];
    static struct row rows[N + 1];
    char *dir = make_dir();
    for (int i = 0; i < N; i++) {
        snprintf(ids[i], sizeof ids[i], "%d", i);
        snprintf(notes[i], sizeof notes[i], "p%d=1", i);
        rows[i] =
            (struct row){ids[i], ids[i], .status = "keep", .metric = "1", .notes = notes[i], .expected = "1e999", .delta = "1"};
    }
    add_rows(dir, rows);
    assert_rows(dir, N);
    remove_dir(dir);
}

/* Another process has read another header, first one of the same length as the current one, then a longer one. */
static void a_header_that_another_process_read(void **state)
{
    (void)state;
    static const char *const files[] = {"exp_id\tstatus\tone\na\tkeep\t1\n", "exp_id\tstatus\ttwo\na\tkeep\t22\n",
                                        "exp_id\tstatus\tlonger\na\tkeep\t333\n"};
    static const char *const names[] = {"one", "two", "longer"};
    char *dir = make_dir();
    write_file(in_dir(dir, "results.tsv"), files[0], strlen(files[0]));
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    for (size_t i = 0; i < 3; i++) {
        struct lineage_trial trial;
        write_file(in_dir(dir, "results.tsv"), files[i], strlen(files[i]));
        struct lineage_store *other = open_store(dir, LINEAGE_LOWER, NULL);
        assert_int_equal(lineage_rebuild(other, &err), LINEAGE_OK);
        lineage_store_close(other);
        add_bytes(dir, "b\tkeep\t4\n"); /* so that the next call has bytes to read */
        assert_int_equal(lineage_find(store, "b", &trial, &err), LINEAGE_OK);
        assert_int_equal(trial.n_extras, 1);
        assert_string_equal(trial.extras[0].column, names[i]);
        lineage_trial_release(&trial);
    }
    lineage_store_close(store);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_directory_is_an_empty_store),
        cmocka_unit_test(appended_rows_are_read_by_every_handle),
        cmocka_unit_test(sums_do_not_depend_on_when_the_file_was_read),
        cmocka_unit_test(calibration_compares_kept_and_discarded_trials),
        cmocka_unit_test(an_unterminated_record_is_read_again),
        cmocka_unit_test(a_torn_record_taken_away_leaves_no_trace),
        cmocka_unit_test(line_ends_of_every_kind_are_followed),
        cmocka_unit_test(long_cells_and_many_chunks),
        cmocka_unit_test(a_file_that_grows_by_much),
        cmocka_unit_test(many_specialists_and_parameters),
        cmocka_unit_test(a_header_that_another_process_read),
        cmocka_unit_test(first_commands_together),
        cmocka_unit_test(processes_follow_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
