#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <lineage/text.h>

#include "night/night.h"
#include "output/ideas_out.h"
#include "sweep/night_sweep.h"
#include "trial/checkpoint_origin.h"

/* ---- lease ---- */

/*
 * Renews the claim of a trial until it has its row. While the trial runs, the process that watches it renews the claim.
 * While the trial's files are copied, sent or fetched, a server or a disk may block that process for longer than a lease,
 * so a thread renews the claim during that time. The thread opens a store of its own, but only after a third of a lease, so
 * that a short copy costs nothing. No process may be started while the thread runs.
 */

struct lease {
    struct claims *claims;
    size_t i;                    /* the trial */
    bool reported;               /* it was printed that another worker has claimed the trial */
    struct lease_thread *thread; /* the thread that renews the claim; NULL: none is running */
};

struct lease_thread {
    struct lease *lease; /* only this thread uses the lease while it runs */
    char *dir;           /* of the store */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    bool stop;
};

/* Renews the claim. If another worker has claimed the trial meanwhile, prints that once. */
static void renew(struct lease *lease, struct lineage_queue *queue, const char *about)
{
    const struct claims *claims = lease->claims;
    struct night_trial *trial = &claims->list->trials[lease->i];
    struct lineage_error err;
    char text[LINEAGE_NIGHT_TRIAL_MAX + 160];
    if (!trial->claim || lineage_queue_renew(queue, trial->claim, claims->lease, about, &err) != LINEAGE_ENOTFOUND ||
        lease->reported)
        return;
    snprintf(text, sizeof text, "%.255s: its lease ended and another worker has begun it; the first to finish gets the row",
             trial->name);
    cli_say(text);
    lease->reported = true;
}

/* ---- while its files are moved ---- */

/* Sleeps. Returns false if the thread must stop. */
static bool sleep_for(struct lease_thread *t, double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&t->mutex);
    while (!t->stop && pthread_cond_timedwait(&t->wake, &t->mutex, &until) != ETIMEDOUT)
        ;
    bool stop = t->stop;
    pthread_mutex_unlock(&t->mutex);
    return !stop;
}

/* A renewal that fails is tried again a third of a lease later. */
static void *renew_until_stopped(void *context)
{
    struct lease_thread *t = context;
    struct lineage_store *store = NULL;
    struct lineage_queue *queue = NULL;
    while (sleep_for(t, t->lease->claims->lease / 3)) {
        if (!store && lineage_store_open(&store, t->dir, NULL, NULL) != LINEAGE_OK)
            continue;
        if (queue || lineage_queue_open(&queue, store, NULL) == LINEAGE_OK)
            renew(t->lease, queue, NULL);
    }
    lineage_queue_close(queue);
    lineage_store_close(store);
    return NULL;
}

static void free_thread(struct lease_thread *t)
{
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->mutex);
    free(t->dir);
    free(t);
}

/*
 * Starts and stops the thread. Without a claim, or if no thread can be started, nothing happens and the lease keeps
 * running. Stopping waits for a renewal in progress.
 */
static void lease_hold(struct lease *lease)
{
    const struct trial_list *list = lease->claims->list;
    struct lease_thread *t = list->trials[lease->i].claim ? calloc(1, sizeof *t) : NULL;
    pthread_condattr_t monotonic;
    if (!t)
        return;
    t->lease = lease;
    t->dir = strdup(lineage_store_dir(list->store));
    pthread_mutex_init(&t->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&t->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (t->dir && pthread_create(&t->thread, NULL, renew_until_stopped, t) == 0)
        lease->thread = t;
    else
        free_thread(t);
}

static void lease_let_go(struct lease *lease)
{
    struct lease_thread *t = lease->thread;
    if (!t)
        return;
    pthread_mutex_lock(&t->mutex);
    t->stop = true;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->mutex);
    pthread_join(t->thread, NULL);
    lease->thread = NULL;
    free_thread(t);
}

/* ---- while the trial runs ---- */

static void on_alive(void *context, const char *about)
{
    struct lease *lease = context;
    char *marked = sweep_version_mark(&lease->claims->list->sweep, about);
    renew(lease, lease->claims->queue, marked ? marked : about);
    free(marked);
}

static void on_hold(void *context, bool on)
{
    if (on)
        lease_hold(context);
    else
        lease_let_go(context);
}

