/*
 * proposal_gate.h: whether a proposal is worth a trial: its form, its ranges, whether it was tried before, whether
 * there is time left.
 *
 *     {"params": {"lr": 3e-4}, "parent": "014", "hypothesis": "..", "expected_delta": "+0.1"}
 *
 * The form is in schema/planner.schema.json. A refusal names all reasons at once.
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
