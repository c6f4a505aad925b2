/* ideas_out.h: a store's trials as a set of ideas, those at work included, and parts of it as JSON. */
#ifndef CLI_IDEAS_OUT_H
#define CLI_IDEAS_OUT_H

#include <lineage/ideas.h>

#include "cli.h"

/*
 * All trials of the store, and behind them those that are at work in its directory (a command's trials, whose
 * hypothesis is known before they end). CLI_OK, or the exit status after printing why not. Free with
 * lineage_ideas_release.
 */
int cli_ideas_load(struct lineage_ideas **ideas, struct lineage_store *store);

/* [{"name", "from", "to", "source"}], from null where the text does not say it. */
json_t *cli_changes_json(const struct lineage_change *changes, size_t n);

/* Ids of trials, as an array of texts. */
json_t *cli_idea_ids_json(const struct lineage_ideas *ideas, const size_t *trials, size_t n);

/* "036 harness_abort", "459 size_blocked 1.0712", "running": how a trial ended, in a few words; out holds size bytes. */
void cli_idea_outcome(char *out, size_t size, const struct lineage_idea *idea);

#endif
