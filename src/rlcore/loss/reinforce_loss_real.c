/*
 * reinforce_loss_real.c: REINFORCE (Williams 1992) and GPG (arXiv 2504.02546). They differ in their
 * advantages and in whether there is an old policy to compare with.
 */
#include "loss/token_chunk.h"

/*
 * The ratio is reported but not used in the loss, so its limit neither counts tokens nor cuts
 * gradients. Without an old policy no ratio is reported.
 */
static RL_INLINE void reinforce(struct rl_token_chunk *at, const struct rl_loss_options *options, real row_weight, bool weighted,
                                bool scaled, struct rl_row_sums *sums)
{
    const real *log_prob = at->log_prob, *advantages = at->advantages;
    real *slope = at->slope;
    (void)options, (void)scaled, (void)sums;
#pragma omp simd
    for (size_t t = 0; t < RL_CHUNK; t++) {
        rl_int on = at->on[t];
        real p = rl_keep(on, log_prob[t]), a = rl_keep(on, advantages[t]);
        real w = weighted ? at->weight[t] : 1;
        at->term[t] = w * (-a * p);
        slope[t] = w * -a * row_weight;
    }
}

HOT(struct rl_row_sums, reinforce_row, (const struct rl_loss_call *call, size_t row, real row_weight), (call, row, row_weight))
{
    struct rl_row_sums sums = rl_token_row(call, row, row_weight, false, false, reinforce);
    sums.clamped = 0;
    if (!call->in->old_log_prob) {
        sums.ratio_min = INFINITY;
        sums.ratio_max = -INFINITY;
    }
    return sums;
}

RL_POLICY_LOSS(rl_reinforce_loss, .row = reinforce_row, .weights = RL_WEIGHTS_AGG, .unclipped = "reinforce")

RL_POLICY_LOSS(rl_gpg_loss, .row = reinforce_row, .weights = RL_WEIGHTS_AGG, .old_optional = true, .unclipped = "gpg")
