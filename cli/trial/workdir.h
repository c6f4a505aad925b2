/*
 * workdir.h: the directory in which a trial works, inside the store, which is removed when the trial has ended. The
 * directory is locked while it is in use. A work directory that is not locked was left by a killed process.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

enum { WORKDIR_NAME_MAX = 64 };

struct workdir {
    char path[PATH_MAX];
    int fd; /* holds the lock */
};

/*
 * Creates a work directory in dir, after removing abandoned work directories, except those of commands whose row is
 * still to be appended (run/abandoned_trial.h). Returns false after printing the error.
 */
bool workdir_make(struct workdir *workdir, const char *dir);

/*
 * Writes the path of a file in the work directory to out [PATH_MAX], and returns out. The name must be shorter than
 * WORKDIR_NAME_MAX; workdir_make ensures that such a path fits.
 */
char *workdir_file(char *out, const struct workdir *workdir, const char *name);

void workdir_remove(struct workdir *workdir);

/*
 * Removes a directory with everything in it, by name in the open directory parent. A missing directory is not an error.
 */
void workdir_remove_tree(int parent, const char *name);
