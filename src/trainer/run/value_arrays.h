/*
 * value_arrays.h: memory for the values of a value head, from sampling to update. The arrays hang on the rollouts
 * and on the minibatch; a policy without a value head does not pay for them.
 */
#ifndef TRAINER_VALUE_ARRAYS_H
#define TRAINER_VALUE_ARRAYS_H

#include "learn/minibatch.h"
#include "rollout/rollouts.h"

double value_arrays_bytes(const struct trainer_recipe *recipe);

/* Sets the arrays of rollouts and minibatch. *memory is their one block (free), or NULL without a value head. */
enum trainer_status value_arrays_open(void **memory, const struct trainer_recipe *recipe,
                                      struct trainer_rollouts *rollouts,
                                      struct minibatch *minibatch, struct trainer_error *err);

/* How well the values at sampling predicted the returns. */
void value_arrays_measure(const struct trainer_rollouts *rollouts,
                          struct trainer_iteration *metrics);

#endif
