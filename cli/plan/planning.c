/*
 * The past is read from the store for each proposal, and no state is kept in memory. So a night that is killed and
 * restarted makes the same proposals as without the kill, and rows of other programs count like the night's own.
 */
#include "plan/planning.h"

size_t planning_left(const struct planning *planning)
{
    const struct trial_list *list = planning->list;
    size_t wanted = list->sweep.plan.trials;
    return planning->on && wanted > list->n_proposed ? wanted - list->n_proposed : 0;
}

bool planning_has_room(const struct planning *planning, const struct other_workers *others)
{
    const struct trial_list *list = planning->list;
    size_t at_work = 0;
    for (size_t i = list->sweep.n; i < list->n; i++)
        at_work += list->trials[i].at_work && (!list->trials[i].replicates || list->trials[i].proposer);
    return !list->sweep.plan.trials || planning_left(planning) > at_work + others->proposed;
}

int planning_read_past(struct propose_past *past, const struct planning *planning, bool whole)
{
    const struct trial_list *list = planning->list;
    const struct night_sweep *sweep = &list->sweep;
    struct propose_from from = {.store = list->store, .space = &sweep->space, .sweep = sweep->name, .has_fallback = true};
    struct other_workers others;
    struct lineage_error err;
    char program[COMMAND_PROGRAM_MAX];
    night_sweep_defaults(from.fallback, sweep);
    if (sweep->of_commands)
        snprintf(from.program, sizeof from.program, "%s", command_program(program, sweep, NULL));
    if (propose_past_read(past, &from, whole, &err) != LINEAGE_OK)
        return cli_fail(&err);
    /* Adds the trials without a row: those that run in this night, and those whose process was killed. */
    for (size_t i = 0; i < list->n; i++) {
        const struct night_trial *trial = &list->trials[i];
        if (trial->x && (trial->at_work || trial->lost) &&
            !propose_past_add(past, trial->x, sweep->space.n, trial->lost ? PROPOSE_FAILED : PROPOSE_RUNNING))
            return cli_no_memory();
    }
    return other_workers_count(&others, planning->claims, past);
}

/* Asks once, and then looks for the answer. */
static int wait_for_a_person(const struct planning *planning, const json_t *proposal, char id[APPROVAL_ID_BYTES])
{
    char text[200];
    struct lineage_store *store = planning->list->store;
    if (!*id && !approval_ask(store, planning->list->sweep.name, proposal, id))
        return CLI_SYSTEM;
    snprintf(text, sizeof text, "proposal %s waits: `lineage approve %s` accepts it, --refuse REASON refuses it", id, id);
    cli_say(text);
    notify_send(planning->notify, store, "proposal", NULL, text);
    return CLI_GO_ON;
}

int planning_approve(const struct planning *planning, const json_t *proposal, json_t **edited, char why[NIGHT_WHY_MAX])
{
    enum { LOOK_MS = 200 };
    char id[APPROVAL_ID_BYTES] = "", reason[APPROVAL_REASON_MAX];
    bool asked = false;
    for (*edited = NULL; planning->approve;) {
        switch (approval_of(planning->list->store, planning->list->sweep.name, proposal, id, edited, reason)) {
        case APPROVAL_REFUSED: snprintf(why, NIGHT_WHY_MAX, "a person refused it: %s", reason); return CLI_NO;
        case APPROVAL_ACCEPTED:
        case APPROVAL_EDITED: return CLI_GO_ON;
        case APPROVAL_NEW:
        case APPROVAL_WAITING: break;
        }
        int status = asked ? CLI_GO_ON : wait_for_a_person(planning, proposal, id);
        struct pollfd interrupts = {planning->interrupts->fd, POLLIN, 0};
        asked = true;
        if (status != CLI_GO_ON)
            return status;
        poll(&interrupts, 1, LOOK_MS);
        if (interrupts_came(planning->interrupts))
            return CLI_INTERRUPTED;
        if (night_hours_left(planning->hours) <= 0)
            return CLI_OK;
    }
    return CLI_GO_ON;
}

int planning_expect(struct gp_gain *gain, bool *ready, const struct planning *planning, size_t n)
{
    struct propose_past past = {0};
    int status = planning_read_past(&past, planning, false);
    *gain = (struct gp_gain){0};
    *ready = false;
    if (status == CLI_GO_ON) {
        const struct night_sweep *sweep = &planning->list->sweep;
        const struct propose_problem problem = propose_problem_of(&past, &sweep->space, planning->list->store, sweep->plan.seed);
        *ready = gp_is_ready(&problem);
        if (*ready && !gp_expect_gain(gain, n, &problem))
            status = cli_no_memory();
    }
    propose_past_release(&past);
    return status;
}

void planning_give_cost(struct planning *planning, struct night_trial *trial)
{
    json_decref(trial->cost);
    trial->cost = planning->cost;
    planning->cost = NULL;
}

int planning_add(struct planning *planning, struct night_trial *trial, const double *x, const char *proposer, size_t *i)
{
    struct trial_list *list = planning->list;
    size_t size = list->sweep.space.n * sizeof *x;
    trial->proposer = strdup(proposer);
    planning_give_cost(planning, trial);
    trial->x = x ? malloc(size + 1) : NULL;
    if (trial->x)
        memcpy(trial->x, x, size);
    while (trial->again && trial_list_find(list, trial->key))
        night_trial_rekey(trial);
    *i = list->n;
    if (trial->proposer && (trial->x || !x) && trial_list_add(list, trial))
        return CLI_GO_ON;
    night_trial_release(trial);
    return cli_no_memory();
}

void planning_release(struct planning *planning)
{
    json_decref(planning->answers);
    json_decref(planning->cost);
    planning->answers = planning->cost = NULL;
}

double night_hours_left(const struct night_hours *hours)
{
    return fmax(0, hours->limit * 3600 - (cli_now() - hours->began));
}
