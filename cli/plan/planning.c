/*
 * The past is read from the store for each proposal, and no state is kept in memory. So a night that is killed and
 * restarted makes the same proposals as without the kill, and rows of other programs count like the night's own.
 */
#include "plan/planning.h"

#include <stdlib.h>
#include <string.h>

#include "sweep/command_program.h"
#include "sweep/sweep_file.h"

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
