/*
 * planner.h: adds trials that an external command proposes (`lineage night --planner`, schema/planner.schema.json).
 *
 * The command reads one JSON object and prints proposals, best first, as one JSON object per line. The first proposal
 * that passes the gate becomes the next trial; the others are kept for later turns. If no proposal passes, the planner
 * is asked once more and gets the reasons. Every refused proposal is recorded as a line in telemetry/proposals.jsonl
 * and has no row.
 */
#pragma once

#include "plan/planning.h"

/* Returns CLI_GO_ON with *i, the index of the trial that was added to the list; CLI_NO if no proposal passes the gate; or
 * an exit status. */
int planner_propose(struct planning *planning, size_t *i);
