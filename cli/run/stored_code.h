/* stored_code.h: the stored code of a trial as a directory of files. */
#pragma once

#include <limits.h>

#include <lineage/code.h>

/* Whether the row names stored code. */
bool stored_code_is_named(const struct lineage_trial *trial);

/*
 * Writes the files of the trial into a new temporary directory, which the caller removes with workdir_remove_tree.
 * Returns CLI_GO_ON, or an exit status after printing the error; dir is then "".
 */
int stored_code_directory(char dir[PATH_MAX], struct lineage_store *store, const struct lineage_trial *trial);
