/* opened_run.h: a run whose steps the test calls itself. Any failure ends the test. */
#ifndef SUPPORT_OPENED_RUN_H
#define SUPPORT_OPENED_RUN_H

#include "run/run.h"

/* A run with these parameters and a restarted optimizer; the caller closes it with close_run. */
struct run *opened_run(const struct trainer_recipe *recipe, const float *params);

void close_run(struct run *run);

/* The first two steps of an iteration. */
enum trainer_status collect_and_credit(struct run *run, int32_t iteration,
                                       struct trainer_iteration *metrics,
                                       struct trainer_error *err);

#endif
