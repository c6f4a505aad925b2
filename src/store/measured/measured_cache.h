/* measured_cache.h: what trials changed in their programs, kept in lineage.db. */
#pragma once

#include <lineage/measured.h>

/* Gets the measurement of one trial, which is released after the call; a callback that wants to keep it copies the struct
 * and sets *measured to zero. Returns LINEAGE_OK to go on. */
typedef enum lineage_status measured_visit(void *context, uint64_t seq, struct lineage_measured *measured,
                                           struct lineage_error *err);

/*
 * Visits the trials first..last of the store (positions in the log, from 1) that were compared with an ancestor, in the
 * order of the log at the last sync. Takes what lineage.db has, compares the other trials, and saves the result. If lineage.db cannot be written
 * now, nothing is saved, which is not a failure. What is found does not depend on what was saved before.
 *
 * A store without snapshots, provenance and code of sweeps is left at once.
 */
enum lineage_status measured_each(struct lineage_store *store, uint64_t first, uint64_t last, measured_visit *visit,
                                  void *context, struct lineage_error *err);

/* Visits the trials seqs[n], ascending, in the same way. It takes time in proportion to n. */
enum lineage_status measured_some(struct lineage_store *store, const int64_t *seqs, size_t n, measured_visit *visit,
                                  void *context, struct lineage_error *err);

/* ---- measure_trial.c: compares one trial with its ancestors ---- */

/* Compares the trial with that position in the log of the last sync. *settled is false if files that its row or
 * an ancestor's row names are not here now, so that the answer may be another one later. */
enum lineage_status measure_trial_at(struct lineage_measured *measured, bool *settled, struct lineage_store *store, uint64_t seq,
                                     struct lineage_error *err);
