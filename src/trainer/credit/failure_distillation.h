/* teaching.h: a teacher's part in the credit of rollouts that failed. */
#ifndef TRAINER_FAILURE_DISTILLATION_H
#define TRAINER_FAILURE_DISTILLATION_H

#include "credit/credit_task.h"
#include "support/workspace.h"

/*
 * After advantages and streams of a task's rows: K1 replaces the advantages of what is taught, K2
 * fills kd there. Adds to *counts.
 */
enum trainer_status distill_failures(struct trainer_rollouts *rollouts, const struct credit_task *task,
                           struct workspace *workspace, struct trainer_distillation *counts,
                           struct trainer_error *err);

#endif
