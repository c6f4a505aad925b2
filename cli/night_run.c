/* night_run.c: the trials of a night one after another. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <lineage/render.h>
#include <lineage/text.h>

#include "night.h"
#include "origin.h"
#include "trial.h"

/* One trial being prepared. */
struct turn {
    struct night *night;
    size_t i;
    const struct trainer_trial *trial;
    struct trainer_recipe recipe; /* with the checkpoint it starts from */
    struct origin origin;
    char refused[TRAINER_ERROR_TEXT_MAX + 32];
    char remark[NIGHT_REMARK_MAX], name[TRAINER_TRIAL_NAME_MAX + 64], keep[TRAINER_PATH_MAX];
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- what a trial starts from ---- */

static int start_from(struct turn *turn, const char *id)
{
    struct lineage_error err;
    enum lineage_status found = origin_of_trial(&turn->origin, turn->night->store, id, &err);
    if (found == LINEAGE_ENOTFOUND)
        snprintf(turn->refused, sizeof turn->refused, "no parent to start from: %s", err.text);
    else if (found != LINEAGE_OK)
        return cli_fail(&err);
    else if (!turn->origin.checkpoint[0])
        snprintf(turn->refused, sizeof turn->refused, "no checkpoint to start from: %s",
                 turn->origin.why);
    else
        snprintf(turn->recipe.checkpoint, sizeof turn->recipe.checkpoint, "%s",
                 turn->origin.checkpoint);
    return CLI_GO_ON;
}

/* A trial of this sweep may have been discarded: then its checkpoint is in checkpoints/. */
static int start_from_trial(struct turn *turn, size_t parent)
{
    char kept[TRAINER_PATH_MAX];
    int status = start_from(turn, turn->night->exp_id[parent]);
    night_checkpoint(kept, turn->night, parent);
    if (status == CLI_GO_ON && turn->refused[0] && access(kept, R_OK) == 0) {
        snprintf(turn->recipe.checkpoint, sizeof turn->recipe.checkpoint, "%s", kept);
        turn->refused[0] = '\0';
    }
    return status;
}

/* The first trial of a store has no best one before it: it starts as its recipe says. */
static int start_from_best(struct turn *turn)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    enum lineage_status status = lineage_best(turn->night->store, &best, &err);
    lineage_trial_release(&best);
    if (status == LINEAGE_ENOTFOUND)
        return CLI_GO_ON;
    return status == LINEAGE_OK ? start_from(turn, "best") : cli_fail(&err);
}

/* Train the warm start that several trials share, unless it is there. If that fails the trial does
 * it itself, and its row says what went wrong. */
static int start_from_shared(struct turn *turn)
{
    char checkpoint[TRAINER_PATH_MAX];
    struct trial_outcome outcome = {0};
    struct trainer_recipe warm;
    struct trial_request request = {.recipe = &warm,
                                    .context = {.remark = ""},
                                    .name = warm.name,
                                    .quiet = turn->night->quiet,
                                    .interrupts = &turn->night->interrupts};
    night_warm_checkpoint(checkpoint, turn->night, &turn->recipe);
    night_warm_recipe(&warm, &turn->recipe);
    warm.threads = turn->recipe.threads;
    if (access(checkpoint, R_OK) == 0 ||
        trial_train_only(&request, lineage_store_dir(turn->night->store), checkpoint, &outcome))
        snprintf(turn->recipe.checkpoint, sizeof turn->recipe.checkpoint, "%s", checkpoint);
    return outcome.end == TRIAL_INTERRUPTED ? CLI_INTERRUPTED : CLI_GO_ON;
}

static int start_from_base(struct turn *turn)
{
    struct lineage_error err;
    if (night_shares_warm_start(turn->night, turn->i))
        return start_from_shared(turn);
    if (turn->recipe.checkpoint[0] &&
        origin_of_checkpoint(&turn->origin, turn->night->store, turn->recipe.checkpoint, &err) !=
            LINEAGE_OK)
        return cli_fail(&err);
    return CLI_GO_ON;
}

static int find_start(struct turn *turn)
{
    switch (turn->trial->parent) {
    case TRAINER_PARENT_BASE: break;
    case TRAINER_PARENT_BEST: return start_from_best(turn);
    case TRAINER_PARENT_TRIAL: return start_from_trial(turn, turn->trial->parent_trial);
    case TRAINER_PARENT_EXP: return start_from(turn, turn->trial->parent_exp);
    }
    return start_from_base(turn);
}

/* ---- a trial ---- */

