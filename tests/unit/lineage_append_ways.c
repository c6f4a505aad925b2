/*
 * Tests rows that reach the log in other ways than a single append (many in one call, imported, restored), and
 * settings that are written once.
 */
#include "support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/query.h>
#include <lineage/verify.h>

#include "files/fs.h"
#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;
static char *dir;
static struct lineage_store *store;

static const struct row rows[] = {{"000", "a", .status = "baseline", .metric = "0.5", .notes = "n"},
                                  {"001", "a", "000", .status = "keep", .metric = "0.25", .notes = "n"},
                                  {.id = NULL}};

static void begin(void)
{
    dir = make_dir();
    add_rows(dir, rows);
    store = open_store(dir, LINEAGE_LOWER, NULL);
}

static void end(void)
{
    lineage_store_close(store);
    remove_dir(dir);
}

static const char *ids(void)
{
    static const struct lineage_query all = {0};
    return ids_of(store, &all);
}

static size_t findings_of(const char *kind)
{
    struct heard heard = {0};
    size_t n, found = 0;
    assert_int_equal(lineage_verify(store, &n, hear_finding, &heard, &err), LINEAGE_OK);
    for (const char *at = heard.kinds; (at = strstr(at, kind)); at++)
        found++;
    return found;
}

/* Cuts off the last line end, as some editors do when they save. The notes cell stays complete. */
static void cut_last_line_end(void)
{
    struct stat st;
    const char *path = in_dir(dir, "results.tsv");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size - 1), 0);
}

/* ---- many at once ---- */

static void many_are_rows_alone(void **state)
{
    const struct lineage_trial trials[] = {{.status = LINEAGE_CRASH}, {.status = LINEAGE_CRASH}};
    struct lineage_append_options options;
    (void)state;
    begin();
    lineage_append_options_init(&options);
    assert_int_equal(lineage_store_append_many(store, NULL, 0, NULL, &options, NULL, &err), LINEAGE_OK);
    assert_int_equal(lineage_store_append_many(store, NULL, 0, NULL, NULL, NULL, &err), LINEAGE_OK);
    options.telemetry = "{}";
    options.telemetry_length = 2;
    assert_int_equal(lineage_store_append_many(store, trials, 2, NULL, &options, NULL, &err), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "of one trial"));
    lineage_append_options_init(&options);
    options.snapshot_dir = dir;
    assert_int_equal(lineage_store_append_many(store, trials, 2, NULL, &options, NULL, &err), LINEAGE_EINVAL);
    assert_string_equal(ids(), "000 001 ");
    end();
}

static void a_status_may_be_asked_for_row_by_row(void **state)
{
    const struct lineage_trial trials[] = {
        {.status = LINEAGE_CRASH, .core_metric = {true, 0.01}}, {.core_metric = {true, 0.125}}, {.core_metric = {true, 0.5}}};
    const bool decided[] = {false, true, true};
    struct lineage_trial out[3];
    (void)state;
    begin();
    assert_int_equal(lineage_store_append_many(store, trials, 3, decided, NULL, out, &err), LINEAGE_OK);
    assert_int_equal(out[0].status, LINEAGE_CRASH);
    assert_int_equal(out[1].status, LINEAGE_KEEP);
    assert_int_equal(out[2].status, LINEAGE_DISCARD);
    assert_string_equal(out[2].baseline_exp, out[1].exp_id);
    for (size_t i = 0; i < 3; i++)
        lineage_trial_release(&out[i]);
    end();
}

