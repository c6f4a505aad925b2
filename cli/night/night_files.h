/*
 * night_files.h: the files of a sweep of commands (`files`) in the work directory of a trial, and what a planner's diff
 * makes of them.
 *
 * They come from the parent's snapshot where that has them, else from beside the sweep. The diff is applied by git
 * (`git apply`), with no configuration and outside of any repository.
 */
#ifndef CLI_NIGHT_FILES_H
#define CLI_NIGHT_FILES_H

#include "night/night_sweep.h"

enum { NIGHT_DIFF_MAX = 256 << 10 };

struct night_files {
    const struct night_sweep *sweep;
    const char *parent_snapshot; /* NULL: none */
    const json_t *spec;          /* of the trial: its diff, and which files are protected */
};

/* Put them into the directory. False with why: a file that is not there, a diff that does not apply or may not. */
bool night_files_put(const struct night_files *files, const char *dir, char why[NIGHT_WHY_MAX]);

/* The same in a directory inside `room` that is removed again. */
bool night_files_try(const struct night_files *files, const char *room, char why[NIGHT_WHY_MAX]);

/* Name to text of the files as they would be without a diff: a new reference. */
json_t *night_files_texts(const struct night_sweep *sweep, const char *parent_snapshot);

#endif
