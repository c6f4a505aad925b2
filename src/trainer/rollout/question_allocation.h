/*
 * question_allocation.h: decides which questions of a pool are asked and how many rollouts each gets; hard questions
 * get more.
 */
#pragma once

#include "rollout/rollouts.h"

/* State of one task. It is zeroed, with nothing allocated, if the task asks all questions equally often. */
struct allocation {
    size_t pool;
    /* [pool] number of rollouts when the question was last asked, and number of right ones; 0 before the first time */
    int64_t *asked, *right;
    int32_t *chosen;        /* [questions] numbers of the questions drawn */
    size_t *sizes;          /* [questions] rollouts of each question; NULL: equal groups */
};

/* Bytes that allocation_open allocates. */
double allocation_bytes(const struct trainer_task *task);
enum trainer_status allocation_open(struct allocation *allocation, const struct trainer_task *task, struct trainer_error *err);
void allocation_close(struct allocation *allocation);

/* What to draw: the questions of an iteration, and questions * group_size rollouts. */
struct allocation_plan {
    uint64_t seed;
    size_t first, group_size; /* if questions are taken in order, the first has number first mod pool */
};

/*
 * Draws the questions of an iteration without repetition. Writes their numbers to chosen and their numbers of rollouts
 * to sizes. A pass rate is the mean of Beta(alpha + right, beta + wrong), with alpha and beta fitted to the whole pool
 * (rlcore/passk.h), or 1 before the first fit. Adds to *metrics.
 */
enum trainer_status allocation_draw(struct allocation *allocation, const struct trainer_task *task,
                                    const struct allocation_plan *plan, struct trainer_allocation *metrics,
                                    struct trainer_error *err);

/* Stores the outcomes of rows [first, first+n), which answer the questions of the last draw. */
void allocation_learn(struct allocation *allocation, const struct trainer_rollouts *rollouts, size_t first, size_t n);
