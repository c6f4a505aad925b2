/*
 * propose_past.h: the trials of a store as the past of a proposer.
 *
 * A trial counts if it names every range and lies in it. Measured: keep, discard and baseline with a finite
 * score. Failed: every other label but harness_abort, which says nothing of the setting. Running: what work
 * directories of the store say of trials at work (support/running_files.h).
 */
#ifndef CLI_PROPOSE_PAST_H
#define CLI_PROPOSE_PAST_H

#include <jansson.h>

#include <lineage/query.h>

#include "propose/propose_ranges.h"

struct propose_past {
    struct propose_trial *trials; /* [n], oldest first, the running ones last */
    char (*ids)[64];              /* [n], exp_id, cut if need be; "" of one that runs */
    size_t n, room;
    size_t measured, failed, running; /* of them */
    size_t elsewhere;                 /* trials that lack a range, or lie outside of one */
};

/*
 * Read it; release in any case. fallback [space->n], or NULL: what a trial of that sweep has that does not name a range
 * (absent: it does not count).
 */
enum lineage_status propose_past_read(struct propose_past *past, struct lineage_store *store,
                                      const struct propose_space *space, const struct lineage_number *fallback,
                                      const char *sweep, struct lineage_error *err);
void propose_past_release(struct propose_past *past);

/* Add a setting that is about to run. False when out of memory. */
bool propose_past_add(struct propose_past *past, const double *x, size_t n, enum propose_end end);

/* Add a trial that runs, by its parameters (an object of JSON); one that lacks a range, or lies outside of one, is passed by.
 * False when out of memory. */
bool propose_past_add_params(struct propose_past *past, const struct propose_space *space, const json_t *params);

/* The problem over ranges and past; lower_is_better is the store's. */
struct propose_problem propose_problem_of(const struct propose_past *past, const struct propose_space *space,
                                          const struct lineage_store *store, uint64_t seed);

#endif
