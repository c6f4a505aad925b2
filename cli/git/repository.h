/*
 * repository.h: runs git on a repository of the user, which may be hostile.
 *
 * A repository's configuration may name programs: filters, external diffs, monitors, hooks. So the only commands that
 * run in the user's repository either read names (rev-parse, config) or change one ref (update-ref, without hooks);
 * none of them starts such a program. Everything else runs in a scratch repository of our own: its HEAD is the user's
 * commit, objects/info/alternates points to the user's objects, the index is a copy, and the configuration is ours.
 * Filters that attributes in the work tree name are therefore not defined there. Submodules have configurations of
 * their own, so each is read by a scratch repository of its own.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { REPOSITORY_COMMIT_MAX = 80, REPOSITORY_REF_MAX = 320 };

struct repository {
    char top[PATH_MAX]; /* of the work tree, or the directory of a repository without one */
    bool has_files;     /* it has a work tree */
    char objects[PATH_MAX], index[PATH_MAX];
    char shallow[PATH_MAX]; /* file that lists the commits whose parents a shallow clone lacks; "": none */
    char excludes[2][PATH_MAX]; /* files with patterns of ignored files: info/exclude, core.excludesFile; "": none */
    char commit[REPOSITORY_COMMIT_MAX], tree[REPOSITORY_COMMIT_MAX], format[16], branch[256]; /* of HEAD */
    char scratch[PATH_MAX], git_dir[PATH_MAX + 16], work_tree[PATH_MAX + 16];
    bool shares_objects; /* set by the caller: objects that git makes go into the user's repository */
};

/*
 * Finds the repository around dir. Returns false if there is none, if git does not trust its owner, or if there is no git. commit is "" if HEAD has no commit.
 */
bool repository_find(struct repository *r, const char *dir);

/* Writes the nearest directory above dir, or dir itself, that has a file or directory of that name; returns false if none has. */
bool repository_above(char top[PATH_MAX], const char *dir, const char *mark);

/* Whether dir is in a repository, whose directory is written to top, for which git does not answer: another user owns it (often so in
 * a container), it is damaged, or git is not installed. */
bool repository_is_mute(char top[PATH_MAX], const char *dir);

/* Whether dir is in the files of git itself: in .git, or in a repository without a work tree. */
bool repository_has_no_files(const char *dir);

/* Writes the first line that git prints in dir. The command must not start a program that a configuration names. Returns false if git
 * fails, prints nothing, or if the line does not fit. */
bool repository_ask(char *out, size_t size, const char *dir, const char *const *words);

/* Writes the directory that all work trees of the repository around dir share, as an absolute path. */
bool repository_common(char out[PATH_MAX], const char *dir);

/* Writes the full name of the commit that `name` stands for; returns false if there is no such commit. */
bool repository_commit(char commit[REPOSITORY_COMMIT_MAX], const struct repository *r, const char *name);

/* Reads a boolean of the repository's configuration; `otherwise` if it is not set. Any other text counts as false, and is
 * reported. */
bool repository_flag(const struct repository *r, const char *key, bool otherwise);

/* Makes the scratch repository inside dir, with HEAD at r->commit and a copy of the index. Remove it after a failure,
 * too. */
bool repository_scratch_make(struct repository *r, const char *dir);
bool repository_scratch_head(const struct repository *r); /* sets HEAD of the scratch repository to r->commit */
void repository_scratch_remove(struct repository *r);

/*
 * Runs git in the scratch repository and returns its output, which the caller frees, or NULL (see read_command.h). more
 * lists additional environment variables, NAME=VALUE; NULL: none.
 */
char *repository_git(const struct repository *r, const char *const *more, const char *const *words, size_t max, size_t *length);

/* Like repository_git, when only success matters. */
bool repository_run(const struct repository *r, const char *const *words);

/* Returns the names of the refs that begin with prefix, one a line and the highest first, for the repository around dir; the caller
 * frees them. NULL: there is none, or no repository. */
char *repository_refs(const char *dir, const char *prefix);

/*
 * Sets the ref to the commit if its value is `before` (""; it must not exist). commit NULL removes the ref. Returns false
 * if the ref has another value, or if the repository cannot be written.
 */
bool repository_ref_set(const struct repository *r, const char *ref, const char *commit, const char *before);
