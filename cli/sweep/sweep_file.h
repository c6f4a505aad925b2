/* sweep_file.h: reads a sweep file, and turns proposals into trials. */
#pragma once

#include "sweep/night_sweep.h"

/*
 * Reads the file; sweep->trainer is set before. Returns CLI_GO_ON; CLI_NO if the file lists recipes and there is no trainer; or an exit status. Call night_sweep_release in any case.
 */
int night_sweep_read(struct night_sweep *sweep, const char *file);

/*
 * Makes the trial of a proposal, {"params": {NAME: VALUE}, "parent", "hypothesis", "expected_delta"}, in which every
 * key except params is optional. Returns false, with the reason in why, if the sweep does not allow this trial. The
 * caller calls night_trial_release.
 */
bool night_sweep_make(struct night_trial *trial, const struct night_sweep *sweep, const json_t *proposal,
                      char why[NIGHT_WHY_MAX]);

/* Writes the value that a trial has in each range if its proposal does not set it; fallback [space.n]. */
void night_sweep_defaults(struct lineage_number *fallback, const struct night_sweep *sweep);
