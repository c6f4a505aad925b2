#include "night/night_turn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

#include "night/night_start.h"
#include "night/rerun.h"
#include "output/check_tried.h"
#include "run/run_command.h"
#include "share/sweep_version.h"
#include "sweep/checkpoint_files.h"
#include "sweep/command_program.h"
#include "sweep/protected_names.h"
#include "sweep/recipe_trials.h"
#include "sweep/sweep_command.h"
#include "sweep/trial_files.h"
#include "sweep/trial_rows.h"
#include "trial/run_and_append.h"

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
    const char *model = json_string_value(json_object_get(cost, "model")),
               *exchange = json_string_value(json_object_get(cost, "exchange"));
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
    size_t n = 0, na = 0, nb = 0;
    while (a && a[na])
        na++;
    while (b && b[nb])
        nb++;
    const char **all = calloc(na + nb + 1, sizeof *all);
    for (size_t i = 0; all && i < na; i++)
        all[n++] = a[i];
    for (size_t i = 0; all && i < nb; i++)
        all[n++] = b[i];
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
    char *notes = NULL, program[COMMAND_PROGRAM_MAX];
    if (!sweep_command_read(&trial, turn->trial->command, turn->environment)) {
        command_trial_release(&trial);
        return cli_no_memory();
    }
    trial.identity.parent = start->origin.exp_id;
    trial.identity.night = trial_list_link(turn->link, &night->list, turn->i);
    size_t size = strlen(turn->notes) + COMMAND_PROGRAM_MAX + 16;
    if (!(notes = malloc(size))) {
        command_trial_release(&trial);
        return cli_no_memory();
    }
    trial.settings.require = command_trial_own(&trial, join(trial.settings.require, night->require));
    if (!trial.settings.require) {
        free(notes);
        command_trial_release(&trial);
        return cli_no_memory();
    }
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
    trial.fill = fill_workdir;
    trial.fill_context = turn;
    trial.alive = lease_of_running(&turn->lease);
    trial.quiet = night->quiet;
    trial.interrupts = &night->interrupts;
    int status = command_trial_run(night->list.store, &trial, outcome, row);
    free(notes);
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
