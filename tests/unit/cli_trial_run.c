/* Tests a trial of a store from its request to its row: which files are kept, and that the row is added even if files
 * cannot be kept. */
#include "support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/query.h>

#include "support/files.h"
#include "trial/one_trial.h"

static unsigned no_calloc, no_memstream; /* the next N calls fail */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
FILE *__real_open_memstream(char **text, size_t *length);
FILE *__wrap_open_memstream(char **text, size_t *length);

void *__wrap_calloc(size_t n, size_t size)
{
    return no_calloc && no_calloc-- ? NULL : __real_calloc(n, size);
}

FILE *__wrap_open_memstream(char **text, size_t *length)
{
    return no_memstream && no_memstream-- ? NULL : __real_open_memstream(text, length);
}

struct bench {
    char *dir;
    struct lineage_store *store;
    struct trial_request request;
    struct interrupts interrupts;
    const char *argv[4];
    const char *in_the_way;      /* a directory that is made before the trial's first event */
    bool refuse;                 /* make prepare() fail */
    struct trial_outcome outcome;
    char events[4096], said[4096]; /* what followers of the trial read; its standard error */
    char status[32], notes[1024], metric[32], snapshot[256];
};

static bool prepare(void *context, const struct workdir *dir, struct trial_job *job)
{
    struct bench *b = context;
    char path[PATH_MAX];
    if (b->in_the_way)
        assert_int_equal(mkdir(workdir_file(path, dir, b->in_the_way), 0777), 0);
    job->argv = b->argv;
    job->dir = b->request.output ? dir->path : NULL;
    job->guarded = b->request.output != NULL;
    setenv("TRIAL_DIR", dir->path, 1);
    return !b->refuse;
}

static void read_events(struct bench *b)
{
    size_t length;
    char **names = list_dir(b->dir, ".trial-");
    char *dir = join(b->dir, names[0]), *path = join(dir, "events.jsonl"), *text = read_file(path, &length);
    snprintf(b->events, sizeof b->events, "%s", text);
    free(text);
    free(path);
    free(dir);
    free_list(names);
}

static bool watch(void *context, struct trial_outcome *outcome, struct trial_job *job, struct trial_results *record)
{
    (void)record;
    bool watched = trial_watch(outcome, job);
    read_events(context);
    return watched;
}

static void on_output(void *context, const char *bytes, size_t n)
{
    (void)context, (void)bytes, (void)n;
}

static void begin(struct bench *b)
{
    struct lineage_error err;
    *b = (struct bench){.dir = make_dir(), .interrupts = {.fd = -1}, .argv = {"sh", "-c", "exit 0", NULL}};
    assert_int_equal(lineage_store_open(&b->store, b->dir, &(struct lineage_open_options){.direction = LINEAGE_HIGHER}, &err),
                     LINEAGE_OK);
    b->request = (struct trial_request){.plan.identity = {.specialist = "sh", .name = "name"},
                                        .prepare = prepare,
                                        .context = b,
                                        .quiet = true,
                                        .interrupts = &b->interrupts};
}

static void end(struct bench *b)
{
    lineage_store_close(b->store);
    remove_dir(b->dir);
}

static void keep_row(struct bench *b, const struct lineage_trial *row)
{
    snprintf(b->status, sizeof b->status, "%s", lineage_label_name(row->status));
    snprintf(b->notes, sizeof b->notes, "%s", row->notes ? row->notes : "");
    snprintf(b->metric, sizeof b->metric, "%g", row->core_metric.present ? row->core_metric.value : -1);
    snprintf(b->snapshot, sizeof b->snapshot, "%s", row->snapshot_path ? row->snapshot_path : "");
}

/* Runs a shell command as a trial of the store. Its messages to people are stored in b->said. */
static int run(struct bench *b, const char *words)
{
    struct lineage_trial row = {0};
    char *path = join(b->dir, "stderr"), *said;
    size_t length;
    int before = dup(STDERR_FILENO), file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    fflush(stderr);
    dup2(file, STDERR_FILENO);
    b->argv[2] = words;
    int status = trial_run_and_append(b->store, &b->request, &b->outcome, &row);
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    close(file);
    said = read_file(path, &length);
    snprintf(b->said, sizeof b->said, "%s", said);
    free(said);
    unlink(path);
    free(path);
    if (status == CLI_GO_ON) {
        keep_row(b, &row);
        lineage_trial_release(&row);
    }
    char **left = list_dir(b->dir, ".trial-");
    assert_true(!left || !left[0]);
    free_list(left);
    return status;
}

