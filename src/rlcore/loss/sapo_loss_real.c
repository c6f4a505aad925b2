/* sapo_loss_real.c: SAPO (arXiv 2511.20347). */
#include "loss/token_chunk.h"

/*
 * Beyond this argument a sigmoid is 0 or 1 in either precision. The function is deliberately not
 * inlined. If the compiler does not know the limit it uses a minimum; if it knows the limit it
 * would use branches, which are not vectorised.
 */
static __attribute__((noinline)) real sigmoid_reach(void)
{
    return 80;
}

/*
 * A sigmoid of the ratio replaces the clip, so that the gradient fades out instead of stopping. The
 * factor 4 / tau gives it slope 1 at ratio 1 for every temperature. The temperature is larger (the
 * gradient fades sooner) where A <= 0, because pushing one token down raises many others at random.
 */
static RL_INLINE void sapo(struct rl_token_chunk *at, const struct rl_loss_options *options, real row_weight, bool weighted,
                           bool scaled, struct rl_row_sums *sums)
{
    const real tau_pos = (real)options->tau_pos, tau_neg = (real)options->tau_neg;
    const real scale_pos = (real)(4 / options->tau_pos), scale_neg = (real)(4 / options->tau_neg);
    const real far = sigmoid_reach(), *advantages = at->advantages;
    real *slope = at->slope;
    _Alignas(64) real x[RL_CHUNK], fading[RL_CHUNK];
    (void)scaled, (void)sums;
#pragma omp simd
    for (size_t t = 0; t < RL_CHUNK; t++) {
        real a = rl_keep(at->on[t], advantages[t]);
        real tau = rl_pick(rl_below(0, a), tau_pos, tau_neg);
        x[t] = rl_limit(-tau * (at->ratio[t] - 1), -far, far);
    }
    rl_exp_near_all(fading, x, RL_CHUNK);
#pragma omp simd
    for (size_t t = 0; t < RL_CHUNK; t++) {
        real a = rl_keep(at->on[t], advantages[t]), w = weighted ? at->weight[t] : 1;
        real scale = rl_pick(rl_below(0, a), scale_pos, scale_neg);
        real gate = 1 / (1 + fading[t]), gated = -a * gate;
        at->term[t] = w * (gated * scale);
        slope[t] = w * (gated * 4 * (1 - gate) * at->ratio[t]) * row_weight;
    }
    if (at->limited)
        rl_token_chunk_zero(at);
}

HOT(struct rl_row_sums, sapo_row, (const struct rl_loss_call *call, size_t row, real row_weight), (call, row, row_weight))
{
    return rl_token_row(call, row, row_weight, true, false, sapo);
}

RL_POLICY_LOSS(rl_sapo_loss, .row = sapo_row, .weights = RL_WEIGHTS_SEQ_MEAN, .unclipped = "sapo")
