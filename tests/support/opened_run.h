/* opened_run.h: opens a run whose steps the test calls one by one. Any failure ends the test. */
#pragma once

#include "run/run.h"

/* Opens a run with these parameters and a new optimizer state. The caller closes it with close_run. */
struct run *opened_run(const struct trainer_recipe *recipe, const float *params);

void close_run(struct run *run);

/* Runs the first two steps of an iteration: collects rollouts and assigns credit. */
enum trainer_status collect_and_credit(struct run *run, int32_t iteration, struct trainer_iteration *metrics,
                                       struct trainer_error *err);
