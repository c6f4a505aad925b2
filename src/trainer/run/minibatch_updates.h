/* minibatch_updates.h: the last step of an iteration: update the policy. */
#pragma once

#include "run/run.h"

/*
 * Called after run_correct. Runs the epochs of minibatches over run->rollouts. metrics receives means over the updates.
 */
enum trainer_status run_update(struct run *run, int32_t iteration, struct trainer_iteration *metrics, struct trainer_error *err);
