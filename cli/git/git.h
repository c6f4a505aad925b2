/* git.h: repositories of the user, and the code of trials in them, a section for each file. */
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli.h"

/* ---- read_command.c: runs a short command and reads its output ---- */

/*
 * Runs argv (searched in PATH) with additional variables NAME=VALUE (NULL: none), and returns its standard output as a
 * string, which the caller frees. Its standard error is discarded. Returns NULL if the command cannot be run, fails,
 * takes longer than `seconds` or prints more than `max` bytes.
 */
char *read_command(const char *const *argv, const char *const *environment, double seconds, size_t max, size_t *length);

/* Writes the first line of an output to out and frees the output. Returns false if output is NULL, or if the line is empty or too
 * long for out. */
bool read_first_line(char *out, size_t size, char *output);

/* ---- repository.c: runs git on a repository of the user, which may be hostile ---- */

/*
 * A repository's configuration may name programs: filters, external diffs, monitors, hooks. So the only commands that
 * run in the user's repository either read names (rev-parse, config) or change one ref (update-ref, without hooks);
 * none of them starts such a program. Everything else runs in a scratch repository of our own: its HEAD is the user's
 * commit, objects/info/alternates points to the user's objects, the index is a copy, and the configuration is ours.
 * Filters that attributes in the work tree name are therefore not defined there. Submodules have configurations of
 * their own, so each is read by a scratch repository of its own.
 */

enum { REPOSITORY_COMMIT_MAX = 80, REPOSITORY_REF_MAX = 320 };

struct repository {
    char top[PATH_MAX]; /* of the work tree, or the directory of a repository without one */
    bool has_files; /* it has a work tree */
    char objects[PATH_MAX], index[PATH_MAX];
    char shallow[PATH_MAX]; /* file that lists the commits whose parents a shallow clone lacks; "": none */
    char excludes[2][PATH_MAX]; /* files with patterns of ignored files: info/exclude, core.excludesFile; "": none */
    char commit[REPOSITORY_COMMIT_MAX], tree[REPOSITORY_COMMIT_MAX], format[16], branch[256]; /* of HEAD */
    char scratch[PATH_MAX], git_dir[PATH_MAX + 16], work_tree[PATH_MAX + 16];
    bool shares_objects; /* set by the caller: objects that git makes go into the user's repository */
};

/*
 * Finds the repository around dir. Returns false without a repository, without git, and where git does not trust the owner. commit is
 * "" if HEAD has no commit.
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

/* Writes the full name of the commit that `name` stands for. Returns false if the repository has no such commit. */
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
 * Runs git in the scratch repository and returns its output, which the caller frees, or NULL (see read_command). more
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

/* ---- work_tree_diff.c: the commit and the uncommitted changes of the repository in which this process works ---- */

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

/* ---- commit_diff.c: the difference between the code of two trials, from their commits ---- */

/*
 * Returns a unified diff, which the caller frees; "" if the code is the same. from and to are the objects of two run.json
 * (work_tree_diff.c). Files of more than file_max bytes are only named, like binary ones. Returns NULL if there is no
 * repository that has both commits, or if the diff is longer than GIT_DIFF_MAX. Configuration is not read, and no program
 * that attributes name is run. The file of the night that ran a trial ("plan") is left out.
 */
char *commit_diff(const json_t *from, const json_t *to, size_t file_max, size_t *length);

/* Whether commit_diff leaves out the file of a night that differs. */
bool commit_plan_differs(const json_t *from, const json_t *to);

enum commit_lack {
    COMMIT_LACKS_NOTHING, /* or it is not known */
    COMMIT_LACKS_COMMITS,
    COMMIT_LACKS_CHANGES, /* only what the parent had not committed: changes, untracked files */
};

/* What the code of a trial that is about to run lacks of the code of its parent: both are objects of run.json, with the trial's HEAD in
 * "commit". */
enum commit_lack commit_lacks(const json_t *git, const json_t *parent);

/* ---- apply_diff.c: applies a diff that a planner proposed to the files of a directory ---- */

/*
 * Applies the diff by `git apply`, without any configuration and outside of any repository. Calls is_protected for
 * every old and new path; it returns true for a file that the diff must not change. Returns false, with the reason in
 * why [size], if git refuses the diff, or if the diff changes a protected file or creates a link or a special file.
 */
bool apply_diff(const char *diff, const char *dir, bool (*is_protected)(const void *context, const char *path),
                const void *context, char *why, size_t size);

/* ---- trial_ref.c: refs in the user's repository that keep the code of trials ---- */

/*
 * An agent commits, runs, and resets what was not better; without a ref, git's garbage collection would remove such a
 * commit, and the trial could not be repeated.
 *
 *     refs/lineage/ID            the trial ID; ID.2, ID.3 .. if other stores of this repository have a trial of that id
 *     refs/lineage-running/JOB   the trial that runs in the work directory .JOB, which has no id yet
 *
 * In the functions below, git is the object of run.json (work_tree_diff.c): "top", "commit", "code", "running" and "ref".
 * A user turns refs off with `git config lineage.refs false` in the repository, or for a trial with --no-refs.
 */

