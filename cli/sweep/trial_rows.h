/* trial_rows.h: finds out which trials of a night have a row in the store. */
#ifndef CLI_TRIAL_ROWS_H
#define CLI_TRIAL_ROWS_H

#include "sweep/trial_list.h"

/*
 * Reads the rows that were appended since the last call, and records which trials they belong to. Rows labelled
 * harness_abort do not count. The first call reads all rows and learns the pace of the trials (forecast.h). Returns
 * CLI_GO_ON or an exit status.
 */
int trial_rows_read(struct trial_list *list);

/* Whether the store has no measured trial yet, in which case the next trial is the baseline. */
bool trial_rows_need_baseline(const struct trial_list *list);

#endif
