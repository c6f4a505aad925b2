/* trial_run.c: a trial at work in a directory of the store, and its row. */
#include "trial/trial_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lineage/queue.h>

#include "support/running_files.h"
#include "trial/progress.h"

struct work {
    const struct trial_request *request;
    struct workdir dir;
    struct trial_record record;
    struct progress progress;
    double began, told; /* when it began, when somebody was told that it is alive */
    FILE *said; /* what it says, for those who watch from outside; NULL: it could not be opened */
};

static void say(struct work *work, const json_t *line)
{
    if (work->said && json_dumpf(line, work->said, JSON_COMPACT) == 0)
        putc('\n', work->said);
}

static const char *job_of(const struct work *work)
{
    return strrchr(work->dir.path, '/') + 2; /* without the dot; see cli/run/left_trial.h */
}

/* Long texts among its parameters are not worth losing the rest. */
static char *make_about(const struct work *work)
{
    const struct trial_record *record = &work->record;
    const struct trial_plan *plan = &work->request->plan;
    const char *name = work->request->name;
    json_t *about = json_pack("{s:s, s:s, s:s, s:I, s:I, s:o, s:f}", "name", name ? name : "", "trial", job_of(work), "phase",
                              record->phase, "step", (json_int_t)record->step, "steps", (json_int_t)record->steps, "score",
                              record->score.present ? cli_json_number(record->score.value) : json_null(), "running",
                              work->told - work->began);
    json_object_set_new(about, "params", cli_json_params(plan->params, plan->n_params));
    char *text = json_dumps(about, JSON_COMPACT);
    if (text && strlen(text) >= LINEAGE_CLAIM_ABOUT_MAX) {
        free(text);
        json_object_del(about, "params");
        text = json_dumps(about, JSON_COMPACT);
    }
    json_decref(about);
    return text;
}

static void tell(struct work *work)
{
    const struct trial_alive *alive = &work->request->alive;
    double time = cli_now();
    if (!alive->tell || (work->told > 0 && time - work->told < alive->every))
        return;
    work->told = time;
    char *about = make_about(work);
    alive->tell(alive->context, about);
    free(about);
}

/* Once for all lines that were read together. */
static void on_turn(void *context)
{
    struct work *work = context;
    if (work->said)
        fflush(work->said);
    tell(work);
}

/* Its parameters too, so that nobody proposes the same meanwhile. */
static void begin_saying(struct work *work, const char *name)
{
    char path[PATH_MAX];
    const struct trial_plan *plan = &work->request->plan;
    json_t *line = json_pack("{s:s, s:o}", "name", name, "params", cli_json_params(plan->params, plan->n_params));
    work->said = fopen(workdir_file(path, &work->dir, RUNNING_EVENTS), "we");
    say(work, line);
    json_decref(line);
    work->began = cli_now();
    on_turn(work);
}

/* Before the directory becomes a snapshot: it is no part of the trial. */
static void end_saying(struct work *work)
{
    char path[PATH_MAX];
    if (!work->said)
        return;
    fclose(work->said);
    work->said = NULL;
    unlink(workdir_file(path, &work->dir, RUNNING_EVENTS));
}

static void on_event(void *context, const struct trial_event *event)
{
    struct work *work = context;
    trial_record_event(&work->record, event);
    progress_event(&work->progress, event);
    if (!work->record.skipped)
        say(work, event->line);
}

static void on_output(void *context, const char *bytes, size_t n)
{
    struct work *work = context;
    progress_output(&work->progress, bytes, n);
    work->request->output(work->request->context, bytes, n);
}

/* False after printing why nothing ran. The directory is made before prepare(), which writes
 * into it, and both before progress begins: a failure there is a message and no half-drawn
 * line. */
static bool run(struct work *work, const char *dir, struct trial_outcome *outcome)
{
    const struct trial_request *request = work->request;
    struct trial_job job = {.train_seconds = request->plan.train_seconds,
                            .eval_seconds = request->plan.eval_seconds,
                            .memory_bytes = request->plan.memory_bytes,
                            .interrupts = request->interrupts,
                            .event = on_event,
                            .turn = on_turn,
                            .turn_seconds = request->alive.tell ? request->alive.every : 0,
                            .hold = -1,
                            .context = work};
    if (!workdir_make(&work->dir, dir) || !request->prepare(request->context, &work->dir, &job))
        return false;
    progress_begin(&work->progress, request->name, request->plan.score_label, request->quiet);
    work->progress.rapid = request->output != NULL;
    begin_saying(work, request->name);
    if (request->output)
        job.output = on_output;
    bool watched = request->watch ? request->watch(request->context, outcome, &job, &work->record)
                                  : trial_watch(outcome, &job);
    end_saying(work);
    progress_end(&work->progress);
    return watched;
}

