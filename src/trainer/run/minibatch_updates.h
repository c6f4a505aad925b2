/* minibatch_updates.h: the last step of an iteration: update the policy. */
#ifndef TRAINER_MINIBATCH_UPDATES_H
#define TRAINER_MINIBATCH_UPDATES_H

#include "run/run.h"

/* Epochs of minibatches over run->rollouts, after run_correct. metrics: means over the updates. */
enum trainer_status run_update(struct run *run, int32_t iteration,
                               struct trainer_iteration *metrics, struct trainer_error *err);

#endif
