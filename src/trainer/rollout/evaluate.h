/* evaluate.h: answers to the fixed questions. */
#ifndef TRAINER_EVALUATE_H
#define TRAINER_EVALUATE_H

#include "rollout/sampler.h"

/* Rows of one pass over the evaluation questions of all tasks. */
size_t evaluate_rows(const struct trainer_recipe *recipe);

/*
 * One pass with a sampling seed; rollouts has room for evaluate_rows. *score: the share answered
 * right; adds to correct [evaluate_rows] unless NULL.
 */
enum trainer_status evaluate_once(struct sampler *sampler, struct trainer_rollouts *rollouts,
                                  const float *params, uint64_t seed, double temperature,
                                  double *score, int64_t *correct, struct trainer_error *err);

#endif
