/* opened_run.h: a run that a test takes through its steps itself. Any failure ends the test. */
#ifndef SUPPORT_OPENED_RUN_H
#define SUPPORT_OPENED_RUN_H

#include "run/run.h"

/* With these parameters, and an optimiser that has seen nothing. */
struct run *opened_run(const struct trainer_recipe *recipe, const float *params);

void close_run(struct run *run);

#endif
