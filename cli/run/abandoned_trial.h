/*
 * abandoned_trial.h: appends rows of trials whose watcher was killed.
 *
 * The file RUNNING_TRIAL in the work directory holds what the row would have contained: {"specialist", "domain",
 * "hypothesis", "expected_delta", "parent", "night", "score": TEXT, "params": {NAME: VALUE}, "name": TEXT,
 * "train_seconds", "started": NUMBER}. The file exists from before the command starts until the work directory is
 * removed. The row has the name of the work directory as its job_name, so that no trial gets two rows. Trials of the Python
 * package have the same file, with "recorder": "python" and perhaps a "job_name" of their own.
 */
#pragma once

#include "cli.h"
#include "trial/trial_plan.h"

/* Writes RUNNING_TRIAL into the work directory. Returns false after printing the error. */
bool abandoned_trial_prepare(const char *dir, const struct trial_plan *plan);

/*
 * Appends a row (harness_abort), with what was measured, for each abandoned trial of the store that has no row, and
 * removes the trial's directory. Returns CLI_GO_ON, or an exit status after printing the error.
 */
int abandoned_trials_record(struct lineage_store *store);
