/* apply_voids.h: makes void trials read as harness_abort. */
#pragma once

#include "ancestors.h"
#include "mirror.h"

/* The rows of a sync that void a trial or take it back, in the order of the log. Zeroed: none. */
struct void_rows {
    struct mirror_seqs seqs;
};

/* Notes the row if it voids a trial. Returns false if memory runs out. */
bool void_rows_note(struct void_rows *rows, const struct lineage_trial *trial);
void void_rows_release(struct void_rows *rows);

/*
 * Changes the trials that the noted rows name, judges the trials again that were compared with them, computes the sums that
 * these trials are part of again, and forgets the rows. Everything before must be written: rows, parameters and sums. Adds the
 * trials that became kept or are not kept any more to `moved`. Without noted rows it judges again if the settings have changed.
 */
enum lineage_status void_rows_apply(struct void_rows *rows, struct mirror *mirror, struct mirror_seqs *moved,
                                    struct lineage_error *err);

/* The digest of the settings that verdicts depend on; never 0. */
int64_t void_rows_settings(const struct mirror *mirror);
