/* specialist_sums.h: the sums of label_counts and calibration, added up in memory during a sync. */
#ifndef MIRROR_SPECIALIST_SUMS_H
#define MIRROR_SPECIALIST_SUMS_H

#include "mirror.h"

struct tally;

/* fresh: the tables are empty, so nothing is looked up; large: many rows will come. NULL without memory. */
struct tally *tally_new(struct mirror *mirror, bool fresh, bool large);
void tally_free(struct tally *tally);

/* Counts a trial. Call it in the order of the log. */
enum lineage_status tally_add(struct tally *tally, const struct lineage_trial *trial,
                              struct lineage_error *err);

/* Writes the sums into their tables. */
enum lineage_status tally_flush(struct tally *tally, struct lineage_error *err);

#endif
