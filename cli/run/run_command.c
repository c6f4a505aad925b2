/*
 * A trial has stages: a preflight, then a training and an evaluation for each seed. Each stage is a separate command
 * with its own limits, and the outcome distinguishes the stages: a failed preflight is not labelled as a crash, nor an
 * evaluation that takes too long as an overrun of the training.
 */
#include "output/show.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "run/run_parts.h"
#include "git/git.h"
#include "metrics/metric_lines.h"
#include "support/running_files.h"
#include "support/secrets.h"
#include "trial/one_trial.h"

/*
 * Limit of steps per phase in telemetry. It is enough for a curve, and is needed because a program may print a step
 * every millisecond.
 */
enum { STEPS_KEPT = 4096 };

/* Exit status of `timeout` for a command that it ended. */
enum { TIMEOUT_STATUS = 124 };

struct command_run {
    const struct command_trial *trial;
    struct lineage_store *store;
    struct trial_plan *plan;
    int dir; /* the directory of the trial; its name may lead elsewhere, because the trial can rename it */
    struct run_log log;
    char workdir[PATH_MAX], params[PATH_MAX], events[PATH_MAX]; /* absolute, because the command may work elsewhere */
    struct command_sandbox sandbox;      /* if the trial asks for one */
    const char *const *environment;      /* that of --env, or that of the sandbox */
    struct protected_files protected;
    struct sealed_copy sealed; /* for the sealed evaluation */
    char sealed_dir[PATH_MAX]; /* where it is laid, absolute */
    struct lineage_number printed; /* a score that the trial printed itself, if the sealed evaluation gave another */
    size_t measured;            /* seeds that have a score */
    double first;               /* the first score .. */
    long double sum, sum_of_squares; /* .. and sums over (score - first score), so that the mean of 0.1, 0.2 and 0.3 is 0.2 */
    char *last_lines; /* output of the seed that failed, if other seeds ran after it; else NULL */
    char last_words[TRIAL_EVIDENCE_MAX]; /* the error with which the output of a command ended whose status is 0; "": none */
    char scores[TRIAL_TEXT_MAX]; /* "seed 1 scored 0.5, seed 3 scored 0.6", cut off if there are too many */
    double train_s;
    enum trial_channel channel;
    char file_score[METRIC_NAME_BYTES]; /* the metric of the first --metric-file */
    struct dry_metrics *dry; /* NULL: a trial that gets a row */
    bool unscored;           /* the trial finished without a score, so its work directory is kept */
    bool watched;            /* the trial ran to its end, with success or not */
    char not_started[TRIAL_TEXT_MAX]; /* why the files could not be put into the work directory */
    json_t *conditions; /* conditions_now; NULL: nothing runs */
    json_t *git; /* the repository as provenance recorded it; NULL: nothing was recorded */
    char code[LINEAGE_CODE_NOTE_MAX + WHAT_RAN_MAX]; /* the pieces of notes that name the commit and what ran */
    struct lineage_number held; /* the held-out score, mean over held_runs runs */
    size_t held_runs;
    struct examples examples;      /* of the trial; none: it left none that can be read */
    char examples_said[EXAMPLES_TEXT_MAX + 240]; /* for the notes; "": nothing */
    double bar;                        /* what the score must exceed against the trial below, by the examples */
    char bar_against[LINEAGE_NAME_MAX]; /* "": the bar of the store counts */
    struct timespec began;
    struct trial_job job; /* with the settings that all stages have in common */
};

/* ---- before it runs ---- */

static bool write_params(const struct command_run *run)
{
    const struct command_trial *t = run->trial;
    json_t *object = json_object();
    for (size_t i = 0; i < t->n_params; i++) {
        const struct lineage_param *p = &t->params[i];
        json_object_set_new(object, p->name, p->text ? json_string(p->text) : cli_json_setting(p->value + 0.0)); /* no -0 */
    }
    FILE *out = fopen(run->params, "we");
    if (out)
        cli_json_print(out, object, true);
    json_decref(object);
    if (out && fclose(out) == 0)
        return true;
    return cli_refuse("cannot write %s: %s", run->params, strerror(errno));
}

static bool put_path(char out[PATH_MAX], const char *dir, const char *name)
{
    return cli_path_in(out, dir, name) || cli_refuse("the path of %s in %s is too long", name, dir);
}

/* A trial of a sweep with files has named its code already. */
static bool note_code(struct command_run *run)
{
    const char *named = run->plan->identity.code;
    if (named && *named)
        return true;
    char ran[WHAT_RAN_MAX];
    code_change_note(run->code, run->git);
    if (run->store && !run->trial->plan && !run->trial->rerun_of) { /* nights and reruns say so themselves */
        what_ran_note(ran, run->git, run->trial, run->store, run->code);
        const size_t n = strlen(run->code);
        snprintf(run->code + n, sizeof run->code - n, "%s%s", n && *ran ? "; " : "", ran);
    }
    run->plan->identity.code = run->code;
    return true;
}

/* The copies of protected files in the work directory are those that `fill` has put there. */
static bool seal_protected(struct command_run *run)
{
    const struct command_trial *t = run->trial;
    return protected_files_seal(&run->protected, t->protect, t->dir, run->workdir, run->not_started, sizeof run->not_started);
}

/* The bytes of the evaluator are taken before anything of the trial runs. */
static bool seal_evaluator(struct command_run *run, const struct workdir *dir, const char *absolute)
{
    const struct command_trial *t = run->trial;
    return !t->sealed_eval ||
           (put_path(run->sealed_dir, absolute, SEALED_COPY_DIR) &&
            sealed_copy_take(&run->sealed, &run->protected, t->dir, dir->fd, run->not_started, sizeof run->not_started));
}

/* The commands get the sandbox, in which the directory for temporary files is another one. */
static bool make_sandbox(struct command_run *run, const struct workdir *dir, const char *absolute, struct trial_job *job)
{
    const struct command_places places = {absolute, dir->fd, run->workdir, run->events};
    run->environment = run->trial->environment;
    if (!run->trial->sandbox)
        return true;
    if (!command_sandbox_make(&run->sandbox, run->trial, &places))
        return false;
    run->environment = run->sandbox.environment;
    job->sandbox = &run->sandbox.sandbox;
    return true;
}

static bool prepare(void *context, const struct workdir *dir, struct trial_job *job)
{
    struct command_run *run = context;
    const struct command_trial *t = run->trial;
    char absolute[PATH_MAX];
    run->dir = dir->fd;
    if (mkdirat(dir->fd, RUNNING_WORK, 0777) != 0 || !realpath(dir->path, absolute))
        return cli_refuse("cannot make %s/" RUNNING_WORK ": %s", dir->path, strerror(errno));
    if (!put_path(run->workdir, absolute, RUNNING_WORK) || !put_path(run->events, absolute, RUNNING_PIPE) ||
        !put_path(run->params, run->workdir, "params.json"))
        return false;
    job->events_path = run->events;
    job->dir = t->dir;
    job->guarded = true;
    job->hold = dir->fd;
    const bool ready =
        make_sandbox(run, dir, absolute, job) && (!t->fill || t->fill(t->fill_context, run->workdir, run->not_started)) &&
        seal_protected(run) && seal_evaluator(run, dir, absolute) && write_params(run) && run_log_open(&run->log, dir->fd) &&
        (run->dry || provenance_write(&run->git, dir->path, run->store, t, &run->sandbox.sandbox, run->conditions)) &&
        note_code(run) && abandoned_trial_prepare(dir->path, run->plan);
    /* The ref is made last. A trial that is killed earlier has run nothing and leaves nothing: its directory is removed without a
     * row. Later, the next command finds the name of the ref in that directory. */
    if (ready)
        code_ref_hold(run->git);
    return ready;
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
    files_beside_row_put(run->store, run->dir, exp_id);
    if (run->unscored)
        files_beside_row_put_work(run->store, run->dir, exp_id);
}

