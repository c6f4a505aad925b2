/* policy_loss.h: computes the loss of the rl component with one of the core's policy losses (rlcore/loss.h). */
#pragma once

#include <rlcore/loss.h>

#include "learn/loss_result.h"
#include "learn/minibatch.h"
#include "support/workspace.h"

/* Whether a loss is a stream loss (minibatch_loss.c), which is computed per token and not by policy_loss. */
static inline bool loss_is_stream(const struct trainer_loss *loss)
{
    return loss->name == TRAINER_LOSS_DPPO || loss->name == TRAINER_LOSS_IPO;
}

/*
 * Writes batch->d_log_prob of the first n_rl rows, and *out. The metrics of optional parts go to *result. OPSM may
 * remove tokens from batch->mask.
 */
enum rl_status policy_loss(struct minibatch *batch, const struct trainer_loss *loss, struct workspace *workspace,
                           struct loss_result *result, struct rl_loss_result *out, struct rl_error *core);
