#include "trial/one_trial.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/queue.h>
#include <lineage/render.h>
#include <lineage/text.h>

#include "cli.h"
#include "support/running_files.h"
#include "trial/progress.h"
#include "trial/pruning.h"

/* ---- keeps the row of a trial that has run but could not be appended ---- */

#define NAME "unwritten-XXXXXX.json"

static void set_number(json_t *row, const char *key, const struct lineage_number *number)
{
    if (number->present)
        json_object_set_new(row, key, cli_json_number(number->value));
}

static json_t *turns_of(const struct lineage_trial *trial)
{
    json_t *turns = json_array();
    for (size_t i = 0; i < trial->n_turns; i++)
        json_array_append_new(turns, json_pack("{s:I, s:o, s:o, s:I}", "turn", (json_int_t)trial->turns[i].turn, "mean",
                                               cli_json_number(trial->turns[i].mean), "std", cli_json_number(trial->turns[i].std),
                                               "n", (json_int_t)trial->turns[i].count));
    return turns;
}

static json_t *make_row(const struct lineage_trial *trial, const struct lineage_append_options *options)
{
    const struct {
        const char *key, *text;
    } texts[] = {{"specialist", trial->specialist},
                 {"parent_exp", trial->parent_exp},
                 {"domain", trial->domain},
                 {"hypothesis", trial->hypothesis},
                 {"job_name", trial->job_name},
                 {"notes", trial->notes},
                 {"expected_delta", trial->expected_delta},
                 {"status", options->auto_status ? "auto" : lineage_label_name(trial->status)}};
    json_t *row = json_object();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].text && *texts[i].text)
            json_object_set_new(row, texts[i].key, cli_json_text(texts[i].text));
    set_number(row, "core_metric", &trial->core_metric);
    set_number(row, "train_s", &trial->train_s);
    set_number(row, "total_s", &trial->total_s);
    set_number(row, "ig_clip_scale_mean", &trial->ig_clip_scale_mean);
    set_number(row, "ig_clip_scale_std", &trial->ig_clip_scale_std);
    if (trial->n_params)
        json_object_set_new(row, "params", cli_json_params(trial->params, trial->n_params));
    if (trial->n_turns)
        json_object_set_new(row, "turns", turns_of(trial));
    if (options->telemetry)
        json_object_set_new(row, "telemetry", json_loadb(options->telemetry, options->telemetry_length, 0, NULL));
    return row;
}

static bool save(char path[PATH_MAX], const char *dir, const json_t *row)
{
    int n = snprintf(path, PATH_MAX, "%s/" NAME, dir);
    int fd = n > 0 && n < PATH_MAX ? mkostemps(path, (int)strlen(".json"), O_CLOEXEC) : -1;
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out)
        cli_json_print(out, row, true);
    else if (fd >= 0)
        close(fd);
    bool saved = out && fflush(out) == 0 && fsync(fd) == 0;
    if (out)
        saved = fclose(out) == 0 && saved;
    if (fd >= 0 && !saved)
        unlink(path);
    return saved;
}

/* Writes the row as a file for `lineage append --json`, into the store's directory or, if that is impossible, into TMPDIR, and
 * prints where it is. A trial may have taken hours, so its score must not be lost because a disk is full. */
static void unwritten_row_save(const struct lineage_store *store, const struct lineage_trial *trial,
                               const struct lineage_append_options *options)
{
    const char *dir = lineage_store_dir(store), *elsewhere = getenv("TMPDIR");
    char path[PATH_MAX], said[2 * PATH_MAX + 128];
    json_t *row = make_row(trial, options);
    if (save(path, dir, row) || save(path, elsewhere && *elsewhere ? elsewhere : "/tmp", row)) {
        char *store_word = lineage_text_word(dir), *file_word = lineage_text_word(path);
        snprintf(said, sizeof said, "the row is kept in %s; once the log can be written: lineage append -C %s --json %s", path,
                 store_word ? store_word : dir, file_word ? file_word : path);
        lineage_free(store_word);
        lineage_free(file_word);
        cli_say(said);
    }
    json_decref(row);
}

/* ---- runs one trial of any command and appends its row ---- */

struct work {
    const struct trial_request *request;
    struct workdir dir;
    struct trial_results results;
    struct held_out held;
    struct progress progress;
    struct pruning pruning; /* without a method unless the plan prunes */
    double began, told; /* when the trial began, and when alive.tell was called last */
    FILE *events;       /* events.jsonl, for readers outside of this process; NULL: it could not be opened */
};

