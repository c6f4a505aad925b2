/* credit_rollouts.h: the second step of an iteration: from rollouts to advantages. */
#ifndef TRAINER_CREDIT_ROLLOUTS_H
#define TRAINER_CREDIT_ROLLOUTS_H

#include "run/run.h"

/*
 * After run_collect: log-probs of the reference policies, then the credit of every task's rollouts by its
 * algorithm, and what rollouts and credit have in common to report (metrics).
 */
enum trainer_status run_credit(struct run *run, int32_t iteration,
                               struct trainer_iteration *metrics, struct trainer_error *err);

#endif
