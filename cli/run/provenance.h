/*
 * provenance.h: records what a command was run from, in provenance/ID/ of each trial (schema/provenance.schema.json).
 *
 *     run.json         command, directory, commit, chosen environment, host, processors, GPUs, versions
 *     staged.diff      changes in the enclosing repository: the index against HEAD
 *     unstaged.diff    the files against the index
 *     untracked/       files that git neither tracks nor ignores, if they are few and small
 */
#ifndef CLI_PROVENANCE_H
#define CLI_PROVENANCE_H

#include "run/command_trial.h"

/*
 * Makes the directory RUNNING_PROVENANCE in the work directory and fills it. Files of the store are not recorded as
 * untracked. A directory outside of a repository, and a machine without git, are not errors. Returns false after printing
 * the error.
 */
bool provenance_write(const char *workdir, const char *store, const struct command_trial *trial);

/* Whether the name [length] of a variable suggests that its value is secret. */
bool provenance_is_secret(const char *name, size_t length);

#endif
