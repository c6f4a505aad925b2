#include "night/night_start.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/draw_parent.h"
#include "sweep/checkpoint_files.h"
#include "sweep/recipe_trials.h"
#include "sweep/shared_warm_start.h"
#include "trial/run_and_append.h"

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

/* `best` is resolved only now, when the trial is about to run, because the best trial may have run an hour ago. */
int night_start_find(struct night_start *start, struct night *night, size_t i, struct lease *lease)
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

void night_start_release(struct night_start *start)
{
    trial_parent_release(&start->parent);
    origin_release(&start->origin);
}
