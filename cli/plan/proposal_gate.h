/*
 * proposal_gate.h: decides whether a proposal becomes a trial: it must be well formed, within the ranges, not tried
 * before, and short enough for the time left.
 *
 *     {"params": {"lr": 3e-4}, "parent": "014", "hypothesis": "..", "expected_delta": "+0.1", "again": ".."}
 *
 * schema/planner.schema.json defines the form. A refusal names all reasons at once. Whether a proposal repeats a trial is
 * decided as by --check-tried (output/check_tried.h), for running trials too; its parameters are compared within the
 * ranges of the sweep. A repetition passes if "again" says why; the row keeps the reason in its notes.
 */
#pragma once

#include "plan/planner_ideas.h"

/* Longest reason to repeat a trial, in bytes. */
enum { PROPOSAL_AGAIN_MAX = 1000 };

/*
 * Checks a proposal. Returns CLI_GO_ON with the trial, which the caller releases, and its setting x; CLI_NO with
 * *reasons, a new list of texts; or an exit status.
 */
int proposal_gate(struct night_trial *trial, double x[PROPOSE_RANGES_MAX], json_t **reasons, struct planner_ideas *ideas,
                  const json_t *proposal);