/* The bar of a comparison with one trial does not count once another one is the best; then that of the store does. */
static void a_bar_against_one_trial_is_not_one_against_another(void **state)
{
    static const struct {
        const char *against;
        double score;
        enum lineage_label wanted;
    } cases[] = {{"000", 0.24, LINEAGE_DISCARD}, {"001", 0.24, LINEAGE_KEEP}, {"001", 0.23, LINEAGE_DISCARD}};
    struct lineage_append_options options;
    struct lineage_trial out;
    (void)state;
    begin();
    assert_int_equal(lineage_store_set_noise(store, 1, 1, &err), LINEAGE_OK);
    lineage_append_options_init(&options);
    options.auto_status = true;
    options.min_delta = 0.005;
    options.noise_std = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        options.keep_against = cases[i].against;
        const struct lineage_trial trial = {.core_metric = {true, cases[i].score}};
        assert_int_equal(lineage_store_append(store, &trial, &options, &out, &err), LINEAGE_OK);
        assert_int_equal(out.status, cases[i].wanted);
        lineage_trial_release(&out);
    }
    end();
}

/* The check answers as an append would, writes nothing, and leaves the handle ready for the append. */
static void a_check_answers_as_the_append_would(void **state)
{
    const struct lineage_param twice[] = {{"lr", 0.5, NULL}};
    const struct {
        struct lineage_trial trial;
        enum lineage_status wanted;
    } cases[] = {{{.status = LINEAGE_CRASH, .parent_exp = "001"}, LINEAGE_OK},
                 {{.status = LINEAGE_CRASH, .parent_exp = "exp_001"}, LINEAGE_OK},
                 {{.status = LINEAGE_KEEP}, LINEAGE_EINVAL},
                 {{.status = LINEAGE_CRASH, .parent_exp = "777"}, LINEAGE_ENOTFOUND},
                 {{.status = LINEAGE_CRASH, .exp_id = "001"}, LINEAGE_EEXIST},
                 {{.status = LINEAGE_CRASH, .hypothesis = "\xff"}, LINEAGE_EINVAL},
                 {{.status = LINEAGE_CRASH, .notes = "lr=1", .params = twice, .n_params = 1}, LINEAGE_EINVAL}};
    (void)state;
    begin();
    size_t length;
    char *before = read_file(in_dir(dir, "results.tsv"), &length), *after;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(lineage_store_append_check(store, &cases[i].trial, NULL, &err), cases[i].wanted);
        after = read_file(in_dir(dir, "results.tsv"), &length);
        assert_string_equal(before, after);
        free(after);
        assert_int_equal(lineage_store_append(store, &cases[i].trial, NULL, NULL, &err), cases[i].wanted);
        free(before);
        before = read_file(in_dir(dir, "results.tsv"), &length);
    }
    assert_string_equal(ids(), "000 001 002 003 ");
    free(before);
    end();

    /* Without a log, the check leaves none behind. */
    dir = make_dir();
    store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_store_append_check(store, &cases[0].trial, NULL, &err), LINEAGE_ENOTFOUND);
    assert_int_equal(lineage_store_append_check(store, &(struct lineage_trial){.status = LINEAGE_CRASH}, NULL, &err), LINEAGE_OK);
    assert_false(file_exists(in_dir(dir, "results.tsv")));
    end();
}

/* If the last line has no line end, the next writer adds one first, so its rows are not joined to that line. */
static void a_last_line_without_end_is_ended_first(void **state)
{
    const struct lineage_trial trials[] = {{.status = LINEAGE_CRASH}, {.status = LINEAGE_CRASH}};
    struct lineage_import_stats stats;
    (void)state;
    for (int way = 0; way < 2; way++) {
        begin();
        char *other = make_dir(), *from = join(other, "results.tsv");
        add_rows(other, (const struct row[]){{"x1", .status = "crash"}, {"x2", .status = "crash"}, {.id = NULL}});
        cut_last_line_end();
        if (way == 0)
            assert_int_equal(lineage_store_append_many(store, trials, 2, NULL, NULL, NULL, &err), LINEAGE_OK);
        else
            assert_int_equal(lineage_import(store, from, NULL, &stats, NULL, NULL, &err), LINEAGE_OK);
        const char *all = ids();
        assert_memory_equal(all, "000 ", 4);
        size_t n = 0;
        for (const char *at = all; *at; at++)
            n += *at == ' ';
        /* Either the unfinished row is kept, or, if its bytes do not prove that it was complete, it was moved aside. */
        assert_true(n == 4 || (n == 3 && file_exists(in_dir(dir, "results.tsv.torn-1"))));
        free(from);
        remove_dir(other);
        end();
    }
}

