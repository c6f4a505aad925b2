/*
 * night_planner.h: a night whose trials a command proposes (`lineage night --planner`).
 *
 * schema/planner.schema.json. The command gets one JSON object and answers with lines of JSON, a proposal each, best
 * first; the lines that are not taken now are next. Where none passes the gate it is asked once more, with the reasons;
 * then the fallback proposer takes the turn. Every refusal is a line in telemetry/proposals.jsonl, and no row.
 */
#ifndef CLI_NIGHT_PLANNER_H
#define CLI_NIGHT_PLANNER_H

#include "night/night.h"

/* CLI_GO_ON with a trial added to the night's, CLI_NO if the planner has none worth it, or an exit status. */
int night_plan(struct night *night, size_t *i);

/* What the planner is told: a new reference, NULL after printing why. refused: of the asking before, or NULL. */
json_t *planner_request(const struct night *night, const json_t *refused);

#endif
