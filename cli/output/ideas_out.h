/* ideas_out.h: a store's trials as a set of ideas, including the running trials, and parts of it as JSON. */
#pragma once

#include <lineage/ideas.h>
#include <lineage/replicas.h>

#include "cli.h"

/*
 * Loads all trials of the store, followed by the trials of commands that are running in its directory, whose hypotheses
 * are known before they end. Returns CLI_OK, or an exit status after printing a message. Free with
 * lineage_ideas_release.
 */
int cli_ideas_load(struct lineage_ideas **ideas, struct lineage_store *store);

/* Likewise, with the trials of the store that say most about the trial exp_id (lineage_ideas_add_near). */
int cli_ideas_near(struct lineage_ideas **ideas, struct lineage_store *store, const char *exp_id);

/* Likewise, with the trials that are to be compared with a text, or with the trial whose id the text is; without printing. */
enum lineage_status cli_ideas_alike(struct lineage_ideas **ideas, struct lineage_store *store, const char *what,
                                    struct lineage_error *err);

/* Loads the set as above, without printing. Calls `more`, if it is not NULL, before the set is settled, to add trials
 * that run elsewhere. */
typedef enum lineage_status cli_ideas_more(void *context, struct lineage_ideas *ideas, struct lineage_error *err);
enum lineage_status cli_ideas_read(struct lineage_ideas **ideas, struct lineage_store *store, cli_ideas_more *more, void *context,
                                   struct lineage_error *err);

/* Loads what all trials changed, without their texts (lineage_ideas_leave_out_texts) and without printing. */
enum lineage_status cli_ideas_read_changes(struct lineage_ideas **ideas, struct lineage_store *store, struct lineage_error *err);

/* Returns the changes of a trial as [{"name", "from", "to", "source"}]; "from" is null if the text does not state it. */
json_t *cli_changes_json(const struct lineage_ideas *ideas, size_t trial);

/* Returns [{"name", "value", "source", "set_by"}]: the settings in force for a trial. */
json_t *cli_effective_json(const struct lineage_ideas *ideas, const struct lineage_effective *settings);

/* Returns the ids of the trials as an array of texts. */
json_t *cli_idea_ids_json(const struct lineage_ideas *ideas, const size_t *trials, size_t n);

/* Writes in a few words how a trial ended: "036 harness_abort", "459 size_blocked 1.0712", "running". out holds size
 * bytes. */
void cli_idea_outcome(char *out, size_t size, const struct lineage_idea *idea);
