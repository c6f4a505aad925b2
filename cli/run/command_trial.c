/*
 * command_trial.c: the stages of a command's trial: preflight, training, evaluation; once, or once for each seed.
 *
 * Each stage is a command of its own to the watcher, with the walls that belong to it. What it was can be told apart
 * afterwards from the outcome alone: a preflight that fails is no crash, an evaluation that takes too long no overrun
 * of training.
 */
#include "run/command_trial.h"

#include <errno.h>
#include <fts.h>
#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "run/command_environment.h"
#include "run/left_trial.h"
#include "run/protected_files.h"
#include "run/provenance.h"
#include "run/run_log.h"
#include "support/running_files.h"

/* Of a phase in telemetry. A curve has no use for more, and a program may print one a millisecond. */
enum { STEPS_KEPT = 4096 };

struct command_run {
    const struct command_trial *trial;
    struct lineage_store *store;
    const struct trial_plan *plan;
    char dir[PATH_MAX]; /* as the store has it */
    struct run_log log;
    char workdir[PATH_MAX], params[PATH_MAX], events[PATH_MAX]; /* absolute: the command may work elsewhere */
    struct protected_files protected;
    size_t measured; /* seeds */
    double sum, sum_of_squares, first; /* of their scores, less the first one's */
    double train_s;
    enum trial_channel channel;
    struct trial_job job; /* as the watcher's caller made it */
};

/* ---- before it runs ---- */

static bool write_params(const struct command_run *run)
{
    const struct command_trial *t = run->trial;
    json_t *object = json_object();
    for (size_t i = 0; i < t->n_params; i++) {
        const struct lineage_param *p = &t->params[i];
        bool whole = !p->text && p->value == floor(p->value) && fabs(p->value) < 1e15;
        json_object_set_new(object, p->name, p->text  ? json_string(p->text)
                                             : whole ? json_integer((json_int_t)p->value)
                                                     : cli_json_number(p->value));
    }
    FILE *out = fopen(run->params, "we");
    if (out)
        cli_json_print(out, object, true);
    json_decref(object);
    if (out && fclose(out) == 0)
        return true;
    return cli_error(CLI_SYSTEM, "cannot write %s: %s", run->params, strerror(errno)), false;
}

static bool put_path(char out[PATH_MAX], const char *dir, const char *name)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);
    if (n > 0 && n < PATH_MAX)
        return true;
    return cli_error(CLI_SYSTEM, "the path of %s in %s is too long", name, dir), false;
}

static bool prepare(void *context, const struct workdir *dir, struct trial_job *job)
{
    struct command_run *run = context;
    const struct command_trial *t = run->trial;
    char own[PATH_MAX], absolute[PATH_MAX];
    snprintf(run->dir, sizeof run->dir, "%s", dir->path);
    if (!put_path(own, dir->path, RUNNING_WORK))
        return false;
    if (mkdir(own, 0777) != 0 || !realpath(dir->path, absolute))
        return cli_error(CLI_SYSTEM, "cannot make %s: %s", own, strerror(errno)), false;
    if (!put_path(run->workdir, absolute, RUNNING_WORK) || !put_path(run->events, absolute, RUNNING_PIPE) ||
        !put_path(run->params, run->workdir, "params.json"))
        return false;
    job->events_path = run->events;
    job->dir = t->dir;
    job->guarded = true;
    job->hold = dir->fd;
    job->grace_seconds = t->grace_seconds;
    job->metrics = (struct metric_query){.names = t->metrics, .n_names = t->n_metrics};
    job->score_name = t->score ? t->score : t->n_metrics ? t->metrics[0] : NULL;
    job->silence_seconds = t->silence_seconds;
    job->stop_on_nan = t->stop_on_nan;
    return (!t->fill || t->fill(t->fill_context, run->workdir)) && write_params(run) &&
           run_log_open(&run->log, dir->path) && left_trial_write(dir->path, run->plan, t->name) &&
           provenance_write(dir->path, lineage_store_dir(run->store), t);
}