static const char *first_lines(void)
{
    static char text[4096];
    size_t length;
    char *whole = read_file(in_dir(dir, "results.tsv"), &length);
    snprintf(text, sizeof text, "%s", whole);
    free(whole);
    return text;
}

/* A canonical header counts as complete without its line end. The next writer adds the line end. */
static void a_header_without_end_is_ended_first(void **state)
{
    const struct lineage_trial trials[] = {{.exp_id = "x1", .status = LINEAGE_CRASH}, {.exp_id = "x2", .status = LINEAGE_CRASH}};
    static const char torn[] = "x1\t\ta\t\t\t\th\t\tcrash\t\t\t\t\t\t\t\tn\n"
                               "x2\t\ta\t\t\t\th\t\tcrash\t\t\t\t\t\t\t\tn\n";
    struct lineage_import_stats stats;
    size_t n;
    (void)state;
    for (int way = 0; way < 4; way++) {
        dir = make_dir();
        add_rows(dir, (const struct row[]){{.id = NULL}});
        cut_last_line_end();
        char *other = make_dir(), *from = join(other, "results.tsv");
        add_rows(other, (const struct row[]){
                            {"x1", .status = "crash", .notes = "n"}, {"x2", .status = "crash", .notes = "n"}, {.id = NULL}});
        store = open_store(dir, LINEAGE_LOWER, NULL);
        if (way == 0)
            assert_int_equal(lineage_store_append_many(store, trials, 2, NULL, NULL, NULL, &err), LINEAGE_OK);
        else if (way == 1)
            assert_int_equal(lineage_import(store, from, NULL, &stats, NULL, NULL, &err), LINEAGE_OK);
        else if (way == 2)
            for (int i = 0; i < 2; i++)
                assert_int_equal(lineage_store_append(store, &trials[i], NULL, NULL, &err), LINEAGE_OK);
        else {
            write_file(in_dir(dir, "results.tsv.torn-1"), torn, sizeof torn - 1);
            enum lineage_status status = lineage_restore(store, "results.tsv.torn-1", &n, &err);
            if (status != LINEAGE_OK)
                fail_msg("%s", err.text);
        }
        assert_string_equal(ids(), "x1 x2 ");
        assert_non_null(strstr(first_lines(), "\tnotes\nx1\t"));
        assert_int_equal(findings_of(":"), 0);
        free(from);
        remove_dir(other);
        end();
    }
}

/* Tests rows that another program added and that the mirror has not read. Their ids are used even if the rows are
 * faulty, and their parents may be added later, in either spelling. */
static void rows_that_another_program_wrote_count(void **state)
{
    const struct lineage_trial crash = {.status = LINEAGE_CRASH};
    struct lineage_trial row, closing = {.exp_id = "050", .parent_exp = "040", .status = LINEAGE_CRASH};
    struct lineage_append_options options;
    (void)state;
    begin();
    lineage_append_options_init(&options);
    options.no_mirror_sync = true;
    assert_int_equal(lineage_store_append(store, &crash, &options, NULL, &err), LINEAGE_OK);
    add_rows(dir, (const struct row[]){{"030", .parent = "exp_000", .status = "crash", .notes = "n"},
                                       {"exp_031", .parent = "001", .status = "crash", .notes = "n"},
                                       {"032", .parent = "exp_031", .status = "crash", .notes = "n"},
                                       {"033", .parent = "031", .status = "crash", .notes = "n"},
                                       {"040", .parent = "050", .status = "crash", .notes = "n"},
                                       {"041", .status = "no such status", .metric = "x", .notes = "n"},
                                       {.id = NULL}});
    add_bytes(dir, "077\tshort\n\n\tno id\n");
    assert_int_equal(lineage_store_append(store, &crash, &options, &row, &err), LINEAGE_OK);
    assert_string_equal(row.exp_id, "078");
    lineage_trial_release(&row);
    /* Its parent, row 040, already names row 050 as its own parent. */
    assert_int_equal(lineage_store_append(store, &closing, &options, NULL, &err), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "cycle"));
    end();
}

