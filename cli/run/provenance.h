/*
 * provenance.h: what a command was run from, kept for every trial in provenance/ID/ (schema/provenance.schema.json).
 *
 *     run.json         command, directory, commit, chosen environment, host, processors, GPUs, versions
 *     staged.diff      of the repository that the directory is in: the index against HEAD
 *     unstaged.diff    the files against the index
 *     untracked/       files that git does not track and does not ignore, while they are few and small
 *
 * git makes the diffs, over a directory of ours that borrows the repository's objects and its index: none of the
 * repository's configuration is read, and with it no filter, no hook, no external diff and no monitor that it names.
 */
#ifndef CLI_PROVENANCE_H
#define CLI_PROVENANCE_H

#include "run/command_trial.h"

/*
 * Make the directory below the work directory and fill it. store is left out of what git does not track. False after
 * printing why; a directory that is in no repository, or a machine without git, is no failure.
 */
bool provenance_write(const char *workdir, const char *store, const struct command_trial *trial);

/* Whether a variable's name of that length says that its value is nobody's business. */
bool provenance_is_secret(const char *name, size_t length);

#endif