static void on_output(void *context, const char *bytes, size_t n)
{
    struct command_run *run = context;
    run_log_write(&run->log, bytes, n);
}

static void beside(void *context, const char *exp_id)
{
    struct command_run *run = context;
    run_log_close(&run->log);
    left_trial_put_beside(run->store, run->dir, exp_id);
}

/* ---- a stage ---- */

/* What happened before stays: times add up, the highest peak counts. */
static bool run_job(struct trial_outcome *outcome, const struct trial_job *job)
{
    struct trial_outcome before = *outcome;
    if (!trial_watch(outcome, job))
        return false;
    outcome->total_s += before.total_s;
    outcome->peak_bytes = fmax(outcome->peak_bytes, before.peak_bytes);
    outcome->unseen = outcome->unseen ? outcome->unseen : before.unseen;
    return true;
}

/* Run the words, {NAME} replaced in each, with the environment of this seed. */
static bool run_words(struct command_run *run, struct trial_outcome *outcome, struct trial_job job,
                      const char *const *words, uint64_t seed)
{
    const struct command_trial *t = run->trial;
    const struct command_values values = {t->params, t->n_params, seed, run->workdir};
    struct command_environment made;
    bool ok = command_environment_make(&made, words, t->environment, &values, run->params, t->parent_snapshot);
    if (ok) {
        job.argv = made.argv;
        job.environment = made.environment;
        ok = run_job(outcome, &job);
    } else {
        cli_no_memory();
    }
    command_environment_release(&made);
    return ok;
}

static bool run_shell(struct command_run *run, struct trial_outcome *outcome, const struct trial_job *job,
                      const char *command, uint64_t seed)
{
    const char *const words[] = {"sh", "-c", command, NULL};
    return run_words(run, outcome, *job, words, seed);
}

static bool has_failed(const struct trial_outcome *outcome)
{
    return outcome->end != TRIAL_FINISHED;
}

/* How a stage that is not the training ended, for the reason. */
static void describe(char text[TRIAL_TEXT_MAX], const char *what, const struct trial_outcome *outcome, double seconds)
{
    char how[TRIAL_TEXT_MAX];
    switch (outcome->end) {
    case TRIAL_SIGNALLED:
        snprintf(how, sizeof how, "was killed by signal %d (%s)", outcome->signal, strsignal(outcome->signal));
        break;
    case TRIAL_TRAIN_OVERRUN: snprintf(how, sizeof how, "took more than %g s", seconds); break;
    case TRIAL_SILENT: snprintf(how, sizeof how, "said nothing for too long"); break;
    case TRIAL_MEMORY_OVERRUN: snprintf(how, sizeof how, "held %.0f bytes of memory", outcome->peak_bytes); break;
    default:
        if (outcome->exit_status)
            snprintf(how, sizeof how, "left with exit status %d", outcome->exit_status);
        else
            snprintf(how, sizeof how, "failed: %.400s", outcome->text);
    }
    snprintf(text, TRIAL_TEXT_MAX, "the %s %.400s", what, how);
}

/* What it prints are no metrics of the trial. */
static bool run_preflight(struct command_run *run, struct trial_outcome *outcome)
{
    struct trial_job job = run->job;
    char text[TRIAL_TEXT_MAX];
    job.event = NULL;
    job.stop_on_nan = false;
    if (!run_shell(run, outcome, &job, run->trial->preflight, run->trial->first_seed))
        return false;
    if (!has_failed(outcome) || outcome->end == TRIAL_INTERRUPTED)
        return true;
    describe(text, "preflight", outcome, job.train_seconds);
    memcpy(outcome->text, text, sizeof text);
    outcome->end = TRIAL_PREFLIGHT_FAILED;
    return true;
}

static void say(const struct trial_job *job, const char *text)
{
    struct trial_event event;
    json_t *line = trial_wire_read(&event, text, strlen(text), NULL);
    if (line)
        job->event(job->context, &event);
    json_decref(line);
}

