/* provisional.h: the row of a last record that has no line end. */
#pragma once

#include "mirror.h"

/*
 * A last record without a line end may be half of what another tool is writing. Readers are shown it, because editors
 * often leave the last line of a file without one; the next sync removes it and reads it again. The row's share of a
 * sum cannot be subtracted later (a minimum does not know the second smallest value, and floating-point additions
 * cannot be undone exactly). So the sums that the row is going to change are copied first.
 */
enum lineage_status provisional_keep_sums(struct mirror *mirror, int64_t seq, struct lineage_error *err);

/* Removes the row and restores the sums. */
enum lineage_status provisional_undo(struct mirror *mirror, int64_t seq, struct lineage_error *err);