#define assert_has(text, part) assert_non_null(strstr(text, part))

static size_t rows_of(const struct bench *b)
{
    char *path = join(b->dir, "results.tsv"), *text;
    size_t length, n = 0;
    if (!file_exists(path))
        return free(path), 0;
    text = read_file(path, &length);
    for (size_t i = 0; i < length; i++)
        n += text[i] == '\n';
    free(text);
    free(path);
    return n - 1;
}

static bool snapshot_holds(const struct bench *b, const char *name)
{
    char *dir = join(b->dir, b->snapshot), *path = join(dir, name);
    bool there = b->snapshot[0] && file_exists(path);
    free(path);
    free(dir);
    return there;
}

static void a_finished_trial_leaves_its_directory(void **state)
{
    (void)state;
    struct bench b;
    begin(&b);
    b.request.watch = watch;
    b.request.plan.max_steps = 4;
    assert_int_equal(run(&b, "echo x >$TRIAL_DIR/model; i=0; while [ $i -lt 12 ]; do echo '{\"step\": '$i', \"loss\": 1}';"
                             " i=$((i + 1)); done >&3; echo '{\"score\": 0.5}' >&3"),
                     CLI_GO_ON);
    assert_string_equal(b.status, "keep");
    assert_string_equal(b.metric, "0.5");
    assert_true(snapshot_holds(&b, "model"));
    assert_false(snapshot_holds(&b, "events.jsonl")); /* kept only while the trial ran, for followers */
    assert_has(b.events, "{\"name\":\"name\",\"params\":{}}\n");
    assert_has(b.events, "\"step\":0");
    assert_has(b.events, "\"score\":0.5");
    assert_null(strstr(b.events, "\"step\":11")); /* a long trial's file is thinned out like its telemetry */
    end(&b);
}

static void nobody_outside_need_be_able_to_listen(void **state)
{
    (void)state;
    struct bench b;
    begin(&b);
    b.in_the_way = "events.jsonl";
    assert_int_equal(run(&b, "echo '{\"score\": 0.5}' >&3"), CLI_GO_ON);
    assert_string_equal(b.status, "keep");
    end(&b);
}

static void a_refused_trial_has_a_row(void **state)
{
    (void)state;
    struct bench b;
    begin(&b);
    b.request.refused = "no such setting";
    assert_int_equal(run(&b, "exit 1"), CLI_GO_ON);
    assert_string_equal(b.status, "preflight_crash");
    assert_has(b.notes, "no such setting");
    end(&b);
}

/* Files that cannot be copied or written cost the snapshot, but never the row. */
static void what_cannot_be_kept_does_not_cost_the_row(void **state)
{
    (void)state;
    struct bench b;
    begin(&b);
    assert_int_equal(run(&b, "mkfifo $TRIAL_DIR/pipe; echo '{\"score\": 0.5}' >&3"), CLI_GO_ON);
    assert_string_equal(b.status, "keep");
    assert_string_equal(b.metric, "0.5");
    assert_string_equal(b.snapshot, "");
    assert_has(b.said, "trying again without snapshot and telemetry");
    char *telemetry = join(b.dir, "telemetry");
    write_file(telemetry, "in the way", 10);
    assert_int_equal(run(&b, "echo '{\"step\": 1}' >&3; exit 3"), CLI_GO_ON);
    assert_string_equal(b.status, "crash");
    assert_has(b.said, "trying again without snapshot and telemetry");
    assert_int_equal(rows_of(&b), 2);
    free(telemetry);
    end(&b);
}