/* Returns the callbacks by which a running trial keeps its claim. The lease must outlive the trial. */
static struct trial_alive lease_of_running(struct lease *lease)
{
    return (struct trial_alive){on_alive, on_hold, lease, lease->claims->lease / 3};
}

/* ---- what a trial starts from ---- */

/*
 * What a trial of a night starts from: nothing, a shared warm start, or its parent.
 *
 * A recipe continues from its parent's checkpoint and cannot run without it. A command gets its parent's snapshot in
 * LINEAGE_PARENT_SNAPSHOT, if there is one, and decides itself what to do with it. If the sweep names files, the command
 * starts with those of its parent and cannot run without them.
 */
struct night_start {
    char checkpoint[NIGHT_PATH_MAX]; /* for a recipe: what it starts from; "": nothing */
    struct origin origin;         /* the parent */
    struct trial_parent parent;   /* for a command: what its parent left */
    char refused[NIGHT_WHY_MAX]; /* why the trial cannot start; "": it can */
    char notes[256];                           /* how the parent was chosen, and what is missing */
};

struct search {
    struct night_start *start;
    struct night *night;
    size_t i;
    const struct night_trial *trial;
    struct lease *lease;
};

/* Holds the lease meanwhile, because transferring a file to or from a server may take longer than a lease. */
static void fetch(const struct search *s, const char *checkpoint)
{
    lease_hold(s->lease);
    checkpoint_file_fetch(&s->night->list, checkpoint);
    lease_let_go(s->lease);
}

static void send(const struct search *s, const char *checkpoint)
{
    lease_hold(s->lease);
    checkpoint_file_send(&s->night->list, checkpoint);
    lease_let_go(s->lease);
}

/* ---- from a parent ---- */

/* Only kept trials have a snapshot; a trial that was not kept passes on the files that the sweep names. */
static int find_files(struct search *s)
{
    struct night_start *start = s->start;
    char why[NIGHT_WHY_MAX];
    int status = trial_parent_find(&start->parent, &s->night->list.sweep, s->night->list.store, start->origin.exp_id, why);
    if (status == CLI_NO)
        snprintf(start->refused, sizeof start->refused, "%.500s", why);
    else if (status == CLI_GO_ON && !start->parent.snapshot)
        snprintf(start->notes, sizeof start->notes, "the parent was not kept, it has no snapshot to go on from%s",
                 start->parent.has_code ? ", but its files" : "");
    return status == CLI_NO ? CLI_GO_ON : status;
}

/*
 * A missing parent is not an error: the trial gets a row (preflight_crash) with this reason. So the night continues
 * with the other trials, and no later night tries this trial again.
 */
static int find_parent(struct search *s, const char *id)
{
    struct night_start *start = s->start;
    struct lineage_error err;
    enum lineage_status found = origin_of_trial(&start->origin, s->night->list.store, id, &err);
    if (found == LINEAGE_OK && !s->trial->recipe)
        return find_files(s);
    if (found == LINEAGE_ENOTFOUND)
        snprintf(start->refused, sizeof start->refused, "no parent to start from: %s", err.text);
    else if (found != LINEAGE_OK)
        return cli_fail(&err);
    else if (!start->origin.checkpoint[0])
        snprintf(start->refused, sizeof start->refused, "no checkpoint to start from: %s", start->origin.why);
    else
        snprintf(start->checkpoint, sizeof start->checkpoint, "%s", start->origin.checkpoint);
    return CLI_GO_ON;
}

static int start_from(struct search *s, const char *id)
{
    lease_hold(s->lease);
    int status = find_parent(s, id);
    lease_let_go(s->lease);
    return status;
}

/*
 * The parent's snapshot is looked up first, because the row refers to it. A discarded parent has no snapshot, but its
 * checkpoint is in checkpoints/.
 */
static int start_from_trial(struct search *s, size_t parent)
{
    struct night_start *start = s->start;
    char kept[NIGHT_PATH_MAX];
    int status = start_from(s, s->night->list.trials[parent].exp_id);
    if (status != CLI_GO_ON || !s->trial->recipe || !start->refused[0])
        return status;
    checkpoint_file(kept, &s->night->list, parent);
    fetch(s, kept);
    if (access(kept, R_OK) == 0) {
        snprintf(start->checkpoint, sizeof start->checkpoint, "%s", kept);
        start->refused[0] = '\0';
    }
    return CLI_GO_ON;
}

