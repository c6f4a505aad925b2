/*
 * trial_ref.h: refs in the user's repository that keep the code of trials. An agent commits, runs, and resets what was not
 * better; without a ref, git's garbage collection would remove such a commit, and the trial could not be repeated.
 *
 *     refs/lineage/ID            the trial ID; ID.2, ID.3 .. if other stores of this repository have a trial of that id
 *     refs/lineage-running/JOB   the trial that runs in the work directory .JOB, which has no id yet
 *
 * In the functions below, git is the object of run.json (work_tree_diff.h): "top", "commit", "code", "running" and "ref".
 * A user turns refs off with `git config lineage.refs false` in the repository, or for a trial with --no-refs.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* Whether the repository's owner allows refs. */
bool trial_ref_is_allowed(const json_t *git);

/* Two steps make the ref of a running trial: the first sets "running", the second creates that ref. The name must be in
 * run.json before the ref exists, because otherwise a kill in between would leave a ref that nobody removes. */
void trial_ref_name_running(json_t *git, const char *job);
bool trial_ref_create_running(const json_t *git);

/*
 * Gives the code of the trial its final ref, and removes the running one. Sets "ref" and removes "running". Calling it again
 * after a kill changes nothing. Returns false if the repository cannot be written or the commit is gone.
 */
bool trial_ref_keep(json_t *git, const char *exp_id);

/* Removes the ref "ref", if it still names this trial's code, and the running one. Returns whether "ref" was removed. */
bool trial_ref_remove(const json_t *git);

/* Looks in the repository around the store, or around the current directory, for a ref of the trial whose commit begins with `begin`.
 * Returns the object of run.json as far as the ref tells it, or NULL. */
json_t *trial_ref_find(const char *exp_id, const char *begin, const char *store);

/* Whether the ref exists and names the trial's code. */
bool trial_ref_exists(const json_t *git);
