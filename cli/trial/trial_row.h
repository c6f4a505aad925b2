/* trial_row.h: makes the row of a trial from its plan, its results and its outcome. */
#pragma once

#include "trial/trial_outcome.h"
#include "trial/trial_results.h"

/*
 * Fills *trial and *options (telemetry, auto_status), which borrow from the results, and sets outcome->reason. remark
 * is the last piece of the notes, or NULL. Returns false when out of memory.
 */
bool trial_row_make(struct trial_results *results, struct trial_outcome *outcome, const char *remark, struct lineage_trial *trial,
                    struct lineage_append_options *options);
