/*
 * ppo_loss_real.c: PPO with dual clip (arXiv 1707.06347, 1912.09729). clip_high > clip_low gives
 * DAPO's asymmetric clip (2503.14476), and clip scales A2TGPO's adaptive clip (2605.06200).
 */
#include "loss/token_chunk.h"

/*
 * The clip takes the larger (worse) loss of the plain and the clipped ratio, so that it only
 * removes the gain of moving further. Where A < 0 a large ratio makes that loss unbounded, and the
 * dual clip bounds it at c. In both cases the loss is constant in the token's log-prob.
 */
static RL_INLINE void ppo(struct rl_token_chunk *at, const struct rl_loss_options *options, real row_weight, bool weighted,
                          bool scaled, struct rl_row_sums *sums)
{
    const struct rl_clip clip = rl_clip_of(options);
    const real c = (real)options->clip_c, *advantages = at->advantages;
    real *slope = at->slope;
    rl_int clipped = 0, lower = 0;
    RL_INDEPENDENT
    for (size_t t = 0; t < RL_CHUNK; t++) {
        real a = rl_keep(at->on[t], advantages[t]), w = weighted ? at->weight[t] : 1;
        real low = rl_clip_low(at, clip, t, scaled), high = rl_clip_high(at, clip, t, scaled);
        real plain = -a * at->ratio[t], bounded = -a * rl_limit(at->ratio[t], low, high);
        rl_int cut = rl_below(plain, bounded);
        /* Where A > 0 the loss is negative and never reaches the bound of the dual clip. */
        real larger = rl_pick(cut, bounded, plain), bound = rl_size(a) * c;
        rl_int dual = rl_below(bound, larger);
        at->term[t] = w * rl_pick(dual, bound, larger);
        slope[t] = w * rl_keep(~(cut | dual), plain) * row_weight;
        clipped -= cut;
        lower -= dual;
    }
    /*
     * A log-ratio at the limit of 20 is constant, so its slope is 0. This is rare enough for a
     * separate pass.
     */
    if (at->limited)
        rl_token_chunk_zero(at);
    sums->clipped += (double)clipped;
    sums->lower += (double)lower;
}

HOT(struct rl_row_sums, ppo_row, (const struct rl_loss_call *call, size_t row, real row_weight), (call, row, row_weight))
{
    return rl_token_row(call, row, row_weight, true, true, ppo);
}

RL_POLICY_LOSS(rl_ppo_loss, .row = ppo_row, .weights = RL_WEIGHTS_AGG)
