/* ideas_out.h: a store's trials as a set of ideas, including the running trials, and parts of it as JSON. */
#pragma once

#include <lineage/measured.h>
#include <lineage/replicas.h>
#include <lineage/settings.h>

#include "cli.h"

/*
 * Loads all trials of the store, followed by the trials of commands that are running in its directory, whose hypotheses
 * are known before they end. Returns CLI_OK, or an exit status after printing a message. Free with
 * lineage_ideas_release.
 */
int cli_ideas_load(struct lineage_ideas **ideas, struct lineage_store *store);
/* The index of the best trial in the set; SIZE_MAX if there is none. */
size_t cli_ideas_best(const struct lineage_ideas *ideas, struct lineage_store *store);

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

/* Returns the changes of a trial as [{"name", "from", "to", "source"}]; "from" is null if the text does not state it. */
json_t *cli_changes_json(const struct lineage_ideas *ideas, size_t trial);

/* Returns [{"name", "value", "source", "set_by"}]: the settings in force for a trial. */
json_t *cli_effective_json(const struct lineage_ideas *ideas, const struct lineage_effective *settings);

/* Returns the ids of the trials as an array of texts. */
json_t *cli_idea_ids_json(const struct lineage_ideas *ideas, const size_t *trials, size_t n);

/* Writes in a few words how a trial ended: "036 harness_abort", "459 size_blocked 1.0712", "running". out holds size
 * bytes. */
void cli_idea_outcome(char *out, size_t size, const struct cli_screen *screen, const struct lineage_idea *idea);

/* ---- ideas_out.c: settings in words (lineage/settings.h) beside the trials of an answer, with their sources ---- */

/* In all functions, settings is NULL if the question named only columns and parameters. */

/* {NAME: [{"value", "text", "source", "set_by"}]} of one trial; NULL without settings. "set_by" is another trial for an
 * inherited value, "" for the value with which the log begins. */
json_t *cli_settings_json(const struct lineage_settings *settings, uint64_t seq);

/* {NAME: {SOURCE: TRIALS}} of the settings that were found; NULL if there are none. */
json_t *cli_settings_sources_json(const struct lineage_settings *settings);

/* Adds "muon_wd_mlp=0.115 (stated)" for each value of one trial, after a blank if `blank`. An inherited value names the
 * trial that set it: "(stated by 014)". */
void cli_settings_add(FILE *out, const struct lineage_settings *settings, uint64_t seq, bool blank);

/* Prints a line for each name: "muon_wd_mlp: 1 trial declares it, 5 trials state it", or a similar name if the log does
 * not have it. `before` begins each line. */
void cli_settings_explain(FILE *out, const struct lineage_settings *settings, const char *before);

/* ---- ideas_out.c: prints what trials changed in their programs (lineage/measured.h) ---- */

/* [{"file", "added", "removed", "kind", "parts": [{"name", "added", "removed"}]}]; at most max_files files with max_parts parts
 * each, 0: all. */
json_t *cli_measured_lines_json(const struct lineage_measured *measured, size_t max_files, size_t max_parts);

/* One line per changed file, in the form of cli_show_trial: "code  train.py +12 -3: GPT.forward +8 -2, ...". */
void cli_measured_show(const struct lineage_measured *measured, const struct cli_screen *screen);

/* Changed settings, then files with their changed lines and functions, then a line with sums. */
void cli_measured_stat(const struct lineage_measured *measured);

/* ---- check_tried.c: what is known about a setting that no trial has as a whole: the trials that have most of it ---- */

/*
 * Returns at most `limit` trials that meet some of the conditions on parameters, as [{"exp_id", "has", "lacks", "outcome"}]
 * (json_decref); NULL when out of memory. Trials that meet more conditions come first, among equals failures, then newer
 * trials. harness_abort does not count. A failure's outcome is its reason.
 */
json_t *cli_nearest_tried(struct lineage_store *store, const struct lineage_condition *conditions, size_t n, size_t limit);

/* Returns the text as a literal of SQL, because the store's SQL has no bound parameters; free it. NULL: out of memory. */
char *cli_sql_quote(const char *text);

/* Returns the tried values of a parameter or a setting in words that are next to a number (one below, or equal, and one above),
 * or, with wanted NULL, the texts that were tried, eight at most. Values of harness_abort trials alone are left out. */
json_t *cli_nearest_values(struct lineage_store *store, const char *name, const double *wanted);

/* ---- check_tried.c ---- */

/* Whether a trial repeats an earlier one, before it is run or recorded: `--check-tried`, and the gate of
 * planners (plan/planning.h).
 *
 * A trial with parameters repeats the trials whose parameters are all equal; one that only the earlier trial names is compared
 * with that of the best trial, or of the baseline, which is always found. By its words, a trial repeats the trials
 * whose hypotheses already state all of its changes (lineage/ideas.h); if both trials have parameters, the parameters
 * decide alone. A hypothesis that claims a novelty which the log contradicts is an objection too. A trial that ended in
 * harness_abort says nothing about its setting and is never repeated. */

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
