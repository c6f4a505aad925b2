/* allocation.h: which questions of a pool are asked, and how often each: hard ones more. */
#ifndef TRAINER_QUESTION_ALLOCATION_H
#define TRAINER_QUESTION_ALLOCATION_H

#include "rollout/rollouts.h"

/* Of a task; zeroed, and nothing allocated, where all go round alike. */
struct allocation {
    size_t pool;
    int64_t *asked, *right; /* [pool] rollouts of the last visit, 0 before it */
    int32_t *chosen;        /* [questions] */
    size_t *sizes;          /* [questions] rollouts of each of them; NULL: all alike */
};

/* Bytes that allocation_open takes. */
double allocation_bytes(const struct trainer_task *task);
enum trainer_status allocation_open(struct allocation *allocation, const struct trainer_task *task,
                                    struct trainer_error *err);
void allocation_close(struct allocation *allocation);

/* What is to be drawn: the questions of an iteration, and questions * group_size rollouts. */
struct allocation_plan {
    uint64_t seed;
    size_t first, group_size; /* in turn: from question number first mod pool on */
};

/*
 * Draw the questions of an iteration into chosen, none twice, and their rollouts into sizes. Pass
 * rates are means of Beta(alpha + right, beta + wrong) with the fit of the whole pool
 * (rlcore/passk.h); while there is no fit, alpha and beta are 1. Adds to *told.
 */
enum trainer_status allocation_draw(struct allocation *allocation, const struct trainer_task *task,
                                    const struct allocation_plan *plan,
                                    struct trainer_allocation *told, struct trainer_error *err);

/* What came of rows [first, first+n), which those questions were asked in. */
void allocation_learn(struct allocation *allocation, const struct trainer_rollouts *rollouts,
                      size_t first, size_t n);

#endif
