/* next_proposal.h: adds the next proposed trial to a night. */
#pragma once

#include "plan/planning.h"

/*
 * Asks the planner, or the proposer if there is no planner or the planner has no valid proposal, and adds the trial to
 * the list. Returns CLI_GO_ON with its index *i; CLI_OK if nothing is left to propose; or an exit status.
 */
int next_proposal(struct planning *planning, size_t *i);