/* Whether the repository's owner allows refs. */
bool trial_ref_is_allowed(const json_t *git);

/* Two steps make the ref of a running trial: the first sets "running", the second creates that ref. The name must be in
 * run.json before the ref exists, because otherwise a kill in between would leave a ref that nobody removes. */
void trial_ref_name_running(json_t *git, const char *job);
bool trial_ref_create_running(const json_t *git);

/*
 * Gives the code of the trial its final ref, and removes the running one. Sets "ref" and removes "running". Calling it again
 * after a kill changes nothing. The repository lists the store, in its file lineage-stores, so that others know whose ref it is. Returns false if the repository cannot be written or the commit is gone.
 */
bool trial_ref_keep(json_t *git, const char *exp_id, const char *store);

/* Removes the ref "ref", if it still names this trial's code, and the running one. Returns whether "ref" was removed. */
bool trial_ref_remove(const json_t *git);

/*
 * Ids of trials whose rows are gone while a ref still has their code, for example in a clone that fetched the refs, are not given
 * again: passes the highest one (lineage_store_pass_id). Refs of other stores that are still there do not count. Call it before rows
 * are appended. Returns false, after a message, if one of the n trials has such an id.
 */
bool trial_ref_pass(struct lineage_store *store, const struct lineage_trial *trials, size_t n);

/* Visits the refs whose ids are not given again for that reason: no row of this store has the id, and no other store that is still
 * there has the trial. */
void trial_ref_without_row(struct lineage_store *store, void (*visit)(void *context, const char *id, const char *ref),
                           void *context);

/* Looks in the repository around the store, or around the current directory, for a ref of the trial whose commit begins with `begin`.
 * Returns the object of run.json as far as the ref tells it, or NULL. */
json_t *trial_ref_find(const char *exp_id, const char *begin, const char *store);

/* Whether the ref exists and names the trial's code. */
bool trial_ref_exists(const json_t *git);

/* Whether the ref exists and names another commit, as after a rewriting of the history that nothing tells of. */
bool trial_ref_is_other(const json_t *git);

/* ---- trial_place.c ---- */

/*
 * Where the repository of a trial is now. run.json has the paths of then: "top" of the work tree, "common", the directory
 * that all work trees of the repository share, and "store", the store that the trial was recorded in. Projects are renamed,
 * copied with their stores and cloned, and work trees are removed.
 */

/*
 * Looks for the repository and notes it in git, the object of run.json, as "place" (null: it is gone, or git does not answer for it, which
 * "mute" names then) and "others". store is the
 * directory of the store now. A store that was copied or moved together with its repository has it in the same place beside it.
 * Otherwise the repository around the store or around the current directory is taken if it has the commit.
 */
void trial_place_find(json_t *git, const char *store);

/* The directory that was found, or the recorded one before trial_place_find; NULL if the repository is gone or mute. */
const char *trial_place_of(const json_t *git);

/* The commit that has the code of the trial, with the changes of then if it could be made; "" for none. */
const char *trial_place_code(const json_t *git);

/* Whether only the original of a copied store may change refs in that repository. */
bool trial_place_is_others(const json_t *git);

enum { TRIAL_PLACE_LACK_MAX = 640 };

/* Says in out why trial_place_of has nothing, and returns out. */
const char *trial_place_lack(char out[TRIAL_PLACE_LACK_MAX], const json_t *git);

/* Removes the notes, so that they do not get into run.json. */
void trial_place_forget(json_t *git);

/* ---- agent_place.c ---- */

/*
 * Work trees of agents: linked work trees of git (git-worktree(1)) whose private directory holds lineage-agent.json,
 * {"agent": NAME, "gpu": TEXT}. `git worktree remove` and `prune` remove it with the work tree.
 */

enum { AGENT_NAME_MAX = 96, AGENT_GPU_MAX = 64 };

struct agent_place {
    char agent[AGENT_NAME_MAX];
    char gpu[AGENT_GPU_MAX]; /* what CUDA_VISIBLE_DEVICES is for its trials; "": not set */
    char path[PATH_MAX], branch[256], head[48]; /* of the work tree; only agent_places_each sets them */
};

/* Whether this process works in the work tree of an agent. */
bool agent_place_here(struct agent_place *place);

/* Visits the work trees of agents in the repository around dir. Returns false if dir is in no repository. */
bool agent_places_each(const char *dir, void (*visit)(void *context, const struct agent_place *place), void *context);

/* Makes a work tree at place->path for place->agent, on the new branch place->branch at the commit. Returns false after printing why. */
bool agent_place_make(const char *dir, const struct agent_place *place, const char *commit);

/* Writes the name that leases and rows give the agent that works here: `given`, or LINEAGE_AGENT, or that of the work tree, or "".
 * Returns false after printing that it is too long or has control characters. */
bool agent_name(char out[AGENT_NAME_MAX], const char *given);
