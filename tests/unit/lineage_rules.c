/* Tests which rows an append refuses and which process may append. These rules hold for rows of any tool. */
#include "support/last_words.h"
#include "support/unit.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lineage/notes.h>
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
    struct lineage_trial trial = {
        .exp_id = id, .notes = notes, .hypothesis = "h", .status = LINEAGE_DISCARD, .core_metric = {true, 1.0}};
    return lineage_store_append(store, &trial, NULL, NULL, &err);
}

/* The second spelling of an id is refused, in both orders, and whether the first row was written by this handle or is
 * in the mirror. */
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

static enum lineage_status append_once(struct lineage_store *store, enum lineage_label label, const char *sweep, uint64_t key)
{
    char link[LINEAGE_NIGHT_LINK_MAX];
    struct lineage_append_options options;
    struct lineage_trial trial = {.notes = lineage_night_link_format(link, sweep, "t", key),
                                  .hypothesis = "h",
                                  .status = label,
                                  .core_metric = {label != LINEAGE_HARNESS_ABORT, 1.0}};
    lineage_append_options_init(&options);
    options.once_per_night = true;
    return lineage_store_append(store, &trial, &options, NULL, &err);
}

static void assert_had(struct place *p, uint64_t key)
{
    assert_int_equal(append_once(p->store, LINEAGE_DISCARD, "s", key), LINEAGE_EEXIST);
    assert_non_null(strstr(err.text, "trial 't' of the night 's' has a row already"));
}

