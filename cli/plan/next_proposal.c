#include "plan/next_proposal.h"

#include <string.h>

#include "plan/planner.h"
#include "sweep/sweep_file.h"

/* A night gives up after this many consecutive proposals that the sweep does not allow. */
enum { REFUSALS_MAX = 100 };

/* Makes the trial, after a person has agreed if the night asks one. Returns CLI_NO with why if it may not run. */
static int make(struct night_trial *trial, double *x, const struct planning *planning, json_t **proposal, char why[NIGHT_WHY_MAX])
{
    const struct night_sweep *sweep = &planning->list->sweep;
    double asked[PROPOSE_RANGES_MAX];
    json_t *edited;
    int status = planning_approve(planning, *proposal, &edited, why);
    memcpy(asked, x, sizeof asked);
    if (edited) {
        json_decref(*proposal);
        *proposal = edited;
    }
    for (size_t r = 0; edited && r < sweep->space.n && status == CLI_GO_ON; r++) {
        const json_t *value = json_object_get(json_object_get(edited, "params"), sweep->space.ranges[r].name);
        if (value && !propose_value_of_json(&x[r], &sweep->space.ranges[r], value)) {
            snprintf(why, NIGHT_WHY_MAX, "the edited value of %.80s is not in its range", sweep->space.ranges[r].name);
            cli_say(why);
            status = CLI_NO;
        }
    }
    if (status == CLI_GO_ON && !night_sweep_make(trial, sweep, *proposal, why))
        status = CLI_NO;
    if (status == CLI_NO)
        memcpy(x, asked, sizeof asked); /* what is not proposed again */
    return status;
}

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
        int made = proposal ? make(&trial, x, planning, &proposal, why) : CLI_NO;
        json_decref(proposal);
        if (made == CLI_GO_ON)
            return planning_add(planning, &trial, x, name, i);
        if (made != CLI_NO)
            return made;
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
