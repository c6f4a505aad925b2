/* work_tree_diff.h: the commit and the uncommitted changes of the repository in which this process works. */
#ifndef CLI_WORK_TREE_DIFF_H
#define CLI_WORK_TREE_DIFF_H

#include <jansson.h>
#include <stdbool.h>

/* Limits: bytes of a diff, number of untracked files, and total bytes of the untracked files. */
enum { GIT_DIFF_MAX = 8 << 20, GIT_UNTRACKED_FILES = 200, GIT_UNTRACKED_MAX = 4 << 20 };

/*
 * Writes staged.diff, unstaged.diff and untracked/ into dir, except those that would be empty. Files of the store are
 * left out. Returns {"commit", "branch", "top": TEXT, "staged", "unstaged", "untracked": bytes or number of files,
 * "left_out": TEXT} as a new object. Returns NULL if there is no repository or no git.
 */
json_t *work_tree_diff_write(const char *dir, const char *store);

/*
 * Checks out the commit that `git` (the object returned above) names into the empty directory `to`, and applies the
 * changes recorded in the directory `provenance`. Returns false after printing the error.
 */
bool work_tree_diff_restore(const char *provenance, const json_t *git, const char *to);

#endif
