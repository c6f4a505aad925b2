/*
 * history_write.h: a store in forms that other programs read: a table of commas with parameters and metrics as columns, and
 * JSON lines.
 */
#pragma once

#include <stdio.h>

#include <lineage/store.h>

/*
 * Writes one line a trial, in the order of the log. The columns of the table are the 17, then `param.NAME` and `metric.NAME` of
 * all trials in order of their names, and then the other columns of the file. Returns LINEAGE_EIO if it cannot be written.
 */
enum lineage_status history_write_csv(struct lineage_store *store, FILE *out, struct lineage_error *err);

/* Writes each trial as an object on a line, as `show --format json` prints it. */
enum lineage_status history_write_jsonl(struct lineage_store *store, FILE *out, struct lineage_error *err);