/* If the store has no best trial yet, the trial starts as its recipe says. */
static int start_from_best(struct search *s)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    enum lineage_status status = lineage_best_kept(s->night->list.store, &best, &err);
    lineage_trial_release(&best);
    if (status == LINEAGE_ENOTFOUND)
        return CLI_GO_ON;
    return status == LINEAGE_OK ? start_from(s, "best") : cli_fail(&err);
}

/* The notes say that the parent was drawn at random, because parent_exp alone would look like somebody's choice. */
static int start_from_drawn(struct search *s)
{
    struct night_start *start = s->start;
    char *id;
    uint64_t seed = s->night->list.sweep.plan.seed;
    int status = draw_parent(&id, s->night->list.store, seed);
    if (status != CLI_GO_ON)
        return status;
    if (*id) {
        status = start_from(s, id);
        size_t used = strlen(start->notes);
        snprintf(start->notes + used, sizeof start->notes - used, "%sparent drawn by score and children (seed %llu)",
                 used ? "; " : "", (unsigned long long)seed);
    }
    free(id);
    return status;
}

/* ---- from nothing ---- */

/*
 * Trains the warm start and keeps its checkpoint. A warm start has no row, because its score cannot be compared with
 * other scores. Returns false if it failed or memory ran out; *outcome says how it ended.
 */
static bool train_warm_start(const struct search *s, const char *checkpoint, struct trial_outcome *outcome)
{
    const struct night *night = s->night;
    const struct recipe_start start = {.recipe = s->trial->recipe, .crowded = night_is_crowded(night)};
    struct trial_request request = {
        .keep_as = checkpoint, .quiet = night->quiet, .alive = lease_of_running(s->lease), .interrupts = &night->interrupts};
    bool trained = night->list.sweep.trainer->run_warm_start(lineage_store_dir(night->list.store), &request, &start, outcome);
    if (trained)
        send(s, checkpoint);
    return trained;
}

/* If the shared warm start cannot be trained, the trial trains its own warm start, and its row says what went wrong. */
static int start_from_shared(struct search *s)
{
    struct night_start *start = s->start;
    char checkpoint[NIGHT_PATH_MAX];
    struct trial_outcome outcome = {0};
    warm_start_checkpoint(checkpoint, &s->night->list, s->trial);
    fetch(s, checkpoint);
    if (access(checkpoint, R_OK) == 0 || train_warm_start(s, checkpoint, &outcome))
        snprintf(start->checkpoint, sizeof start->checkpoint, "%s", checkpoint);
    return outcome.end == TRIAL_INTERRUPTED ? CLI_INTERRUPTED : CLI_GO_ON;
}

static int start_from_base(struct search *s)
{
    struct night_start *start = s->start;
    struct lineage_error err;
    if (!s->trial->recipe)
        return CLI_GO_ON;
    if (warm_start_is_shared(&s->night->list, s->i))
        return start_from_shared(s);
    if (start->checkpoint[0] && origin_of_checkpoint(&start->origin, s->night->list.store, start->checkpoint, &err) != LINEAGE_OK)
        return cli_fail(&err);
    return CLI_GO_ON;
}

/*
 * Finds what trial i starts from, trains a shared warm start if it is missing, and renews the claim through the lease
 * meanwhile. Returns CLI_GO_ON or an exit status; call night_start_release in either case.
 * `best` is resolved only now, when the trial is about to run, because the best trial may have run an hour ago. */
static int night_start_find(struct night_start *start, struct night *night, size_t i, struct lease *lease)
{
    const struct night_trial *trial = &night->list.trials[i];
    struct search s = {start, night, i, trial, lease};
    if (trial->recipe)
        snprintf(start->checkpoint, sizeof start->checkpoint, "%s", trial->checkpoint);
    switch (trial->parent) {
    case NIGHT_PARENT_BASE: break;
    case NIGHT_PARENT_TRIAL: return start_from_trial(&s, trial->parent_trial);
    case NIGHT_PARENT_OTHER:
        if (strcmp(trial->parent_name, "best") == 0)
            return start_from_best(&s);
        if (strcmp(trial->parent_name, "draw") == 0)
            return start_from_drawn(&s);
        return start_from(&s, trial->parent_name);
    }
    return start_from_base(&s);
}

static void night_start_release(struct night_start *start)
{
    trial_parent_release(&start->parent);
    origin_release(&start->origin);
}

