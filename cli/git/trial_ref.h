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

#include "cli.h"

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
