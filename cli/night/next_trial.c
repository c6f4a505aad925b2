/*
 * The trials of the sweep's list come first. Proposals follow once all listed trials are running or done, because
 * proposals are made from the results of the list.
 */

#include "night/night.h"
#include "output/lease_idea.h"

/* Which trials of the list can be run. */
struct prospects {
    size_t *candidates; /* [n] trials that can run now */
    size_t n;
    bool waiting; /* some trial waits for its parent */
    bool busy;    /* some trial has no row and has not been given up */
};

/* Whether an ancestor of the trial was lost, so that the trial cannot run in this night. */
static bool waits_in_vain(const struct trial_list *list, const struct night_trial *trial)
{
    while (trial->parent == NIGHT_PARENT_TRIAL && !list->trials[trial->parent_trial].exp_id) {
        trial = &list->trials[trial->parent_trial];
        if (trial->lost)
            return true;
    }
    return false;
}

/* Whether the trial runs after those that have neither failed before nor share a setting with the latest failures. */
static bool runs_later(const struct night *night, size_t i)
{
    return night->list.trials[i].failed_before || repeated_failures_suspect(&night->failures, &night->list, i);
}

/* Untried trials come first, because a night that stops after the same failures each time would never reach them. */
static void find_candidates(struct prospects *prospects, const struct night *night)
{
    const struct trial_list *list = &night->list;
    size_t n_later = 0, *later = prospects->candidates + list->sweep.n;
    prospects->n = 0;
    prospects->waiting = prospects->busy = false;
    for (size_t i = 0; i < list->sweep.n; i++) {
        const struct night_trial *trial = &list->trials[i];
        if (trial->exp_id || trial->lost || waits_in_vain(list, trial))
            continue;
        prospects->busy = true;
        if (trial->parent == NIGHT_PARENT_TRIAL && !list->trials[trial->parent_trial].exp_id)
            prospects->waiting = true;
        else if (!trial->at_work && runs_later(night, i))
            later[n_later++] = i;
        else if (!trial->at_work)
            prospects->candidates[prospects->n++] = i;
    }
    memmove(prospects->candidates + prospects->n, later, n_later * sizeof *later);
    prospects->n += n_later;
}

static bool waits_for_baseline(const struct night *night)
{
    return trial_rows_wait_for_baseline(&night->list, night->planning.planner != NULL);
}

/* The baseline runs alone if another trial depends on its row. Otherwise the first trial would leave the other slots
 * idle. */
static size_t most_at_once(const struct night *night, size_t otherwise)
{
    return waits_for_baseline(night) ? 1 : otherwise;
}

/*
 * An agent has leased the setting of a command and trains it itself, so this night does not run it (support/leases.h). Returns CLI_NO
 * after saying so, CLI_GO_ON if nobody has, or another exit status after printing an error.
 */
static int pass_over_leased(struct night *night, size_t i)
{
    struct night_trial *trial = &night->list.trials[i];
    struct command_trial command;
    if (!trial->command || !leases_are_used(lineage_store_dir(night->list.store)))
        return CLI_GO_ON;
    json_t *reasons = json_array();
    int status = CLI_GO_ON;
    if (!command_from_sweep(&command, trial->command, NULL))
        status = cli_no_memory();
    const struct lease_idea idea = {"", command.identity.hypothesis, command.params, command.n_params};
    if (status == CLI_GO_ON)
        status = lease_reasons(reasons, night->list.store, &idea, false);
    command_trial_release(&command);
    if (status == CLI_GO_ON && json_array_size(reasons)) {
        cli_error(CLI_NO, "trial %s is left out: %s", trial->name, json_string_value(json_array_get(reasons, 0)));
        trial->lost = true;
        status = CLI_NO;
    }
    json_decref(reasons);
    return status;
}

/*
 * Claims the first trial of the list that is still to be run. Returns CLI_OK if all trials of the list are done or
 * running, in this process or in another worker.
 */
static int next_of_list(struct night *night, size_t *next, bool *busy)
{
    struct prospects found = {.candidates = calloc(2 * night->list.sweep.n + 1, sizeof *found.candidates)};
    if (!found.candidates)
        return cli_no_memory();
    int status;
    do {
        find_candidates(&found, night);
        status = found.n > 0 ? claims_take(&night->claims, found.candidates, found.n, most_at_once(night, 0), next) : CLAIM_WAIT;
        if (status == CLI_GO_ON && (status = pass_over_leased(night, *next)) != CLI_GO_ON)
            claims_end(&night->claims, *next, LINEAGE_CLAIM_DONE);
    } while (status == CLAIM_AGAIN || status == CLI_NO);
    free(found.candidates);
    *busy = found.busy;
    return status == CLAIM_WAIT && !found.waiting ? CLI_OK : status;
}

static bool may_propose(const struct night *night, const struct other_workers *others)
{
    const struct planning *planning = &night->planning;
    bool idle = planning->idle && planning->idle_at == night->list.last_seq;
    bool alone = night->slots.at_work == 0 && others->held == 0;
    return !night->hours.used_up && !night->stop.over[0] && !idle && planning_has_room(planning, others) &&
           (alone || !waits_for_baseline(night));
}

/*
 * Claims trial *i, which was just proposed. Workers must not hold more claims than there are trials left to run: if one
 * trial is left, two workers may propose it at the same time. The rows may have changed since the proposal, so claims
 * and rows are counted again once this worker holds its claim. Claims are counted before rows, because a worker appends
 * its row before it ends its claim. A trial that is finishing at this moment then counts twice, and this worker waits;
 * in the opposite order the trial might not be counted at all.
 */
static int claim_proposed(struct night *night, size_t *i)
{
    struct trial_list *list = &night->list;
    struct other_workers others;
    size_t left = planning_left(&night->planning);
    for (size_t k = 0; k < list->sweep.n; k++)
        left += !list->trials[k].exp_id;
    int status = claims_take(&night->claims, i, 1, most_at_once(night, list->sweep.plan.trials ? left : 0), i);
    if (status == CLI_GO_ON)
        status = other_workers_count(&others, &night->claims, NULL);
    if (status == CLI_GO_ON)
        status = trial_rows_read(list);
    if (status == CLI_GO_ON && planning_has_room(&night->planning, &others))
        return status;
    claims_end(&night->claims, *i, LINEAGE_CLAIM_DONE);
    trial_list_forget(list, *i);
    return status == CLI_GO_ON || status == CLAIM_AGAIN ? CLAIM_WAIT : status;
}

int next_trial(struct night *night, size_t *i)
{
    bool busy = false;
    struct other_workers others = {0};
    int status = night->reruns.confirm || night->reruns.runs ? trial_rows_read(&night->list) : CLI_GO_ON; /* counts runs */
    if (status != CLI_GO_ON)
        return status;
    if (night->reruns.runs && !rerun_runs_left(night))
        return night->slots.at_work ? CLAIM_WAIT : CLI_OK;
    status = rerun_is_due(night) ? rerun_next(night, i) : CLI_OK;
    if (status == CLI_OK)
        status = next_of_list(night, i, &busy);
    if (status == CLI_OK && night->planning.on) {
        status = other_workers_count(&others, &night->claims, NULL);
        if (status == CLI_GO_ON)
            status = may_propose(night, &others) ? next_proposal(&night->planning, i) : CLI_OK;
        if (status == CLI_GO_ON)
            status = claim_proposed(night, i);
    }
    if (status == CLI_OK && !busy && others.held == 0 && night->slots.at_work == 0) /* it compares all trials */
        status = rerun_next(night, i);
    return status == CLI_OK && (busy || others.held > 0) ? CLAIM_WAIT : status;
}