static void recorded(void *context, const char *exp_id)
{
    const struct command_run *run = context;
    char why[EXAMPLES_WHY_MAX];
    code_ref_keep(run->store, exp_id);
    if (run->examples.n && !examples_keep(&run->examples, run->store, exp_id, why))
        cli_error(CLI_SYSTEM, "%s", why);
    if (run->held.present)
        held_out_file_add(run->store, exp_id, run->plan->settings.held_out, run->held.value, run->held_runs);
}

/* ---- a stage ---- */

/* A full disk is often not what a library reports, so it is looked for where the command writes. */
static bool disk_is_full(const char *dir)
{
    enum { LITTLE = 1 << 16 };
    struct statvfs disk;
    return statvfs(dir, &disk) == 0 && disk.f_blocks > 0 && (double)disk.f_bavail * (double)disk.f_frsize < LITTLE;
}

static void blame_full_disk(const struct command_run *run, struct trial_outcome *outcome)
{
    const char *above = getenv("TMPDIR"),
               *places[] = {run->trial->dir ? run->trial->dir : ".", run->workdir, above && *above ? above : "/tmp"};
    size_t n = strlen(outcome->evidence);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (outcome->lacks || (outcome->cause && outcome->cause != LINEAGE_CAUSE_CODE) || !disk_is_full(places[i]))
            continue;
        outcome->lacks = true;
        outcome->cause = LINEAGE_CAUSE_DISK;
        snprintf(outcome->evidence + n, sizeof outcome->evidence - n, "%sthe disk of %.80s is full", n ? ", " : "", places[i]);
    }
}

/* Whether the command is run by `timeout`, whose exit status 124 reports that a time limit ended it. */
static bool is_timed(const char *const *words)
{
    for (; *words; words++) {
        const char *slash = strrchr(*words, '/'), *name = slash ? slash + 1 : *words;
        if (strcmp(name, "timeout") == 0 || strcmp(name, "gtimeout") == 0 || strstr(*words, "timeout "))
            return true;
    }
    return false;
}

/* Only what the stage itself printed counts: an earlier stage may have printed an error that it survived. */
static void read_evidence(const struct command_run *run, struct trial_outcome *outcome, uint64_t since)
{
    char *text = malloc(RUN_LOG_LAST);
    if (text)
        failure_evidence_read(outcome, &run->job.settings.metrics, text, run_log_copy(&run->log, since, text));
    free(text);
}

/* Runs one stage. The outcome has the sum of the stages' times and the maximum of their memory peaks. */
static bool run_job(struct command_run *run, struct trial_outcome *outcome, const struct trial_job *job)
{
    struct trial_outcome before = *outcome;
    struct trial_job watched = *job;
    uint64_t since = run->log.total;
    if (run->dry && job->event)
        dry_metrics_attach(run->dry, &watched);
    if (!trial_watch(outcome, &watched))
        return false;
    if (outcome->end == TRIAL_FAILED || outcome->end == TRIAL_SIGNALLED || outcome->end == TRIAL_FINISHED)
        read_evidence(run, outcome, since);
    if (outcome->end == TRIAL_FAILED)
        blame_full_disk(run, outcome);
    outcome->timed =
        outcome->end == TRIAL_FAILED && outcome->unexplained && outcome->exit_status == TIMEOUT_STATUS && is_timed(job->argv);
    if (outcome->timed)
        outcome->end = TRIAL_TRAIN_OVERRUN;
    outcome->total_s += before.total_s;
    outcome->peak_bytes = fmax(outcome->peak_bytes, before.peak_bytes);
    outcome->peak_gpu_bytes = fmax(outcome->peak_gpu_bytes, before.peak_gpu_bytes);
    outcome->unseen = outcome->unseen ? outcome->unseen : before.unseen;
    if (!outcome->others[0])
        memcpy(outcome->others, before.others, sizeof before.others);
    if (!outcome->unreadable[0])
        memcpy(outcome->unreadable, before.unreadable, sizeof outcome->unreadable);
    return true;
}

/* A command of a stage, and its environment: NAME=VALUE, ended by NULL. */
struct stage {
    const char *const *words, *const *environment;
};

/* Runs one stage, with the placeholders and the environment of this seed. */
static bool run_words(struct command_run *run, struct trial_outcome *outcome, struct trial_job job, const struct stage *stage,
                      uint64_t seed)
{
    const struct command_trial *t = run->trial;
    const struct command_values values = {t->params, t->n_params, seed, run->workdir};
    struct command_environment made;
    bool ok = command_environment_make(&made, stage->words, stage->environment, &values, run->params, t->parent_snapshot);
    if (ok) {
        job.argv = made.argv;
        job.environment = made.environment;
        ok = run_job(run, outcome, &job);
        /* A rerun that cannot start gets a row, which records that the trial cannot be repeated here. */
        if (!ok && t->rerun_of)
            snprintf(run->not_started, sizeof run->not_started, "the command %.400s could not be started", made.argv[0]);
    } else {
        cli_no_memory();
    }
    command_environment_release(&made);
    return ok;
}

static bool run_shell(struct command_run *run, struct trial_outcome *outcome, const struct trial_job *job, const char *command,
                      uint64_t seed)
{
    const char *const words[] = {"sh", "-c", command, NULL};
    return run_words(run, outcome, *job, &(struct stage){words, run->environment}, seed);
}

/*
 * A pipe such as `python train.py | tee log` ends with status 0 although the program died. The status decides, but the row
 * and standard error name the error; without a score, or before the last step that was announced, the trial has failed.
 */
static void judge_last_words(struct command_run *run, struct trial_outcome *outcome, const struct trial_results *results)
{
    const struct command_trial *t = run->trial;
    char text[TRIAL_EVIDENCE_MAX + 140];
    if (outcome->end != TRIAL_FINISHED || !outcome->last_words)
        return;
    snprintf(run->last_words, sizeof run->last_words, "%s", outcome->evidence);
    snprintf(text, sizeof text,
             "the output ends with an error although the exit status is 0 (a pipe hides it, `set -o pipefail`, or a driver of "
             "trials): %s",
             outcome->evidence);
    cli_say(text);
    if (t->eval || t->sealed_eval || (results->score.present && !(results->steps > 0 && results->step < results->steps)))
        return;
    outcome->end = TRIAL_FAILED;
    outcome->unexplained = true;
}

/*
 * A program that forks its training and returns at once does not wait for its score: what the training printed until it was
 * ended is not what it would have reached.
 */
static void judge_others(struct trial_outcome *outcome, const struct trial_results *results)
{
    if (outcome->end != TRIAL_FINISHED || !results->score_from[0] || !outcome->others[0])
        return;
    outcome->end = TRIAL_FAILED;
    outcome->lacks = true;
    snprintf(outcome->text, sizeof outcome->text,
             "its score was printed by the process %s after the command had ended: let the command wait for it",
             results->score_from);
}

static bool has_failed(const struct trial_outcome *outcome)
{
    return outcome->end != TRIAL_FINISHED;
}

