/* night_turn.c: one trial of a night and its row, of a recipe or of a command. */
#include "night/night_turn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/render.h>
#include <lineage/text.h>

#include "night/night_command.h"
#include "night/night_files.h"

/* The first trial that is measured is what the others are compared with. Asked of the store and
 * not of the sweep, for each trial anew: where the first one crashed the next takes its place. */
bool night_needs_baseline(const struct night *night)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    enum lineage_status status = lineage_best(night->store, &best, &err);
    lineage_trial_release(&best);
    return status == LINEAGE_ENOTFOUND;
}

/* Which row stands for it is read before anybody asks. */
static int finish_late(struct night_trial *trial, struct night_ending *ending)
{
    *ending = (struct night_ending){.late = true};
    trial->exp_id = strdup("");
    return trial->exp_id ? CLI_GO_ON : cli_no_memory();
}

/* One line per trial on standard output, flushed at once: who pipes a night into a file or a
 * script sees each trial when it ends. An interrupted trial has a row but keeps its place in
 * the list of those to be run. */
static int finish_trial(struct night_turn *turn, const struct trial_outcome *outcome, const struct lineage_trial *row,
                        struct night_ending *ending)
{
    struct night_trial *trial = &turn->night->trials[turn->i];
    if (outcome->late)
        return finish_late(trial, ending);
    char score[LINEAGE_NUMBER_MAX] = "-";
    if (row->core_metric.present)
        lineage_number_format(score, row->core_metric.value);
    char *name = cli_text_line(trial->name, 0);
    printf("%s\t%s\t%s\t%s\n", row->exp_id, lineage_label_name(row->status), score,
           name ? name : "");
    fflush(stdout);
    free(name);
    *ending = (struct night_ending){.label = row->status, .end = outcome->end, .exit_status = outcome->exit_status,
                                    .signal = outcome->end == TRIAL_SIGNALLED ? outcome->signal : 0};
    if (outcome->end == TRIAL_INTERRUPTED)
        return CLI_INTERRUPTED;
    trial->label = row->status;
    trial->exp_id = strdup(row->exp_id);
    return trial->exp_id ? CLI_GO_ON : cli_no_memory();
}

/* ---- recipes ---- */

/* A row says who proposed it, which is no setting of the recipe. */
static void add_proposer(struct night_turn *turn, struct trial_plan *plan)
{
    struct recipe_params *params = &turn->run.params;
    if (!turn->trial->proposer || params->n == RECIPE_PARAMS_MAX)
        return;
    params->at[params->n++] = (struct lineage_param){"proposer", (double)NAN, turn->trial->proposer};
    plan->n_params = params->n;
}

/* Before the row: children of it may begin on another machine at once. */
static void send_kept(void *context, const char *path)
{
    const struct night_keeper *keeper = context;
    night_checkpoint_send(keeper->night, path);
}

bool night_is_crowded(const struct night *night)
{
    return night->worker || night->n_slots > 1;
}

/* The checkpoint is kept under its key only if somebody will start from it: a night of a
 * hundred trials would fill the disk with files that nobody reads. */
static int run_recipe(struct night_turn *turn, struct trial_outcome *outcome, struct lineage_trial *row)
{
    struct night *night = turn->night;
    char notes[512];
    struct trial_request request = {.plan = {.parent = turn->origin.exp_id ? turn->origin.exp_id : "",
                                             .night = night_link(turn->link, night, turn->i),
                                             .baseline = night_needs_baseline(night)},
                                    .refused = turn->refused[0] ? turn->refused : NULL,
                                    .keep_as = night_is_parent(night, turn->i) ? turn->keep : NULL,
                                    .name = turn->name,
                                    .alive = night_claim_alive(&turn->keeper),
                                    .kept = send_kept,
                                    .quiet = night->quiet,
                                    .interrupts = &night->interrupts};
    night_checkpoint(turn->keep, night, turn->i);
    if (!recipe_trial_init(&turn->run, &request, &turn->recipe))
        return cli_no_memory();
    turn->run.crowded = night_is_crowded(night);
    add_proposer(turn, &request.plan);
    if (turn->notes[0]) {
        snprintf(notes, sizeof notes, "%s; %s", turn->notes, request.plan.notes);
        request.plan.notes = notes;
    }
    int status = trial_run(night->store, &request, outcome, row);
    recipe_trial_release(&turn->run);
    return status;
}

