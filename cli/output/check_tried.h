/*
 * check_tried.h: whether a trial repeats an earlier one, before it is run or recorded (`--check-tried`).
 *
 * A trial with parameters repeats the trials whose parameters are all equal. A trial without parameters repeats the
 * trials whose hypotheses already state all of its changes (lineage/ideas.h). The check also fails if the hypothesis
 * claims a novelty that the log contradicts.
 */
#ifndef CLI_CHECK_TRIED_H
#define CLI_CHECK_TRIED_H

#include "cli.h"

/*
 * Returns CLI_GO_ON if the trial repeats nothing. Returns CLI_NO after printing the earlier trials with their outcomes,
 * or the claim of novelty with the trials that contradict it. If the check itself fails, prints why and returns another
 * exit status. hypothesis may be NULL.
 */
int cli_check_tried(struct lineage_store *store, const char *hypothesis, const struct lineage_param *params, size_t n_params);

/* Returns the notes followed by the reason to repeat a trial: `NOTES; again: REASON` (free). Returns NULL when out of
 * memory. */
char *cli_notes_again(const char *notes, const char *reason);

#endif
