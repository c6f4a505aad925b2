/* unread_rows.h: rows at the end of the log that the mirror has not read. */
#ifndef APPEND_UNREAD_ROWS_H
#define APPEND_UNREAD_ROWS_H

#include "../internal.h"
#include "../log/log.h"

/* Notes the rows behind the mirror's watermark (append_note_row). */
enum lineage_status unread_rows_note(struct lineage_store *store, const struct log_state *end, struct lineage_error *err);

/* Notes the rows from `from` on, where a record that was noted before ends. For a log that only ever grows. */
enum lineage_status unread_rows_note_from(struct lineage_store *store, uint64_t from, const struct log_state *end,
                                          struct lineage_error *err);

#endif
