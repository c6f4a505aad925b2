/*
 * workdir.h: the directory in which a trial works, inside the store, gone when the trial is over.
 * It is locked while in use; one that nobody holds was left by a process that was killed.
 */
#ifndef CLI_WORKDIR_H
#define CLI_WORKDIR_H

#include <limits.h>
#include <stdbool.h>

enum { WORKDIR_NAME_MAX = 64 };

struct workdir {
    char path[PATH_MAX];
    int fd; /* holds the lock */
};

/*
 * Make one in dir, after removing those that were left there, but for a command's, of which there is still a row to be
 * made (cli/run/left_trial.h). False after printing why.
 */
bool workdir_make(struct workdir *workdir, const char *dir);

/* Path of a file in it, whose name is shorter than WORKDIR_NAME_MAX: workdir_make leaves room for it. out holds PATH_MAX
 * bytes; returns out. */
char *workdir_file(char *out, const struct workdir *workdir, const char *name);

void workdir_remove(struct workdir *workdir);

/* Remove a directory with all that it holds, by name in the open directory parent. Nothing to be removed is no error. */
void workdir_remove_tree(int parent, const char *name);

#endif
