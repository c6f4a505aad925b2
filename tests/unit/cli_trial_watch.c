/* Tests watching a command as a trial, with sh in the place of a trainer. No recipe and no store is involved. */
#include "support/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trial/one_trial.h"

struct run {
    struct trial_plan plan;
    struct trial_job job;
    struct trial_results record;
    struct trial_outcome outcome;
    struct lineage_trial row;
    struct lineage_append_options options;
    struct interrupts interrupts;
};

static void on_event(void *context, const struct trial_event *event)
{
    trial_results_event(context, event);
}

/* Runs a shell command until it exits and makes the row. */
static void run(struct run *r, const char *command)
{
    const char *const argv[] = {"sh", "-c", command, NULL};
    r->interrupts = (struct interrupts){.fd = -1};
    r->job.argv = argv;
    r->job.interrupts = &r->interrupts;
    r->job.event = on_event;
    r->job.context = &r->record;
    r->plan.settings.train_seconds = r->job.settings.train_seconds;
    r->plan.settings.eval_seconds = r->job.settings.eval_seconds;
    r->plan.settings.memory_bytes = r->job.settings.memory_bytes;
    trial_results_init(&r->record, &r->plan);
    assert_true(trial_watch(&r->outcome, &r->job));
    assert_true(trial_row_make(&r->record, &r->outcome, NULL, &r->row, &r->options));
}

static void release(struct run *r)
{
    trial_results_release(&r->record);
}

#define assert_has(text, part) assert_non_null(strstr(text, part))

static void metrics_come_by_name(void **state)
{
    (void)state;
    struct run r = {.plan.identity = {.specialist = "sh"}};
    run(&r, "{ echo '{\"step\": 1, \"steps\": 2, \"loss\": 0.5, \"words\": [1], \"none\": null}';"
            "  echo '{\"step\": 2, \"loss\": 0.25, \"any name\": 7, \"score\": 0.5}';"
            "  echo '{\"param\": {\"alpha\": 0.3, \"not a name\": 1, \"text\": \"x\"}}';"
            "  echo 'no JSON'; echo '[1]'; echo '{\"kernels\": \"a \\\\\"plain\\\\\" one\"}';"
            "  echo '{\"phase\": \"done\", \"score\": 0.75, \"std\": 0.125}'; } >&3");
    assert_int_equal(r.outcome.end, TRIAL_FINISHED);
    assert_int_equal(r.row.status, LINEAGE_BASELINE);
    assert_true(r.options.auto_status);
    assert_true(r.row.core_metric.present);
    assert_float_equal(r.row.core_metric.value, 0.75, 0);
    assert_int_equal(r.row.n_params, 1);
    assert_string_equal(r.row.params[0].name, "alpha");
    assert_string_equal(r.row.notes, "");
    assert_string_equal(r.record.telemetry, "{\"final\": {\"score\": 0.75, \"std\": 0.125}\n,"
                                            "\"kernels\": \"a \\\"plain\\\" one\"\n,"
                                            "\"steps\": [\n{\"step\": 1, \"loss\": 0.5},\n"
                                            "{\"step\": 2, \"score\": 0.5, \"loss\": 0.25, \"any name\": 7}]}\n");
    release(&r);
}

static void a_phase_of_another_name_is_training(void **state)
{
    (void)state;
    struct run r = {.job = {.settings.eval_seconds = 60}};
    run(&r, "echo '{\"phase\": \"warm start\", \"step\": 3, \"steps\": 9, \"loss\": 1}' >&3; kill -9 $$");
    assert_int_equal(r.outcome.end, TRIAL_SIGNALLED);
    assert_int_equal(r.row.status, LINEAGE_CRASH);
    assert_has(r.row.notes, "killed by signal 9");
    assert_has(r.row.notes, "after step 3 of 9 of the warm start");
    assert_has(r.record.telemetry, "\"warm_start\": [");
    release(&r);
}

static void a_command_that_says_nothing_is_judged_by_its_exit_status(void **state)
{
    (void)state;
    struct run r = {0};
    run(&r, "exit 3");
    assert_int_equal(r.outcome.end, TRIAL_FAILED);
    assert_int_equal(r.outcome.exit_status, 3);
    assert_has(r.row.notes, "left with exit status 3");
    assert_int_equal(r.row.status, LINEAGE_CRASH);
    assert_null(r.options.telemetry);
    release(&r);
    run(&r, "exit 0");
    assert_int_equal(r.outcome.end, TRIAL_FINISHED);
    assert_false(r.row.core_metric.present);
    assert_int_equal(r.row.status, LINEAGE_HARNESS_ABORT);
    assert_false(r.options.auto_status);
    assert_has(r.row.notes, "exit 0 without a score");
    release(&r);
}

