/* allocation.h: which questions of a pool are asked: hard ones more often. */
#ifndef TRAINER_ALLOCATION_H
#define TRAINER_ALLOCATION_H

#include "rollout/rollouts.h"

/* Of a task; zeroed, and nothing allocated, where questions go round. */
struct allocation {
    size_t pool;
    int64_t *asked, *right; /* [pool] rollouts of the last visit, 0 before it */
    int32_t *chosen;        /* [questions] */
};

/* Bytes that allocation_open takes. */
double allocation_bytes(const struct trainer_task *task);
enum trainer_status allocation_open(struct allocation *allocation, const struct trainer_task *task,
                                    struct trainer_error *err);
void allocation_close(struct allocation *allocation);

/*
 * Draw the questions of an iteration into chosen, none twice, by a seed. Pass rates are means of
 * Beta(alpha + right, beta + wrong) with the fit of the whole pool (rlcore/passk.h); while there is
 * no fit, alpha and beta are 1. Adds to *told.
 */
enum trainer_status allocation_draw(struct allocation *allocation, const struct trainer_task *task,
                                    uint64_t seed, struct trainer_allocation *told,
                                    struct trainer_error *err);

/* What came of rows [first, first+n), which those questions were asked in. */
void allocation_learn(struct allocation *allocation, const struct trainer_rollouts *rollouts,
                      size_t first, size_t n);

#endif
