/* reference_kl.h: the KL penalty in the loss: the distance to the policy that training started from. */
#pragma once

#include <rlcore/status.h>

#include "learn/minibatch.h"

/*
 * Adds kl_coef times the mean of the KL estimator over the policy's tokens to *value, and its gradient to
 * batch->d_log_prob. Overwrites batch->entropy.
 */
enum rl_status reference_kl(struct minibatch *batch, const struct trainer_loss *loss, double *value, struct rl_error *core);
