/*
 * gspo_loss_real.c: GSPO (arXiv 2507.18071): each row is one segment.
 *
 * With one reward for the whole response, clipping per token would correct each token by a ratio
 * that a single sample cannot estimate. The ratio of the response has the same unit as the reward:
 * the whole response.
 */
#include "loss/segment.h"

HOT(struct rl_row_sums, gspo_row, (const struct rl_loss_call *call, size_t row, real row_weight), (call, row, row_weight))
{
    const struct rl_segment segment = {
        .call = call,
        .from = rl_row_at(&call->batch, row),
        .n = rl_row_length(&call->batch, row),
        .low = (real)call->options->clip_low,
        .high = (real)call->options->clip_high,
        .row_weight = row_weight,
    };
    struct rl_row_sums sums = rl_row_sums_empty();
    rl_segment_loss(&segment, &sums);
    return sums;
}

/* The paper's objective is seq-mean-token-mean. Trainers offer the other modes too, verl since 0.9.1. */
RL_POLICY_LOSS(rl_gspo_loss, .row = gspo_row, .weights = RL_WEIGHTS_AGG)
