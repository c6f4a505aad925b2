/* failure_distillation.h: lets a teacher contribute to the credit of rollouts that failed (algorithm.distill). */
#pragma once

#include "credit/credit_task.h"
#include "support/workspace.h"

/*
 * Called after advantages and component weights of the task's rows are set. K1 replaces the advantages of taught
 * tokens, K2 fills their kd. Adds to *counts. Does nothing if the recipe does not distil.
 */
enum trainer_status distill_failures(struct trainer_rollouts *rollouts, const struct credit_task *task,
                                     struct workspace *workspace, struct trainer_distillation *counts, struct trainer_error *err);
