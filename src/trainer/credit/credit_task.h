/* credit_task.h: the rows that one task has in an iteration's rollouts. */
#pragma once

#include "rollout/rollouts.h"

/* Rows [first, first+n) of the rollouts. */
struct credit_task {
    const struct trainer_recipe *recipe;
    int32_t task;
    size_t first, n;
    int32_t iteration; /* 0-based */
};
