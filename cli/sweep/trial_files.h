/*
 * trial_files.h: puts the files of a trial of a sweep of commands into its work directory: those that the sweep names
 * (`files`), and those that earlier diffs have added. Then applies the diff of a proposal to them.
 *
 * A file comes from the parent's snapshot if it is there, else from the parent's stored code, else from the directory of
 * the sweep. git applies the diff (`git apply`), without any configuration and outside of any repository.
 */
#pragma once

#include "sweep/night_sweep.h"

struct trial_files {
    const struct night_sweep *sweep;
    struct lineage_store *store;
    const struct trial_parent *parent;
    const json_t *spec; /* settings of the trial: `diff` and `protect` are read; NULL: those of the sweep */
};

/* Puts the files into dir. Returns false, with the reason in why, if a file is missing or the diff is refused. */
bool trial_files_put(const struct trial_files *files, const char *dir, char why[NIGHT_WHY_MAX]);

/* Like trial_files_put, but only as a test, in a temporary directory inside `place`. */
bool trial_files_try(const struct trial_files *files, const char *place, char why[NIGHT_WHY_MAX]);

/* Stores the code that trial_files_put has put into dir, and writes the piece of notes that names it; "" if the sweep
 * names no files. Returns false, with the reason in why. */
bool trial_files_keep(char note[LINEAGE_CODE_NOTE_MAX], const struct trial_files *files, const char *dir,
                      char why[NIGHT_WHY_MAX]);

/* Returns {NAME: TEXT} of the files before any diff is applied, as a new reference. */
json_t *trial_files_texts(const struct trial_files *files);
