/* imported_code.h: the code of trials that were recorded by a log of commits, such as that of karpathy/autoresearch. */
#pragma once

#include "cli.h"

/*
 * Gives each trial whose id names a commit of the repository around dir a provenance with that commit, and a ref that keeps it:
 * most of these commits were reset, so git would remove them. Returns the number of trials that have one; 0 outside of a
 * repository.
 */
size_t imported_code_keep(struct lineage_store *store, const char *dir);
