/*
 * protected_names.h: the files that a sweep of commands protects (`protect`).
 *
 * A name means a file where the commands work, a file that the sweep puts into each work directory (`files`), or both.
 */
#pragma once

#include "sweep/night_sweep.h"

/*
 * Adds to each `protect` of the sweep the names that its files have in a work directory: the name without "./" and the
 * like, and each of the sweep's `files` that is the same file under another name. Returns false if memory runs out.
 */
bool protected_names_add(struct night_sweep *sweep);

/* Whether the list protects the file of this name in a work directory. The list may be NULL. */
bool protected_names_has(const json_t *protect, const char *name);

/*
 * Reads the protected files of all trials, and remembers their digest. Returns CLI_GO_ON, or an exit status after printing
 * which of them is missing or not a regular file.
 */
int protected_names_check(struct night_sweep *sweep);

/* Returns false, with the reason in why, if the protected files are not those that protected_names_check has read. */
bool protected_names_same(const struct night_sweep *sweep, char why[NIGHT_WHY_MAX]);