static void write_event(struct work *work, const json_t *line)
{
    if (work->events && json_dumpf(line, work->events, JSON_COMPACT) == 0)
        putc('\n', work->events);
}

static const char *job_of(const struct work *work)
{
    return strrchr(work->dir.path, '/') + 2; /* the directory's name without its dot (run/abandoned_trial.c) */
}

enum { ABOUT_HYPOTHESIS = 300 }; /* characters */

/* Makes the text about the trial that its claim shows. If the text is too long, the parameters are left out. */
static char *make_about(const struct work *work)
{
    const struct trial_results *results = &work->results;
    const struct trial_plan *plan = &work->request->plan;
    const char *name = work->request->plan.identity.name;
    json_t *about = json_pack("{s:s, s:s, s:s, s:I, s:I, s:o, s:f}", "name", name ? name : "", "trial", job_of(work), "phase",
                              results->phase, "step", (json_int_t)results->step, "steps", (json_int_t)results->steps, "score",
                              results->score.present ? cli_json_number(results->score.value) : json_null(), "running",
                              work->told - work->began);
    json_object_set_new(about, "params", cli_json_params(plan->params, plan->n_params));
    char *hypothesis = cli_text_line(plan->identity.hypothesis ? plan->identity.hypothesis : "", ABOUT_HYPOTHESIS);
    json_object_set_new(about, "hypothesis", cli_json_text(hypothesis ? hypothesis : ""));
    free(hypothesis);
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

/* Called once after all lines that were read together. */
static void on_turn(void *context)
{
    struct work *work = context;
    if (work->events)
        fflush(work->events);
    tell(work);
}

/* Writes the parameters in the first line, so that no proposer proposes the same setting while the trial runs. */
static void open_events(struct work *work, const char *name)
{
    char path[PATH_MAX];
    const struct trial_plan *plan = &work->request->plan;
    json_t *line = json_pack("{s:s, s:o}", "name", name, "params", cli_json_params(plan->params, plan->n_params));
    work->events = fopen(workdir_file(path, &work->dir, RUNNING_EVENTS), "we");
    write_event(work, line);
    json_decref(line);
    work->began = cli_now();
    on_turn(work);
}

/* Removes the file, because the directory is about to become a snapshot. */
static void close_events(struct work *work)
{
    char path[PATH_MAX];
    if (!work->events)
        return;
    fclose(work->events);
    work->events = NULL;
    unlink(workdir_file(path, &work->dir, RUNNING_EVENTS));
}

static void on_event(void *context, const struct trial_event *event)
{
    struct work *work = context;
    trial_results_event(&work->results, event);
    progress_event(&work->progress, event);
    if (!work->results.skipped)
        write_event(work, event->line);
}

/*
 * Only the training of the first of several seeds is compared, because the telemetry of the others has lists of their own.
 * A line that does not name its step is not compared: steps that were counted mean something else in each program.
 */
static bool is_hopeless(void *context, const struct trial_event *event, char *why, size_t size)
{
    struct work *work = context;
    const struct trial_results *results = &work->results;
    if (!event->has_score || !event->names_step || event->channel < results->score_channel || results->run > 1 ||
        results->begun_anew || strcmp(results->phase, TRIAL_PHASE_TRAIN) != 0 ||
        (event->steps > 0 && event->step >= event->steps))
        return false;
    if (results->went_back)
        pruning_go_back(&work->pruning, event->step);
    return pruning_judge(&work->pruning, event->step, event->score, why, size);
}

/* Reads the curves before the trial starts. Returns false after printing the error. */
static bool begin_pruning(struct work *work, struct lineage_store *store)
{
    const struct trial_plan *plan = &work->request->plan;
    struct prune_rule rule;
    struct prune_curves curves;
    char why[256];
    if (!prune_rule_parse(&rule, plan->settings.prune, why, sizeof why))
        return cli_error(CLI_USAGE, "%s", why), false;
    if (rule.method == PRUNE_NONE)
        return true;
    if (!prune_curves_read(&curves, store, plan->identity.parent, plan->score_key ? plan->score_key : "score"))
        return false;
    pruning_init(&work->pruning, &rule, &curves);
    return true;
}

static void on_output(void *context, const char *bytes, size_t n)
{
    struct work *work = context;
    progress_output(&work->progress, bytes, n);
    work->request->output(work->request->context, bytes, n);
}

/*
 * Returns false after printing why nothing ran. The progress display starts last, so that an error message does not
 * follow a half-drawn line.
 */
static bool run(struct work *work, const char *dir, struct trial_outcome *outcome)
{
    const struct trial_request *request = work->request;
    struct trial_job job = {.settings = request->plan.settings,
                            .held = &work->held,
                            .interrupts = request->interrupts,
                            .event = on_event,
                            .hopeless = work->pruning.rule.method == PRUNE_NONE ? NULL : is_hopeless,
                            .turn = on_turn,
                            .turn_seconds = request->alive.tell ? request->alive.every : 0,
                            .hold = -1,
                            .context = work};
    if (!workdir_make(&work->dir, dir) || !request->prepare(request->context, &work->dir, &job))
        return false;
    progress_begin(&work->progress, request->plan.identity.name, request->plan.score_label, request->quiet);
    work->progress.rapid = request->output != NULL;
    open_events(work, request->plan.identity.name);
    if (request->output)
        job.output = on_output;
    bool watched = request->watch ? request->watch(request->context, outcome, &job, &work->results) : trial_watch(outcome, &job);
    close_events(work);
    progress_end(&work->progress);
    return watched;
}

/*
 * Keeps the artifact under a second path, as a hard link, so snapshot and checkpoint share their bytes but can be
 * removed independently. The link is made under a temporary name and then renamed, because an earlier night may have
 * left a file with the final name, or another worker may be creating it.
 */
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
    return cli_refuse("cannot keep %s as %s: %s", request->keep_artifact, request->keep_as, strerror(errno));
}

