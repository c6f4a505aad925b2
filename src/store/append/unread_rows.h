/* unread_rows.h: rows at the end of the log that the mirror has not read. */
#pragma once

#include "../internal.h"
#include "../log/log.h"

/* Notes the rows after the mirror's watermark (append_note_row). */
enum lineage_status unread_rows_note(struct lineage_store *store, const struct log_state *end, struct lineage_error *err);

/* Notes the rows that begin at `from` or later; `from` is the end of a record that was noted before. Use it for a log
 * that only grows. */
enum lineage_status unread_rows_note_from(struct lineage_store *store, uint64_t from, const struct log_state *end,
                                          struct lineage_error *err);
