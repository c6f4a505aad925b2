/* warm_start.h: supervised warm start on demonstrations with errors. */
#pragma once

#include <trainer/train.h>

#include "learn/learner.h"

/* Called after every step; returns false to stop. */
typedef bool warm_step_fn(void *context, int32_t step, double loss);

/*
 * Restarts the optimizer and trains learner->params from their current values. Returns TRAINER_ESTOPPED, naming the
 * step, if report returns false, and TRAINER_ENUMERIC for a loss that is not finite.
 */
enum trainer_status warm_start(struct learner *learner, const struct trainer_recipe *recipe, warm_step_fn *report, void *context,
                               struct trainer_error *err);
