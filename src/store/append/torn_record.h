/* torn_record.h: the unfinished record that a killed writer left at the end of the log. */
#ifndef APPEND_TORN_RECORD_H
#define APPEND_TORN_RECORD_H

#include "../internal.h"
#include "../log/log.h"

/*
 * Call it under the claim; changes *end. A last record without a line end is moved aside, to results.tsv.torn-N, with a
 * notice that says how to put it back: nothing proves that it is whole. A record with a quote that is never closed is
 * moved aside alone if sound rows follow it. Only the canonical header is known to be whole; it gets its line end with
 * the next row (append_state.finish_line).
 */
enum lineage_status torn_record_mend(struct lineage_store *store, struct log_state *end, struct lineage_error *err);

#endif