/* Keep the artifact under a second name; the first one goes with the work directory. A hard
 * link: the snapshot and the night's checkpoint are the same bytes on one file system, and
 * neither keeps the other from being removed. By way of a name of its own, for an earlier night may have left one, and
 * another worker may be doing the same. */
static bool keep_artifact(const struct work *work)
{
    char path[PATH_MAX], made[PATH_MAX];
    const struct trial_request *request = work->request;
    if (!request->keep_as)
        return true;
    workdir_file(path, &work->dir, request->keep_artifact);
    if (link(path, workdir_file(made, &work->dir, "kept-artifact")) == 0 && rename(made, request->keep_as) == 0) {
        if (request->kept)
            request->kept(request->alive.context, request->keep_as);
        return true;
    }
    cli_error(CLI_SYSTEM, "cannot keep %s as %s: %s", request->keep_artifact, request->keep_as, strerror(errno));
    return false;
}

static void hold(const struct work *work, bool on)
{
    const struct trial_alive *alive = &work->request->alive;
    if (alive->hold)
        alive->hold(alive->context, on);
}

/* In the form of an outcome, so that a trial that could not start gets its row by the same code
 * as one that failed. */
static void refuse(const struct work *work, struct trial_outcome *outcome)
{
    *outcome = (struct trial_outcome){.end = TRIAL_FAILED, .failure = TRIAL_FAILURE_INPUT};
    snprintf(outcome->text, sizeof outcome->text, "%s", work->request->refused);
}

/* Only a finished trial has a snapshot: half of one would be found by whoever looks for a
 * checkpoint to start from. A work directory that cannot be copied (a command left a socket
 * there) must not cost the row. */
static int append(struct work *work, struct lineage_store *store, struct trial_outcome *outcome,
                  struct lineage_trial *row)
{
    const struct trial_request *request = work->request;
    struct lineage_append_options options;
    struct lineage_trial trial;
    struct lineage_error err;
    char remark[TRIAL_REMARK_MAX] = "", snapshot[PATH_MAX];
    if (request->remark)
        request->remark(request->context, &work->record, outcome, remark);
    if (!trial_record_finish(&work->record, outcome, remark, &trial, &options))
        return cli_no_memory();
    if (outcome->end == TRIAL_FINISHED)
        options.snapshot_dir = request->snapshot ? workdir_file(snapshot, &work->dir, request->snapshot) : work->dir.path;
    if (request->output)
        trial.job_name = job_of(work);
    options.noise_seeds = request->noise_seeds;
    options.beside = request->beside;
    options.beside_context = request->context;
    options.once_per_night = true;
    enum lineage_status status = lineage_store_append(store, &trial, &options, row, &err);
    if (status == LINEAGE_EEXIST) { /* no id was asked for */
        outcome->late = true;
        cli_say("another worker ran this trial and came first: its row stands, this one is left out");
        return CLI_GO_ON;
    }
    if (status != LINEAGE_OK && (options.snapshot_dir || options.telemetry)) {
        cli_error(CLI_SYSTEM, "%s; the row is written without snapshot and telemetry", err.text);
        options.snapshot_dir = options.telemetry = NULL;
        status = lineage_store_append(store, &trial, &options, row, &err);
    }
    return status == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

/* NULL after printing that memory ran out. On the heap because of the record, which holds all
 * names of parameters. fd is -1 so that removing a directory never made does nothing. */
static struct work *work_new(const struct trial_request *request)
{
    struct work *work = calloc(1, sizeof *work);
    if (!work) {
        cli_no_memory();
        return NULL;
    }
    work->request = request;
    work->dir.fd = -1;
    trial_record_init(&work->record, &request->plan);
    return work;
}

static void work_free(struct work *work)
{
    trial_record_release(&work->record);
    workdir_remove(&work->dir);
    free(work);
}

/*
 * Keeping the artifact comes before the row: a night that is killed in between runs the trial again, whereas a row
 * whose checkpoint is missing would leave its children without a parent for ever.
 */
int trial_run(struct lineage_store *store, const struct trial_request *request,
              struct trial_outcome *outcome, struct lineage_trial *row)
{
    struct work *work = work_new(request);
    int status = CLI_SYSTEM;
    if (!work)
        return status;
    if (request->refused)
        refuse(work, outcome);
    if (request->refused || run(work, lineage_store_dir(store), outcome)) {
        hold(work, true);
        if (outcome->end != TRIAL_FINISHED || keep_artifact(work))
            status = append(work, store, outcome, row);
        hold(work, false);
    }
    work_free(work);
    return status;
}

bool trial_run_unrecorded(const struct trial_request *request, const char *dir, struct trial_outcome *outcome)
{
    struct work *work = work_new(request);
    if (!work)
        return false;
    bool kept = run(work, dir, outcome) && outcome->end == TRIAL_FINISHED;
    hold(work, true);
    kept = kept && keep_artifact(work);
    hold(work, false);
    work_free(work);
    return kept;
}