static void a_failure_says_what_its_label_is_made_of(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        enum lineage_label label;
    } cases[] = {
        {"echo '{\"failed\": \"no data; alpha=9\", \"kind\": \"input\"}' >&3; exit 1", LINEAGE_PREFLIGHT_CRASH},
        {"echo '{\"failed\": \"too large\", \"kind\": \"size\"}' >&3; exit 1", LINEAGE_SIZE_BLOCKED},
        {"echo '{\"failed\": \"nan\", \"kind\": \"of its own\"}' >&3; exit 1", LINEAGE_CRASH},
        {"echo '{\"step\": 1}' >&3; echo '{\"failed\": \"x\", \"kind\": \"input\"}' >&3; exit 1", LINEAGE_CRASH},
        {"echo '{\"failed\": \"and yet success\"}' >&3", LINEAGE_CRASH},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r = {0};
        run(&r, cases[i].command);
        assert_int_equal(r.row.status, cases[i].label);
        const char *reason = strchr(r.row.notes, ';'); /* behind the cause, a single piece */
        assert_true(reason && lineage_notes_cause(r.row.notes));
        assert_null(strchr(reason + 1, ';'));
        release(&r);
    }
}

static void walls_are_of_a_phase(void **state)
{
    (void)state;
    struct run r = {.job = {.settings.train_seconds = 0.2}};
    run(&r, "sleep 60");
    assert_int_equal(r.row.status, LINEAGE_TRAIN_BUDGET_OVERRUN);
    assert_true(r.outcome.total_s < 30);
    release(&r);
    r = (struct run){.job = {.settings.train_seconds = 60, .settings.eval_seconds = 0.2}};
    run(&r, "echo '{\"phase\": \"eval\"}' >&3; sleep 60");
    assert_int_equal(r.row.status, LINEAGE_EVAL_BUDGET_OVERRUN);
    release(&r);
    r = (struct run){.job = {.settings.train_seconds = 60, .settings.eval_seconds = 60}};
    run(&r, "echo '{\"phase\": \"eval\", \"train_s\": 61}' >&3"); /* the trial's own clock */
    assert_int_equal(r.row.status, LINEAGE_TRAIN_BUDGET_OVERRUN);
    release(&r);
    r = (struct run){.job = {.settings.train_seconds = 0.3}};
    run(&r, "while :; do echo '{\"step\": 1}'; done >&3"); /* output does not extend the limit */
    assert_int_equal(r.row.status, LINEAGE_TRAIN_BUDGET_OVERRUN);
    release(&r);
}

/* The durations that a trial reports decide over the watcher's clock. Of two evaluations the first is the final one. */
static void its_own_clock_counts_for_the_evaluation(void **state)
{
    (void)state;
    struct run r = {.job = {.settings.train_seconds = 60, .settings.eval_seconds = 60}};
    run(&r, "{ echo '{\"phase\": \"eval\"}'; echo '{\"phase\": \"done\", \"score\": 1, \"eval_s\": 61}'; } >&3");
    assert_int_equal(r.row.status, LINEAGE_EVAL_BUDGET_OVERRUN);
    release(&r);
    r = (struct run){.job = {.settings.train_seconds = 60, .settings.eval_seconds = 60}};
    run(&r, "{ echo '{\"phase\": \"eval\", \"train_s\": 59}'; echo '{\"phase\": \"eval\", \"train_s\": 61}';"
            " echo '{\"phase\": \"done\", \"score\": 1, \"eval_s\": 60}'; } >&3");
    assert_int_equal(r.outcome.end, TRIAL_FINISHED);
    release(&r);
}

/* These budgets are longer than the longest timeout of poll. */
static void budgets_may_be_of_years(void **state)
{
    (void)state;
    struct run r = {.job = {.settings.train_seconds = 1e9, .settings.silence_seconds = 1e9}};
    run(&r, "echo '{\"score\": 1}' >&3");
    assert_int_equal(r.outcome.end, TRIAL_FINISHED);
    release(&r);
}

static void ignore_output(void *context, const char *bytes, size_t n)
{
    (void)context, (void)bytes, (void)n;
}

/* The first verdict is kept, whatever follows in the same read. */
static void nothing_is_heard_after_a_verdict(void **state)
{
    static const char *const commands[] = {
        "printf '{\"score\": 0.5}\\n{\"loss\": NaN}\\n{\"score\": 9}\\n{\"failed\": \"x\"}\\n' >&3; sleep 60",
        "printf 'METRIC score=0.5\\nMETRIC loss=nan\\nMETRIC score=9\\n'; sleep 60"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct run r = {.job = {.settings.stop_on_nan = true, .guarded = i, .output = i ? ignore_output : NULL, .hold = -1}};
        run(&r, commands[i]);
        assert_int_equal(r.outcome.end, TRIAL_NOT_FINITE);
        assert_string_equal(r.outcome.text, "loss is not a finite number");
        assert_float_equal(r.record.score.value, 0.5, 0);
        release(&r);
    }
}