/* The existing row is found among the rows of this handle, in the mirror, and after rows of another handle. */
static void a_trial_of_a_night_has_one_row(void **state)
{
    struct place *p = *state;
    struct lineage_store *other;
    const uint64_t high = UINT64_MAX - 1; /* a key too large for SQLite's signed integers */
    assert_int_equal(append_once(p->store, LINEAGE_HARNESS_ABORT, "s", high), LINEAGE_OK);
    assert_int_equal(append_once(p->store, LINEAGE_DISCARD, "s", high), LINEAGE_OK);
    assert_had(p, high);
    assert_int_equal(append_once(p->store, LINEAGE_DISCARD, "another", high), LINEAGE_OK);
    assert_int_equal(append_once(p->store, LINEAGE_HARNESS_ABORT, "s", high), LINEAGE_OK);
    assert_int_equal(lineage_store_open(&other, p->dir, NULL, &err), LINEAGE_OK);
    assert_int_equal(append_once(other, LINEAGE_CRASH, "s", 2), LINEAGE_OK);
    assert_had(p, 2);
    lineage_store_close(other);
    lineage_store_close(p->store);
    assert_int_equal(lineage_store_open(&p->store, p->dir, NULL, &err), LINEAGE_OK);
    assert_had(p, high);
    assert_had(p, 2);
    assert_int_equal(append_once(p->store, LINEAGE_DISCARD, "s", 3), LINEAGE_OK);
    /* Without the option once_per_night. */
    assert_int_equal(append(p->store, NULL, "night s, trial t, key 0000000000000003"), LINEAGE_OK);
    assert_string_equal(sql_value(p->store, "SELECT count(*) FROM night_rows"), "5");
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

/* The row is imported, or written by a tool that does not know the prefix exp_. */
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
        bool refused = append(p->store, NULL, "") == LINEAGE_EINVAL && lineage_best(p->store, &trial, &err) == LINEAGE_EINVAL &&
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
    assert_int_equal(append(p->store, "001", ""), LINEAGE_EEXIST); /* the child has appended 001 */
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

/* No process will ever write to the pipe, so a reader that waited for it would block every writer. */
static void a_pipe_in_the_place_of_telemetry_is_not_waited_for(void **state)
{
    struct place *p = *state;
    size_t n = 0;
    assert_int_equal(mkdir(in_dir(p->dir, "telemetry"), 0777), 0);
    assert_int_equal(mkfifo(in_dir(p->dir, "telemetry/000.json"), 0600), 0);
    assert_int_equal(append(p->store, "000", ""), LINEAGE_EEXIST); /* the id of another trial's telemetry */
    assert_int_equal(append(p->store, "001", ""), LINEAGE_OK);
    assert_int_equal(lineage_verify(p->store, &n, NULL, NULL, &err), LINEAGE_OK);
}

static size_t size_of_log(const struct place *p)
{
    struct stat st;
    return stat(in_dir(p->dir, "results.tsv"), &st) == 0 ? (size_t)st.st_size : 0;
}

/* Rows of one call are stored in the same order and with the same contents as by single appends. */
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

/* If one row is bad, no row of its call is added, and the next append finds ids and best unchanged. */
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
    for (int round = 0; round < 2; round++) { /* first without a file, then with one */
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

/* A cycle is also found if it is closed through rows that the mirror has not read. */
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

/* A cycle is also found if the ancestors end at the other spelling of the new row's id. */
static void a_cycle_is_met_in_either_spelling(void **state)
{
    struct place *p = *state;
    static const struct row rows[] = {{"a", .parent = "exp_b", .status = "keep", .metric = "1"},
                                      {"c", .parent = "d", .status = "keep", .metric = "1"},
                                      {"e", .parent = "elsewhere", .status = "keep", .metric = "1"},
                                      {"f", .parent = "y", .status = "discard", .metric = "1"},
                                      {.id = NULL}};
    static const struct {
        const char *id, *parent;
        enum lineage_status status;
    } cases[] = {{"b", "a", LINEAGE_EINVAL}, {"exp_d", "c", LINEAGE_EINVAL}, {"d", "c", LINEAGE_EINVAL}, {"y", "e", LINEAGE_OK}};
    add_rows(p->dir, rows);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct lineage_trial trial = {.exp_id = cases[i].id, .parent_exp = cases[i].parent, .status = LINEAGE_CRASH};
        assert_int_equal(lineage_store_append(p->store, &trial, NULL, NULL, &err), cases[i].status);
        if (cases[i].status != LINEAGE_OK)
            assert_non_null(strstr(err.text, "a cycle"));
    }
}

static void what_cannot_be_written_is_refused(void **state)
{
    struct place *p = *state;
    const struct lineage_param no_name[] = {{NULL, 1, NULL}}, clip[] = {{"ig_clip_scale_mean", 0, "text"}},
                               large[] = {{"lr", (double)INFINITY, NULL}};
    const struct lineage_turn_stat no_mean[] = {{.turn = 1, .mean = (double)NAN}},
                                   no_std[] = {{.turn = 1, .std = (double)INFINITY}};
    const struct lineage_trial wrong[] = {{.params = no_name, .n_params = 1},
                                          {.params = clip, .n_params = 1},
                                          {.params = large, .n_params = 1},
                                          {.turns = no_mean, .n_turns = 1},
                                          {.turns = no_std, .n_turns = 1},
                                          {.status = (enum lineage_label)99},
                                          {.train_s = {true, (double)NAN}},
                                          {.ig_clip_scale_std = {true, (double)INFINITY}},
                                          {.exp_id = "x", .parent_exp = "exp_x", .status = LINEAGE_CRASH},
                                          {.status = LINEAGE_KEEP},
                                          {.domain = "\xff"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct lineage_trial trial = wrong[i];
        trial.core_metric =
            trial.status == LINEAGE_KEEP && i == 9 ? (struct lineage_number){0} : (struct lineage_number){true, 1};
        assert_int_equal(lineage_store_append(p->store, &trial, NULL, NULL, &err), LINEAGE_EINVAL);
        assert_true(err.text[0]);
    }
    assert_false(file_exists(in_dir(p->dir, "results.tsv")));
}

/* A statistic that is given in notes and by the caller is written once. Two different values are refused. */
static void statistics_are_said_once(void **state)
{
    struct place *p = *state;
    struct lineage_trial row, trial = {.status = LINEAGE_CRASH, .notes = "ig_clip_scale mean=0.5 std=0.25 of all"};
    trial.ig_clip_scale_mean = (struct lineage_number){true, 0.5};
    assert_int_equal(lineage_store_append(p->store, &trial, NULL, &row, &err), LINEAGE_OK);
    assert_string_equal(row.notes, "ig_clip_scale mean=0.5 std=0.25 of all");
    lineage_trial_release(&row);
    trial.ig_clip_scale_std = (struct lineage_number){true, 0.5};
    assert_int_equal(lineage_store_append(p->store, &trial, NULL, NULL, &err), LINEAGE_EINVAL);
    trial.ig_clip_scale_std = (struct lineage_number){true, 0.25};
    trial.ig_clip_scale_mean.value = 0.75;
    assert_int_equal(lineage_store_append(p->store, &trial, NULL, NULL, &err), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "ig_clip_scale"));
    trial.notes = "ig_clip_scale_std=0.25";
    assert_int_equal(lineage_store_append(p->store, &trial, NULL, &row, &err), LINEAGE_OK);
    assert_string_equal(row.notes, "ig_clip_scale mean=0.75; ig_clip_scale_std=0.25");
    assert_true(row.ig_clip_scale_std.value == 0.25 && row.ig_clip_scale_mean.value == 0.75);
    lineage_trial_release(&row);
    trial.ig_clip_scale_mean.present = false;
    trial.notes = "";
    assert_int_equal(lineage_store_append(p->store, &trial, NULL, &row, &err), LINEAGE_OK);
    assert_string_equal(row.notes, "ig_clip_scale std=0.25");
    lineage_trial_release(&row);
}

/* Reopens a store whose log has this header and whose lineage.json has this text. */
static void reopen_with(struct place *p, const char *header, const char *config)
{
    lineage_store_close(p->store);
    write_file(in_dir(p->dir, "results.tsv"), header, strlen(header));
    write_file(in_dir(p->dir, "lineage.json"), config, strlen(config));
    assert_int_equal(lineage_store_open(&p->store, p->dir, NULL, &err), LINEAGE_OK);
}

static void assert_ends_with(struct place *p, const char *end)
{
    size_t length;
    char *text = read_file(in_dir(p->dir, "results.tsv"), &length);
    assert_true(length > strlen(end));
    assert_string_equal(text + length - strlen(end), end);
    free(text);
}

/* In another tool's file, existing columns are filled in, and a value that has no column is refused. */
static void a_row_has_the_columns_of_its_file(void **state)
{
    struct place *p = *state;
    const struct lineage_extra extras[] = {{"gpu", "a\t100"}, {"elsewhere", "x"}};
    struct lineage_trial trial = {.status = LINEAGE_KEEP, .core_metric = {true, 0.75}, .extras = extras, .n_extras = 2};
    reopen_with(p, "exp_id\tstatus\tgpu\tnode\tval_bpb\tnotes\n", "{\"metric\": \"val_bpb\"}");
    assert_int_equal(lineage_store_append(p->store, &trial, NULL, NULL, &err), LINEAGE_OK);
    assert_ends_with(p, "\n000\tkeep\t\"a\t100\"\t\t0.75\t\n");
    trial.hypothesis = "why";
    assert_int_equal(lineage_store_append(p->store, &trial, NULL, NULL, &err), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "has no column hypothesis"));
    trial.hypothesis = NULL;
    reopen_with(p, "exp_id\tstatus\tem\tgpu\n", "{\"metric\": \"em\"}");
    assert_int_equal(lineage_store_append(p->store, &trial, NULL, NULL, &err), LINEAGE_OK);
    assert_ends_with(p, "\n001\tkeep\t0.75\t\"a\t100\"\n"); /* 000 was given in the log before */
    trial.core_metric.present = false;
    trial.status = LINEAGE_CRASH;
    assert_int_equal(lineage_store_append(p->store, &trial, NULL, NULL, &err), LINEAGE_OK);
    assert_ends_with(p, "\n002\tcrash\t\t\"a\t100\"\n");
    reopen_with(p, "commit\tval_bpb\tmemory_gb\tstatus\tdescription\n", "{}");
    assert_int_equal(lineage_store_append(p->store, &trial, NULL, NULL, &err), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "five-column log"));
}