static void a_row_that_cannot_be_written_is_said(void **state)
{
    (void)state;
    struct bench b;
    begin(&b);
    char *path = join(b.dir, "results.tsv");
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_not_equal(run(&b, "echo '{\"score\": 0.5}' >&3"), CLI_GO_ON); /* the trial has a snapshot */
    assert_has(b.said, "results.tsv");
    assert_int_not_equal(run(&b, "exit 3"), CLI_GO_ON); /* no snapshot, only the row */
    assert_has(b.said, "results.tsv");
    assert_int_equal(rmdir(path), 0);
    free(path);
    end(&b);
}

/* The checkpoint of a night is kept before the row is added. Otherwise the row would promise its children a parent
 * that is missing. */
static void what_is_to_be_kept_comes_before_the_row(void **state)
{
    static const char words[] = "echo x >$TRIAL_DIR/model; echo '{\"score\": 0.5}' >&3";
    (void)state;
    struct bench b;
    begin(&b);
    char *kept = join(b.dir, "kept"), *nowhere = join(b.dir, "none/kept");
    b.request.keep_artifact = "model";
    b.request.keep_as = nowhere;
    assert_int_equal(run(&b, words), CLI_SYSTEM);
    assert_has(b.said, "cannot keep model");
    assert_int_equal(rows_of(&b), 0);
    write_file(kept, "of an earlier night", 19);
    b.request.keep_as = kept;
    assert_int_equal(run(&b, "exit 3"), CLI_GO_ON); /* no files to keep */
    assert_int_equal(run(&b, words), CLI_GO_ON);
    size_t length;
    char *text = read_file(kept, &length);
    assert_string_equal(text, "x\n");
    assert_true(snapshot_holds(&b, "model"));
    assert_int_equal(rows_of(&b), 2);
    free(text);

    int before = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(null, STDERR_FILENO);
    b.argv[2] = words; /* the same trials without a row */
    assert_true(trial_run_unrecorded(&b.request, b.dir, &b.outcome));
    b.request.keep_as = nowhere;
    assert_false(trial_run_unrecorded(&b.request, b.dir, &b.outcome));
    b.argv[2] = "exit 3";
    assert_false(trial_run_unrecorded(&b.request, b.dir, &b.outcome));
    assert_false(trial_run_unrecorded(&b.request, nowhere, &b.outcome));
    no_calloc = 1;
    assert_false(trial_run_unrecorded(&b.request, b.dir, &b.outcome));
    dup2(before, STDERR_FILENO);
    close(before);
    close(null);
    assert_int_equal(rows_of(&b), 2);
    free(kept);
    free(nowhere);
    end(&b);
}

static void what_did_not_run_has_no_row(void **state)
{
    (void)state;
    struct bench b;
    begin(&b);
    b.refuse = true;
    assert_int_equal(run(&b, "exit 0"), CLI_SYSTEM);
    b.refuse = false;
    no_calloc = 1;
    assert_int_equal(run(&b, "exit 0"), CLI_SYSTEM);
    assert_has(b.said, "out of memory");
    no_memstream = 1; /* for the telemetry */
    assert_int_equal(run(&b, "echo '{\"score\": 1}' >&3"), CLI_SYSTEM);
    assert_has(b.said, "out of memory");
    assert_int_equal(rows_of(&b), 0);
    end(&b);
}

/* A person's own command runs guarded: its output is shown, it runs in any directory, and its directory names the
 * job. */
static void a_command_s_trial_is_guarded(void **state)
{
    (void)state;
    struct bench b;
    begin(&b);
    b.request.output = on_output;
    b.request.snapshot = "work";
    b.in_the_way = "work";
    assert_int_equal(run(&b, "echo METRIC score=2; echo kept >work/file"), CLI_GO_ON);
    assert_string_equal(b.metric, "2");
    assert_true(snapshot_holds(&b, "file"));
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finished_trial_leaves_its_directory),
        cmocka_unit_test(nobody_outside_need_be_able_to_listen),
        cmocka_unit_test(a_refused_trial_has_a_row),
        cmocka_unit_test(what_cannot_be_kept_does_not_cost_the_row),
        cmocka_unit_test(a_row_that_cannot_be_written_is_said),
        cmocka_unit_test(what_is_to_be_kept_comes_before_the_row),
        cmocka_unit_test(what_did_not_run_has_no_row),
        cmocka_unit_test(a_command_s_trial_is_guarded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