struct turn {
    struct night *night;
    size_t i;
    struct night_trial *trial;
    const char *const *environment;
    struct night_start start;
    struct lease lease;
    char code[LINEAGE_CODE_NOTE_MAX]; /* the piece of notes that names the code; fill_workdir writes it */
    char link[LINEAGE_NIGHT_LINK_MAX], name[NIGHT_TRIAL_NAME_MAX + 64], keep[NIGHT_PATH_MAX];
    char settled[RERUN_NOTES_MAX]; /* notes of a row that was decided by several runs */
    struct lineage_param *metrics; /* of the row, with the cost of its proposal; NULL: none were added */
    char *notes; /* what the row says about the start of the trial and about its repetition; "" for nothing */
};

/* Adds which model planned the trial, and where its last exchange is kept. Notes end a piece at ';', and '=' makes a parameter. */
static bool note_planner(struct turn *turn)
{
    const json_t *cost = turn->trial->cost;
    const char *model = cli_json_string(cost, "model"), *exchange = cli_json_string(cost, "exchange");
    char *notes = turn->notes, name[200], digest[40];
    enum propose_method method;
    if (!model || (turn->trial->proposer && propose_method_parse(&method, turn->trial->proposer))) /* it had no proposal */
        return true;
    snprintf(name, sizeof name, "%.*s", (int)lineage_text_prefix(model, strlen(model), 48), model);
    snprintf(digest, sizeof digest, "%.32s", exchange ? exchange : "");
    for (char *c = name; *c; c++)
        *c = (char)(*c == ';' || *c == '=' || *c == '`' || (unsigned char)*c < 0x20 ? '_' : *c);
    digest[strspn(digest, "0123456789abcdef")] = '\0';
    json_t *all = json_sprintf("%s%splanned by %s%s%s", notes, *notes ? "; " : "", name, *digest ? ", exchange " : "", digest);
    turn->notes = all ? strdup(json_string_value(all)) : NULL;
    json_decref(all);
    free(notes);
    return turn->notes != NULL;
}

static bool make_notes(struct turn *turn)
{
    const char *again = turn->trial->again;
    char version[SWEEP_VERSION_NOTES_MAX], notes[sizeof turn->start.notes + SWEEP_VERSION_NOTES_MAX + 2];
    sweep_version_notes(version, &turn->night->claims);
    snprintf(notes, sizeof notes, "%s%s%s", turn->start.notes, turn->start.notes[0] && version[0] ? "; " : "", version);
    turn->notes = again ? cli_notes_again(notes, again) : strdup(notes);
    return turn->notes != NULL && note_planner(turn);
}

/* Joins two lists of texts that NULL ends; either may be NULL. Returns NULL when out of memory; the caller frees it. */
static const char **join(const char *const *a, const char *const *b)
{
    const size_t na = cli_texts_length(a), nb = cli_texts_length(b);
    const char **all = calloc(na + nb + 1, sizeof *all);
    for (size_t i = 0; all && i < na + nb; i++)
        all[i] = i < na ? a[i] : b[i - na];
    return all;
}

/* Adds the cost of the proposal as metrics, which can be summed and do not belong to the setting. If there is no memory, the row is
 * written without them. */
static void add_cost(struct turn *turn, struct lineage_trial *row)
{
    static const struct {
        const char *member, *metric;
    } parts[] = {{"requests", "planner_requests"},
                 {"prompt_tokens", "planner_prompt_tokens"},
                 {"completion_tokens", "planner_completion_tokens"},
                 {"seconds", "planner_seconds"}};
    enum { N = sizeof parts / sizeof *parts };
    if (!turn->trial->cost || !(turn->metrics = calloc(row->n_metrics + N, sizeof *turn->metrics)))
        return;
    if (row->n_metrics)
        memcpy(turn->metrics, row->metrics, row->n_metrics * sizeof *turn->metrics);
    for (size_t i = 0; i < N; i++) {
        const json_t *value = json_object_get(turn->trial->cost, parts[i].member);
        if (json_is_number(value))
            turn->metrics[row->n_metrics++] =
                (struct lineage_param){parts[i].metric, round(json_number_value(value) * 1000) / 1000, NULL};
    }
    row->metrics = turn->metrics;
}

static void settle(void *context, struct lineage_trial *row, struct lineage_append_options *options)
{
    struct turn *turn = context;
    add_cost(turn, row);
    rerun_settle(turn->settled, turn->night, turn->trial, row, options);
}

/* ---- a recipe ---- */

