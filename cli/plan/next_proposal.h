/* next_proposal.h: the next trial of a night that plans itself. */
#ifndef CLI_NEXT_PROPOSAL_H
#define CLI_NEXT_PROPOSAL_H

#include "plan/planning.h"

/*
 * Asks the planner, or the proposer without a planner and for a planner that has nothing, and adds the trial to the
 * list. Returns CLI_GO_ON with its index *i; CLI_OK if nothing is left to propose; or an exit status.
 */
int next_proposal(struct planning *planning, size_t *i);

#endif
