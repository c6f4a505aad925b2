/*
 * ppo_loss_real.c: PPO with dual clip (arXiv 1707.06347, 1912.09729), and DAPO's asymmetric clip
 * (2503.14476) through clip_high > clip_low.
 */
#include "loss/token_chunk.h"

/*
 * The clip takes the larger, worse loss of the plain and the clipped ratio, so that it only ever
 * removes what would be gained by moving further. Where A < 0 a large ratio makes that loss
 * unbounded; the dual clip bounds it at c. In both cases the loss no longer moves with the token.
 */
static RL_INLINE struct rl_row_sums ppo_tokens(const struct rl_loss_call *call, size_t row,
                                               real row_weight, bool weighted)
{
    const real low = (real)(1 - call->options->clip_low);
    const real high = (real)(1 + call->options->clip_high), c = (real)call->options->clip_c;
    struct rl_row_sums sums = rl_row_sums_empty();
    struct rl_token_chunk at;
    for (size_t i = rl_row_at(&call->batch, row), end = rl_row_end(&call->batch, row); i < end;
         i += RL_CHUNK) {
        real sum = 0, least = 0;
        rl_int clipped = 0, lower = 0;
        rl_token_chunk_at(&at, call, i, end);
        rl_token_chunk_ratios(&at, true, &sums);
        const real *advantages = at.advantages, *weights = at.weights;
        real *slope = at.slope;
#pragma omp simd reduction(+ : clipped, lower, sum) reduction(min : least)
        for (size_t t = 0; t < at.n; t++) {
            rl_int on = at.on[t];
            real a = rl_keep(on, advantages[t]), w = weighted ? rl_keep(on, weights[t]) : 1;
            real plain = -a * at.ratio[t], bounded = -a * rl_limit(at.ratio[t], low, high);
            rl_int cut = rl_below(plain, bounded);
            real larger = rl_pick(cut, bounded, plain), bound = -a * c;
            rl_int dual = rl_below(a, 0) & rl_below(bound, larger);
            at.term[t] = w * rl_pick(dual, bound, larger);
            slope[t] = w * rl_keep(~(cut | dual), plain) * row_weight;
            clipped -= cut;
            lower -= dual;
            sum += weighted ? a + w : a;
            least = w < least ? w : least;
        }
        /*
         * A ratio at the limit of exp no longer moves with the token, so its slope is 0; rare
         * enough for a pass of its own.
         */
        if (at.limited)
            rl_token_chunk_zero(&at);
        sums.loss += (double)rl_sum(at.term, at.n);
        sums.clipped += (double)clipped;
        sums.lower += (double)lower;
        sums.poisoned |= !isfinite(sum) || least < 0;
    }
    rl_token_row_end(&sums);
    return sums;
}

/* weighted is a constant in either call: a test of it within the loop would not be vectorised. */
RL_HOT static struct rl_row_sums ppo_row(const struct rl_loss_call *call, size_t row,
                                         real row_weight)
{
    return call->in->weights ? ppo_tokens(call, row, row_weight, true)
                             : ppo_tokens(call, row, row_weight, false);
}

enum rl_status rl_ppo_loss(const struct rl_batch *batch, const struct rl_loss_input *in,
                           const struct rl_loss_options *options, real *d_log_prob,
                           struct rl_loss_result *out, struct rl_workspace *ws,
                           struct rl_error *err)
{
    struct rl_loss_call call = {.in = in,
                                .options = options,
                                .d_log_prob = d_log_prob,
                                .out = out,
                                .weights = RL_WEIGHTS_AGG};
    return rl_loss_run(&call, batch, ppo_row, ws, err);
}
