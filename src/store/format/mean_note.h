/* mean_note.h: the pieces of the notes that say how many runs a row's score is the mean of, which trial it repeats, and by how much it
 * fell short. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Reads "mean of N seeds, std S", which `run` writes (cli/run), from notes (NULL counts as ""). Without it, or with numbers that
 * make no sense, *seeds is 1 and *std 0. */
void mean_note_parse(size_t *seeds, double *std, const char *notes);

/* The id behind `rerun of `, without a prefix: of a trial that `lineage rerun` ran again. It ends at a semicolon. NULL: there is none. */
const char *rerun_note_find(const char *notes);

/* The length of "discarded: -0.1, needs less than -0.5", by which a verdict says why the trial is not kept, at the start of the text; 0:
 * it begins with something else. */
size_t shortfall_note_length(const char *text);

/* Whether such a piece is anywhere in the notes (NULL counts as ""). */
bool shortfall_is_noted(const char *notes);
