/*
 * planner_cost.h: what a planner's proposals cost. A planner may print an object {"cost": {..}} beside its proposals
 * (schema/planner.schema.json); `lineage agent` does. A trial has the cost of every turn since the last one, also if its planner
 * had no proposal in the end and the proposer took over.
 */
#pragma once

#include "plan/planning.h"

/* Takes the objects with a cost out of planning->answers, and adds them to planning->cost and planning->tokens_reported. */
void planner_cost_take(struct planning *planning);

/* The tokens that this sweep has left for its planner, 0 if they are used up; only with planning->tokens. */
uint64_t planner_cost_tokens_left(struct planning *planning);

/* Whether the tokens of the sweep are used up. Reports that once. */
bool planner_cost_is_too_high(struct planning *planning);
