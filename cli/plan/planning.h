/*
 * planning.h: how a night plans trials beyond its sweep's list: by a proposer (lineage suggest), or by a planner (an
 * external command). If the planner has no valid proposal, the proposer is used for that turn.
 *
 *   next_proposal     the next trial, from the planner or the proposer
 *   planner           asks the planner, and keeps its answers; planner_request, planner_call, planner_cost, spent_tokens
 *   planner_facts     the block's facts about ideas, as JSON
 *   planner_ideas     the store's trials as a set of ideas, for one turn
 *   proposal_gate     checks a proposal before it becomes a trial
 *   approval            proposals that wait for a person
 *   notify              tells a command of the user's what matters
 *   draw_parent       draws the trial from which the next one starts
 *   night_hours       the time that is left
 */
#pragma once

#include <jansson.h>

#include "plan/night_hours.h"
#include "plan/notify.h"
#include "plan/spent_tokens.h"
#include "propose/gp.h"
#include "propose/propose_math.h"
#include "propose/propose_past.h"
#include "share/other_workers.h"
#include "trial/interrupts.h"

/* Default seconds that a planner may take. */
enum { PLANNER_SECONDS = 600 };

struct planning {
    struct trial_list *list;
    struct claims *claims;
    const struct night_hours *hours;
    const struct interrupts *interrupts;
    bool on;                    /* false: only the sweep's list is run */
    enum propose_method method; /* method of the proposer */
    const char *planner;        /* shell command; NULL: none */
    size_t tokens;              /* that the planner may use for this sweep; 0: it is not told, and nothing is counted */
    uint64_t tokens_reported;   /* by the planner in this execution */
    struct spent_tokens spent;  /* by all executions and workers; read by planner_cost_tokens */
    json_t *cost;               /* what it reported since the last trial that it proposed; NULL: nothing */
    double planner_seconds;     /* a planner that takes longer is stopped */
    json_t *answers;            /* the planner's proposals that have not been looked at yet, best first; NULL: none */
    bool approve;               /* a proposal waits until a person has decided on it (approval.h) */
    struct notify *notify;      /* told of such a proposal */
    bool idle;                  /* nothing could be proposed */
    const char *nothing;        /* why; NULL: something could */
    bool declined;              /* the planner's last answer was an empty list */
    uint64_t idle_at;           /* the last row when idle was set: nothing is proposed until there is another */
};

/* How many more trials may be proposed; 0 without --trials. */
size_t planning_left(const struct planning *planning);

/*
 * Whether another trial may be proposed: the trials that have run, and those that run in any worker, are fewer than
 * --trials.
 */
bool planning_has_room(const struct planning *planning, const struct other_workers *others);

/*
 * Reads the past for a proposer: the rows, and the running trials of this and other workers. whole: rows are not left out
 * (propose_past.h). Returns CLI_GO_ON or a status.
 */
int planning_read_past(struct propose_past *past, const struct planning *planning, bool whole);

/*
 * Waits until a person has decided on a proposal that may run, if the night asks. Returns CLI_GO_ON: it runs, with *edited (a new
 * reference) in its place if that is not NULL; CLI_NO with why: a person has refused it; CLI_OK: the hours are used up; or an exit
 * status.
 */
int planning_approve(const struct planning *planning, const json_t *proposal, json_t **edited, char why[NIGHT_WHY_MAX]);

/* What the next n proposals are expected to improve. *ready is false if too few trials ended. Returns CLI_GO_ON or a status. */
int planning_expect(struct gp_gain *gain, bool *ready, const struct planning *planning, size_t n);

/*
 * Adds a proposed trial to the list, which takes it over; x [ranges] is its setting, or NULL. Returns CLI_GO_ON with *i,
 * or an exit status.
 */
int planning_add(struct planning *planning, struct night_trial *trial, const double *x, const char *proposer, size_t *i);

/* Gives the cost that the planner has reported since the last trial to this one. */
void planning_give_cost(struct planning *planning, struct night_trial *trial);

void planning_release(struct planning *planning);
