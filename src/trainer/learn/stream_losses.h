/*
 * stream_losses.h: losses with a weight per token: cross-entropy (ce), distance to a teacher (ref_kl), DPPO and
 * IPO.
 */
#pragma once

#include <rlcore/status.h>

#include "learn/loss_result.h"
#include "learn/minibatch.h"

/*
 * Adds to batch->d_log_prob, to total->loss and to its components. Each component is divided by its own number of tokens, so that the length of
 * one environment's answers does not affect another environment's learning rate. Does nothing if no token has a weight.
 */
enum rl_status stream_losses(struct minibatch *batch, const struct trainer_loss *loss, struct loss_result *total,
                             struct rl_error *core);
