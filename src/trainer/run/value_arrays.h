/*
 * value_arrays.h: memory for the values of a value head, from sampling to update. Rollouts and minibatch point to these
 * arrays; a policy without a value head does not allocate them.
 */
#pragma once

#include "learn/minibatch.h"
#include "rollout/rollouts.h"

double value_arrays_bytes(const struct trainer_recipe *recipe);

/*
 * Sets the arrays of rollouts and minibatch. *memory receives the block that holds them (free), or NULL without a value
 * head.
 */
enum trainer_status value_arrays_open(void **memory, const struct trainer_recipe *recipe, struct trainer_rollouts *rollouts,
                                      struct minibatch *minibatch, struct trainer_error *err);

/* Measures how well the values at sampling predicted the returns. */
void value_arrays_measure(const struct trainer_rollouts *rollouts, struct trainer_iteration *metrics);
