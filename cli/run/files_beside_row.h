/*
 * files_beside_row.h: the files of a command's trial that are kept beside its row: logs/ID.log and provenance/ID/.
 *
 * The row's id is written into the work directory as soon as the store has chosen it, so that a process which finds the
 * directory after a kill can tell whether the row was appended.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include <lineage/store.h>

/*
 * Moves log and provenance from the open work directory to their places, under the id of the row, and writes the id into the
 * work directory. Used as struct lineage_append_options.beside. Failures are printed.
 */
void files_beside_row_put(const struct lineage_store *store, int dir, const char *exp_id);

/* The work directory of a trial that finished without a score is kept as logs/ID.work, so that `rescore` finds its files. */
#define UNSCORED_WORK ".work"
void files_beside_row_put_work(const struct lineage_store *store, int dir, const char *exp_id);

/* Reads the id that was written into the work directory; returns false if there is none. */
bool files_beside_row_id(char exp_id[LINEAGE_NAME_MAX], int dir);
