/*
 * abandoned_trial.h: rows of command trials whose watcher was killed.
 *
 * RUNNING_TRIAL in the work directory says what the row would have been: {"specialist", "domain", "hypothesis",
 * "expected_delta", "parent", "night", "score": TEXT, "params": {NAME: VALUE}, "name": TEXT, "train_seconds", "started":
 * NUMBER}. It is there from before the command starts until the work directory is removed. The row has the name of that
 * directory as its job_name, so that no trial gets two rows.
 */
#ifndef CLI_ABANDONED_TRIAL_H
#define CLI_ABANDONED_TRIAL_H

#include "cli.h"
#include "trial/trial_plan.h"

/* Writes RUNNING_TRIAL into the work directory. Returns false after printing the error. */
bool abandoned_trial_prepare(const char *dir, const struct trial_plan *plan);

/*
 * Appends a row (harness_abort) for each abandoned trial of the store that has none, with what it measured, and
 * removes its directory. Returns CLI_GO_ON, or an exit status after printing the error.
 */
int abandoned_trials_record(struct lineage_store *store);

#endif