/* If a quote is never closed, only the faulty record is moved aside, not the rows after it. */
static void a_quote_that_is_never_closed_takes_one_record(void **state)
{
    const struct lineage_trial crash = {.status = LINEAGE_CRASH};
    static const char *const behind[] = {
        "x2\t\ta\t\t\t\th\t\tcrash\t\t\t\t\t\t\t\tn\n", /* a row */
        "\nx2\t\ta\t\t\t\th\t\tcrash\t\t\t\t\t\t\t\tn\n",
        "no row\nx2\t\ta\t\t\t\th\t\tcrash\t\t\t\t\t\t\t\tn\n",
        "000\t\ta\t\t\t\th\t\tcrash\t\t\t\t\t\t\t\tn\nx2\t\ta\t\t\t\th\t\tcrash\t\t\t\t\t\t\t\tn\n",
        "\t\ta\t\t\t\th\t\tcrash\t\t\t\t\t\t\t\tn\nx2\t\ta\t\t\t\th\t\tcrash\t\t\t\t\t\t\t\tn\n",
        "x3\t\ta\t\t\t\th\t\tbad\t\t\t\t\t\t\t\tn\nx2\t\ta\t\t\t\th\t\tcrash\t\t\t\t\t\t\t\tn\n"};
    (void)state;
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        begin();
        add_bytes(dir, "x1\t\t\"a\t\t\t\th\t\tcrash\t\t\t\t\t\t\t\tn\n");
        add_bytes(dir, behind[i]);
        assert_int_equal(lineage_store_append(store, &crash, NULL, NULL, &err), LINEAGE_OK);
        assert_true(file_exists(in_dir(dir, "results.tsv.torn-1")));
        assert_non_null(strstr(ids(), "x2 "));
        assert_null(strstr(ids(), "x1 "));
        end();
    }
    begin(); /* no row follows, and the record has no end */
    add_bytes(dir, "x1\t\t\"a");
    assert_int_equal(lineage_store_append(store, &crash, NULL, NULL, &err), LINEAGE_OK);
    assert_string_equal(ids(), "000 001 002 ");
    end();
    begin(); /* half of CR LF does not end the record */
    add_bytes(dir, "x1\t\ta\t\t\t\th\t\tcrash\t\t\t\t\t\t\t\tn\r");
    assert_int_equal(lineage_store_append(store, &crash, NULL, NULL, &err), LINEAGE_OK);
    assert_string_equal(ids(), "000 001 002 ");
    assert_true(file_exists(in_dir(dir, "results.tsv.torn-1")));
    end();
}

/* ---- imported ---- */

static void an_import_gives_no_id_twice(void **state)
{
    struct lineage_import_stats stats;
    (void)state;
    begin();
    char *other = make_dir(), *from = join(other, "results.tsv");
    static const char plain[] = "commit\tval_bpb\tmemory_gb\tstatus\tdescription\n"
                                "abc\t0.9\t1.0\tkeep\tfirst\nabc\t0.8\t1.0\tkeep\tagain\nabc\t0.7\t1.0\tdiscard\tonce more\n";
    write_file(from, plain, sizeof plain - 1);
    enum lineage_status status = lineage_import(store, from, NULL, &stats, NULL, NULL, &err);
    if (status == LINEAGE_OK) {
        assert_int_equal(stats.n_rows, 3);
        assert_int_equal(findings_of("id:"), 0);
    }
    remove(from);
    /* The same ids again, in the format of the other program. */
    add_rows(other, rows);
    assert_int_not_equal(lineage_import(store, from, NULL, &stats, NULL, NULL, &err), LINEAGE_OK);
    free(from);
    remove_dir(other);
    end();
}