/* Makes the text of the outcome say how a stage other than the training ended. */
static void describe(struct trial_outcome *outcome, const char *what, const struct trial_settings *limits)
{
    char how[TRIAL_TEXT_MAX];
    switch (outcome->end) {
    case TRIAL_SIGNALLED:
        snprintf(how, sizeof how, "was killed by signal %d (%s)", outcome->signal, strsignal(outcome->signal));
        break;
    case TRIAL_TRAIN_OVERRUN:
        trial_label_overrun(how, sizeof how, outcome, limits->train_seconds, limits->train_cpu_seconds);
        break;
    case TRIAL_SILENT: snprintf(how, sizeof how, "said nothing for too long"); break;
    case TRIAL_MEMORY_OVERRUN: snprintf(how, sizeof how, "held %.0f bytes of memory", outcome->peak_bytes); break;
    default:
        if (outcome->exit_status)
            snprintf(how, sizeof how, "left with exit status %d%s%s", outcome->exit_status, outcome->evidence[0] ? ": " : "",
                     outcome->evidence);
        else
            snprintf(how, sizeof how, "failed: %.400s", outcome->text);
    }
    snprintf(outcome->text, sizeof outcome->text, "the %s %.400s", what, how);
}

/* Runs the preflight, whose output is not searched for metrics. */
static bool run_preflight(struct command_run *run, struct trial_outcome *outcome)
{
    struct trial_job job = run->job;
    job.event = NULL;
    job.settings.stop_on_nan = false;
    if (!run_shell(run, outcome, &job, run->trial->preflight, run->trial->first_seed))
        return false;
    if (!has_failed(outcome) || outcome->end == TRIAL_INTERRUPTED)
        return true;
    if (outcome->end == TRIAL_FAILED && outcome->failure == TRIAL_FAILURE_SIZE) /* it has said what does not fit */
        return true;
    describe(outcome, "preflight", &job.settings);
    outcome->end = TRIAL_PREFLIGHT_FAILED;
    return true;
}

/* Reports the phase, and makes the job of an evaluation. */
static struct trial_job begin_evaluation(const struct command_run *run)
{
    struct trial_job job = run->job;
    static const char phase[] = "{\"phase\": \"" TRIAL_PHASE_EVAL "\"}";
    struct trial_event event;
    json_t *line = event_line_read(&event, phase, sizeof phase - 1, NULL);
    if (line)
        job.event(job.context, &event);
    json_decref(line);
    job.settings.metrics.any_form = true;
    job.settings.train_seconds = job.settings.eval_seconds;
    job.settings.train_cpu_seconds = job.settings.eval_cpu_seconds;
    return job;
}

static void judge_evaluation(struct trial_outcome *outcome, const struct trial_settings *limits)
{
    if (outcome->end == TRIAL_TRAIN_OVERRUN) {
        outcome->end = TRIAL_EVAL_OVERRUN;
    } else if (outcome->end == TRIAL_FAILED) {
        describe(outcome, "evaluation", limits);
        outcome->unexplained = false;
    }
}

static bool run_evaluation(struct command_run *run, struct trial_outcome *outcome, uint64_t seed)
{
    struct trial_job job = begin_evaluation(run);
    if (!run_shell(run, outcome, &job, run->trial->eval, seed))
        return false;
    judge_evaluation(outcome, &job.settings);
    return true;
}

/* Whether a protected file has changed. A score by a changed evaluator does not count, however the trial ended. */
static bool is_disqualified(const struct command_run *run, struct trial_outcome *outcome)
{
    if (outcome->end == TRIAL_INTERRUPTED || protected_files_check(&run->protected, outcome->text, sizeof outcome->text))
        return false;
    outcome->end = TRIAL_DISQUALIFIED;
    return true;
}

/* Copies the protected files of the work directory anew. A trial that makes this impossible has no score that counts. */
static bool renew_protected(struct command_run *run, struct trial_outcome *outcome)
{
    const bool renewed = protected_files_renew(&run->protected, outcome->text, sizeof outcome->text);
    if (!renewed)
        outcome->end = TRIAL_DISQUALIFIED;
    return renewed;
}

/* ---- the sealed evaluation ---- */

static bool sets(const char *const *environment, const char *variable)
{
    size_t n = strcspn(variable, "=") + 1;
    for (; environment && *environment; environment++)
        if (strncmp(*environment, variable, n) == 0)
            return true;
    return false;
}

/*
 * Runs the command in the sealed copy. Variables that lead interpreters to other code are emptied, because they usually name a
 * directory in which the trial can put a file; those that --env sets stay.
 */
static bool run_in_copy(struct command_run *run, struct trial_outcome *outcome, uint64_t seed)
{
    static const char *const plain[] = {"PYTHONPATH=",        "PYTHONSTARTUP=",
                                        "PYTHONNOUSERSITE=1", "PYTHONDONTWRITEBYTECODE=1",
                                        "PERL5LIB=",          "RUBYLIB=",
                                        "NODE_PATH=",         "LUA_PATH=",
                                        "BASH_ENV=",          "ENV="};
    enum { PLAIN = sizeof plain / sizeof *plain };
    const char *const words[] = {"sh", "-c", run->trial->sealed_eval, NULL}, *const *given = run->environment;
    struct trial_job job = begin_evaluation(run);
    size_t n = cli_texts_length(given);
    const char **environment = calloc(n + PLAIN + 1, sizeof *environment);
    if (!environment)
        return cli_no_memory(), false;
    if (n)
        memcpy(environment, given, n * sizeof *given);
    for (size_t i = 0; i < PLAIN; i++)
        if (!sets(given, plain[i]))
            environment[n++] = plain[i];
    job.dir = run->sealed_dir;
    bool ok = run_words(run, outcome, job, &(struct stage){words, environment}, seed);
    free(environment);
    if (ok)
        judge_evaluation(outcome, &job.settings);
    return ok;
}

/* Forgets what the training reported as its score. The score of the row is that of the evaluation, or none. */
static void forget_score(struct command_run *run, struct trial_results *results)
{
    if (!run->printed.present)
        run->printed = results->score;
    trial_results_forget_score(results);
}

/*
 * Lays the copy when no process of the trial is left that could change it, and runs the command in it. Returns false if the
 * command could not be started or watched.
 */
static bool run_sealed_evaluation(struct command_run *run, struct trial_outcome *outcome, uint64_t seed)
{
    char why[TRIAL_TEXT_MAX] = "processes of the trial are left, which could change the evaluation";
    if (outcome->unseen || !sealed_copy_lay(&run->sealed, why, sizeof why)) {
        outcome->end = TRIAL_DISQUALIFIED;
        memcpy(outcome->text, why, sizeof why);
        sealed_copy_remove(&run->sealed);
        return true;
    }
    bool ok = run_in_copy(run, outcome, seed);
    sealed_copy_remove(&run->sealed);
    return ok;
}

/* ---- seeds ---- */

/* The first score is subtracted, so that scores which are close together and far from zero keep their digits. */
static void add_score(struct command_run *run, const struct trial_results *results, uint64_t seed)
{
    long double difference = run->measured ? (long double)results->score.value - run->first : 0;
    if (!results->score.present)
        return;
    if (!run->measured)
        run->first = results->score.value;
    run->measured++;
    run->sum += difference;
    run->sum_of_squares += difference * difference;
    size_t n = strlen(run->scores);
    char text[LINEAGE_NUMBER_MAX];
    snprintf(run->scores + n, sizeof run->scores - n, "%sseed %" PRIu64 " scored %s", n ? ", " : "", seed,
             lineage_mean_text(text, results->score.value, (double)NAN));
}

