/* git_diff.h: commit and changes of the repository that this process works in. */
#ifndef CLI_GIT_DIFF_H
#define CLI_GIT_DIFF_H

#include <jansson.h>
#include <stdbool.h>

enum { GIT_DIFF_MAX = 8 << 20, GIT_UNTRACKED_FILES = 200, GIT_UNTRACKED_MAX = 4 << 20 };

/*
 * Write staged.diff, unstaged.diff and untracked/ into dir (those that are not empty). What lies in store, a directory,
 * is nobody's work and left out. {"commit", "branch", "top": TEXT,
 * "staged", "unstaged", "untracked": NUMBER of bytes or files, "left_out": TEXT} as a new object; NULL if there is no
 * repository or no git.
 */
json_t *git_diff_write(const char *dir, const char *store);

/*
 * The opposite: the files of the commit in git (the object above) with the changes that lie in provenance, in the empty
 * directory to. False after printing why not.
 */
bool git_diff_restore(const char *provenance, const json_t *git, const char *to);

#endif