static bool run_evaluation(struct command_run *run, struct trial_outcome *outcome, uint64_t seed)
{
    struct trial_job job = run->job;
    char text[TRIAL_TEXT_MAX];
    say(&job, "{\"phase\": \"" TRIAL_PHASE_EVAL "\"}");
    job.train_seconds = job.eval_seconds;
    if (!run_shell(run, outcome, &job, run->trial->eval, seed))
        return false;
    if (outcome->end == TRIAL_TRAIN_OVERRUN) {
        outcome->end = TRIAL_EVAL_OVERRUN;
    } else if (outcome->end == TRIAL_FAILED) {
        describe(text, "evaluation", outcome, job.train_seconds);
        memcpy(outcome->text, text, sizeof text);
    }
    return true;
}

/* ---- what it leaves ---- */

/* Of a file, or of all files below a directory; a link that the pattern found is followed, those below are not. */
static double bytes_of(char *path)
{
    char *const paths[] = {path, NULL};
    double bytes = 0;
    FTS *tree = fts_open(paths, FTS_COMFOLLOW | FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *entry; tree && (entry = fts_read(tree));)
        if (entry->fts_info == FTS_F)
            bytes += (double)entry->fts_statp->st_size;
    if (tree)
        fts_close(tree);
    return bytes;
}

static void judge_artifact(struct command_run *run, struct trial_outcome *outcome,
                           const struct command_artifact *artifact, uint64_t seed)
{
    const struct command_values values = {run->trial->params, run->trial->n_params, seed, run->workdir};
    char *pattern = command_expand(artifact->glob, &values);
    glob_t found = {0};
    if (!pattern || glob(pattern, 0, NULL, &found) != 0) {
        outcome->end = TRIAL_FAILED;
        snprintf(outcome->text, sizeof outcome->text, "it did not leave %.400s behind", artifact->glob);
    }
    for (size_t i = 0; i < found.gl_pathc && !has_failed(outcome) && artifact->max_bytes > 0; i++) {
        double bytes = bytes_of(found.gl_pathv[i]);
        if (bytes <= artifact->max_bytes)
            continue;
        outcome->end = TRIAL_ARTIFACT_OVERRUN;
        snprintf(outcome->text, sizeof outcome->text, "%.400s has %.0f bytes, %.0f are allowed", found.gl_pathv[i], bytes,
                 artifact->max_bytes);
    }
    globfree(&found);
    free(pattern);
}

/* A score by a changed evaluator is none, whatever else happened. */
static bool is_disqualified(const struct command_run *run, struct trial_outcome *outcome)
{
    const char *changed = protected_files_changed(&run->protected);
    if (!changed || outcome->end == TRIAL_INTERRUPTED)
        return false;
    outcome->end = TRIAL_DISQUALIFIED;
    snprintf(outcome->text, sizeof outcome->text, "the protected file %.400s changed while the trial ran", changed);
    return true;
}

/* ---- seeds ---- */

/* Less the first score: numbers that lie close together far from zero keep their digits. */
static void add_score(struct command_run *run, const struct trial_record *record)
{
    double difference = run->measured ? record->score.value - run->first : 0;
    if (!record->score.present)
        return;
    if (!run->measured)
        run->first = record->score.value;
    run->measured++;
    run->sum += difference;
    run->sum_of_squares += difference * difference;
}

static double score_std(const struct command_run *run)
{
    double n = (double)run->measured;
    return n > 1 ? sqrt(fmax(0, (run->sum_of_squares - run->sum * run->sum / n) / (n - 1))) : 0;
}