static void hold(const struct work *work, bool on)
{
    const struct trial_alive *alive = &work->request->alive;
    if (alive->hold)
        alive->hold(alive->context, on);
}

/*
 * Whether the directory that becomes the snapshot is the one in the work directory, and not a link that the trial has put in
 * its place.
 */
static bool may_be_snapshot(const struct work *work, const char *path)
{
    struct stat held, named;
    const char *name = work->request->snapshot ? work->request->snapshot : ".";
    if (fstatat(work->dir.fd, name, &held, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(held.st_mode) && lstat(path, &named) == 0 &&
        held.st_ino == named.st_ino && held.st_dev == named.st_dev)
        return true;
    cli_say("no snapshot: the trial has replaced its work directory");
    return false;
}

/*
 * Only a finished trial gets a snapshot, because a later trial could otherwise start from an incomplete checkpoint. If
 * the work directory cannot be copied, for example because the command left a socket there, the row is appended without
 * a snapshot.
 */
static int append(struct work *work, struct lineage_store *store, struct trial_outcome *outcome, struct lineage_trial *row)
{
    const struct trial_request *request = work->request;
    struct lineage_append_options options;
    struct lineage_trial trial;
    struct lineage_error err;
    char remark[TRIAL_REMARK_MAX] = "", snapshot[PATH_MAX];
    if (request->remark)
        request->remark(request->context, &work->results, outcome, remark);
    if (!trial_row_make(&work->results, outcome, remark, &trial, &options))
        return cli_no_memory();
    if (outcome->end == TRIAL_FINISHED)
        options.snapshot_dir = request->snapshot ? workdir_file(snapshot, &work->dir, request->snapshot) : work->dir.path;
    if (options.snapshot_dir && !may_be_snapshot(work, options.snapshot_dir))
        options.snapshot_dir = NULL;
    bool has_dir = work->dir.path[0] != '\0'; /* a refused trial has none */
    if (request->output && has_dir)
        trial.job_name = job_of(work);
    options.noise_seeds = request->noise_seeds;
    options.beside = has_dir ? request->beside : NULL;
    options.beside_context = request->context;
    options.once_per_night = true;
    if (request->plan.identity.settle)
        request->plan.identity.settle(request->plan.identity.settle_context, &trial, &options);
    if (request->bar_against && *request->bar_against && options.auto_status) {
        options.min_delta = *request->bar;
        options.noise_std = 0;
        options.keep_against = request->bar_against;
    }
    if (request->pass_ids)
        request->pass_ids(store, NULL, 0);
    enum lineage_status status = lineage_store_append(store, &trial, &options, row, &err);
    if (status == LINEAGE_EEXIST) { /* no id was asked for */
        outcome->late = true;
        cli_say("another worker ran this trial and was first: its row counts, this one is left out");
        return CLI_GO_ON;
    }
    if (status != LINEAGE_OK && (options.snapshot_dir || options.telemetry)) {
        cli_error(CLI_SYSTEM, "%s; trying again without snapshot and telemetry", err.text);
        struct lineage_append_options bare = options;
        bare.snapshot_dir = bare.telemetry = NULL;
        status = lineage_store_append(store, &trial, &bare, row, &err);
    }
    if (status ==
        LINEAGE_OK) { /* the score of a recipe; that of a command has its name already. A store that cannot remember it keeps the row */
        if (request->plan.score_key && lineage_label_is_measured(row->status))
            (void)!lineage_store_name_score(store, request->plan.score_key, &err);
        return CLI_GO_ON;
    }
    int failed = cli_fail(&err);
    unwritten_row_save(store, &trial, &options);
    return failed;
}

/*
 * Asks the store before anything runs whether it would accept the row, because a trial may take hours. The row is
 * checked as that of a crash, which needs no score; what the trial reports itself cannot be known yet.
 */
static int check_row(const struct trial_request *request, struct lineage_store *store)
{
    const struct trial_identity *identity = &request->plan.identity;
    const struct lineage_trial trial = {.specialist = identity->specialist,
                                        .domain = identity->domain,
                                        .parent_exp = identity->parent,
                                        .hypothesis = identity->hypothesis,
                                        .expected_delta = identity->expected_delta,
                                        .status = LINEAGE_CRASH,
                                        .notes = identity->notes,
                                        .params = request->plan.params,
                                        .n_params = request->plan.n_params};
    struct lineage_error err, said;
    if (lineage_store_append_check(store, &trial, NULL, &err) == LINEAGE_OK)
        return CLI_GO_ON;
    said = err;
    snprintf(said.text, sizeof said.text, "nothing was run: %.490s", err.text);
    return cli_fail(&said);
}

/*
 * Returns NULL after printing that memory ran out. The struct is on the heap because its results, which hold the names
 * of all parameters, are large. fd is -1 so that workdir_remove does nothing before the directory is made.
 */
static struct work *work_new(const struct trial_request *request)
{
    struct work *work = calloc(1, sizeof *work);
    if (!work)
        return cli_no_memory(), NULL;
    work->request = request;
    work->dir.fd = -1;
    trial_results_init(&work->results, &request->plan);
    const char *held = request->plan.settings.held_out;
    const struct metric_rule rule = metric_values_rule(&work->results.values, held ? held : "");
    held_out_init(&work->held, held, &rule);
    return work;
}

static void work_free(struct work *work)
{
    trial_results_release(&work->results);
    held_out_release(&work->held);
    pruning_release(&work->pruning);
    workdir_remove(&work->dir);
    free(work);
}

/*
 * The artifact is kept before the row is appended: a night that is killed in between runs the trial again, whereas with
 * a row but no checkpoint the child trials could never start.
 */
int trial_run_and_append(struct lineage_store *store, const struct trial_request *request, struct trial_outcome *outcome,
                         struct lineage_trial *row)
{
    int status = check_row(request, store);
    struct work *work = status == CLI_GO_ON ? work_new(request) : NULL;
    if (!work)
        return status == CLI_GO_ON ? CLI_SYSTEM : status;
    status = CLI_SYSTEM;
    if (request->refused) { /* nothing runs, but the row is made as for a failed trial */
        *outcome = (struct trial_outcome){.end = TRIAL_FAILED, .failure = TRIAL_FAILURE_INPUT};
        snprintf(outcome->text, sizeof outcome->text, "%s", request->refused);
    }
    bool over = request->refused || (begin_pruning(work, store) && run(work, lineage_store_dir(store), outcome));
    if (!over && request->not_started && *request->not_started) {
        *outcome = (struct trial_outcome){.end = TRIAL_NOT_STARTED};
        snprintf(outcome->text, sizeof outcome->text, "%s", request->not_started);
        over = true;
    }
    if (over) {
        hold(work, true);
        if (outcome->end != TRIAL_FINISHED || keep_artifact(work))
            status = append(work, store, outcome, row);
        if (status == CLI_GO_ON && !outcome->late && request->recorded)
            request->recorded(request->context, row->exp_id);
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
