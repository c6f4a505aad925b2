/* measure_trial.h: compares one trial with its ancestors. */
#pragma once

#include <lineage/measured.h>

/* Compares the trial with that position in the log of the last sync. *settled is false if files that its row or
 * an ancestor's row names are not here now, so that the answer may be another one later. */
enum lineage_status measure_trial_at(struct lineage_measured *measured, bool *settled, struct lineage_store *store, uint64_t seq,
                                     struct lineage_error *err);