static void a_log_of_another_form_takes_no_import(void **state)
{
    struct lineage_import_stats stats;
    (void)state;
    dir = make_dir();
    add_bytes(dir, "status\texp_id\tcore_metric\nkeep\t000\t0.5\n");
    store = open_store(dir, LINEAGE_LOWER, NULL);
    char *other = make_dir(), *from = join(other, "results.tsv");
    add_rows(other, (const struct row[]){{"x1", .status = "crash"}, {.id = NULL}});
    assert_int_equal(lineage_import(store, from, NULL, &stats, NULL, NULL, &err), LINEAGE_EINVAL);
    assert_string_equal(ids(), "000 ");
    free(from);
    remove_dir(other);
    end();
}

/* ---- put back ---- */

static enum lineage_status restore(const char *text)
{
    size_t n;
    write_file(in_dir(dir, "results.tsv.torn-1"), text, strlen(text));
    return lineage_restore(store, "results.tsv.torn-1", &n, &err);
}

static void what_is_put_back_is_sound_and_new(void **state)
{
    static const char row[] = "\n002\t\ta\t000\t\t\th\t\tcrash\t\t\t\t\t\t\t\tn\n\n";
    size_t n;
    (void)state;
    begin();
    assert_int_equal(lineage_restore(store, "results.tsv", &n, &err), LINEAGE_EINVAL);
    assert_int_equal(lineage_restore(store, "results.tsv.torn-7", &n, &err), LINEAGE_ENOTFOUND);
    assert_int_equal(restore("003\tonly\n"), LINEAGE_EINVAL);
    assert_int_equal(restore("003\t\ta\t\t\t\t\"h\t\tcrash\t\t\t\t\t\t\t\tn\n"), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "quote is never closed"));
    assert_int_equal(restore("001\t\ta\t\t\t\th\t\tcrash\t\t\t\t\t\t\t\tn\n"), LINEAGE_EEXIST);
    assert_string_equal(ids(), "000 001 ");
    assert_int_equal(restore("\n\n"), LINEAGE_OK); /* restores no row */
    assert_string_equal(ids(), "000 001 ");
    assert_int_equal(restore(row), LINEAGE_OK); /* blank lines are not a torn record */
    assert_string_equal(ids(), "000 001 002 ");
    assert_false(file_exists(in_dir(dir, "results.tsv.torn-1")));
    end();
    dir = make_dir();
    store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(restore(row), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "no header yet"));
    end();
}

/* ---- names of snapshots ---- */

/* a + b_c and a_b + c give the same name. The collision is found whether or not the mirror has read the existing
 * rows. */
static void no_two_trials_share_a_snapshot(void **state)
{
    static const char *const named[][2] = {{"a", "b_c_d"}, {"a_b", "c_d"}, {"a_b_c", "d"}};
    char *from = make_dir(), *file = join(from, "f"), paths[3][64];
    (void)state;
    write_file(file, "x", 1);
    for (int lag = 0; lag < 2; lag++) {
        begin();
        for (size_t i = 0; i < 3; i++) {
            const struct lineage_trial trial = {
                .exp_id = named[i][0], .specialist = named[i][1], .status = LINEAGE_KEEP, .core_metric = {true, 1}};
            struct lineage_append_options options;
            struct lineage_trial row;
            lineage_append_options_init(&options);
            options.snapshot_dir = from;
            options.no_mirror_sync = lag;
            assert_int_equal(lineage_store_append(store, &trial, &options, &row, &err), LINEAGE_OK);
            snprintf(paths[i], sizeof paths[i], "%s", row.snapshot_path);
            for (size_t j = 0; j < i; j++)
                assert_string_not_equal(paths[i], paths[j]);
            lineage_trial_release(&row);
        }
        assert_int_equal(findings_of("snapshot:"), 0);
        end();
    }
    free(file);
    remove_dir(from);
}

