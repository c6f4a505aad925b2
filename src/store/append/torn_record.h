/* torn_record.h: the unfinished record that a killed writer left at the end of the log. */
#pragma once

#include "../internal.h"
#include "../log/log.h"

/*
 * Call it under the claim; changes *end. A last record without a line end is moved aside, to results.tsv.torn-N, with a
 * notice that says how to put it back, because it may be incomplete. If sound rows follow a record whose quote is never
 * closed, only that record is moved aside. The canonical header without a line end is known to be complete, so it stays
 * and gets its line end with the next row (append_state.finish_line).
 */
enum lineage_status torn_record_mend(struct lineage_store *store, struct log_state *end, struct lineage_error *err);
