/*
 * question_allocation.h: which questions of a pool are asked, and how many rollouts each gets: more for hard ones.
 */
#ifndef TRAINER_QUESTION_ALLOCATION_H
#define TRAINER_QUESTION_ALLOCATION_H

#include "rollout/rollouts.h"

/* State of one task. It is zeroed, with nothing allocated, if the task asks all questions equally often. */
struct allocation {
    size_t pool;
    /* [pool] rollouts of a question's last visit, and those that were right; 0 before the first visit */
    int64_t *asked, *right;
    int32_t *chosen;        /* [questions] numbers of the questions drawn */
    size_t *sizes;          /* [questions] rollouts of each of them; NULL: equal groups */
};

/* Bytes that allocation_open allocates. */
double allocation_bytes(const struct trainer_task *task);
enum trainer_status allocation_open(struct allocation *allocation, const struct trainer_task *task,
                                    struct trainer_error *err);
void allocation_close(struct allocation *allocation);

/* What to draw: the questions of an iteration, and questions * group_size rollouts. */
struct allocation_plan {
    uint64_t seed;
    size_t first, group_size; /* questions drawn in turn begin with number first mod pool */
};

/*
 * Draws the questions of an iteration into chosen, without repetition, and their rollouts into sizes. A pass rate
 * is the mean of Beta(alpha + right, beta + wrong), with alpha and beta fitted to the whole pool (rlcore/passk.h),
 * or 1 before the first fit. Adds to *metrics.
 */
enum trainer_status allocation_draw(struct allocation *allocation, const struct trainer_task *task,
                                    const struct allocation_plan *plan,
                                    struct trainer_allocation *metrics, struct trainer_error *err);

/* Remembers the outcomes of rows [first, first+n), which answer the questions drawn last. */
void allocation_learn(struct allocation *allocation, const struct trainer_rollouts *rollouts,
                      size_t first, size_t n);

#endif