static void who_hangs_up_is_watched_all_the_same(void **state)
{
    (void)state;
    struct run r = {.job = {.settings.train_seconds = 0.2}};
    run(&r, "exec 3>&-; sleep 60");
    assert_int_equal(r.row.status, LINEAGE_TRAIN_BUDGET_OVERRUN);
    release(&r);
    r = (struct run){.job = {.settings.train_seconds = 0}};
    run(&r, "exec 3>&-; sleep 0.1; exit 4");
    assert_int_equal(r.outcome.exit_status, 4);
    release(&r);
}

static void a_descendant_that_holds_the_pipe_holds_nothing_up(void **state)
{
    (void)state;
    struct run r = {.job = {.settings.train_seconds = 0}};
    run(&r, "sleep 60 & echo '{\"score\": 1}' >&3");
    assert_int_equal(r.outcome.end, TRIAL_FINISHED);
    assert_true(r.outcome.total_s < 30);
    release(&r);
    /* A command that keeps printing is read for a while after its end, because earlier output may still follow. */
    for (int i = 0; i < 2; i++) {
        r = (struct run){.job = {.guarded = i, .output = i ? ignore_output : NULL, .hold = -1, .settings.train_seconds = 60}};
        run(&r, i ? "echo METRIC score=1; yes & sleep 0.1" : "echo '{\"score\": 1}' >&3; yes '{\"step\": 1}' >&3 & sleep 0.1");
        assert_int_equal(r.outcome.end, TRIAL_FINISHED);
        assert_true(r.row.core_metric.present && r.outcome.total_s < 30);
        release(&r);
    }
}

static void memory_of_the_whole_group_counts(void **state)
{
    (void)state;
    if (access("/proc/self/stat", R_OK) != 0)
        return;
    /* sh holds a string of 2^26 bytes, while another process of its group sleeps */
    struct run r = {.job = {.settings.memory_bytes = 30e6}};
    run(&r, "(x=0123456789abcdef; i=0; while [ $i -lt 22 ]; do x=$x$x; i=$((i + 1)); done; sleep 60)");
    assert_int_equal(r.outcome.end, TRIAL_MEMORY_OVERRUN);
    assert_int_equal(r.row.status, LINEAGE_CRASH);
    assert_true(r.outcome.peak_bytes > 30e6);
    assert_has(r.row.notes, "30000000 are allowed");
    release(&r);
    r = (struct run){.job = {.settings.memory_bytes = 2e9}};
    run(&r, "sleep 0.5; echo '{\"score\": 1}' >&3");
    assert_int_equal(r.outcome.end, TRIAL_FINISHED);
    assert_true(r.outcome.peak_bytes > 0);
    release(&r);
}

static void artifacts_are_there_and_small_enough(void **state)
{
    (void)state;
    char path[] = "/tmp/lineage-artifact-XXXXXX", command[128];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    const struct trial_artifact artifact = {path, 10};
    struct run r = {.job = {.artifacts = &artifact, .n_artifacts = 1}};
    snprintf(command, sizeof command, "printf 0123456789 >%s; echo '{\"score\": 1}' >&3", path);
    run(&r, command);
    assert_int_equal(r.outcome.end, TRIAL_FINISHED);
    release(&r);
    snprintf(command, sizeof command, "printf 0123456789a >%s; echo '{\"score\": 1}' >&3", path);
    run(&r, command);
    assert_int_equal(r.row.status, LINEAGE_SIZE_BLOCKED);
    assert_has(r.row.notes, "has 11 bytes, 10 are allowed");
    assert_false(r.row.core_metric.present);
    release(&r);
    snprintf(command, sizeof command, "rm %s; echo '{\"score\": 1}' >&3", path);
    run(&r, command);
    assert_int_equal(r.row.status, LINEAGE_CRASH);
    assert_has(r.row.notes, "did not leave");
    release(&r);
    struct run r2 = {.job = {.artifacts = (const struct trial_artifact[]){artifact, {"/", 0}}, .n_artifacts = 2}};
    run(&r2, "echo '{\"score\": 1}' >&3"); /* the reason names the first missing artifact */
    assert_has(r2.row.notes, "did not leave");
    assert_has(r2.row.notes, path);
    release(&r2);
    unlink(path);
}

