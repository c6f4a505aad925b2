/*
 * rerun.h: runs trials of a night again on fresh seeds: candidates until they are confirmed or refuted, and with a race
 * near misses as well. lineage/evidence.h has the rules; everything is derived from the rows, so that workers and later nights
 * continue where a night was killed.
 */
#ifndef CLI_RERUN_H
#define CLI_RERUN_H

#include "night/night.h"

/*
 * Chooses and claims the trial that runs again next. rest: nothing else is left to run, so a race may run any open trial.
 * Returns CLI_GO_ON with *i; CLI_OK if nothing is to run again; CLAIM_WAIT if another worker runs it now; or an exit status.
 */
int rerun_next(struct night *night, bool rest, size_t *i);

enum { RERUN_NOTES_MAX = 8192 };

/*
 * Decides the row of trial, which is about to be appended. The first run of a trial is never kept if the night confirms. A
 * run that confirms its trial gets the label keep, and the mean of the fresh runs as its score. The text that is added to
 * the notes is written to notes, which the row borrows.
 */
void rerun_settle(char notes[RERUN_NOTES_MAX], const struct night *night, const struct night_trial *trial,
                  struct lineage_trial *row, struct lineage_append_options *options);

/* Replaces the noise floor in the store's settings by that of all runs, unless the owner has set it. Returns CLI_GO_ON or an
 * exit status. */
int rerun_update_noise(struct lineage_store *store);

#endif