/* A new file has the 17 standard columns, so a score column with another name is refused. */
static void a_new_file_has_a_column_for_the_score(void **state)
{
    struct place *p = *state;
    static const char config[] = "{\"metric\": \"em\"}";
    const struct lineage_trial trial = {.status = LINEAGE_KEEP, .core_metric = {true, 0.75}};
    lineage_store_close(p->store);
    write_file(in_dir(p->dir, "lineage.json"), config, sizeof config - 1);
    assert_int_equal(lineage_store_open(&p->store, p->dir, NULL, &err), LINEAGE_OK);
    assert_int_equal(lineage_store_append(p->store, &trial, NULL, NULL, &err), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "has no column 'em'"));
    assert_false(file_exists(in_dir(p->dir, "results.tsv")));
}

/* The header is complete except for its line end: another tool was cut off after the header, or an editor saved
 * without a line end. */
static void a_whole_header_without_line_end_is_finished(void **state)
{
    struct place *p = *state;
    size_t length, header;
    assert_int_equal(append(p->store, "first", ""), LINEAGE_OK);
    lineage_store_close(p->store);
    char *text = read_file(in_dir(p->dir, "results.tsv"), &length);
    header = strcspn(text, "\n");
    write_file(in_dir(p->dir, "results.tsv"), text, header);
    assert_int_equal(lineage_store_open(&p->store, p->dir, NULL, &err), LINEAGE_OK);
    assert_int_equal(append(p->store, "second", ""), LINEAGE_OK);
    free(text);
    text = read_file(in_dir(p->dir, "results.tsv"), &length);
    assert_memory_equal(text + header, "\nsecond\t", 8);
    assert_false(file_exists(in_dir(p->dir, "results.tsv.torn-1")));
    lineage_store_close(p->store);
    /* Cut inside the header, so its columns are unknown. */
    write_file(in_dir(p->dir, "results.tsv"), text, header - 3);
    assert_int_equal(lineage_store_open(&p->store, p->dir, NULL, &err), LINEAGE_OK);
    assert_int_equal(append(p->store, "third", ""), LINEAGE_OK);
    assert_true(file_exists(in_dir(p->dir, "results.tsv.torn-1")));
    free(text);
    text = read_file(in_dir(p->dir, "results.tsv"), &length);
    assert_memory_equal(text + header, "\nthird\t", 7);
    free(text);
}

