/* unwritten_row.h: keeps the row of a trial that has run but could not be appended. */
#pragma once

#include "cli.h"

/*
 * Writes the row as a file for `lineage append --json`, into the store's directory or, if that is impossible, into TMPDIR, and
 * prints where it is. A trial may have taken hours, so its score must not be lost because a disk is full.
 */
void unwritten_row_save(const struct lineage_store *store, const struct lineage_trial *trial,
                        const struct lineage_append_options *options);