/* ---- settings ---- */

static void a_noise_floor_is_set_once(void **state)
{
    (void)state;
    begin();
    assert_int_equal(lineage_store_set_noise(store, 0, 1, &err), LINEAGE_EINVAL);
    assert_int_equal(lineage_store_set_noise(store, -1, 1, &err), LINEAGE_EINVAL);
    assert_int_equal(lineage_store_set_noise(store, NAN, 1, &err), LINEAGE_EINVAL);
    assert_int_equal(lineage_store_set_noise(store, INFINITY, 1, &err), LINEAGE_EINVAL);
    assert_true(lineage_store_config(store)->noise_std == 0);
    assert_int_equal(lineage_store_set_noise(store, 0.5, 3, &err), LINEAGE_OK);
    assert_true(lineage_store_config(store)->noise_std == 0.5 && lineage_store_config(store)->noise_seeds == 3);
    assert_int_equal(lineage_store_set_noise(store, 0.25, 3, &err), LINEAGE_EEXIST);
    assert_true(lineage_store_config(store)->noise_std == 0.5);
    end();
}

static unsigned countdown;

static int fail_call(void *context, const char *call)
{
    (void)context, (void)call;
    return countdown && !--countdown ? EIO : 0;
}

/* Setting the noise floor succeeds or fails as a whole: the file and the handle agree. */
static void a_noise_floor_that_cannot_be_written_is_none(void **state)
{
    (void)state;
    for (unsigned n = 1, over = 0; !over && n < 100; n++) {
        struct lineage_store *again;
        begin();
        countdown = n;
        fs_set_fault(fail_call, NULL);
        enum lineage_status status = lineage_store_set_noise(store, 0.5, 3, &err);
        fs_set_fault(NULL, NULL);
        over = countdown > 0;
        assert_int_equal(lineage_store_open(&again, dir, NULL, &err), LINEAGE_OK);
        double kept = lineage_store_config(again)->noise_std;
        if (status == LINEAGE_OK)
            assert_true(kept == 0.5 && lineage_store_config(store)->noise_std == 0.5);
        else
            assert_true(lineage_store_config(store)->noise_std == 0 && (kept == 0 || kept == 0.5));
        lineage_store_close(again);
        end();
    }
}

static void an_import_that_was_cut_off_is_found(void **state)
{
    (void)state;
    begin();
    assert_int_equal(findings_of("import:"), 0);
    write_file(in_dir(dir, "results.tsv.import"), "0\n", 2);
    assert_int_equal(findings_of("import:"), 1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_are_rows_alone),
        cmocka_unit_test(a_status_may_be_asked_for_row_by_row),
        cmocka_unit_test(a_bar_against_one_trial_is_not_one_against_another),
        cmocka_unit_test(a_last_line_without_end_is_ended_first),
        cmocka_unit_test(a_header_without_end_is_ended_first),
        cmocka_unit_test(rows_that_another_program_wrote_count),
        cmocka_unit_test(a_quote_that_is_never_closed_takes_one_record),
        cmocka_unit_test(an_import_gives_no_id_twice),
        cmocka_unit_test(a_log_of_another_form_takes_no_import),
        cmocka_unit_test(what_is_put_back_is_sound_and_new),
        cmocka_unit_test(no_two_trials_share_a_snapshot),
        cmocka_unit_test(a_check_answers_as_the_append_would),
        cmocka_unit_test(a_noise_floor_is_set_once),
        cmocka_unit_test(a_noise_floor_that_cannot_be_written_is_none),
        cmocka_unit_test(an_import_that_was_cut_off_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