static double score_std(const struct command_run *run)
{
    double n = (double)run->measured;
    return n > 1 ? sqrt(fmax(0, (double)((run->sum_of_squares - run->sum * run->sum / n) / (n - 1)))) : 0;
}

/* Runs the evaluation of a training that has not failed. */
static bool evaluate(struct command_run *run, struct trial_outcome *outcome, uint64_t seed)
{
    const struct command_trial *t = run->trial;
    if (has_failed(outcome) || (!t->eval && !t->sealed_eval))
        return true;
    if (t->eval && !renew_protected(run, outcome))
        return true;
    if (t->eval ? !run_evaluation(run, outcome, seed) : !run_sealed_evaluation(run, outcome, seed))
        return false;
    if (!is_disqualified(run, outcome) && run->printed.present) {
        char looked[TRIAL_TEXT_MAX];
        memcpy(looked, outcome->looked, sizeof looked);
        snprintf(outcome->looked, sizeof outcome->looked, "the evaluation printed no score, the training printed %.10g; %.400s",
                 run->printed.value, looked);
    }
    return true;
}

static void on_file_event(void *context, const struct trial_event *event)
{
    struct command_run *run = context;
    if (run->dry)
        dry_metrics_event(run->dry, event);
    if (run->job.event) /* not if a saved log is read */
        run->job.event(run->job.context, event);
}

static struct metric_files files_of(struct command_run *run, double since)
{
    return (struct metric_files){.plan = run->plan,
                                 .given = run->trial->metric_file,
                                 .dir = run->trial->dir,
                                 .since = since,
                                 .event = on_file_event,
                                 .store = run->store ? lineage_store_dir(run->store) : NULL,
                                 .context = run};
}

/* Reads files that the training has left, or the evaluation if there is one: files that were written since then. */
static void read_files(struct command_run *run, struct trial_outcome *outcome, struct trial_results *results,
                       const struct command_values *values, double since)
{
    const struct command_trial *t = run->trial;
    const struct metric_files files = files_of(run, since);
    char why[TRIAL_TEXT_MAX] = "";
    if (has_failed(outcome))
        return;
    if (!metric_files_read(&files, values, why, sizeof why)) {
        forget_score(run, results);
        memcpy(outcome->looked, why, sizeof outcome->looked);
    } else if (!t->eval && !t->sealed_eval && results->score_channel < TRIAL_CHANNEL_EVENTS && !results->lost_score) {
        metric_files_discover(&files, values, &results->score, outcome->looked, sizeof outcome->looked);
    }
}

/* Runs training and evaluation for one seed. Returns false if a command could not be started or watched. */
static bool run_seed(struct command_run *run, struct trial_outcome *outcome, struct trial_results *results, uint64_t seed)
{
    const struct command_trial *t = run->trial;
    double before = outcome->total_s;
    const struct command_values values = {t->params, t->n_params, seed, run->workdir};
    struct trial_job job = run->job;
    double since = metric_files_now();
    if (t->eval || t->sealed_eval) /* the evaluation prints it */
        job.settings.score_minutes = 0;
    if (run->dry && (t->eval || t->sealed_eval))
        job.event = NULL; /* what the training prints does not count */
    if (!run_words(run, outcome, job, &(struct stage){t->argv, run->environment}, seed))
        return false;
    judge_last_words(run, outcome, results);
    judge_others(outcome, results);
    if ((t->eval || t->sealed_eval) && results->train_s < 0)
        run->train_s += outcome->total_s - before;
    if (t->sealed_eval || (t->eval && !has_failed(outcome)))
        forget_score(run, results);
    since = t->eval ? metric_files_now() : since;
    if (!is_disqualified(run, outcome) && !evaluate(run, outcome, seed))
        return false;
    read_files(run, outcome, results, &values, since);
    command_artifacts_judge(outcome, t, &values);
    return true;
}

/* The score of the trial is the mean over its runs, if every run has a score. */
static void finish_seeds(const struct command_run *run, struct trial_results *results, size_t seeds)
{
    if (seeds < 2)
        return;
    results->score.present = run->measured == seeds;
    if (!results->score.present)
        return;
    results->score.value = (double)(run->first + run->sum / (double)seeds);
    json_decref(results->final);
    results->final = json_pack("{s:f, s:f, s:I}", results->plan->score_key ? results->plan->score_key : "score",
                               results->score.value, "score_std", score_std(run), "seeds", (json_int_t)seeds);
}

/*
 * Whether the other seeds are worth their time after one has failed. A failure before anything was reported comes from
 * the program and not from the seed, and another seed would exceed a limit, too.
 */
static bool goes_on_after(const struct trial_outcome *outcome, const struct trial_results *results)
{
    return results->begun &&
           (outcome->end == TRIAL_FAILED || outcome->end == TRIAL_SIGNALLED || outcome->end == TRIAL_NOT_FINITE);
}

/* The first seed that failed or had no score, and how far it came. */
struct blamed_seed {
    bool found;
    struct trial_outcome outcome;
    int64_t step, steps;
    char phase[TRIAL_PHASE_MAX];
};

static void blame(struct blamed_seed *blamed, const struct trial_outcome *outcome, const struct trial_results *results,
                  uint64_t seed)
{
    if (blamed->found)
        return;
    *blamed = (struct blamed_seed){true, *outcome, results->step, results->steps, ""};
    memcpy(blamed->phase, results->phase, sizeof blamed->phase);
    blamed->outcome.has_seed = true;
    blamed->outcome.seed = seed;
}

/* Makes the trial end as the blamed seed did, with the times and memory of all seeds. */
static void end_as(struct trial_outcome *outcome, struct trial_results *results, const struct blamed_seed *blamed)
{
    struct trial_outcome all = *outcome;
    *outcome = blamed->outcome;
    outcome->total_s = all.total_s;
    outcome->peak_bytes = all.peak_bytes;
    outcome->peak_gpu_bytes = all.peak_gpu_bytes;
    outcome->unseen = all.unseen;
    results->step = blamed->step;
    results->steps = blamed->steps;
    memcpy(results->phase, blamed->phase, sizeof results->phase);
}

