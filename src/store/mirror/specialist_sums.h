/* specialist_sums.h: the sums of label_counts and calibration, added up in memory during a sync. */
#pragma once

#include "mirror.h"

struct specialist_sums;

/* fresh: the tables are empty, so no entry is looked up in them. large: many rows will be added. Returns NULL if memory
 * runs out. */
struct specialist_sums *specialist_sums_new(struct mirror *mirror, bool fresh, bool large);
void specialist_sums_free(struct specialist_sums *sums);

/* Counts a trial. Call it in the order of the log. */
enum lineage_status specialist_sums_add(struct specialist_sums *sums, const struct lineage_trial *trial,
                                        struct lineage_error *err);

/* Writes the sums into their tables. */
enum lineage_status specialist_sums_flush(struct specialist_sums *sums, struct lineage_error *err);
