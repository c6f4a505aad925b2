/* off_policy_correction.h: the third step of an iteration: correct for rollouts that the learner did not sample. */
#pragma once

#include "run/run.h"

/*
 * Called after run_credit and before the first update, because importance weights compare the sampler with the
 * learner's weights before the updates. Sets the old log-probs of the ratio, the importance weights, and the tokens
 * that are not rejected. On-policy these are the sampler's log-probs, weights of 1, and all tokens.
 */
enum trainer_status run_correct(struct run *run, struct trainer_iteration *metrics, struct trainer_error *err);

/*
 * Sets weight and kept of rollouts whose old log-probs are known: importance weights and rejections of the recipe's
 * correction, or 1 and mask without one.
 */
enum trainer_status correction_weigh(const struct trainer_recipe *recipe, struct trainer_rollouts *rollouts,
                                     struct workspace *workspace, struct trainer_error *err);
