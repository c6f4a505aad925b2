/* command_artifacts.h: the files that a command has to leave (--artifact). */
#pragma once

#include "run/command_trial.h"
#include "run/placeholders.h"

/*
 * Looks for the artifacts of a trial that has finished. If an artifact is missing, the trial failed. If an artifact is
 * too large, outcome->end is TRIAL_ARTIFACT_OVERRUN.
 */
void command_artifacts_judge(struct trial_outcome *outcome, const struct command_trial *trial,
                             const struct command_values *values);