/* ---- commands ---- */

static bool fill(void *context, const char *workdir)
{
    char why[NIGHT_WHY_MAX];
    if (night_files_put(context, workdir, why))
        return true;
    cli_error(CLI_SYSTEM, "%s", why);
    return false;
}

/* The first one of a store runs on as many seeds as the file says for it: what the score varies by is known then. */
static size_t seeds_of(const struct night_turn *turn, bool baseline, size_t own)
{
    size_t wanted = turn->night->sweep.baseline_seeds;
    return baseline && wanted > own ? wanted : own;
}

static int run_command(struct night_turn *turn, struct trial_outcome *outcome, struct lineage_trial *row)
{
    struct night *night = turn->night;
    struct night_command command;
    int status = CLI_SYSTEM;
    struct night_files files = {&night->sweep, turn->snapshot, turn->trial->command};
    if (night_command_fill(&command, turn->trial->command, turn->environment)) {
        struct command_trial *trial = &command.trial;
        trial->fill = fill;
        trial->fill_context = &files;
        trial->parent = turn->origin.exp_id;
        trial->parent_snapshot = turn->snapshot;
        trial->night = night_link(turn->link, night, turn->i);
        trial->notes = turn->notes[0] ? turn->notes : NULL;
        trial->proposer = turn->trial->proposer;
        trial->baseline = night_needs_baseline(night);
        trial->seeds = seeds_of(turn, trial->baseline, trial->seeds);
        trial->name = turn->name;
        trial->alive = night_claim_alive(&turn->keeper);
        trial->quiet = night->quiet;
        trial->interrupts = &night->interrupts;
        status = command_trial_run(night->store, trial, outcome, row);
    } else {
        cli_no_memory();
    }
    night_command_release(&command);
    return status;
}

/* ---- either ---- */

/* Of a proposed trial nobody knows how many there will be. */
static void make_name(struct night_turn *turn)
{
    const struct night *night = turn->night;
    if (turn->trial->proposer)
        snprintf(turn->name, sizeof turn->name, "[%s] %s", turn->trial->proposer, turn->trial->name);
    else
        snprintf(turn->name, sizeof turn->name, "[%zu/%zu] %s", turn->i + 1, night->sweep.n, turn->trial->name);
}

/* On the heap: two recipes and their paths are too much for a stack that other code shares. */
int night_take_turn(struct night *night, size_t i, const char *const *environment, struct night_ending *ending)
{
    struct night_turn *turn = calloc(1, sizeof *turn);
    struct trial_outcome outcome = {0};
    struct lineage_trial row = {0};
    if (!turn)
        return cli_no_memory();
    turn->night = night;
    turn->i = i;
    turn->keeper = (struct night_keeper){.night = night, .i = i};
    turn->environment = environment;
    turn->trial = &night->trials[i];
    if (turn->trial->recipe)
        turn->recipe = *turn->trial->recipe;
    make_name(turn);
    int status = night_find_start(turn);
    if (status == CLI_GO_ON)
        status = turn->trial->recipe ? run_recipe(turn, &outcome, &row) : run_command(turn, &outcome, &row);
    if (status == CLI_GO_ON)
        status = finish_trial(turn, &outcome, &row, ending);
    lineage_trial_release(&row);
    lineage_free(turn->snapshot);
    origin_release(&turn->origin);
    free(turn);
    night_claim_end(night, i, status == CLI_GO_ON ? LINEAGE_CLAIM_DONE : LINEAGE_CLAIM_GIVEN_UP);
    return status;
}
