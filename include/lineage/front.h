/*
 * lineage/front.h: a second score beside the first, and the trials that are best in both together.
 *
 * A store may have a second score: the metric or number column that `second` in lineage.json names, with its own direction
 * and noise. auto_status then keeps a trial also if no kept trial is as good in both scores: against each of them it must
 * be better by more than the threshold of one of the scores (Pareto dominance, with the noise floor of each score). The
 * label is keep; the best trial is still the one with the best first score.
 *
 * The front is the kept trials that no other kept trial dominates: at least as good in both scores, and better in one.
 * (Noise plays no part here, so that the front does not depend on the order of the trials.)
 */
#ifndef LINEAGE_FRONT_H
#define LINEAGE_FRONT_H

#include <lineage/store.h>

struct lineage_front_point {
    const char *exp_id; /* belongs to the front */
    double score, second;
};

struct lineage_front {
    struct lineage_front_point *points; /* [n], best first score first; of equal points the earlier trial */
    size_t n;
    void *memory;
};

/* Loads the front. It is empty if the store has no second score, or if no kept trial has both. Release it afterwards, also
 * after a failure. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_front_load(struct lineage_front *front, struct lineage_store *store,
                                                                     struct lineage_error *err);
LINEAGE_API void lineage_front_release(struct lineage_front *front);

#endif