/* The names in the work directory, a list. NULL when out of memory or if it cannot be read. */
static json_t *names_in(const char *dir)
{
    json_t *names = json_array();
    DIR *stream = opendir(dir);
    for (struct dirent *entry; names && stream && (entry = readdir(stream));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            json_array_append_new(names, cli_json_text(entry->d_name));
    if (stream)
        closedir(stream);
    return stream ? names : (json_decref(names), NULL);
}

static bool is_listed(const json_t *names, const char *name)
{
    bool listed = false;
    for (size_t i = 0; i < json_array_size(names) && !listed; i++)
        listed = strcmp(json_string_value(json_array_get(names, i)), name) == 0;
    return listed;
}

/* Takes out of the work directory what was not there at the beginning: to the directory `aside`, or for good (-1). */
static bool empty_workdir(int work, int aside, const char *path, const json_t *begin)
{
    json_t *left = names_in(path), *name;
    bool ok = left != NULL;
    size_t i;
    json_array_foreach(left, i, name) {
        const char *text = json_string_value(name);
        if (!ok || is_listed(begin, text))
            continue;
        if (aside >= 0)
            ok = renameat(work, text, aside, text) == 0;
        else if (unlinkat(work, text, 0) != 0)
            workdir_remove_tree(work, text);
    }
    json_decref(left);
    return ok;
}

/*
 * A program that finds what the seed before has left may go on from there, and would be measured only once. So each seed finds what
 * the first one found (begin). What that one left waits beside the work directory until the last seed has ended
 * (over), because it becomes the snapshot.
 */
static bool change_seed(const struct command_run *run, const json_t *begin, size_t i, bool over)
{
    char path[PATH_MAX + 16];
    const json_t *none = NULL;
    snprintf(path, sizeof path, "%s-first", run->workdir);
    const int work = open(run->workdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = begin && work >= 0 && (i != 1 || mkdir(path, 0777) == 0);
    const int aside = ok ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    ok = aside >= 0 && empty_workdir(work, i == 1 ? aside : -1, run->workdir, begin);
    if (ok && over)
        ok = empty_workdir(aside, work, path, none) && rmdir(path) == 0;
    if (!ok)
        cli_error(CLI_SYSTEM, "cannot empty %s for the next seed: %s", run->workdir, strerror(errno));
    cli_close(aside);
    cli_close(work);
    return ok;
}

/* Gives the parameters that are seeds the seed of the run, so that {seed} and $LINEAGE_PARAMS do not repeat that of the first one. */
static bool take_seed(const struct command_run *run, uint64_t seed)
{
    const struct command_trial *t = run->trial;
    for (size_t i = 0; t->reseeded && i < t->n_params; i++)
        if (lineage_param_is_seed(t->params[i].name, lineage_store_seeds(run->store)))
            t->reseeded[i] = (struct lineage_param){t->params[i].name, (double)seed, NULL};
    return !t->reseeded || write_params(run);
}

/* The first seed that failed decides the label. The scores of the others are kept in the notes. */
static bool run_seeds(struct command_run *run, struct trial_outcome *outcome, struct trial_results *results, size_t seeds)
{
    const struct command_trial *t = run->trial;
    struct blamed_seed blamed = {.found = false};
    json_t *begin = seeds > 1 ? names_in(run->workdir) : NULL;
    bool stopped = false, ran = true;
    size_t i = 0;
    for (; i < seeds && !stopped && ran; i++) {
        uint64_t seed = (t->has_seed ? t->first_seed : 1) + i;
        if (seeds > 1)
            trial_results_next_run(results, i + 1);
        ran = (i == 0 || change_seed(run, begin, i, false)) && take_seed(run, seed) && run_seed(run, outcome, results, seed);
        if (!ran)
            break;
        run->channel = results->score_channel;
        held_out_end_run(run->job.held);
        if (!has_failed(outcome) || seeds < 2)
            add_score(run, results, seed);
        if (!has_failed(outcome) && interrupts_came(t->interrupts))
            outcome->end = TRIAL_INTERRUPTED;
        stopped = outcome->end == TRIAL_INTERRUPTED || outcome->end == TRIAL_DISQUALIFIED;
        if (stopped || seeds < 2 || (!has_failed(outcome) && results->score.present))
            continue;
        blame(&blamed, outcome, results, seed);
        if (has_failed(outcome) && !run->last_lines)
            run->last_lines = run_log_last_lines(&run->log);
        stopped = has_failed(outcome) && !goes_on_after(outcome, results);
    }
    ran = ran && (i < 2 || change_seed(run, begin, i, true));
    json_decref(begin);
    if (!ran)
        return false;
    if (blamed.found && outcome->end != TRIAL_INTERRUPTED && outcome->end != TRIAL_DISQUALIFIED)
        end_as(outcome, results, &blamed);
    return true;
}

/*
 * The store remembers the name of its first score. Only a trial that nobody gave a name, or one that ran beside the first, has another
 * name here; command_trial_run refuses the others before they run. A name that cannot be remembered, for example because the server
 * cannot be reached, takes nothing from the score.
 */
static void name_score(const struct command_run *run, struct trial_outcome *outcome, struct trial_results *results)
{
    const char *name = trial_results_score_name(results);
    struct lineage_error err;
    if (!run->store || has_failed(outcome) || !results->score.present || !name ||
        lineage_store_name_score(run->store, name, &err) != LINEAGE_EEXIST)
        return;
    snprintf(outcome->looked, sizeof outcome->looked, "%s", err.text);
    results->score.present = false;
}

/* A file of an earlier trial in the directory where the commands work is not that of this one. */
static bool find_examples(const struct command_run *run, char path[PATH_MAX], const char *name, char *why)
{
    static const char place[] = "{workdir}/";
    const bool placed = strncmp(name, place, sizeof place - 1) == 0;
    const char *dirs[] = {run->workdir, placed ? NULL : run->trial->dir ? run->trial->dir : "."};
    struct stat status;
    name += placed ? sizeof place - 1 : 0;
    for (size_t i = 0; i < 2 && dirs[i]; i++) {
        const int n = *name == '/' ? snprintf(path, PATH_MAX, "%s", name) : snprintf(path, PATH_MAX, "%s/%s", dirs[i], name);
        if (n >= PATH_MAX || stat(path, &status) != 0)
            continue;
        if (status.st_mtim.tv_sec >= run->began.tv_sec - 1)
            return true;
        return snprintf(why, EXAMPLES_WHY_MAX, "%.200s was written before the trial began", name), false;
    }
    return snprintf(why, EXAMPLES_WHY_MAX, "the trial left no file %.200s", name), false;
}

static bool read_examples(struct command_run *run, char *why)
{
    if (run->measured > 1) { /* of `rerun --seeds` */
        snprintf(why, EXAMPLES_WHY_MAX, "%zu seeds have no single value for each example; run each as a trial", run->measured);
        return false;
    }
    char path[PATH_MAX], *name = strdup(run->trial->examples), *key = name ? strrchr(name, '#') : NULL;
    if (key)
        *key++ = '\0';
    const bool good = name && find_examples(run, path, name, why) && examples_read(&run->examples, path, key, why);
    free(name);
    return good;
}

/* Compares the trial with the best one by the examples that it left. What cannot be compared is judged by the bar of the store. */
static void compare_examples(struct command_run *run, const struct lineage_number *score)
{
    struct lineage_trial best = {0};
    struct examples others = {0}, *own = &run->examples;
    struct examples_difference difference;
    struct lineage_error err;
    char why[EXAMPLES_WHY_MAX] = "", text[EXAMPLES_TEXT_MAX] = "";
    const bool decide = run->trial->decide_by != NULL, read = read_examples(run, why);
    own->score = *score;
    if (read && lineage_best_kept(run->store, &best, &err) == LINEAGE_OK && examples_of(&others, run->store, best.exp_id, why) &&
        examples_compare(&difference, own, &others, lineage_store_config(run->store), why)) {
        examples_text(text, &difference, best.exp_id);
        if (decide && difference.is_of_scores) {
            run->bar = difference.bar;
            snprintf(run->bar_against, sizeof run->bar_against, "%.*s", LINEAGE_NAME_MAX - 1, best.exp_id);
        } else if (decide) {
            snprintf(why, sizeof why, "write the values so that their mean is the score, %.6g, and not %.6g", score->value,
                     own->mean);
        }
    }
    const char *bar = run->bar_against[0]                     ? ", decided by examples"
                      : decide && why[0] && run->measured < 2 ? ", decided by the bar of the store"
                                                              : "";
    const char *failed = !why[0] ? "" : !read ? "examples not kept: " : *text ? ", " : "examples not compared: ";
    const char *kept = !read ? "" : *text || why[0] ? ", examples kept: digest " : "examples kept: digest ";
    snprintf(run->examples_said, sizeof run->examples_said, "%s%s%s%s%s%s", text, failed, why, bar, kept, own->digest);
    for (char *c = run->examples_said; *c; c++)
        *c = (char)(*c == ';' ? ',' : *c == '=' || (unsigned char)*c < 0x20 ? ' ' : *c); /* they would end a piece of notes */
    if (why[0])
        cli_say(run->examples_said);
    examples_release(&others);
    lineage_trial_release(&best);
}

static bool watch(void *context, struct trial_outcome *outcome, struct trial_job *job, struct trial_results *results)
{
    struct command_run *run = context;
    const struct command_trial *t = run->trial;
    size_t seeds = t->seeds ? t->seeds : 1;
    run->job = *job;
    *outcome = (struct trial_outcome){0};
    clock_gettime(CLOCK_REALTIME, &run->began);
    if (t->sealed_eval) /* no process of the same user may change the memory of this one and of the guardian */
        prctl(PR_SET_DUMPABLE, 0);
    if (t->preflight && !run_preflight(run, outcome))
        return false;
    if (!has_failed(outcome) && !run_seeds(run, outcome, results, seeds))
        return false;
    if (run->train_s > 0)
        results->train_s = run->train_s;
    finish_seeds(run, results, seeds);
    if (results->order.note[0])
        cli_say(results->order.note);
    name_score(run, outcome, results);
    if ((run->held_runs = run->job.held->runs))
        run->held = (struct lineage_number){!has_failed(outcome), run->job.held->sum / (double)run->held_runs};
    if (run->trial->examples && run->store && !has_failed(outcome))
        compare_examples(run, &results->score);
    run->watched = true;
    return true;
}

/* ---- the row ---- */

/* Adds to the remark, behind a comma unless it is empty. */
static void __attribute__((format(printf, 2, 3))) add(char *out, const char *format, ...)
{
    va_list args;
    size_t n = strlen(out);
    n += (size_t)snprintf(out + n, TRIAL_REMARK_MAX - n, "%s", n ? ", " : "");
    va_start(args, format);
    if (n < TRIAL_REMARK_MAX)
        vsnprintf(out + n, TRIAL_REMARK_MAX - n, format, args);
    va_end(args);
}

/* Adds the last lines of the output to the notes, because they are what a person looks at first. */
static void note_last_lines(const struct command_run *run, char *out)
{
    char *lines = run->last_lines ? NULL : run_log_last_lines(&run->log);
    const size_t n = strlen(out);
    if (run->last_lines || lines)
        snprintf(out + n, TRIAL_REMARK_MAX - n, "; last lines: %s", run->last_lines ? run->last_lines : lines);
    free(lines);
}

/* Notes a score that the trial printed itself and that is not the one of the sealed evaluation. */
static void note_printed(const struct command_run *run, const struct trial_results *results, char *out)
{
    const struct lineage_number *printed = &run->printed;
    bool same = results->score.present && fabs(results->score.value - printed->value) <= 1e-9 * fabs(printed->value);
    if ((run->trial->sealed_eval || run->trial->eval) && printed->present && (!same || run->trial->seeds >= 2))
        add(out, "the trial itself printed %.10g, which does not count", printed->value);
}

/* Whether the work directory has more than the parameters. */
static bool has_files(const struct command_run *run)
{
    json_t *names = names_in(run->workdir);
    const bool has = json_array_size(names) > 1;
    json_decref(names);
    return has;
}

/* Semicolons end a piece of notes. */
static void without_semicolons(char *text)
{
    for (; (text = strchr(text, ';')); text++)
        *text = ',';
}

/* The verdict is against the best trial, whose conditions may be others. */
static void note_conditions(const struct command_run *run, char *out)
{
    char text[CONDITIONS_TEXT_MAX];
    struct lineage_trial best = {0};
    struct lineage_error err;
    json_t *theirs = lineage_best_kept(run->store, &best, &err) == LINEAGE_OK ? conditions_of(run->store, best.exp_id) : NULL;
    conditions_differ(text, run->conditions, theirs, NULL);
    without_semicolons(text);
    if (*text) {
        cli_error(CLI_NO, "its verdict is across conditions: %s for %s", text, best.exp_id);
        add(out, LINEAGE_ACROSS "%s for %.80s", text, best.exp_id);
    }
    json_decref(theirs);
    lineage_trial_release(&best);
}

static void remark(void *context, const struct trial_results *results, const struct trial_outcome *outcome, char *out)
{
    static const char *const channels[] = {
        [TRIAL_CHANNEL_NONE] = "",
        [TRIAL_CHANNEL_ONLY] = "the only METRIC name",
        [TRIAL_CHANNEL_NAMED] = "a name that was asked for",
        [TRIAL_CHANNEL_METRIC] = "METRIC lines",
        [TRIAL_CHANNEL_PATTERN] = "a pattern",
        [TRIAL_CHANNEL_EVENTS] = "events",
        [TRIAL_CHANNEL_FILE] = "the file ",
    };
    struct command_run *run = context;
    const bool scored = results->score.present && run->channel;
    char how[64];
    out[0] = '\0';
    run->unscored =
        !run->trial->rescore && !has_failed(outcome) && !results->score.present && !results->lost_score && has_files(run);
    if (scored)
        add(out, "score by %s%s%s%s", channels[run->channel], run->channel == TRIAL_CHANNEL_FILE ? results->score_file : "",
            run->trial->sealed_eval ? " of the sealed evaluation" : "",
            run->channel == TRIAL_CHANNEL_NAMED && outcome->doubt ? outcome->doubt : "");
    if (scored && results->score_from[0])
        add(out, "printed by the process %s after the command had ended", results->score_from);
    if (scored && results->scored.rule.take != METRIC_TAKE_LAST && run->channel == TRIAL_CHANNEL_FILE)
        add(out, "%s of its values", metric_rule_text(how, &results->scored.rule));
    else if (scored && results->scored.rule.take != METRIC_TAKE_LAST)
        add(out, "%s of %" PRIu64 " values", metric_rule_text(how, &results->scored.rule), results->scored.count);
    if (outcome->has_seed && run->measured)
        add(out, "%s", run->scores);
    else if (run->measured > 1)
        add(out, "mean of %zu seeds, std %.4g", run->measured, score_std(run));
    note_printed(run, results, out);
    if (results->score.present && run->conditions)
        note_conditions(run, out);
    if (run->examples_said[0])
        add(out, "%s", run->examples_said);
    const char *left = cli_json_string(run->git, "left_out");
    if (left)
        add(out, "code not kept: %.200s", left);
    without_semicolons(run->last_words);
    if (run->last_words[0] && !has_failed(outcome))
        add(out, "its output ends with %s, although its exit status is 0", run->last_words);
    if (outcome->others[0] && (has_failed(outcome) || results->score.present))
        add(out, "%s", outcome->others);
    if (outcome->unreadable[0])
        add(out, "%s", outcome->unreadable);
    if (results->order.note[0])
        add(out, "%s", results->order.note);
    if (results->n_late)
        add(out, "%" PRIu64 " lines of events came after the end and do not count", results->n_late);
    if (outcome->unseen > 0)
        add(out, "%d processes could not be ended", outcome->unseen);
    if (outcome->unseen < 0)
        add(out, "processes outside of its group could not be looked for: no /proc");
    if (has_failed(outcome) && outcome->end != TRIAL_INTERRUPTED && outcome->end != TRIAL_PRUNED)
        note_last_lines(run, out);
}

/* If a trial has only one run, its seed is added as a parameter, by which `lineage compare` pairs rows. */
static bool make_params(struct lineage_param **params, size_t *n, const struct command_trial *t)
{
    const struct lineage_param *from = t->in_force ? t->in_force : t->params;
    *n = t->in_force ? t->n_in_force : t->n_params;
    *params = calloc(*n + 2 + CONDITIONS_MAX, sizeof **params);
    if (!*params)
        return false;
    if (*n)
        memcpy(*params, from, *n * sizeof **params);
    if (t->has_seed && t->seeds < 2)
        (*params)[(*n)++] = (struct lineage_param){"seed", (double)t->first_seed, NULL};
    if (t->identity.proposer)
        (*params)[(*n)++] = (struct lineage_param){"proposer", (double)NAN, t->identity.proposer};
    return true;
}

/* The conditions that --comparable names become parameters, in place of those that the trial inherits. Returns false after printing why. */
static bool add_conditions(struct command_run *run, struct lineage_param *params, size_t *n, const struct command_trial *t)
{
    char name[LINEAGE_NAME_MAX];
    for (size_t i = 0; conditions_name(t->comparable, i, name); i++) {
        const char *key = NULL;
        json_t *value;
        size_t at = 0;
        for (size_t k = 0; k < t->n_params; k++)
            if (strcmp(t->params[k].name, name) == 0)
                return cli_refuse("run: %s is a parameter of the trial, and --comparable sets it", name);
        json_object_foreach(run->conditions, key, value)
            if (strcmp(key, name) == 0)
                break;
        if (!key)
            return cli_refuse("run: --comparable data needs --data PATH");
        while (at < *n && strcmp(params[at].name, name) != 0)
            at++;
        *n += at == *n;
        params[at] = (struct lineage_param){key, (double)NAN, json_string_value(value)};
    }
    return true;
}

/* Refuses to train what could not be compared with the best trial. A rerun is a look at the same trial elsewhere. */
static bool may_compare_conditions(const struct command_run *run, const struct command_trial *t)
{
    char text[CONDITIONS_TEXT_MAX];
    struct lineage_trial best = {0};
    struct lineage_error err;
    bool good = true;
    if (!t->comparable || t->rerun_of || lineage_best_kept(run->store, &best, &err) != LINEAGE_OK)
        return true;
    json_t *theirs = conditions_of(run->store, best.exp_id);
    if (!theirs)
        cli_error(CLI_NO, "the conditions of %s, the best trial, are not recorded: whether this trial is comparable is not known",
                  best.exp_id);
    else if (*conditions_differ(text, run->conditions, theirs, t->comparable))
        good = cli_refuse("nothing is run: %s for %s, the best trial; give these trials a store of their own (-C), or leave that "
                          "out of --comparable: the row then says so",
                          text, best.exp_id);
    json_decref(theirs);
    lineage_trial_release(&best);
    return good;
}

/*
 * Without --score and --metric, the first pattern's metric is the score, then that of the first file, then the store's. A score that --score names is looked for like
 * the names of --metric. names has room for all of them and for the score.
 */
static struct trial_plan make_plan(const struct command_run *run, const struct metric_rules *rules, const char **names,
                                   const struct lineage_param *params, size_t n)
{
    const struct command_trial *t = run->trial;
    struct trial_plan plan = {.identity = t->identity, .settings = t->settings, .params = params, .n_params = n};
    struct metric_query *metrics = &plan.settings.metrics;
    const bool any_name = t->settings.score || cli_texts_length(t->settings.metrics.names) || rules->n_patterns;
    if (!any_name && t->metric_file && t->metric_file[0])
        plan.settings.score = run->file_score;
    else if (!any_name && run->store)
        plan.settings.score = lineage_store_score_name(run->store);
    bool score_is_listed = !plan.settings.score;
    for (; t->settings.metrics.names && t->settings.metrics.names[metrics->n_names]; metrics->n_names++) {
        names[metrics->n_names] = t->settings.metrics.names[metrics->n_names];
        score_is_listed = score_is_listed || strcmp(names[metrics->n_names], plan.settings.score) == 0;
    }
    if (!score_is_listed)
        names[metrics->n_names++] = plan.settings.score;
    metrics->names = names;
    metrics->patterns = rules->patterns;
    metrics->n_patterns = rules->n_patterns;
    plan.settings.takes = rules->takes;
    plan.settings.n_takes = rules->n_takes;
    if (!plan.settings.score && metrics->n_names)
        plan.settings.score = metrics->names[0];
    else if (!plan.settings.score && rules->n_patterns)
        plan.settings.score = metric_pattern_name(rules->patterns[0]);
    plan.record_metrics = true;
    plan.score_key = plan.score_label = plan.settings.score;
    plan.max_steps = STEPS_KEPT;
    return plan;
}

/* Has the store measure its noise with the row that was appended, and prints what the seeds of a baseline say about it. */
static int set_noise(const struct command_run *run, const struct lineage_trial *row)
{
    char said[LINEAGE_NOISE_TEXT_MAX + 48], text[LINEAGE_FLOOR_TEXT_MAX];
    struct lineage_noise noise, before;
    struct lineage_error err;
    const bool known = lineage_store_config(run->store)->noise_std > 0;
    lineage_noise_of_config(&before, lineage_store_config(run->store));
    const bool first = !known && run->measured > 1;
    if (lineage_noise_after_append(run->store, row, 1, &err) != LINEAGE_OK)
        return cli_fail(&err);
    if (run->measured > 1 && (row->status == LINEAGE_BASELINE || run->trial->reseeded) && score_std(run) == 0)
        cli_say(
            "all seeds have the same score, which says nothing about the noise; does the command use {seed} or LINEAGE_SEED?");
    if (lineage_floor_moved(lineage_store_config(run->store), &before))
        cli_say(lineage_floor_text(text, lineage_store_config(run->store), before.std));
    if (!first || (run->trial->quiet && row->status != LINEAGE_BASELINE) || !(lineage_store_config(run->store)->noise_std > 0))
        return CLI_GO_ON;
    lineage_noise_of_config(&noise, lineage_store_config(run->store));
    snprintf(said, sizeof said, "the noise floor of the store is now %s", lineage_noise_text(text, &noise));
    cli_say(said);
    return CLI_GO_ON;
}

/*
 * Reads a saved log, or runs the command in a temporary directory, and prints which metrics were read. There is no
 * store and no row.
 */
static int run_dry(struct command_run *run, const struct trial_request *request, struct trial_outcome *outcome)
{
    const struct command_dry *dry = run->trial->dry;
    char dir[PATH_MAX];
    int status = CLI_GO_ON;
    if (!(run->dry = dry_metrics_new(&request->plan, dry->lines)))
        return cli_no_memory();
    if (dry->log) {
        const struct metric_files files = files_of(run, -INFINITY);
        char why[TRIAL_TEXT_MAX];
        status = dry_metrics_read_log(run->dry, dry->log);
        if (status == CLI_GO_ON && !metric_files_read(&files, &(struct command_values){.workdir = ""}, why, sizeof why))
            status = cli_error(CLI_NO, "%s", why);
    } else {
        if (!cli_temporary_dir(dir, sizeof dir, "lineage-dry")) {
            status = cli_error(CLI_SYSTEM, "cannot make a temporary directory: %s", strerror(errno));
        } else {
            (void)!trial_run_unrecorded(request, dir, outcome);
            status = run->watched ? CLI_GO_ON : CLI_SYSTEM;
            rmdir(dir);
        }
    }
    if (status == CLI_GO_ON && !dry->log && outcome->end == TRIAL_INTERRUPTED)
        status = CLI_INTERRUPTED;
    if (status == CLI_GO_ON)
        status = dry_metrics_print(run->dry, dry->log ? NULL : outcome, dry->format);
    dry_metrics_free(run->dry);
    run->dry = NULL;
    return status;
}

/* ---- a trial that is read again ---- */

static bool prepare_rescore(void *context, const struct workdir *dir, struct trial_job *job)
{
    (void)context;
    (void)dir;
    (void)job;
    return true;
}

/* Other trials may have worked in the same directory since, so only that of the trial itself is searched. */
static bool watch_rescore(void *context, struct trial_outcome *outcome, struct trial_job *job, struct trial_results *results)
{
    struct command_run *run = context;
    const struct command_rescore *again = run->trial->rescore;
    struct metric_files files = files_of(run, again->began), own = files;
    const struct command_values values = {run->plan->params, run->plan->n_params, run->trial->first_seed,
                                          again->work ? again->work : ""};
    struct dry_metrics *log = dry_metrics_new(run->plan, 0);
    char why[TRIAL_TEXT_MAX] = "";
    *outcome = (struct trial_outcome){.total_s = again->was->total_s.value};
    run->job = *job;
    if (!log)
        return cli_no_memory(), false;
    dry_metrics_attach(log, job);
    bool good = dry_metrics_read_log(log, again->log) == CLI_GO_ON;
    dry_metrics_describe(log, outcome);
    dry_metrics_free(log);
    files.until = again->ended;
    own.dir = own.store = NULL;
    if (!metric_files_read(&files, &values, why, sizeof why)) {
        trial_results_forget_score(results);
        memcpy(outcome->looked, why, sizeof outcome->looked);
    } else if (again->work && results->score_channel < TRIAL_CHANNEL_EVENTS && !results->lost_score) {
        own.dir = again->work;
        metric_files_discover(&own, &values, &results->score, outcome->looked, sizeof outcome->looked);
    }
    run->channel = results->score_channel;
    name_score(run, outcome, results);
    return good;
}

static void settle_rescore(void *context, struct lineage_trial *row, struct lineage_append_options *options)
{
    const struct command_run *run = context;
    (void)row;
    options->snapshot_dir = run->trial->rescore->work;
}

/* The log is that of the trial, under the id of the new row as well. */
static void link_log(void *context, const char *exp_id)
{
    const struct command_run *run = context;
    const char *log = run->trial->rescore->log, *slash = strrchr(log, '/');
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%.*s/%.64s.log", (int)(slash - log), log, exp_id);
    if (n > 0 && n < PATH_MAX && link(log, path) != 0)
        cli_error(CLI_SYSTEM, "cannot keep %s: %s", path, strerror(errno));
}

static void request_rescore(struct command_run *run, struct trial_request *request)
{
    request->prepare = prepare_rescore;
    request->watch = watch_rescore;
    request->output = NULL;
    request->beside = link_log;
    request->recorded = NULL;
    request->snapshot = NULL; /* settle_rescore names it */
    request->quiet = true;
    request->plan.identity.settle = settle_rescore;
    request->plan.identity.settle_context = run;
    request->plan.params = run->trial->rescore->was->params;
    request->plan.n_params = run->trial->rescore->was->n_params;
}

/* Whether the score may have this name, which is asked before the command runs. */
static bool may_compare(struct lineage_store *store, const char *name)
{
    const char *known = store && name ? lineage_store_score_name(store) : NULL;
    struct lineage_error err;
    if (!known || strcmp(known, name) == 0 || lineage_store_name_score(store, name, &err) == LINEAGE_OK)
        return true;
    struct lineage_error said = err;
    snprintf(said.text, sizeof said.text, "nothing was run: %.490s", err.text);
    return cli_fail(&said), false;
}

int command_trial_run(struct lineage_store *store, const struct command_trial *trial, struct trial_outcome *outcome,
                      struct lineage_trial *row)
{
    /* SIGPIPE is ignored, because the trial and its row must not depend on whoever reads this process's output. */
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    struct command_run *run = calloc(1, sizeof *run);
    struct lineage_param *params = NULL;
    const char **names = NULL;
    struct metric_rules rules = {0};
    char why[700];
    size_t n_params;
    int status = CLI_GO_ON;
    sigaction(SIGPIPE, &ignore, &before);
    if (store && !secret_params_absent(trial->params, trial->n_params, lineage_store_harmless_names(store))) {
        status = CLI_USAGE;
        goto done;
    }
    if (!metric_rules_make(&rules, trial->metric_regex, trial->metric_take, why, sizeof why)) {
        status = cli_error(CLI_USAGE, "%s", why);
        goto done;
    }
    names = calloc(cli_texts_length(trial->settings.metrics.names) + 2, sizeof *names);
    if (!run || !names || !make_params(&params, &n_params, trial)) {
        status = cli_no_memory();
        goto done;
    }
    run->trial = trial;
    run->store = store;
    if (store && !trial->dry && !trial->rescore && !trial->refused &&
        (!(run->conditions = conditions_now(trial)) || !add_conditions(run, params, &n_params, trial) ||
         !may_compare_conditions(run, trial))) {
        status = CLI_USAGE;
        goto done;
    }
    if (trial->metric_file && trial->metric_file[0])
        metric_files_name(run->file_score, trial->metric_file[0]);
    run->log.fd = -1;
    run->protected.fd = -1;
    run->sealed.above = -1;
    struct trial_request request = {.plan = make_plan(run, &rules, names, params, n_params),
                                    .refused = trial->refused,
                                    .not_started = run->not_started,
                                    .prepare = prepare,
                                    .watch = watch,
                                    .output = on_output,
                                    .pass_ids = trial_ref_pass,
                                    .beside = beside,
                                    .recorded = recorded,
                                    .alive = trial->alive,
                                    .noise_seeds = trial->seeds > 1 ? (unsigned)trial->seeds : 0,
                                    .bar = &run->bar,
                                    .bar_against = run->bar_against,
                                    .snapshot = RUNNING_WORK,
                                    .remark = remark,
                                    .context = run,
                                    .quiet = trial->quiet,
                                    .interrupts = trial->interrupts};
    run->plan = &request.plan;
    if (trial->rescore)
        request_rescore(run, &request);
    if (!may_compare(store, request.plan.settings.score)) {
        status = CLI_USAGE;
        goto done;
    }
    status = trial->dry ? run_dry(run, &request, outcome) : abandoned_trials_record(store);
    if (status == CLI_GO_ON && !trial->dry) {
        status = trial_run_and_append(store, &request, outcome, row);
        if (status != CLI_GO_ON || outcome->late)
            code_ref_drop(run->git);
    }
    if (status == CLI_GO_ON && !trial->dry && outcome->end == TRIAL_FINISHED)
        status = set_noise(run, row);
    run_log_close(&run->log);
    protected_files_release(&run->protected);
    sealed_copy_release(&run->sealed);
    command_sandbox_release(&run->sandbox);
    if (trial->sealed_eval)
        prctl(PR_SET_DUMPABLE, 1);
done:
    sigaction(SIGPIPE, &before, NULL);
    metric_rules_release(&rules);
    free(names);
    free(params);
    if (run) {
        json_decref(run->git);
        json_decref(run->conditions);
        examples_release(&run->examples);
        free(run->last_lines);
    }
    free(run);
    return status;
}
