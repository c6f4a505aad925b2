#include "plan/planning.h"

#include <string.h>

#include "output/ideas_out.h"

struct elsewhere {
    const struct planning *planning;
    struct lineage_ideas *set;
    enum lineage_status status;
    struct lineage_error *err;
};

/* A trial of this machine is found by its work directory. */
static bool add_claim(void *context, const struct lineage_claim *claim)
{
    struct elsewhere *e = context;
    if (claim->free || other_workers_is_here(claim) || strcmp(claim->night, e->planning->list->sweep.name) != 0)
        return true;
    json_t *about = json_loads(claim->about, 0, NULL);
    const struct lineage_trial trial = {.exp_id = cli_json_member(about, "name"),
                                        .hypothesis = cli_json_member(about, "hypothesis")};
    if (*trial.exp_id && *trial.hypothesis)
        e->status = lineage_ideas_add(e->set, &trial, true, e->err);
    json_decref(about);
    return e->status == LINEAGE_OK;
}

/* Planning goes on if the queue does not answer now: the claim that follows waits for it. */
static enum lineage_status add_elsewhere(void *context, struct lineage_ideas *set, struct lineage_error *err)
{
    struct elsewhere e = {.planning = context, .set = set, .err = err};
    struct lineage_error ignored;
    if (lineage_queue_each(e.planning->claims->queue, add_claim, &e, &ignored) != LINEAGE_OK && e.status == LINEAGE_OK)
        return LINEAGE_OK;
    return e.status;
}

int planner_ideas_load(struct planner_ideas *ideas)
{
    if (ideas->set)
        return CLI_GO_ON;
    struct lineage_error err;
    enum lineage_status status =
        cli_ideas_read(&ideas->set, ideas->planning->list->store, add_elsewhere, (void *)(uintptr_t)ideas->planning, &err);
    return status == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

void planner_ideas_release(struct planner_ideas *ideas)
{
    lineage_ideas_release(ideas->set);
    ideas->set = NULL;
}
