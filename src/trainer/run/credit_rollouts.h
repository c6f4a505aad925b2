/* credit_rollouts.h: the second step of an iteration: from rollouts to advantages. */
#pragma once

#include "run/run.h"

/*
 * Called after run_collect. Computes log-probs of the reference policies, assigns credit to every task's rollouts with
 * the task's algorithm, and fills the metrics of rollouts and credit.
 */
enum trainer_status run_credit(struct run *run, int32_t iteration, struct trainer_iteration *metrics, struct trainer_error *err);