/* False if there is no evidence at all. */
static bool run_seed(struct command_run *run, struct trial_outcome *outcome, struct trial_record *record, uint64_t seed)
{
    const struct command_trial *t = run->trial;
    double before = outcome->total_s;
    if (!run_words(run, outcome, run->job, t->argv, seed))
        return false;
    if (t->eval && record->train_s < 0)
        run->train_s += outcome->total_s - before;
    if (!is_disqualified(run, outcome) && t->eval && !has_failed(outcome)) {
        if (!run_evaluation(run, outcome, seed))
            return false;
        is_disqualified(run, outcome);
    }
    for (size_t i = 0; i < t->n_artifacts && !has_failed(outcome); i++)
        judge_artifact(run, outcome, &t->artifacts[i], seed);
    return true;
}

/* The score is the mean of the runs, if each has one. */
static void finish_seeds(const struct command_run *run, struct trial_record *record, size_t seeds)
{
    if (seeds < 2)
        return;
    record->score.present = run->measured == seeds;
    if (!record->score.present)
        return;
    record->score.value = run->first + run->sum / (double)seeds;
    json_decref(record->final);
    record->final = json_pack("{s:f, s:f, s:I}", record->plan->score_key ? record->plan->score_key : "score",
                              record->score.value, "score_std", score_std(run), "seeds", (json_int_t)seeds);
}

static bool watch(void *context, struct trial_outcome *outcome, struct trial_job *job, struct trial_record *record)
{
    struct command_run *run = context;
    const struct command_trial *t = run->trial;
    size_t seeds = t->seeds ? t->seeds : 1;
    run->job = *job;
    *outcome = (struct trial_outcome){0};
    if (t->preflight && !run_preflight(run, outcome))
        return false;
    for (size_t i = 0; i < seeds && !has_failed(outcome); i++) {
        if (seeds > 1)
            trial_record_next_run(record, i + 1);
        if (!run_seed(run, outcome, record, (t->has_seed ? t->first_seed : 1) + i))
            return false;
        run->channel = record->score_channel;
        add_score(run, record);
        if (!has_failed(outcome) && interrupts_came(t->interrupts))
            outcome->end = TRIAL_INTERRUPTED;
    }
    if (run->train_s > 0)
        record->train_s = run->train_s;
    finish_seeds(run, record, seeds);
    return true;
}

/* ---- the row ---- */

/* What a person would look for first. */
static void note_last_lines(const struct command_run *run, char *out, size_t size)
{
    char *lines = run_log_last_lines(&run->log);
    if (lines)
        snprintf(out, size, "; last lines: %s", lines);
    free(lines);
}

static void remark(void *context, const struct trial_record *record, const struct trial_outcome *outcome, char *out)
{
    static const char *const channels[] = {
        [TRIAL_CHANNEL_NONE] = "",
        [TRIAL_CHANNEL_ONLY] = "the only METRIC name",
        [TRIAL_CHANNEL_NAMED] = "a name that was asked for",
        [TRIAL_CHANNEL_METRIC] = "METRIC lines",
        [TRIAL_CHANNEL_EVENTS] = "events",
    };
    const struct command_run *run = context;
    size_t size = TRIAL_REMARK_MAX, n = 0;
    out[0] = '\0';
    if (record->score.present && run->channel)
        n += (size_t)snprintf(out, size, "score by %s", channels[run->channel]);
    if (run->measured > 1)
        n += (size_t)snprintf(out + n, size - n, ", mean of %zu seeds, std %.4g", run->measured, score_std(run));
    if (outcome->peak_bytes > 0)
        n += (size_t)snprintf(out + n, size - n, "%speak memory %.1f MB", n ? ", " : "", outcome->peak_bytes / 1e6);
    if (outcome->unseen > 0)
        n += (size_t)snprintf(out + n, size - n, ", %d processes could not be ended", outcome->unseen);
    if (outcome->unseen < 0)
        n += (size_t)snprintf(out + n, size - n, ", processes outside of its group could not be looked for: no /proc");
    if (has_failed(outcome) && outcome->end != TRIAL_INTERRUPTED)
        note_last_lines(run, out + n, size - n);
}