/* Called before the row is appended, because child trials may start on another machine as soon as the row exists. */
static void send_kept(void *context, const char *path)
{
    const struct lease *lease = context;
    checkpoint_file_send(lease->claims->list, path);
}

/*
 * The checkpoint is kept under the trial's key only if a later trial starts from it, because the checkpoints of a hundred
 * trials would fill the disk.
 */
static int run_recipe(struct turn *turn, struct trial_outcome *outcome, struct lineage_trial *row)
{
    struct night *night = turn->night;
    const struct night_start *start = &turn->start;
    const struct night_trial *trial = turn->trial;
    const struct recipe_start from = {.recipe = trial->recipe,
                                      .checkpoint = start->checkpoint,
                                      .fresh_seed = trial->replicates ? &trial->fresh_seed : NULL,
                                      .notes = turn->notes,
                                      .proposer = trial->proposer,
                                      .crowded = night_is_crowded(night)};
    struct trial_request request = {.plan.identity = {.parent = start->origin.exp_id ? start->origin.exp_id : "",
                                                      .night = trial_list_link(turn->link, &night->list, turn->i),
                                                      .baseline = trial_rows_need_baseline(&night->list),
                                                      .name = turn->name,
                                                      .settle = settle,
                                                      .settle_context = turn},
                                    .refused = start->refused[0] ? start->refused : NULL,
                                    .keep_as = trial_list_is_parent(&night->list, turn->i) ? turn->keep : NULL,
                                    .alive = lease_of_running(&turn->lease),
                                    .kept = send_kept,
                                    .quiet = night->quiet,
                                    .interrupts = &night->interrupts};
    const char **require = join(night->list.sweep.require, night->require);
    if (!require)
        return cli_no_memory();
    checkpoint_file(turn->keep, &night->list, turn->i);
    request.plan.settings.require = require;
    if (!trial->replicates) /* a run that ends early decides nothing */
        request.plan.settings.prune = night->prune ? night->prune : night->list.sweep.prune;
    int status = night->list.sweep.trainer->run(night->list.store, &request, &from, outcome, row);
    free(require);
    return status;
}

/* ---- a command ---- */

/* Puts the files into the work directory and stores them before the command starts, so that the row of every trial can
 * name its code, however the trial ends. */
static bool fill_workdir(void *context, const char *workdir, char why[TRIAL_TEXT_MAX])
{
    struct turn *turn = context;
    char reason[NIGHT_WHY_MAX] = "";
    const struct trial_files files = {&turn->night->list.sweep, turn->night->list.store, &turn->start.parent,
                                      turn->trial->command};
    bool filled = protected_names_same(&turn->night->list.sweep, reason) && trial_files_put(&files, workdir, reason) &&
                  trial_files_keep(turn->code, &files, workdir, reason);
    snprintf(why, TRIAL_TEXT_MAX, "%.500s", reason);
    return filled;
}

static int run_command(struct turn *turn, struct trial_outcome *outcome, struct lineage_trial *row)
{
    struct night *night = turn->night;
    const struct night_start *start = &turn->start;
    const struct night_sweep *sweep = &night->list.sweep;
    struct command_trial trial;
    char *notes, program[COMMAND_PROGRAM_MAX];
    const size_t size = strlen(turn->notes) + COMMAND_PROGRAM_MAX + 16;
    if (!command_from_sweep(&trial, turn->trial->command, turn->environment) ||
        !(notes = command_trial_own(&trial, malloc(size))) ||
        !(trial.settings.require = command_trial_own(&trial, join(trial.settings.require, night->require)))) {
        command_trial_release(&trial);
        return cli_no_memory();
    }
    trial.identity.parent = start->origin.exp_id;
    trial.identity.night = trial_list_link(turn->link, &night->list, turn->i);
    trial.settings.prune = turn->trial->replicates ? NULL : night->prune ? night->prune : trial.settings.prune;
    trial.sandbox = night->sandbox ? night->sandbox : trial.sandbox;
    snprintf(notes, size, "%s%sprogram %s", turn->notes, turn->notes[0] ? "; " : "",
             command_program(program, sweep, turn->trial->command));
    trial.identity.notes = notes;
    trial.identity.proposer = turn->trial->proposer;
    trial.identity.baseline = trial_rows_wait_for_baseline(&night->list, night->planning.planner != NULL);
    trial.identity.baseline_if_first = true;
    trial.identity.name = turn->name;
    trial.identity.settle = settle;
    trial.identity.settle_context = turn;
    if (turn->trial->replicates) {
        trial.has_seed = true;
        trial.first_seed = turn->trial->fresh_seed;
    }
    /* The baseline may run on more seeds, which show how much the score varies by chance. */
    if (trial.identity.baseline && sweep->baseline_seeds > trial.seeds)
        trial.seeds = sweep->baseline_seeds;
    trial.identity.code = turn->code;
    trial.refused = start->refused[0] ? start->refused : NULL;
    trial.parent_snapshot = start->parent.snapshot;
    trial.plan = sweep->file;
    trial.fill = fill_workdir;
    trial.fill_context = turn;
    trial.alive = lease_of_running(&turn->lease);
    trial.quiet = night->quiet;
    trial.interrupts = &night->interrupts;
    int status = command_trial_run(night->list.store, &trial, outcome, row);
    command_trial_release(&trial);
    return status;
}

