/*
 * trial_conditions.h: what a score depends on beside the code and the parameters: the conditions of a trial, by name.
 *
 *     gpu        the models that the trial sees, "2 x NVIDIA H100"; "none"
 *     processor  its model, and how many
 *     budget     the limits of time, processor time and memory that the trial has
 *     data       digest of the files of --data
 *     packages   digest of the versions of the Python packages that the command sees; only if --comparable names it
 *
 * Provenance records them. A row whose verdict is against a trial of other conditions says so in its notes. With --comparable, the named
 * ones are parameters of the row, so that means, comparisons and the block tell them apart, and a trial under others is refused.
 */
#pragma once

#include "run/command_trial.h"

enum { CONDITIONS_MAX = 5, CONDITIONS_TEXT_MAX = 600 };

/* Sets what run.json says of this machine: host, system, processor, memory, gpus. */
void conditions_machine(json_t *run);

/* The models of the GPUs that the drivers of NVIDIA and AMD describe in the files of these patterns: texts. */
json_t *conditions_gpus(const char *nvidia, const char *amd);

/* Whether the list, such as "gpu,budget", names conditions. If not, why says which ones there are. */
bool conditions_check(const char *list, char *why, size_t size);

/* The conditions under which the trial would run now: name -> text (a new reference). NULL after printing why data or packages cannot
 * be read. */
json_t *conditions_now(const struct command_trial *trial);

/* The conditions of a recorded trial; NULL if it has none in its provenance. */
json_t *conditions_of(const struct lineage_store *store, const char *exp_id);

/*
 * Writes which conditions differ: "gpu: none, not NVIDIA H100". only: a list of names; NULL: all. Conditions that one of both lacks do
 * not differ. Returns out, "" if none differs.
 */
const char *conditions_differ(char out[CONDITIONS_TEXT_MAX], const json_t *own, const json_t *other, const char *only);

/* Writes the i-th name of the list; NULL after the last. */
const char *conditions_name(const char *list, size_t i, char name[LINEAGE_NAME_MAX]);