/* The seed of a trial of one run is a parameter like others: compare pairs rows by it. */
static bool make_params(struct lineage_param **params, size_t *n, const struct command_trial *t)
{
    *n = t->n_params;
    *params = calloc(t->n_params + 2, sizeof **params);
    if (!*params)
        return false;
    if (t->n_params)
        memcpy(*params, t->params, t->n_params * sizeof **params);
    if (t->has_seed && t->seeds < 2)
        (*params)[(*n)++] = (struct lineage_param){"seed", (double)t->first_seed, NULL};
    if (t->proposer)
        (*params)[(*n)++] = (struct lineage_param){"proposer", (double)NAN, t->proposer};
    return true;
}

static struct trial_plan make_plan(const struct command_trial *t, const struct lineage_param *params, size_t n)
{
    const char *score = t->score ? t->score : t->n_metrics ? t->metrics[0] : NULL;
    return (struct trial_plan){.specialist = t->specialist,
                               .domain = t->domain,
                               .hypothesis = t->hypothesis,
                               .expected_delta = t->expected_delta,
                               .parent = t->parent,
                               .night = t->night,
                               .notes = t->notes,
                               .score_key = score,
                               .score_label = score,
                               .baseline = t->baseline,
                               .params = params,
                               .n_params = n,
                               .train_seconds = t->train_seconds,
                               .eval_seconds = t->eval_seconds,
                               .memory_bytes = t->memory_bytes,
                               .silence_seconds = t->silence_seconds,
                               .max_steps = STEPS_KEPT};
}

/* A baseline of several seeds knows what chance does; where the owner has said it, that stands. Of single runs: a later
 * trial of more seeds says so itself. */
static int set_noise(const struct command_run *run)
{
    char said[96];
    struct lineage_error err;
    double std = score_std(run);
    if (!run->trial->baseline || run->measured < 2 || run->measured != run->trial->seeds || !(std > 0) ||
        lineage_store_config(run->store)->noise_std > 0)
        return CLI_GO_ON;
    if (lineage_store_set_noise(run->store, std, 1, &err) != LINEAGE_OK)
        return cli_fail(&err);
    snprintf(said, sizeof said, "the noise floor of the store is now %.4g, from %zu seeds", std, run->measured);
    cli_say(said);
    return CLI_GO_ON;
}

int command_trial_run(struct lineage_store *store, const struct command_trial *trial, struct trial_outcome *outcome,
                      struct lineage_trial *row)
{
    struct command_run *run = calloc(1, sizeof *run);
    struct lineage_param *params = NULL;
    size_t n_params;
    int status = CLI_SYSTEM;
    if (!run || !make_params(&params, &n_params, trial) || !protected_files_read(&run->protected, trial->protect)) {
        cli_no_memory();
    } else {
        run->trial = trial;
        run->store = store;
        run->log.fd = -1;
        struct trial_request request = {.plan = make_plan(trial, params, n_params),
                                        .prepare = prepare,
                                        .watch = watch,
                                        .output = on_output,
                                        .beside = beside,
                                        .alive = trial->alive,
                                        .noise_seeds = trial->seeds > 1 ? (unsigned)trial->seeds : 0,
                                        .snapshot = RUNNING_WORK,
                                        .remark = remark,
                                        .context = run,
                                        .name = trial->name,
                                        .quiet = trial->quiet,
                                        .interrupts = trial->interrupts};
        run->plan = &request.plan;
        /* Whoever read what it prints may go; the trial and its row do not hang on that. */
        struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
        sigaction(SIGPIPE, &ignore, &before);
        status = left_trial_record_all(store);
        if (status == CLI_GO_ON)
            status = trial_run(store, &request, outcome, row);
        if (status == CLI_GO_ON && outcome->end == TRIAL_FINISHED)
            status = set_noise(run);
        run_log_close(&run->log);
        sigaction(SIGPIPE, &before, NULL);
        protected_files_release(&run->protected);
    }
    free(params);
    free(run);
    return status;
}
