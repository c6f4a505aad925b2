/*
 * night_gate.h: whether a proposal is worth a trial: its form, its bounds, whether it was tried, whether there is time.
 *
 *     {"params": {"lr": 3e-4}, "parent": "014", "hypothesis": "..", "expected_delta": "+0.1"}
 *
 * schema/planner.schema.json has the form. What is refused comes back with reasons, all at once.
 */
#ifndef CLI_NIGHT_GATE_H
#define CLI_NIGHT_GATE_H

#include "night/night.h"

/*
 * Judge a proposal. CLI_GO_ON with a trial (the caller's) and its place in the ranges; CLI_NO with *reasons, a new list
 * of texts; or an exit status.
 */
int night_gate(struct night_trial *trial, double x[PROPOSE_RANGES_MAX], json_t **reasons, const struct night *night,
               const json_t *proposal);

#endif
