/* off_policy_correction.h: the third step of an iteration: correct for rollouts that the learner did not sample. */
#ifndef TRAINER_OFF_POLICY_CORRECTION_H
#define TRAINER_OFF_POLICY_CORRECTION_H

#include "run/run.h"

/*
 * After run_credit and before the first update, since afterwards the learner is no longer the policy that importance
 * weights compare the sampler with. Sets the old log-probs of the ratio, importance weights, and the tokens that
 * rejection leaves; on-policy they are the sampler's log-probs, 1, and all tokens.
 */
enum trainer_status run_correct(struct run *run, struct trainer_iteration *metrics,
                                struct trainer_error *err);

#endif