/* The first trial that is measured is what the others are compared with. */
static bool is_baseline(const struct night *night)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    enum lineage_status status = lineage_best(night->store, &best, &err);
    lineage_trial_release(&best);
    return status == LINEAGE_ENOTFOUND;
}

static int finish_trial(struct turn *turn, const struct trial_outcome *outcome,
                        const struct lineage_trial *row)
{
    struct night *night = turn->night;
    char score[LINEAGE_NUMBER_MAX] = "-";
    if (row->core_metric.present)
        lineage_number_format(score, row->core_metric.value);
    char *name = cli_text_line(turn->trial->name, 0);
    printf("%s\t%s\t%s\t%s\n", row->exp_id, lineage_label_name(row->status), score,
           name ? name : "");
    fflush(stdout);
    free(name);
    if (outcome->end == TRIAL_INTERRUPTED)
        return CLI_INTERRUPTED;
    night->label[turn->i] = row->status;
    night->exp_id[turn->i] = strdup(row->exp_id);
    return night->exp_id[turn->i] ? CLI_GO_ON : cli_error(CLI_SYSTEM, "out of memory");
}

static int run_trial(struct turn *turn)
{
    struct night *night = turn->night;
    struct trial_outcome outcome = {0};
    struct lineage_trial row = {0};
    struct trial_request request = {
        .recipe = &turn->recipe,
        .refused = turn->refused[0] ? turn->refused : NULL,
        .context = {.parent = turn->origin.exp_id ? turn->origin.exp_id : "",
                    .remark = night_remark(turn->remark, night, turn->i),
                    .baseline = is_baseline(night)},
        .keep = night_is_parent(night, turn->i) ? turn->keep : NULL,
        .name = turn->name,
        .quiet = night->quiet,
        .interrupts = &night->interrupts};
    night_checkpoint(turn->keep, night, turn->i);
    snprintf(turn->name, sizeof turn->name, "[%zu/%zu] %s", turn->i + 1, night->n,
             turn->trial->name);
    int status = trial_run(night->store, &request, &outcome, &row);
    if (status == CLI_GO_ON)
        status = finish_trial(turn, &outcome, &row);
    lineage_trial_release(&row);
    return status;
}

static int take_turn(struct night *night, size_t i)
{
    struct turn *turn = calloc(1, sizeof *turn);
    if (!turn)
        return cli_error(CLI_SYSTEM, "out of memory");
    turn->night = night;
    turn->i = i;
    turn->trial = trainer_sweep_trial(night->sweep, i);
    turn->recipe = turn->trial->recipe;
    int status = find_start(turn);
    if (status == CLI_GO_ON)
        status = run_trial(turn);
    origin_release(&turn->origin);
    free(turn);
    return status;
}

/* ---- the night ---- */

static int write_knowledge(const struct night *night)
{
    char path[TRAINER_PATH_MAX];
    struct lineage_render_options options;
    struct lineage_error err;
    lineage_render_options_init(&options);
    options.specialist = trainer_sweep_name(night->sweep);
    snprintf(path, sizeof path, "%s/KNOWLEDGE.md", lineage_store_dir(night->store));
    if (lineage_render_file(night->store, path, &options, &err) != LINEAGE_OK)
        return cli_fail(&err);
    return CLI_GO_ON;
}

static size_t count_left(const struct night *night)
{
    size_t left = 0;
    for (size_t i = 0; i < night->n; i++)
        left += !night->exp_id[i];
    return left;
}

/* No trial is begun that would run into the morning, going by the longest one so far. */
static bool time_is_up(const struct night *night, double began, double longest)
{
    double left = night->hours * 3600 - (now() - began);
    if (left > longest)
        return false;
    fprintf(stderr,
            "lineage: the hours are over; %zu of %zu trials are left for the same command\n",
            count_left(night), night->n);
    return true;
}

int night_run(struct night *night)
{
    double began = now(), longest = 0;
    int status = write_knowledge(night);
    for (size_t i = 0; i < night->n && status == CLI_GO_ON; i++) {
        double start = now();
        if (night->exp_id[i])
            continue;
        if (interrupts_came(&night->interrupts))
            return CLI_INTERRUPTED;
        if (time_is_up(night, began, longest))
            break;
        status = take_turn(night, i);
        if (status == CLI_GO_ON || status == CLI_INTERRUPTED) {
            int written = write_knowledge(night);
            status = written == CLI_GO_ON ? status : written;
        }
        longest = fmax(longest, now() - start);
    }
    return status == CLI_GO_ON ? CLI_OK : status;
}
