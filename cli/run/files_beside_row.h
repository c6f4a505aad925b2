/*
 * files_beside_row.h: the files of a command's trial that are kept beside its row: logs/ID.log and provenance/ID/.
 *
 * The work directory notes the id of the row when it becomes known, so that a process which finds the directory after a
 * kill can tell whether the row was appended.
 */
#ifndef CLI_FILES_BESIDE_ROW_H
#define CLI_FILES_BESIDE_ROW_H

#include <limits.h>
#include <stdbool.h>

#include <lineage/store.h>

/* Moves log and provenance from the work directory to their places, under the id of the row, and notes the id in the work
 * directory. For struct lineage_append_options.beside; failures are reported. */
void files_beside_row_put(const struct lineage_store *store, const char *dir, const char *exp_id);

/* Reads the id that was noted in the work directory; returns false if there is none. */
bool files_beside_row_id(char exp_id[LINEAGE_NAME_MAX], const char *dir);

#endif
