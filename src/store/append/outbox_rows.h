/*
 * outbox_rows.h: the trials of a request as text: records in the form of results.tsv, with the 17 columns and the
 * trials' extra columns. On delivery, only extra columns that the log has are written to it.
 */
#pragma once

#include <jansson.h>

#include "../format/row.h"

struct outbox_rows {
    struct buf header; /* empty if the rows need only the 17 columns */
    struct buf records;
    struct row_layout layout;
};

/* Starts the text with a header of the columns that these trials need; then add one record after another. Zero `rows`
 * before the call. */
enum lineage_status outbox_rows_begin(struct outbox_rows *rows, const struct lineage_trial *trials, size_t n,
                                      struct lineage_error *err);
enum lineage_status outbox_rows_add(struct outbox_rows *rows, const struct lineage_trial *trial, struct lineage_error *err);
void outbox_rows_release(struct outbox_rows *rows);

/* Reads the trials of a request (its members `rows` and `header`) into the arena. Returns LINEAGE_ECORRUPT unless the
 * member `auto` has one value for each trial. */
enum lineage_status outbox_rows_read(const json_t *about, struct arena *arena, struct lineage_trial **trials, size_t *n,
                                     struct lineage_error *err);
