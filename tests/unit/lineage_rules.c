/* What an append refuses, and which process may append: rules that hold whatever tool wrote the rows before. */
#include "support/last_words.h"
#include "support/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lineage/store.h>
#include <lineage/verify.h>

#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;

struct place {
    char *dir;
    struct lineage_store *store;
};

static int set_up(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->dir = make_dir();
    assert_int_equal(lineage_store_open(&p->store, p->dir, NULL, &err), LINEAGE_OK);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    lineage_store_close(p->store);
    remove_dir(p->dir);
    free(p);
    return 0;
}

static enum lineage_status append(struct lineage_store *store, const char *id, const char *notes)
{
    struct lineage_trial trial = {.exp_id = id, .notes = notes, .hypothesis = "h", .status = LINEAGE_DISCARD,
                                  .core_metric = {true, 1.0}};
    return lineage_store_append(store, &trial, NULL, NULL, &err);
}

/* Both ways round, and both through the rows of this handle and through the mirror. */
static void one_trial_has_one_id(void **state)
{
    struct place *p = *state;
    assert_int_equal(append(p->store, "014", ""), LINEAGE_OK);
    assert_int_equal(append(p->store, "exp_014", ""), LINEAGE_EEXIST);
    assert_non_null(strstr(err.text, "names the same trial as '014'"));
    assert_int_equal(append(p->store, "exp_a", ""), LINEAGE_OK);
    assert_int_equal(append(p->store, "a", ""), LINEAGE_EEXIST);
    lineage_store_close(p->store);
    assert_int_equal(lineage_store_open(&p->store, p->dir, NULL, &err), LINEAGE_OK);
    assert_int_equal(append(p->store, "exp_014", ""), LINEAGE_EEXIST);
    assert_int_equal(append(p->store, "a", ""), LINEAGE_EEXIST);
    assert_int_equal(append(p->store, "014", ""), LINEAGE_EEXIST);
    assert_null(strstr(err.text, "same trial"));
}

static void import_foreign(struct place *p, const char *rows, enum lineage_status status, const char *text)
{
    static const char header[] = "exp_id\tstatus\tcore_metric\n";
    struct lineage_import_stats stats;
    char *path = join(p->dir, "foreign.tsv"), *bytes = malloc(strlen(rows) + sizeof header);
    assert_non_null(bytes);
    strcat(strcpy(bytes, header), rows);
    write_file(path, bytes, strlen(bytes));
    assert_int_equal(lineage_import(p->store, path, NULL, &stats, NULL, NULL, &err), status);
    if (text && !strstr(err.text, text))
        fail_msg("'%s' is not in '%s'", text, err.text);
    free(bytes);
    free(path);
}

/* Imported, or written by a tool that knows of no prefix. */
static void one_trial_has_one_id_wherever_it_comes_from(void **state)
{
    struct place *p = *state;
    struct heard heard = {0};
    size_t n;
    assert_int_equal(append(p->store, "exp_014", ""), LINEAGE_OK);
    import_foreign(p, "013\tkeep\t1\n014\tkeep\t1\n", LINEAGE_EEXIST, "names the same trial as 'exp_014'");
    import_foreign(p, "020\tkeep\t1\nexp_020\tkeep\t1\n", LINEAGE_EEXIST, "names the same trial as '020'");
    import_foreign(p, "020\tkeep\t1\nexp_021\tkeep\t1\n", LINEAGE_OK, NULL);
    assert_int_equal(lineage_verify(p->store, &n, NULL, NULL, &err), LINEAGE_OK);
    assert_int_equal(n, 0);
    add_rows(p->dir, (const struct row[]){{"014", "s", .status = "crash"}, {.id = NULL}});
    assert_int_equal(lineage_verify(p->store, &n, hear_finding, &heard, &err), LINEAGE_OK);
    assert_int_equal(n, 1);
    assert_string_equal(heard.kinds, "id:2 ");
    assert_string_equal(heard.text, "names the same trial as '014' in line 5");
}

static void a_setting_is_a_number_that_exists(void **state)
{
    struct place *p = *state;
    assert_int_equal(append(p->store, NULL, "beta=1; alpha=1e999"), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "alpha"));
    assert_false(file_exists(in_dir(p->dir, "results.tsv")));
    assert_int_equal(append(p->store, NULL, "info_gain turn=1 mean=1e999 std=1"), LINEAGE_EINVAL);
    assert_int_equal(append(p->store, NULL, "ig_clip_scale mean=1 std=1e999"), LINEAGE_EINVAL);
    assert_int_equal(append(p->store, NULL, "alpha=1e99"), LINEAGE_OK);
}

