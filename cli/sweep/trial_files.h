/*
 * trial_files.h: copies the files that a sweep of commands names (`files`) into the work directory of a trial, and
 * applies the diff of a proposal to them.
 *
 * A file comes from the parent's snapshot if it is there, else from the directory of the sweep. git applies the diff
 * (`git apply`), without any configuration and outside of any repository.
 */
#ifndef CLI_TRIAL_FILES_H
#define CLI_TRIAL_FILES_H

#include "sweep/night_sweep.h"

enum { TRIAL_DIFF_MAX = 256 << 10 };

struct trial_files {
    const struct night_sweep *sweep;
    const char *parent_snapshot; /* NULL: none */
    const json_t *spec;          /* settings of the trial: `diff` and `protect` are read */
};

/* Puts the files into dir. Returns false, with the reason in why, if a file is missing or the diff is refused. */
bool trial_files_put(const struct trial_files *files, const char *dir, char why[NIGHT_WHY_MAX]);

/* Like trial_files_put, but only as a test, in a temporary directory inside `parent`. */
bool trial_files_try(const struct trial_files *files, const char *parent, char why[NIGHT_WHY_MAX]);

/* Returns {NAME: TEXT} of the files before any diff is applied, as a new reference. */
json_t *trial_files_texts(const struct night_sweep *sweep, const char *parent_snapshot);

#endif
