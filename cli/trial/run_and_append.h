/* run_and_append.h: runs one trial of any command and appends its row. */
#pragma once

#include "cli.h"
#include "trial/trial_request.h"

/*
 * Runs the trial in a child and appends its row; the caller releases *row. Returns CLI_GO_ON, or an exit status after
 * printing why there is no row. If another worker has already appended a row for the same trial of the night, no row is
 * appended: a message says so, and outcome->late is set.
 */
int trial_run_and_append(struct lineage_store *store, const struct trial_request *request, struct trial_outcome *outcome,
                         struct lineage_trial *row);

/*
 * Runs the trial and keeps its artifact, but appends no row. Returns false if the trial failed or its artifact could
 * not be kept.
 */
bool trial_run_unrecorded(const struct trial_request *request, const char *dir, struct trial_outcome *outcome);
