#include "plan/next_proposal.h"

#include "plan/planner.h"
#include "sweep/sweep_file.h"

/* A night gives up after this many consecutive proposals that the sweep does not allow. */
enum { REFUSALS_MAX = 100 };

static int propose_from(struct planning *planning, struct propose_past *past, size_t *i)
{
    const struct night_sweep *sweep = &planning->list->sweep;
    const struct propose_space *space = &sweep->space;
    const char *name = propose_method_name(planning->method);
    char why[NIGHT_WHY_MAX] = "";
    for (int refusals = 0; refusals < REFUSALS_MAX; refusals++) {
        double x[PROPOSE_RANGES_MAX];
        struct night_trial trial;
        struct lineage_error err;
        bool exhausted;
        if (propose_past_next(x, &exhausted, past, planning->method, sweep->plan.seed, &err) != LINEAGE_OK)
            return cli_fail(&err);
        if (exhausted) {
            fprintf(stderr, "lineage: every setting that %s has in these ranges was tried\n", name);
            planning->nothing = "every setting in the ranges was tried";
            return CLI_OK;
        }
        json_t *proposal = json_pack("{s:o}", "params", propose_setting_json(space, x));
        bool made = proposal && night_sweep_make(&trial, sweep, proposal, why);
        json_decref(proposal);
        if (made)
            return planning_add(planning, &trial, x, name, i);
        if (!proposal || !propose_past_add(past, x, space->n, PROPOSE_FAILED))
            return cli_no_memory();
    }
    return cli_error(CLI_USAGE, "%s: the sweep rejects %d proposals in a row; the last one: %s", sweep->file, REFUSALS_MAX, why);
}

static int propose(struct planning *planning, size_t *i)
{
    struct propose_past past = {0};
    if (planning->list->sweep.space.n == 0) {
        fputs("lineage: the planner has no proposal, and there are no ranges to propose from\n", stderr);
        planning->nothing = "the planner has no further proposals";
        return CLI_OK;
    }
    int status = planning_read_past(&past, planning, false);
    if (status == CLI_GO_ON)
        status = propose_from(planning, &past, i);
    propose_past_release(&past);
    return status;
}

int next_proposal(struct planning *planning, size_t *i)
{
    planning->nothing = NULL;
    int status = planning->planner ? planner_propose(planning, i) : CLI_NO;
    if (status == CLI_NO)
        status = propose(planning, i);
    planning->idle = status == CLI_OK;
    planning->idle_at = planning->list->last_seq;
    return status;
}
