/*
 * night_propose.c: the next trial of a night that plans itself: a proposal becomes a trial, or says why it cannot.
 *
 * What was proposed before is read from the rows each time, not remembered: a night that is killed and begun again
 * proposes what it would have, and other programs' rows count like its own.
 */
#include <stdlib.h>
#include <string.h>

#include "night/night_claims.h"
#include "night/night_turn.h"

/* Proposals in a row that the sweep does not allow, after which a night gives up. */
enum { REFUSALS_MAX = 100 };

size_t night_proposals_left(const struct night *night)
{
    size_t asked = night->sweep.plan.trials;
    return night->planning && asked > night->n_proposed ? asked - night->n_proposed : 0;
}

static size_t count_at_work(const struct night *night)
{
    size_t n = 0;
    for (size_t i = night->sweep.n; i < night->n; i++)
        n += night->trials[i].at_work;
    return n;
}

/* What this night knows beside the rows: who is at work, and whose process was killed. */
static bool add_own(struct propose_past *past, const struct night *night)
{
    bool added = true;
    for (size_t i = 0; i < night->n && added; i++) {
        const struct night_trial *trial = &night->trials[i];
        if (trial->x && (trial->at_work || trial->lost))
            added = propose_past_add(past, trial->x, night->sweep.space.n, trial->lost ? PROPOSE_FAILED : PROPOSE_RUNNING);
    }
    return added;
}

int night_read_past(struct propose_past *past, const struct night *night)
{
    struct lineage_number fallback[PROPOSE_RANGES_MAX];
    struct lineage_error err;
    night_sweep_defaults(fallback, &night->sweep);
    if (propose_past_read(past, night->store, &night->sweep.space, fallback, night->sweep.name, &err) != LINEAGE_OK)
        return cli_fail(&err);
    struct night_others others;
    return add_own(past, night) ? night_claims_others(&others, night, past) : cli_no_memory();
}

static json_t *proposal_json(const struct propose_space *space, const double *x)
{
    json_t *params = json_object();
    for (size_t i = 0; i < space->n; i++)
        json_object_set_new(params, space->ranges[i].name, propose_value_json(&space->ranges[i], x[i]));
    return json_pack("{s:o}", "params", params);
}

int night_add_proposed(struct night *night, struct night_trial *trial, const double *x, const char *proposer, size_t *i)
{
    size_t size = night->sweep.space.n * sizeof *x;
    trial->proposer = strdup(proposer);
    trial->x = x ? malloc(size + 1) : NULL;
    if (trial->x)
        memcpy(trial->x, x, size);
    *i = night->n;
    if (trial->proposer && (trial->x || !x) && night_add(night, trial))
        return CLI_GO_ON;
    night_trial_release(trial);
    return cli_no_memory();
}

/* Which of two things went wrong is the caller's to say. */
static int propose(struct night *night, struct propose_past *past, size_t *i)
{
    const struct propose_space *space = &night->sweep.space;
    const char *name = propose_method_name(night->method);
    char why[NIGHT_WHY_MAX] = "";
    for (int refusals = 0; refusals < REFUSALS_MAX; refusals++) {
        double x[PROPOSE_RANGES_MAX];
        struct night_trial trial;
        const struct propose_problem problem = propose_problem_of(past, space, night->store, night->sweep.plan.seed);
        enum propose_answer answer = propose_next(x, &problem, night->method);
        if (answer == PROPOSE_EXHAUSTED) {
            fprintf(stderr, "lineage: everything that %s has in these ranges was tried\n", name);
            return CLI_OK;
        }
        json_t *proposal = answer == PROPOSE_OK ? proposal_json(space, x) : NULL;
        bool made = proposal && night_sweep_make(&trial, &night->sweep, proposal, why);
        json_decref(proposal);
        if (made)
            return night_add_proposed(night, &trial, x, name, i);
        if (!proposal || !propose_past_add(past, x, space->n, PROPOSE_FAILED))
            return cli_no_memory();
    }
    return cli_error(CLI_USAGE, "%s: %d proposals in a row are no trials of this sweep; the last one: %s", night->sweep.file,
                     REFUSALS_MAX, why);
}

bool night_has_room(const struct night *night, const struct night_others *others)
{
    return !night->sweep.plan.trials || night_proposals_left(night) > count_at_work(night) + others->proposed;
}

int night_propose(struct night *night, size_t *i)
{
    struct propose_past past = {0};
    if (night->sweep.space.n == 0) {
        fputs("lineage: the planner has nothing, and there are no ranges to propose from\n", stderr);
        return CLI_OK;
    }
    int status = night_read_past(&past, night);
    if (status == CLI_GO_ON)
        status = propose(night, &past, i);
    propose_past_release(&past);
    return status;
}

/* The list's trials stay: they are not run tonight, and are still to be run. */
int night_forget(struct night *night, size_t i)
{
    if (i >= night->sweep.n && i + 1 == night->n)
        night_trial_release(&night->trials[--night->n]);
    return CLI_OK;
}
