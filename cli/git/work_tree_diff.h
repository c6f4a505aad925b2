/* work_tree_diff.h: the commit and the uncommitted changes of the repository in which this process works. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* Limits: bytes of a diff, number of untracked files, total bytes of the untracked files, and of their names. */
enum { GIT_DIFF_MAX = 8 << 20, GIT_UNTRACKED_FILES = 200, GIT_UNTRACKED_MAX = 4 << 20, GIT_NAMES_MAX = 16 << 20 };

/*
 * Writes staged.diff, unstaged.diff and untracked/ into dir, except those that would be empty. Files of the store and of
 * other stores, and files that git ignores, are left out. Untracked files are shared with equal ones of other trials by the
 * directory `pool` (work_tree_diff.c), which is made if needed. Returns {"commit", "branch", "top", "code": TEXT, "staged",
 * "unstaged", "untracked": bytes or number of files, "outputs": NAMES, "left_out": TEXT, "secret_files": NAMES} as a new object.
 * Files that look like secrets (support/secrets.h, and the patterns in `secrets`, which may be NULL) are neither copied nor
 * compared; secret_files lists them. What is copied gets no rights for other users. "code" is a commit of the
 * repository with all of these changes in it; it is missing if a change was left out or if the repository cannot be
 * written; "tree" is its tree. Before the first commit of a repository, "commit" is an empty one that is made for it. A commit of a repository
 * with submodules has their files in it, and "submodules" is their number. work is the directory in whose repository the trial runs.
 * "outputs" are those of the copied files that look like what programs leave (logs, curves, weights); they are not in "code". Returns
 * NULL outside of a repository and without git.
 */
json_t *work_tree_diff_write(const char *dir, const char *work, const char *store, const char *pool, const char *const *secrets);

/* Keeps the files of a store whose directory has other files too (the top of a repository) out of commits and resets: adds their names
 * to info/exclude, unless git ignores them already. Returns false if that file cannot be written. */
bool work_tree_exclude_store(const char *dir);

/* The path relative to the directory top, such as that of a repository: "" if it is top itself, NULL if it is elsewhere. */
const char *work_tree_below(const char *top, const char *path);

/*
 * Checks out the code that `git` (the object returned above) names into the empty directory `to`: the commit "code" or, if
 * it is gone, "commit" with the changes recorded in the directory `provenance`. Returns false after printing the error.
 */
bool work_tree_diff_restore(const char *provenance, const json_t *git, const char *to);
