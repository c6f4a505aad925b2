/* teacher_distance.h: K2, the squared distance to a teacher on rollouts that failed (rlcore/distill.h). */
#pragma once

#include "learn/loss_result.h"
#include "learn/minibatch.h"

/*
 * Computes the mean of (s - t)^2 / 2 over the taught tokens of the minibatch, each with its weight kd, where s is the
 * policy's and t the teacher's log-prob, at most the task's clip_gap away from s. The gradient s - t is 0 where the policy
 * has reached the edge of the task's clip range. Adds to batch->d_log_prob and result->loss; does nothing if no token is
 * taught.
 */
void teacher_distance(struct minibatch *batch, struct loss_result *result);
