/* evaluate.h: evaluates a policy on the fixed evaluation questions. */
#pragma once

#include "rollout/sampler.h"

/* Returns the number of rows of one pass over the evaluation questions of all tasks. */
size_t evaluate_rows(const struct trainer_recipe *recipe);

/*
 * Runs one pass with a sampling seed; rollouts must have room for evaluate_rows rows. *score receives the share of
 * questions answered right. Adds to correct [evaluate_rows] unless it is NULL.
 */
enum trainer_status evaluate_once(struct sampler *sampler, struct trainer_rollouts *rollouts, const float *params, uint64_t seed,
                                  double temperature, double *score, int64_t *correct, struct trainer_error *err);
