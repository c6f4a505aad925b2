/* memory_bound.h: how much memory a run needs at most, and whether its budget allows that. */
#pragma once

#include <trainer/train.h>

/*
 * Rows of the largest batch that the learner sees. The warm start and training never run at the same time, so one
 * learner is created for the larger batch of the two.
 */
size_t memory_bound_largest_batch(const struct trainer_recipe *recipe);

/*
 * Returns TRAINER_ESIZE if a run of the recipe needs more than its budget, so that the trial's row says size_blocked
 * instead of crash. Called before anything is allocated or trained.
 */
enum trainer_status memory_bound_check(const struct trainer_recipe *recipe, struct trainer_error *err);
