/*
 * replicate_trial.h: turns a trial that has a row into a trial of the night that runs it again, with a fresh seed.
 *
 * The settings are those of the listed or proposed trial whose key the row has. If this process has not seen that trial,
 * because another night or worker proposed it, they are taken from the row's parameters.
 */
#pragma once

#include "sweep/trial_list.h"

/* Whether trials of the sweep run again by default: `confirm` of the file, or else whether the seed is a setting that
 * the sweep does not vary itself. */
bool replicate_is_default(const struct night_sweep *sweep);

/*
 * Adds to the list the run of trial exp_id that comes after `again` earlier ones, or finds it there. Its key follows from
 * that of the trial and the number, so that workers and later nights choose the same one. Returns CLI_GO_ON with *i; CLI_NO,
 * with the reason in why, if the trial cannot run again here; or an exit status.
 */
int replicate_trial_add(struct trial_list *list, const char *exp_id, size_t again, size_t *i, char why[NIGHT_WHY_MAX]);
