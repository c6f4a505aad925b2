/* verify_mirror.h: compares the tables of two mirrors row by row. */
#pragma once

#include <lineage/verify.h>

#include "../mirror/statement.h"
#include "mirror_checks.h"

/* How a table grows with the log. This decides which part of the table can be compared separately. */
enum verify_kind {
    VERIFY_BY_ROW = 1, /* new rows go to the end: any stretch of rows can be compared */
    VERIFY_PARAMS = 2, /* new rows go anywhere, by value: all rows up to some seq can be compared */
    VERIFY_SUMS = 4,   /* few rows, changed by each trial: compared only if both sides have read the same bytes */
    VERIFY_TRIALS = 16, /* like VERIFY_BY_ROW, and one row for each row of the log */
    VERIFY_VALUES = 8  /* like VERIFY_SUMS, with as many rows as values or trials */
};

/* A stretch to compare: rows (after_row, rows] and findings from byte `from` up to `watermark`. */
struct verify_stretch {
    int64_t after_row, rows, from, watermark;
};

/* How far lineage.db has read, according to itself; rows is -1 if it has read nothing yet. */
struct verify_extent {
    int64_t rows, watermark, size, provisional;
};
enum lineage_status verify_extent_read(struct mirror *mirror, struct verify_extent *extent, struct lineage_error *err);

/* Compares the tables of these kinds; reports the first difference of each. */
enum lineage_status verify_tables(struct mirror *mirror, struct mirror *truth, unsigned kinds,
                                  const struct verify_stretch *stretch, lineage_finding_fn *report, void *context,
                                  struct lineage_error *err);

/* Runs SQLite's own check of its trees and indexes. */
enum lineage_status verify_integrity(struct mirror *mirror, lineage_finding_fn *report, void *context, struct lineage_error *err);
