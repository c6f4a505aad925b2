/* code_ref.h: keeps the code of a store's trials by refs in the user's repository (git/trial_ref.h). */
#pragma once

#include <lineage/code.h>

#include "cli.h"
#include "run/command_trial.h"

/* Names the ref of a running trial in git, the object of its run.json, unless the repository's owner turned refs off. dir is
 * the trial's work directory. */
void code_ref_name(json_t *git, const char *dir);

/* Creates the ref that code_ref_name has named, after run.json was written. The trial goes on if that fails. git may be
 * NULL. */
void code_ref_hold(const json_t *git);

/*
 * Gives the code of a recorded trial its final ref and writes its name into provenance/ID/run.json. Does nothing for a
 * trial without a named ref. If the repository cannot be written, prints a message; the trial keeps its row. Repeats run.json in
 * this user's state directory (LINEAGE_PLACE_REPEATED_RUNS), which `git clean` does not take.
 */
void code_ref_keep(struct lineage_store *store, const char *exp_id);

/* Writes run.json for each trial whose provenance is gone and whose run.json is repeated for that row. Returns the number of these trials. */
size_t code_ref_restore_runs(struct lineage_store *store);

/* Removes the ref of a trial that got no row. git may be NULL. */
void code_ref_drop(const json_t *git);

/* Removes the ref of a recorded trial. Returns whether there was one. The trial keeps its provenance. */
bool code_ref_remove(const struct lineage_store *store, const char *exp_id);

/* Creates the ref of a recorded trial that has none, if its commit still exists. Returns whether there is one now. */
bool code_ref_add(const struct lineage_store *store, const char *exp_id);

/*
 * Writes a run.json for a trial whose provenance is gone, if a ref of the repository around the store or the current directory has the
 * commit that the row names. Returns whether it did.
 */
bool code_ref_restore(const struct lineage_store *store, const struct lineage_trial *trial);

/* ---- what a trial changed in the code of a repository, in a few words ---- */

/*
 * Compares the code of a trial that is about to run with that of its parent or, without one, of the best trial so
 * far. The file of the night that ran that trial is left out, unless t names it. git is the object of its run.json (git/work_tree_diff.h); sets "against" to the exp_id and "change" to a text such as
 * "+3 -1 in train.py: def get_lr(step):", "" for the same code. Sets neither without such a trial, or if its code is
 * not known. Writes the diff as parent.diff into dir, unless it is empty: the store measures changes by it
 * (lineage/measured.h).
 */
void code_change_find(json_t *git, struct lineage_store *store, const struct command_trial *t, const char *dir);

/* Whether the trial's command or its evaluation names the file, so that it may read it. */
bool code_is_named(const struct command_trial *t, const char *path);

/* Writes the piece of notes about it (lineage/code.h), or "" if the trial ran the code of the trial that it was compared with.
 * git may be NULL. */
void code_change_note(char out[LINEAGE_CODE_NOTE_MAX], const json_t *git);
