/* warm_start.h: supervised warm start on noisy demonstrations. */
#ifndef TRAINER_WARM_START_H
#define TRAINER_WARM_START_H

#include <trainer/train.h>

#include "learn/learner.h"

/* Called after every step; false stops. */
typedef bool warm_step_fn(void *context, int32_t step, double loss);

/* Trains learner->params from where they are; the optimizer is restarted. */
enum trainer_status warm_start(struct learner *learner, const struct trainer_recipe *recipe,
                               warm_step_fn *report, void *context, struct trainer_error *err);

#endif
