/*
 * planner.h: trials that a command proposes (`lineage night --planner`, schema/planner.schema.json).
 *
 * The command gets one JSON object and prints proposals, one JSON object a line, best first. The first proposal that
 * passes the gate becomes the next trial; the others are kept for the turns after it. If none passes, the planner is
 * asked once more, with the reasons. Every refused proposal is a line in telemetry/proposals.jsonl, and has no row.
 */
#ifndef CLI_PLANNER_H
#define CLI_PLANNER_H

#include "plan/planning.h"

/* Returns CLI_GO_ON with *i, the index of the trial that was added to the list; CLI_NO if no proposal passes the gate; or
 * an exit status. */
int planner_propose(struct planning *planning, size_t *i);

#endif
