/*
 * proposal_gate.h: decides whether a proposal becomes a trial: it must be well formed, within the ranges, not tried
 * before, and short enough for the time left.
 *
 *     {"params": {"lr": 3e-4}, "parent": "014", "hypothesis": "..", "expected_delta": "+0.1"}
 *
 * schema/planner.schema.json defines the form. A refusal names all reasons at once.
 */
#ifndef CLI_PROPOSAL_GATE_H
#define CLI_PROPOSAL_GATE_H

#include "plan/planning.h"

/*
 * Checks a proposal. Returns CLI_GO_ON with the trial, which the caller releases, and its setting x; CLI_NO with
 * *reasons, a new list of texts; or an exit status.
 */
int proposal_gate(struct night_trial *trial, double x[PROPOSE_RANGES_MAX], json_t **reasons,
                  const struct planning *planning, const json_t *proposal);

#endif