static void a_child_may_not_use_its_parents_handle(void **state)
{
    struct place *p = *state;
    int status = 0;
    assert_int_equal(append(p->store, NULL, ""), LINEAGE_OK);
    pid_t child = fork();
    if (child == 0) {
        struct lineage_trial trial;
        struct lineage_import_stats stats;
        bool refused = append(p->store, NULL, "") == LINEAGE_EINVAL &&
                       lineage_best(p->store, &trial, &err) == LINEAGE_EINVAL &&
                       lineage_import(p->store, "none", NULL, &stats, NULL, NULL, &err) == LINEAGE_EINVAL &&
                       strstr(err.text, "before a fork");
        lineage_store_close(p->store);
        struct lineage_store *own = NULL;
        bool may = lineage_store_open(&own, p->dir, NULL, &err) == LINEAGE_OK && append(own, NULL, "") == LINEAGE_OK;
        lineage_store_close(own);
        leave(refused && may ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(append(p->store, "001", ""), LINEAGE_EEXIST); /* the child's */
    assert_int_equal(append(p->store, NULL, ""), LINEAGE_OK);
}

static void an_import_may_come_through_a_pipe(void **state)
{
    struct place *p = *state;
    static const char log[] = "commit\tval_bpb\tmemory_gb\tstatus\tdescription\n"
                              "abc\t0.9\t10.0\tkeep\tbaseline\n";
    char *pipe_path = strdup(in_dir(p->dir, "pipe"));
    struct lineage_import_stats stats;
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(pipe_path, O_WRONLY | O_CLOEXEC);
        leave(write(fd, log, sizeof log - 1) == (ssize_t)sizeof log - 1 ? 0 : 1);
    }
    assert_int_equal(lineage_import(p->store, pipe_path, NULL, &stats, NULL, NULL, &err), LINEAGE_OK);
    assert_int_equal(stats.n_rows, 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    free(pipe_path);
}

/* Nobody will ever write into it: a reader that waited would hold up every writer with it. */
static void a_pipe_in_the_place_of_telemetry_is_not_waited_for(void **state)
{
    struct place *p = *state;
    size_t n = 0;
    assert_int_equal(mkdir(in_dir(p->dir, "telemetry"), 0777), 0);
    assert_int_equal(mkfifo(in_dir(p->dir, "telemetry/000.json"), 0600), 0);
    assert_int_equal(append(p->store, NULL, ""), LINEAGE_OK);
    assert_int_equal(lineage_verify(p->store, &n, NULL, NULL, &err), LINEAGE_OK);
    assert_int_equal(n, 1);
}

static size_t size_of_log(const struct place *p)
{
    struct stat st;
    return stat(in_dir(p->dir, "results.tsv"), &st) == 0 ? (size_t)st.st_size : 0;
}

/* Rows of one call stand where single appends would have put them, and say the same. */
static void many_rows_are_as_if_appended_one_by_one(void **state)
{
    struct place *p = *state, one = {.dir = make_dir()};
    struct lineage_param alpha = {.name = "alpha", .value = 0.3};
    struct lineage_trial trials[] = {
        {.timestamp = "t", .hypothesis = "base", .status = LINEAGE_BASELINE, .core_metric = {true, 2.0}},
        {.timestamp = "t", .parent_exp = "exp_000", .core_metric = {true, 1.5}, .params = &alpha, .n_params = 1},
        {.timestamp = "t", .parent_exp = "001", .status = LINEAGE_CRASH},
        {.timestamp = "t", .exp_id = "a7", .parent_exp = "002", .core_metric = {true, 1.75}},
        {.timestamp = "t", .exp_id = "040", .parent_exp = "exp_a7", .core_metric = {true, 1.25}},
        {.timestamp = "t", .parent_exp = "40", .status = LINEAGE_DISCARD, .core_metric = {true, 9}}};
    const bool by_score[] = {false, true, false, true, true, false};
    struct lineage_trial rows[6];
    struct lineage_append_options options;
    char *a = NULL, *b = NULL;
    size_t n, m;
    trials[5].parent_exp = "040";
    assert_int_equal(lineage_store_open(&one.store, one.dir, NULL, &err), LINEAGE_OK);
    for (size_t i = 0; i < 6; i++) {
        lineage_append_options_init(&options);
        options.auto_status = by_score[i];
        assert_int_equal(lineage_store_append(one.store, &trials[i], &options, NULL, &err), LINEAGE_OK);
    }
    assert_int_equal(lineage_store_append_many(p->store, trials, 2, by_score, NULL, NULL, &err), LINEAGE_OK);
    assert_int_equal(lineage_store_append_many(p->store, trials + 2, 4, by_score + 2, NULL, rows, &err), LINEAGE_OK);
    a = read_file(in_dir(p->dir, "results.tsv"), &n);
    b = read_file(in_dir(one.dir, "results.tsv"), &m);
    assert_string_equal(a, b);
    assert_string_equal(rows[0].exp_id, "002");
    assert_string_equal(rows[1].parent_exp, "002");
    assert_int_equal(rows[1].status, LINEAGE_DISCARD);
    assert_non_null(strstr(rows[1].notes, "discarded: "));
    assert_int_equal(rows[2].status, LINEAGE_KEEP);
    assert_string_equal(rows[2].parent_exp, "a7");
    assert_string_equal(rows[3].exp_id, "041");
    for (size_t i = 0; i < 4; i++)
        lineage_trial_release(&rows[i]);
    assert_int_equal(lineage_verify(p->store, &n, NULL, NULL, &err), LINEAGE_OK);
    assert_int_equal(n, 0);
    free(a);
    free(b);
    lineage_store_close(one.store);
    remove_dir(one.dir);
}

static void assert_refused(struct place *p, const struct lineage_trial *trials, size_t n, bool missing_parents,
                           enum lineage_status status, const char *text)
{
    struct lineage_append_options options;
    lineage_append_options_init(&options);
    options.allow_missing_parent = missing_parents;
    size_t before = size_of_log(p);
    assert_int_equal(lineage_store_append_many(p->store, trials, n, NULL, &options, NULL, &err), status);
    if (!strstr(err.text, text))
        fail_msg("'%s' is not in '%s'", text, err.text);
    assert_int_equal(size_of_log(p), before);
}

/* One bad row, and none of its call is there; the next append finds ids and best as they were. */
static void many_rows_are_all_there_or_none(void **state)
{
    struct place *p = *state;
    struct lineage_trial good = {.hypothesis = "h", .status = LINEAGE_KEEP, .core_metric = {true, 1}}, row;
    struct lineage_trial twice[] = {good, {.exp_id = "x", .status = LINEAGE_CRASH}, {.exp_id = "exp_x", .status = LINEAGE_CRASH}};
    struct lineage_trial orphan[] = {good, {.parent_exp = "nobody", .status = LINEAGE_CRASH}};
    struct lineage_trial later[] = {{.parent_exp = "c", .status = LINEAGE_CRASH}, {.exp_id = "c", .status = LINEAGE_CRASH}};
    struct lineage_trial unscored[] = {good, good, {.status = LINEAGE_KEEP}};
    struct lineage_trial cycle[] = {{.exp_id = "a", .parent_exp = "b", .status = LINEAGE_CRASH},
                                    {.exp_id = "b", .parent_exp = "a", .status = LINEAGE_CRASH}};
    for (int round = 0; round < 2; round++) { /* without a file, and with one */
        assert_refused(p, twice, 3, false, LINEAGE_EEXIST, "row 3: exp_id 'exp_x' names the same trial as 'x'");
        assert_refused(p, orphan, 2, false, LINEAGE_ENOTFOUND, "row 2: parent_exp 'nobody' is not in ");
        assert_refused(p, later, 2, false, LINEAGE_ENOTFOUND, "row 1: parent_exp 'c' is not in ");
        assert_refused(p, unscored, 3, false, LINEAGE_EINVAL, "row 3: status keep needs a score");
        assert_refused(p, cycle, 2, true, LINEAGE_EINVAL, "row 2: exp_id 'b' has been named as a parent already");
        if (!round)
            assert_int_equal(lineage_store_append(p->store, &good, NULL, NULL, &err), LINEAGE_OK);
    }
    good.core_metric.value = 3;
    assert_int_equal(lineage_store_append(p->store, &good, NULL, &row, &err), LINEAGE_OK);
    assert_string_equal(row.exp_id, "001");
    assert_string_equal(row.baseline_exp, "000");
    assert_true(row.delta_vs_best.value == 2);
    lineage_trial_release(&row);
}

/* The ancestors that close a circle may be rows that the index has not read. */
static void a_cycle_through_fresh_rows_is_refused(void **state)
{
    struct place *p = *state;
    struct lineage_append_options options;
    lineage_append_options_init(&options);
    options.allow_missing_parent = true;
    struct lineage_trial y = {.exp_id = "y", .parent_exp = "x", .status = LINEAGE_CRASH};
    struct lineage_trial r = {.exp_id = "r", .parent_exp = "y", .status = LINEAGE_CRASH};
    struct lineage_trial x = {.exp_id = "x", .parent_exp = "r", .status = LINEAGE_CRASH};
    assert_int_equal(lineage_store_append(p->store, &y, &options, NULL, &err), LINEAGE_OK);
    assert_int_equal(lineage_store_append(p->store, &r, NULL, NULL, &err), LINEAGE_OK);
    assert_int_equal(lineage_store_append(p->store, &x, NULL, NULL, &err), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "a cycle"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_trial_has_one_id, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_trial_has_one_id_wherever_it_comes_from, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_setting_is_a_number_that_exists, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_child_may_not_use_its_parents_handle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_import_may_come_through_a_pipe, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_rows_are_as_if_appended_one_by_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_rows_are_all_there_or_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cycle_through_fresh_rows_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pipe_in_the_place_of_telemetry_is_not_waited_for, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
