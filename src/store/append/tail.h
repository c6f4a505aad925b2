/* tail.h: the end of the log under a claim: what the index has not read, and what is wrong with it. */
#ifndef APPEND_TAIL_H
#define APPEND_TAIL_H

#include "append_state.h"

/*
 * A last record without line end is moved aside, with a notice that says how to put it back: nothing proves it whole.
 * A record with a quote that is never closed is moved aside alone where sound rows follow it. Only the canonical header
 * is known to be whole, and gets its line end with the next row.
 */
enum lineage_status tail_mend(struct lineage_store *store, struct log_state *end, struct lineage_error *err);

/* Take note of the whole records from `from` on, the end of one that was taken note of: of a log that only ever grows. */
enum lineage_status tail_read_more(struct lineage_store *store, uint64_t from, const struct log_state *end,
                                   struct lineage_error *err);

/* Take note of the rows behind the index (append_note_row). */
enum lineage_status tail_read(struct lineage_store *store, const struct log_state *end, struct lineage_error *err);

#endif