static void the_environment_is_ours_and_the_job_s(void **state)
{
    (void)state;
    const char *const over[] = {"TRIAL_TEST=job", "TRIAL_NEW=1=2", NULL};
    struct run r = {.job = {.environment = over}};
    setenv("TRIAL_TEST", "own", 1);
    setenv("TRIAL_OWN", "own", 1);
    run(&r, "[ \"$TRIAL_TEST$TRIAL_NEW$TRIAL_OWN\" = job1=2own ] && echo '{\"score\": 1}' >\"$LINEAGE_EVENTS\"");
    assert_int_equal(r.outcome.end, TRIAL_FINISHED);
    assert_true(r.row.core_metric.present);
    assert_string_equal(getenv("TRIAL_TEST"), "own");
    release(&r);
    setenv("LINEAGE_EVENTS", "/nowhere", 1); /* as set by an outer trial that runs this test */
    run(&r, "[ $(env | grep -c ^LINEAGE_EVENTS=) = 1 ] && echo '{\"score\": 1}' >\"$LINEAGE_EVENTS\"");
    unsetenv("LINEAGE_EVENTS");
    assert_true(r.row.core_metric.present);
    release(&r);
}

static void a_line_without_end_fills_nothing(void **state)
{
    (void)state;
    struct run r = {0};
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    run(&r, "head -c 100000000 /dev/zero | tr '\\0' x >&3; echo >&3; echo '{\"score\": 1}' >&3");
    getrusage(RUSAGE_SELF, &after);
    assert_int_equal(r.outcome.end, TRIAL_FINISHED);
    assert_true(after.ru_maxrss - before.ru_maxrss < 50000);
    release(&r);
}

static void lines_of_output_without_end_hide_no_metric(void **state)
{
    static const char *const asked[] = {"acc"};
    (void)state;
    struct run r = {.job = {.guarded = true,
                            .output = ignore_output,
                            .hold = -1,
                            .settings.metrics = {.names = asked, .n_names = 1},
                            .settings.score = "acc"}};
    run(&r, "head -c 3000000 /dev/zero | tr '\\0' x; sleep 0.1; head -c 1000000 /dev/zero | tr '\\0' x; echo; sleep 0.1;"
            " echo 'no metric'; echo 'acc: 0.5'");
    assert_int_equal(r.outcome.end, TRIAL_FINISHED);
    assert_float_equal(r.row.core_metric.value, 0.5, 0);
    release(&r);
    /* "acc: 9" is the end of the long line. */
    run(&r, "head -c 3000000 /dev/zero | tr '\\0' x; sleep 0.1; printf 'acc: 9\\nacc: 0.25\\n'");
    assert_float_equal(r.row.core_metric.value, 0.25, 0);
    release(&r);
}

/* A program is found by its path, whatever its argv[0] is. Without an output callback it prints to this process's
 * output. */
static void a_guarded_program_has_a_name_of_its_own(void **state)
{
    (void)state;
    struct run r = {.job = {.guarded = true, .hold = -1, .program = "/bin/sh"}};
    run(&r, "exec >&-; [ \"$0\" = sh ] && echo '{\"score\": 1}' >&3");
    assert_int_equal(r.outcome.end, TRIAL_FINISHED);
    assert_true(r.row.core_metric.present);
    release(&r);
    r = (struct run){.job = {.guarded = true, .hold = -1, .program = "/nowhere/sh"}};
    const char *const argv[] = {"sh", NULL};
    int before = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct interrupts none = {.fd = -1};
    r.job.argv = argv;
    r.job.interrupts = &none;
    dup2(nowhere, STDERR_FILENO);
    bool watched = trial_watch(&r.outcome, &r.job);
    dup2(before, STDERR_FILENO);
    close(before);
    close(nowhere);
    assert_false(watched);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_come_by_name),
        cmocka_unit_test(a_phase_of_another_name_is_training),
        cmocka_unit_test(a_command_that_says_nothing_is_judged_by_its_exit_status),
        cmocka_unit_test(a_failure_says_what_its_label_is_made_of),
        cmocka_unit_test(walls_are_of_a_phase),
        cmocka_unit_test(its_own_clock_counts_for_the_evaluation),
        cmocka_unit_test(budgets_may_be_of_years),
        cmocka_unit_test(nothing_is_heard_after_a_verdict),
        cmocka_unit_test(who_hangs_up_is_watched_all_the_same),
        cmocka_unit_test(a_descendant_that_holds_the_pipe_holds_nothing_up),
        cmocka_unit_test(memory_of_the_whole_group_counts),
        cmocka_unit_test(artifacts_are_there_and_small_enough),
        cmocka_unit_test(the_environment_is_ours_and_the_job_s),
        cmocka_unit_test(a_line_without_end_fills_nothing),
        cmocka_unit_test(lines_of_output_without_end_hide_no_metric),
        cmocka_unit_test(a_guarded_program_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
