/*
 * outbox_rows.h: the trials of a request as text: records as results.tsv has them, under the 17 columns and those that the
 * trials have beyond. What becomes of the latter the log decides when it gets the rows: it keeps those that it has a column
 * for.
 */
#ifndef APPEND_OUTBOX_ROWS_H
#define APPEND_OUTBOX_ROWS_H

#include <jansson.h>

#include "../format/row.h"

struct outbox_rows {
    struct buf header; /* empty: just the 17 */
    struct buf records;
    struct row_layout layout;
};

/* Zeroed before. Begin with the columns that these trials need, add record after record. */
enum lineage_status outbox_rows_begin(struct outbox_rows *rows, const struct lineage_trial *trials, size_t n,
                                      struct lineage_error *err);
enum lineage_status outbox_rows_add(struct outbox_rows *rows, const struct lineage_trial *trial, struct lineage_error *err);
void outbox_rows_release(struct outbox_rows *rows);

/* The trials of a request (`rows`, `header`, and as many as `auto` has members), in arena. LINEAGE_ECORRUPT: it has others. */
enum lineage_status outbox_rows_read(const json_t *about, struct arena *arena, struct lineage_trial **trials, size_t *n,
                                     struct lineage_error *err);

#endif
