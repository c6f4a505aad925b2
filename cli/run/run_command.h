/* run_command.h: runs a command's trial and appends its row. */
#pragma once

#include "cli.h"
#include "run/command_trial.h"

/*
 * Runs the trial and appends its row; the caller releases *row. Returns CLI_GO_ON, or an exit status after printing why
 * there is no row. A command that cannot be started gets no row, because the caller has to correct the command.
 *
 * With trial->dry the store may be NULL: nothing is appended, and the exit status of the dry run is returned.
 *
 * A process can run only one trial at a time. To run several, fork first and open the store in each child.
 */
int command_trial_run(struct lineage_store *store, const struct command_trial *trial, struct trial_outcome *outcome,
                      struct lineage_trial *row);
