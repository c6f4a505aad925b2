/* ancestors.h: keeps the table `ancestors` (schema/mirror.sql) in step with the rows of `trials`. */
#pragma once

#include "mirror.h"
#include "seqs.h"

/* Kinds of rows of the table: how the walk from a trial up its parents goes. */
enum ancestors_kind {
    ANCESTORS_END,       /* it ends at a trial without a parent, or whose parent is missing */
    ANCESTORS_CYCLE,     /* it leads into a cycle */
    ANCESTORS_NO_PARENTS /* no row of the log names a parent */
};

/*
 * A row has moved if its place may have changed although it is not new. This adds the rows that name the row `seq` as their
 * parent. Call it before that row is removed.
 */
enum lineage_status ancestors_add_children(struct mirror_seqs *rows, struct mirror *mirror, int64_t seq,
                                           struct lineage_error *err);

/* Adds the trials of void_changes that became kept, or are not kept any more. */
enum lineage_status ancestors_add_voids(struct mirror_seqs *rows, struct mirror *mirror, struct lineage_error *err);

/*
 * Computes the rows of `ancestors` that are missing or that depend on a moved row, so that the table is the one that a mirror
 * built at once would have. Needs the indexes. One new row with a known parent takes a few look-ups; after a moved row, all
 * rows behind it are computed.
 */
enum lineage_status ancestors_update(struct mirror *mirror, const struct mirror_seqs *moved, struct lineage_error *err);