/* ---- either ---- */

/*
 * Prints one line about the trial on standard output, flushed so that readers of the pipe see each trial when it ends.
 * An interrupted trial has a row but remains to be run.
 */
static int finish_trial(struct turn *turn, const struct trial_outcome *outcome, const struct lineage_trial *row,
                        struct night_ending *ending)
{
    struct night_trial *trial = turn->trial;
    if (outcome->late) { /* the id of the row that counts is read before it is needed */
        *ending = (struct night_ending){.late = true};
        trial->exp_id = strdup("");
        return trial->exp_id ? CLI_GO_ON : cli_no_memory();
    }
    char score[LINEAGE_NUMBER_MAX] = "-";
    if (row->core_metric.present)
        lineage_number_format(score, row->core_metric.value);
    char *name = cli_text_line(trial->name, 0);
    printf("%s\t%s\t%s\t%s\n", row->exp_id, lineage_label_name(row->status), score, name ? name : "");
    fflush(stdout);
    free(name);
    *ending = (struct night_ending){.label = row->status,
                                    .end = outcome->end,
                                    .exit_status = outcome->exit_status,
                                    .begun = outcome->begun,
                                    .cause = outcome->cause,
                                    .lacks = outcome->lacks,
                                    .signal = outcome->end == TRIAL_SIGNALLED ? outcome->signal : 0};
    memcpy(ending->evidence, outcome->evidence, sizeof ending->evidence);
    if (outcome->end == TRIAL_INTERRUPTED)
        return CLI_INTERRUPTED;
    trial->label = row->status;
    trial->exp_id = strdup(row->exp_id);
    return trial->exp_id ? CLI_GO_ON : cli_no_memory();
}

/* The turn is on the heap: its paths and texts are too large for the stack. */
int night_take_turn(struct night *night, size_t i, const char *const *environment, struct night_ending *ending)
{
    struct turn *turn = calloc(1, sizeof *turn);
    struct trial_outcome outcome = {0};
    struct lineage_trial row = {0};
    if (!turn)
        return cli_no_memory();
    turn->night = night;
    turn->i = i;
    turn->trial = &night->list.trials[i];
    turn->lease = (struct lease){.claims = &night->claims, .i = i};
    turn->environment = environment;
    if (turn->trial->replicates)
        snprintf(turn->name, sizeof turn->name, "[again, seed %llu] %s", (unsigned long long)turn->trial->fresh_seed,
                 turn->trial->name);
    else if (turn->trial->proposer) /* nobody knows how many trials will be proposed */
        snprintf(turn->name, sizeof turn->name, "[%s] %s", turn->trial->proposer, turn->trial->name);
    else
        snprintf(turn->name, sizeof turn->name, "[%zu/%zu] %s", i + 1, night->list.sweep.n, turn->trial->name);
    int status = night_start_find(&turn->start, night, i, &turn->lease);
    if (status == CLI_GO_ON && !make_notes(turn))
        status = cli_no_memory();
    if (status == CLI_GO_ON)
        status = turn->trial->recipe ? run_recipe(turn, &outcome, &row) : run_command(turn, &outcome, &row);
    if (status == CLI_GO_ON)
        status = finish_trial(turn, &outcome, &row, ending);
    lineage_trial_release(&row);
    night_start_release(&turn->start);
    free(turn->notes);
    free(turn->metrics);
    free(turn);
    claims_end(&night->claims, i, status == CLI_GO_ON ? LINEAGE_CLAIM_DONE : LINEAGE_CLAIM_GIVEN_UP);
    return status;
}