/* Another tool adds rows while a handle is open. Their ids count as used, even in rows that only that tool can read. */
static void rows_of_others_are_read_at_the_next_append(void **state)
{
    struct place *p = *state;
    static const struct row rows[] = {{"exp_007", .parent = "006", .status = "keep", .metric = "0.5"},
                                      {"009", .parent = "exp_007", .status = "nonsense", .metric = "1"},
                                      {"exp_008", .parent = "nowhere", .status = "crash"},
                                      {.id = NULL}};
    struct lineage_trial row, trial = {.status = LINEAGE_DISCARD, .core_metric = {true, 1}};
    assert_int_equal(append(p->store, "006", ""), LINEAGE_OK);
    add_rows(p->dir, rows);
    add_bytes(p->dir, "\n\xff\tT\t\n");
    assert_int_equal(lineage_store_append(p->store, &trial, NULL, &row, &err), LINEAGE_OK);
    assert_string_equal(row.exp_id, "010");
    assert_string_equal(row.baseline_exp, "exp_007");
    lineage_trial_release(&row);
    /* Perhaps half of CR LF: not yet a record. */
    add_bytes(p->dir, "011\tT\ts\r");
    assert_int_equal(lineage_store_append(p->store, &trial, NULL, &row, &err), LINEAGE_OK);
    assert_true(file_exists(in_dir(p->dir, "results.tsv.torn-1")));
    lineage_trial_release(&row);
}

static void side_files_need_an_id_that_names_them(void **state)
{
    struct place *p = *state;
    struct lineage_append_options options;
    struct lineage_trial trial = {.exp_id = ".hidden", .status = LINEAGE_KEEP, .core_metric = {true, 1}};
    char *work = make_dir();
    static const char *const wrong[] = {"[]",
                                        "{\"steps\": 1}",
                                        "{\"steps\": [{\"loss\": 1}]}",
                                        "{\"steps\": [{\"step\": 1, \"loss\": \"x\"}]}",
                                        "{",
                                        "{\"steps\": [{\"step\": 0.5}]}",
                                        "{\"steps\": [1]}",
                                        "{\"steps\": [{\"step\": 1, \"loss\": null}]}"};
    lineage_append_options_init(&options);
    options.telemetry = "{}";
    options.telemetry_length = 2;
    assert_int_equal(lineage_store_append(p->store, &trial, &options, NULL, &err), LINEAGE_EINVAL);
    options.telemetry = NULL;
    options.snapshot_dir = work;
    assert_int_equal(lineage_store_append(p->store, &trial, &options, NULL, &err), LINEAGE_EINVAL);
    options.snapshot_dir = NULL;
    trial.exp_id = "";
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        options.telemetry = wrong[i];
        options.telemetry_length = strlen(wrong[i]);
        assert_int_equal(lineage_store_append(p->store, &trial, &options, NULL, &err), LINEAGE_EINVAL);
        assert_non_null(strstr(err.text, "telemetry"));
    }
    options.telemetry = "{\"steps\": [{\"step\": 0, \"loss\": 1.5}, {\"step\": 1}], \"more\": true}";
    options.telemetry_length = strlen(options.telemetry);
    assert_int_equal(lineage_store_append(p->store, &trial, &options, NULL, &err), LINEAGE_OK);
    remove_dir(work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_trial_of_a_night_has_one_row, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_trial_has_one_id, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_trial_has_one_id_wherever_it_comes_from, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_setting_is_a_number_that_exists, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_child_may_not_use_its_parents_handle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_import_may_come_through_a_pipe, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_rows_are_as_if_appended_one_by_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_rows_are_all_there_or_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cycle_through_fresh_rows_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pipe_in_the_place_of_telemetry_is_not_waited_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cycle_is_met_in_either_spelling, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(statistics_are_said_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_row_has_the_columns_of_its_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_new_file_has_a_column_for_the_score, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_whole_header_without_line_end_is_finished, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_of_others_are_read_at_the_next_append, set_up, tear_down),
        cmocka_unit_test_setup_teardown(side_files_need_an_id_that_names_them, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
