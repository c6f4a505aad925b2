/*
 * check_tried.h: whether a trial repeats an earlier one, before it is run or recorded: `--check-tried`, and the gate of
 * planners (plan/proposal_gate.h).
 *
 * A trial with parameters repeats the trials whose parameters are all equal. By its words, a trial repeats the trials
 * whose hypotheses already state all of its changes (lineage/ideas.h); if both trials have parameters, the parameters
 * decide alone. A hypothesis that claims a novelty which the log contradicts is an objection too. A trial that ended in
 * harness_abort says nothing about its setting and is never repeated.
 */
#pragma once

#include <lineage/ideas.h>

#include "cli.h"

/* At most this many earlier trials are named in an objection. */
enum { CLI_TRIED_SHOWN = 5 };

/*
 * Returns CLI_GO_ON if the trial repeats nothing. Returns CLI_NO after printing the earlier trials with their outcomes,
 * or the claim of novelty with the trials that contradict it. If the check itself fails, prints why and returns another
 * exit status. hypothesis may be NULL.
 */
int cli_check_tried(struct lineage_store *store, const char *hypothesis, const struct lineage_param *params, size_t n_params);

/* Likewise, with the objections added to the list `reasons` instead of printed: CLI_GO_ON also if there are some. */
int cli_tried_reasons(json_t *reasons, struct lineage_store *store, const char *hypothesis, const struct lineage_param *params,
                      size_t n_params);

/* Prints each reason and releases the list. Returns status, or CLI_NO instead of CLI_GO_ON if there is a reason. */
int cli_reasons_print(json_t *reasons, int status);

/* Adds to the list `reasons` a text that names an earlier trial with its outcome. how: "with the same parameters". */
void cli_tried_row(json_t *reasons, const struct lineage_trial *row, const char *how);

/*
 * Adds a text for each trial whose hypothesis already states all changes of this hypothesis, and for which `counts`
 * returns true (NULL: every trial). Returns CLI_GO_ON, or an exit status after printing why the search failed.
 */
typedef bool cli_tried_counts(void *context, const struct lineage_idea *idea);
int cli_tried_idea(json_t *reasons, struct lineage_ideas *ideas, const char *hypothesis, cli_tried_counts *counts, void *context);

/* Adds a text for each claim of novelty in the hypothesis that the log contradicts. Returns the same as cli_tried_idea. */
int cli_tried_claims(json_t *reasons, struct lineage_ideas *ideas, const char *hypothesis);

/* Returns the notes followed by the reason to repeat a trial: `NOTES; again: REASON` (free). Returns NULL when out of
 * memory. */
char *cli_notes_again(const char *notes, const char *reason);
