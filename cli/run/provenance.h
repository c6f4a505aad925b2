/*
 * provenance.h: records what a command was run from, in provenance/ID/ of each trial (schema/provenance.schema.json).
 *
 *     run.json         command, directory, commit, chosen environment, host, processors, GPUs, versions
 *     staged.diff      changes in the enclosing repository: the index against HEAD
 *     unstaged.diff    the files against the index
 *     parent.diff      the code of the parent, or of the best trial at the time, against this trial's
 *     untracked/       files that git neither tracks nor ignores, if they are few and small
 */
#pragma once

#include "run/command_trial.h"

#define PROVENANCE_POOL ".files" /* in provenance/ of the store: untracked files, by their contents (git/work_tree_diff.c) */

/*
 * Makes the directory RUNNING_PROVENANCE in the work directory and fills it. Files of stores are not recorded as
 * untracked. The ref that keeps the code is named, but not made yet (code_ref.h). A directory outside of a repository, and a machine without
 * git, are not errors. *git is what was recorded of the repository (release it with json_decref), or NULL. sandbox is that of
 * the commands; its layers are recorded if the trial asked for one. conditions: see conditions_now. Returns false after printing the error.
 */
bool provenance_write(json_t **git, const char *workdir, struct lineage_store *store, const struct command_trial *trial,
                      const struct sandbox *sandbox, json_t *conditions);

/* Whether the name [length] of a variable suggests that its value is secret. */
bool provenance_is_secret(const char *name, size_t length);
