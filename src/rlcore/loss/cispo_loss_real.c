/* cispo_loss_real.c: CISPO (arXiv 2506.13585). */
#include "loss/token_chunk.h"

/*
 * The clipped ratio is a constant weight of -A log_prob, so that a clipped token still has a
 * gradient. That is the point of CISPO, whose authors found that PPO's clip drops the rare tokens
 * where a line of reasoning changes direction.
 */
static RL_INLINE void cispo(struct rl_token_chunk *at, const struct rl_loss_options *options, real row_weight, bool weighted,
                            bool scaled, struct rl_row_sums *sums)
{
    const struct rl_clip clip = rl_clip_of(options);
    const real *log_prob = at->log_prob, *advantages = at->advantages;
    real *slope = at->slope;
    rl_int clipped = 0;
    /*
     * Limited tokens keep their slope, unlike in PPO: here the ratio carries no gradient, and its
     * limit is far outside the clip.
     */
    RL_INDEPENDENT
    for (size_t t = 0; t < RL_CHUNK; t++) {
        rl_int on = at->on[t];
        real p = rl_keep(on, log_prob[t]), a = rl_keep(on, advantages[t]);
        real w = weighted ? at->weight[t] : 1;
        real low = rl_clip_low(at, clip, t, scaled), high = rl_clip_high(at, clip, t, scaled);
        real factor = rl_limit(at->ratio[t], low, high), pull = -factor * a;
        at->term[t] = w * (pull * p);
        slope[t] = w * pull * row_weight;
        clipped -= rl_below(at->ratio[t], low) | rl_below(high, at->ratio[t]);
    }
    sums->clipped += (double)clipped;
}

HOT(struct rl_row_sums, cispo_row, (const struct rl_loss_call *call, size_t row, real row_weight), (call, row, row_weight))
{
    return rl_token_row(call, row, row_weight, true, true, cispo);
}

RL_POLICY_LOSS(rl_cispo_loss, .row = cispo_row, .weights = RL_WEIGHTS_AGG)
