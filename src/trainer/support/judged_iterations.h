/* judged_iterations.h: how long adca asks its judge. */
#pragma once

#include <trainer/recipe.h>

/*
 * Number of iterations in which a task's judge is asked: algorithm.prm_steps, or the iterations that algorithm.prm.epochs
 * passes over the pool take, an incomplete last one included. 0: all iterations.
 */
static inline int64_t judged_iterations(const struct trainer_task *task)
{
    int64_t asked = (int64_t)task->algorithm.prm_epochs * task->pool;
    return asked > 0 ? (asked + task->questions - 1) / task->questions : task->algorithm.prm_steps;
}
