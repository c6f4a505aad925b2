/*
 * rerun.h: runs trials of a night again on fresh seeds, where that is expected to improve its answer most (lineage/evidence.h).
 * Everything is derived from the rows, so that workers and later nights continue where a night was killed.
 */
#pragma once

#include "night/night.h"

/* How many runs the night has at most, first runs and others. SIZE_MAX: it has no end but --hours. */
size_t rerun_budget(const struct night *night);

/* How many runs may begin beyond the budget, in place of those that diverged or failed. */
size_t rerun_spare(const struct night *night);

/* How many of the budget may still begin. */
size_t rerun_runs_left(const struct night *night);

/* Whether a trial should run again before the next first run: a share of the runs of a night whose later trials start from what is
 * confirmed, which proposes without an end, or whose best
 * trial seems to have reached the target. Other nights compare their trials when all have run. */
bool rerun_is_due(const struct night *night);

/*
 * Chooses and claims the trial that runs again next. Returns CLI_GO_ON with *i; CLI_OK if nothing is to run again; CLAIM_WAIT if
 * another worker runs it now; or an exit status.
 */
int rerun_next(struct night *night, size_t *i);

enum { RERUN_NOTES_MAX = 8192 };

/*
 * Decides the row of trial, which is about to be appended. The first run of a trial is never kept if the night confirms. A
 * run that confirms its trial gets the label keep; its score is what it measured. The text that is added to
 * the notes is written to notes, which the row borrows.
 */
void rerun_settle(char notes[RERUN_NOTES_MAX], const struct night *night, const struct night_trial *trial,
                  struct lineage_trial *row, struct lineage_append_options *options);
