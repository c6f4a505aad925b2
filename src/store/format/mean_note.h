/* mean_note.h: the piece of the notes that says how many runs a row's score is the mean of. */
#pragma once

#include <stddef.h>

/* Reads "mean of N seeds, std S", which `run` writes (cli/run), from notes (NULL counts as ""). Without it, or with numbers that
 * make no sense, *seeds is 1 and *std 0. */
void mean_note_parse(size_t *seeds, double *std, const char *notes);
