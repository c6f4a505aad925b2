/* trial_rows.h: finds out which trials of a night have a row in the store. */
#pragma once

#include "sweep/trial_list.h"

/*
 * Reads the rows that were appended since the last call, and records which trials they belong to. Rows labelled
 * harness_abort do not count. The first call reads all rows and learns the pace of the trials (forecast.h). Returns
 * CLI_GO_ON or an exit status.
 */
int trial_rows_read(struct trial_list *list);

/*
 * Voids the rows of failed trials of this sweep that are to run again: those with one of these labels (bits 1 << label),
 * and those of listed trials whose command or files have changed since (command_program.h). Call it before trial_rows_read, under the night's lock. Returns CLI_GO_ON or an exit status.
 */
int trial_rows_retry(const struct trial_list *list, unsigned labels);

/* Whether the store has no measured trial yet, in which case the next trial is the baseline. */
bool trial_rows_need_baseline(const struct trial_list *list);

/*
 * Whether the other trials must wait for the row of the baseline: it is still needed, and a trial starts from the best
 * or a drawn parent, the baseline's seeds give the noise, its warm start is shared, or a planner reads its score.
 */
bool trial_rows_wait_for_baseline(const struct trial_list *list, bool planner);
