/* what_ran.h: a digest of the code and the program of a run, which runs of one setting share, whatever their seeds. */
#pragma once

#include <stdint.h>

#include "cli.h"
#include "run/command_trial.h"

/* Writes the piece `ran DIGEST` (lineage/notes.h) of a run, by the tree of its code and the first script that the command names, or by
 * the contents of this where no repository has them. "" if neither is known, if it has no seed, or if an earlier run of its setting that
 * names none, as one of `append` or of an earlier version, says all that it says (code: the piece of code_change_note). */
enum { WHAT_RAN_MAX = 32 };
void what_ran_note(char out[WHAT_RAN_MAX], const json_t *git, const struct command_trial *t, struct lineage_store *store,
                   const char *code);

/* The largest seed of the rows that have these parameters but for the seeds; 0: none. *rows: how many of them declare one. */
uint64_t what_ran_largest_seed(size_t *rows, struct lineage_store *store, const struct lineage_param *params, size_t n);

/* Writes that piece of the notes of a row, for another row of the same run; "": they have none. */
void what_ran_of(char out[WHAT_RAN_MAX], const char *notes);
