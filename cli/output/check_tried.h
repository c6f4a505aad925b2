/*
 * check_tried.h: whether a trial repeats an earlier one, before it is run or recorded (`--check-tried`).
 *
 * A trial with parameters repeats those whose parameters are all equal. A trial without any repeats those that, by their
 * words, already made the whole change (lineage/ideas.h). A claim of novelty in the hypothesis that the log contradicts is
 * answered too.
 */
#ifndef CLI_CHECK_TRIED_H
#define CLI_CHECK_TRIED_H

#include "cli.h"

/*
 * CLI_GO_ON if it repeats nothing. CLI_NO after printing the earlier trials with their outcomes, or the claim with the trials
 * that contradict it; another exit status after printing why it could not be found out. hypothesis may be NULL.
 */
int cli_check_tried(struct lineage_store *store, const char *hypothesis, const struct lineage_param *params, size_t n_params);

/* The notes with the reason to repeat a trial behind them: `NOTES; again: REASON` (free). NULL when out of memory. */
char *cli_notes_again(const char *notes, const char *reason);

#endif
