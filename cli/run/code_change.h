/* code_change.h: what a trial changed in the code of a repository, in a few words. */
#pragma once

#include <jansson.h>

#include <lineage/code.h>

#include "cli.h"

/*
 * Compares the code of a trial that is about to run with that of its parent or, if parent is NULL or "", of the best trial so
 * far. git is the object of its run.json (git/work_tree_diff.h); sets "against" to the exp_id and "change" to a text such as
 * "+3 -1 in train.py: def get_lr(step):", "" for the same code. Sets neither if there is no such trial, or if its code is
 * not known. Writes the diff as parent.diff into dir, unless it is empty: the store measures changes by it
 * (lineage/measured.h).
 */
void code_change_find(json_t *git, struct lineage_store *store, const char *parent, const char *dir);

/* Writes the piece of notes about it (lineage/code.h), or "" if the trial ran the code of the trial that it was compared with.
 * git may be NULL. */
void code_change_note(char out[LINEAGE_CODE_NOTE_MAX], const json_t *git);
