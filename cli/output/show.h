/* show.h: prints one trial in full, for `best`, `show` and `append`. */
#pragma once

#include <lineage/compare.h>
#include <lineage/evidence.h>

#include "cli.h"

/*
 * Prints a trial: one line per filled column, a TSV row with a header, or a JSON object. If screen is a terminal, long
 * values are wrapped; NULL means not a terminal. With config, line and object have the margin of the score, if the noise is
 * known. Returns an exit status.
 */
int cli_show_trial(const struct lineage_trial *trial, const struct lineage_config *config, enum cli_format format,
                   struct cli_screen *screen);

/* Says what the verdict of a kept trial is worth while the noise is unknown (lineage_claim_text): as a line of the trial, as the key
 * "claim" of its object, or as a message to a person at a terminal. Nothing if there is nothing to say. */
void cli_show_claim(const struct cli_screen *screen, const struct lineage_store *store, const struct lineage_trial *trial);
void cli_json_set_claim(json_t *object, const struct lineage_store *store, const struct lineage_trial *trial);
void cli_say_claim(const struct lineage_store *store, const struct lineage_trial *trial);

/* Prints one more line in the same form; name and text must be escaped already. */
void cli_show_line(FILE *out, const struct cli_screen *screen, const char *name, const char *text, enum cli_style style);

/* ---- evidence_out.c: what the runs of each trial say (lineage/evidence.h), as a list ---- */

/*
 * Prints a line for each trial, the best one first and then by their gain: runs, mean, gain over the best with its 95 %
 * interval, odds, state, and whether another run would help. Returns an exit status.
 */
int cli_evidence_print(const struct lineage_evidence *evidence, struct cli_session *session);

/* Prints a line for each of the first `most` settings in the order of lineage_evidence_order, those without a score last, and says on
 * standard error how many more there are. Returns an exit status. */
int cli_ranked_print(const struct lineage_evidence *evidence, struct cli_session *session, size_t most);

/* The first `most` of them as an array of objects with the same members. */
json_t *cli_ranked_json(const struct lineage_evidence *evidence, struct lineage_store *store, size_t most);

/* The first `most` settings without a score, with the number of failed runs and how the newest ended; NULL if there are none. */
json_t *cli_failed_settings_json(const struct lineage_evidence *evidence, struct lineage_store *store, size_t most);

enum { CLI_EVIDENCE_TEXT_MAX = 256, CLI_ANSWER_TEXT_MAX = 768 };

/* Writes the same about trial i as a sentence; "" if it has nothing to be compared with. Returns out. */
const char *cli_evidence_text(char out[CLI_EVIDENCE_TEXT_MAX], const struct lineage_evidence *evidence, size_t i);

/* Writes that the trial is not named because more of its runs diverged than did not, and what finds out. Returns out. */
const char *cli_held_back_text(char out[CLI_EVIDENCE_TEXT_MAX], const struct lineage_evidence *evidence, size_t i);

/* Writes how sure the answer of the store is: "0.412 ± 0.011 (5 runs), better than the next, lr=0.2, with probability 0.93, and than
 * all others with 0.90"; "" if no trial ran more than once. Returns out. */
const char *cli_answer_text(char out[CLI_ANSWER_TEXT_MAX], const struct lineage_evidence *evidence, struct lineage_store *store);

/* The same as an object: mean, margin, runs, left_out, failed, expected, next, probability (better than all others),
 * over_next, kept, and held_back with the exp_id, mean, runs and left_out of lineage_evidence_held_back; NULL if no trial ran more than once. */
json_t *cli_answer_json(const struct lineage_evidence *evidence);

/* ---- comparison.c: prints a comparison of variants as a table, TSV or JSON (schema/compare.schema.json) ---- */

/* What the comparison says about variant i, which is not the baseline: better, worse, unclear, or n/a without a test. */
const char *cli_comparison_verdict(const struct lineage_comparison *comparison, size_t i, enum lineage_direction direction);

/* How many trials of a variant the mean and the difference leave out. */
size_t cli_comparison_left_out(const struct lineage_variant *variant);

/* lineage_noise_margin of a variant's mean by the noise in the settings. */
double cli_comparison_margin(const struct lineage_variant *variant, const struct lineage_config *config);

/* over names the parameters that pair the trials; the direction of config says which differences are improvements. Returns an exit
 * status. */
int cli_comparison_print(const struct lineage_comparison *comparison, const char *over, const struct lineage_config *config,
                         enum cli_format format);

/* ---- prints the faults of a store, for `verify` and `rebuild`, and of an imported file ---- */

/* A lineage_finding_fn for a file that is imported, whose name is the context: prints FILE:LINE: ID: TEXT on stderr. */
void finding_print_import(void *file, const struct lineage_finding *finding);

/* Prints one line on stdout. */
void finding_print(const struct lineage_finding *finding);

/* Prints the digest of the last record, to be noted elsewhere. Prints nothing if the digest is not meaningful. */
void finding_print_digest(const struct lineage_digests *digests);

/* ---- draws values as a row of blocks, for a terminal ---- */

/* Prints values as a row of at most `columns` blocks. If there are more values, they are sampled evenly, with the first
 * and the last. Needs n > 0, columns > 0 and finite values. */
void sparkline_print(FILE *out, const double *values, size_t n, size_t columns);

/* ---- held_out_file.c ---- */

/* Held-out.jsonl of a store: the scores that no planner sees (`run --held-out`), one JSON object a line: exp_id, name,
 * value, runs. Only its owner may read it. Nothing reads it but `lineage report --held-out`. */

/* Adds the value of a trial, a mean over that many runs. Returns false after printing why it is not kept. */
bool held_out_file_add(const struct lineage_store *store, const char *exp_id, const char *name, double value, size_t runs);

/* Calls visit for each value, oldest first; lines that cannot be read are counted in *unread. Returns false after printing why the file
 * cannot be read; a store without one has no values. */
bool held_out_file_read(const struct lineage_store *store,
                        void (*visit)(void *context, const char *exp_id, const char *name, double value), void *context,
                        size_t *unread);

/* ---- tree_diff.c: prints the difference between two directories as a unified diff ---- */

/*
 * Compares the trees at two directory descriptors, which stay open, and prints to out. Text is shown line by line;
 * binary files, and files larger than max_bytes, are only named; a symbolic link is compared by its target and never
 * followed. Once enough bytes are printed no further file is compared; 0 means all are. Nothing in either tree affects
 * the format, and git's configuration is not read. Returns an exit status.
 */
int tree_diff(FILE *out, int from, int to, size_t max_bytes, size_t enough);

/* Prints a diff that was made elsewhere in the same way: unchanged, or on a terminal without control characters. */
void tree_diff_print(const char *text, size_t length);

/* The trial that `run` compared the code of this one with before it started: the best one then, if the row names no parent. Returns false
 * if there is none. */
bool cli_compared_with(char id[LINEAGE_NAME_MAX], const struct lineage_store *store, const char *exp_id);
