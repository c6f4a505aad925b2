/*
 * left_trial.h: a command's trial whose watcher was killed, and the files that go beside a row.
 *
 * RUNNING_TRIAL says what the row would have been: {"specialist", "domain", "hypothesis", "expected_delta", "parent",
 * "night", "score": TEXT, "params": {NAME: VALUE}, "name": TEXT, "train_seconds", "started": NUMBER}. It is there from
 * before the command starts until the work directory goes. The row carries the name of that directory as its job_name,
 * so that no trial gets two.
 */
#ifndef CLI_LEFT_TRIAL_H
#define CLI_LEFT_TRIAL_H

#include "cli.h"
#include "trial/trial_record.h"

/* Write it into the work directory. False after printing why. */
bool left_trial_write(const char *dir, const struct trial_plan *plan, const char *name);

/*
 * Put log and provenance of the trial in the work directory to their places in the store, under the row's id, and leave
 * there word of which row that is. For struct lineage_append_options.beside.
 */
void left_trial_put_beside(const struct lineage_store *store, const char *dir, const char *exp_id);

/*
 * Append rows, harness_abort, for those that were left in the store and have none, with what they measured; remove their
 * directories. CLI_GO_ON, or the exit status after printing why it could not be done.
 */
int left_trial_record_all(struct lineage_store *store);

/* The job_name of a trial by the path of its work directory; points into it. */
const char *left_trial_job(const char *dir);

#endif
