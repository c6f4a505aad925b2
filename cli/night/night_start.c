/*
 * night_start.c: what a trial starts from: its own beginning, a warm start that others share, or its parent.
 *
 * A recipe goes on from its parent's checkpoint and cannot run without one. A command gets its parent's snapshot in
 * LINEAGE_PARENT_SNAPSHOT if there is one, and decides itself what that is worth.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lineage/snapshot.h>

#include "night/night_hold.h"
#include "night/night_turn.h"

/* Files that come from a server may take longer than a lease. */
static void bring(struct night_turn *turn, const char *checkpoint)
{
    struct night_hold *hold = night_hold_begin(&turn->keeper);
    night_checkpoint_bring(turn->night, checkpoint);
    night_hold_end(hold);
}

static void send(struct night_turn *turn, const char *checkpoint)
{
    struct night_hold *hold = night_hold_begin(&turn->keeper);
    night_checkpoint_send(turn->night, checkpoint);
    night_hold_end(hold);
}

/* Kept trials have one. */
static int find_snapshot(struct night_turn *turn)
{
    struct lineage_trial parent = {0};
    struct lineage_error err;
    enum lineage_status status = lineage_find(turn->night->store, turn->origin.exp_id, &parent, &err);
    if (status == LINEAGE_OK)
        status = lineage_snapshot_path(&turn->snapshot, turn->night->store, &parent, &err);
    lineage_trial_release(&parent);
    if (status == LINEAGE_ENOTFOUND)
        snprintf(turn->notes, sizeof turn->notes, "the parent was not kept, it has no snapshot to go on from");
    return status == LINEAGE_OK || status == LINEAGE_ENOTFOUND ? CLI_GO_ON : cli_fail(&err);
}

/* A missing parent becomes the reason of a row (preflight_crash) and not an error: the night
 * goes on with the trials that can run, and this one is not tried again in vain every evening. */
static int find_parent(struct night_turn *turn, const char *id)
{
    struct lineage_error err;
    enum lineage_status found = origin_of_trial(&turn->origin, turn->night->store, id, &err);
    if (found == LINEAGE_OK && !turn->trial->recipe)
        return find_snapshot(turn);
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

static int start_from(struct night_turn *turn, const char *id)
{
    struct night_hold *hold = night_hold_begin(&turn->keeper);
    int status = find_parent(turn, id);
    night_hold_end(hold);
    return status;
}

/* A trial of this sweep may have been discarded: then its checkpoint is in checkpoints/. The
 * snapshot first, because it is what the row refers to. */
static int start_from_trial(struct night_turn *turn, size_t parent)
{
    char kept[TRAINER_PATH_MAX];
    int status = start_from(turn, turn->night->trials[parent].exp_id);
    if (!turn->trial->recipe)
        return status;
    night_checkpoint(kept, turn->night, parent);
    if (status == CLI_GO_ON && turn->refused[0])
        bring(turn, kept);
    if (status == CLI_GO_ON && turn->refused[0] && access(kept, R_OK) == 0) {
        snprintf(turn->recipe.checkpoint, sizeof turn->recipe.checkpoint, "%s", kept);
        turn->refused[0] = '\0';
    }
    return status;
}

/* The first trial of a store has no best one before it: it starts as its recipe says. */
static int start_from_best(struct night_turn *turn)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    enum lineage_status status = lineage_best(turn->night->store, &best, &err);
    lineage_trial_release(&best);
    if (status == LINEAGE_ENOTFOUND)
        return CLI_GO_ON;
    return status == LINEAGE_OK ? start_from(turn, "best") : cli_fail(&err);
}

/* False when out of memory, or when it did not work out: outcome says which. Without a row: a
 * warm start is nobody's trial and has no score that could be compared. */
static bool train_warm_start(struct night_turn *turn, const struct trainer_recipe *warm, const char *checkpoint,
                             struct trial_outcome *outcome)
{
    struct trial_request request = {.name = warm->name,
                                    .keep_as = checkpoint,
                                    .quiet = turn->night->quiet,
                                    .alive = night_claim_alive(&turn->keeper),
                                    .interrupts = &turn->night->interrupts};
    bool ready = recipe_trial_init(&turn->run, &request, warm);
    turn->run.crowded = night_is_crowded(turn->night);
    bool trained = ready && trial_run_unrecorded(&request, lineage_store_dir(turn->night->store), outcome);
    recipe_trial_release(&turn->run);
    if (trained)
        send(turn, checkpoint);
    return trained;
}

/* Train the warm start that several trials share, unless it is there. If that fails the trial
 * does it itself, and its row says what went wrong. threads is not part of the digest, as it
 * changes no number; the trial's own is used. */
static int start_from_shared(struct night_turn *turn)
{
    char checkpoint[TRAINER_PATH_MAX];
    struct trial_outcome outcome = {0};
    struct trainer_recipe warm;
    night_warm_checkpoint(checkpoint, turn->night, &turn->recipe);
    night_warm_recipe(&warm, &turn->recipe);
    warm.threads = turn->recipe.threads;
    bring(turn, checkpoint);
    if (access(checkpoint, R_OK) == 0 || train_warm_start(turn, &warm, checkpoint, &outcome))
        snprintf(turn->recipe.checkpoint, sizeof turn->recipe.checkpoint, "%s", checkpoint);
    return outcome.end == TRIAL_INTERRUPTED ? CLI_INTERRUPTED : CLI_GO_ON;
}

static int start_from_base(struct night_turn *turn)
{
    struct lineage_error err;
    if (!turn->trial->recipe)
        return CLI_GO_ON;
    if (night_shares_warm_start(turn->night, turn->i))
        return start_from_shared(turn);
    if (turn->recipe.checkpoint[0] &&
        origin_of_checkpoint(&turn->origin, turn->night->store, turn->recipe.checkpoint, &err) !=
            LINEAGE_OK)
        return cli_fail(&err);
    return CLI_GO_ON;
}

/* By a rule, and the row says so: its parent_exp alone would look like a choice. */
static int start_from_drawn(struct night_turn *turn)
{
    char *id;
    uint64_t seed = turn->night->sweep.plan.seed;
    int status = night_draw_parent(&id, turn->night, seed);
    if (status != CLI_GO_ON)
        return status;
    if (*id) {
        status = start_from(turn, id);
        size_t used = strlen(turn->notes);
        snprintf(turn->notes + used, sizeof turn->notes - used, "%sparent drawn by score and children (seed %llu)",
                 used ? "; " : "", (unsigned long long)seed);
    }
    free(id);
    return status;
}

static int start_from_other(struct night_turn *turn)
{
    const char *name = turn->trial->parent_name;
    if (strcmp(name, "best") == 0)
        return start_from_best(turn);
    return strcmp(name, "draw") == 0 ? start_from_drawn(turn) : start_from(turn, name);
}

/* "best" is looked up when the trial's turn comes: it may be the child of a trial that ran an
 * hour ago. */
int night_find_start(struct night_turn *turn)
{
    switch (turn->trial->parent) {
    case TRAINER_PARENT_BASE: break;
    case TRAINER_PARENT_TRIAL: return start_from_trial(turn, turn->trial->parent_trial);
    case TRAINER_PARENT_OTHER: return start_from_other(turn);
    }
    return start_from_base(turn);
}
