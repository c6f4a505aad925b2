/* cispo_loss_real.c: CISPO (arXiv 2506.13585). */
#include "loss/token_chunk.h"

/*
 * The clipped ratio is a constant weight of -A log_prob, so that a clipped token still teaches;
 * that is the point of CISPO, whose authors found that PPO's clip drops the rare tokens where a
 * train of thought turns.
 */
static RL_INLINE struct rl_row_sums cispo_tokens(const struct rl_loss_call *call, size_t row,
                                                 real row_weight, bool weighted)
{
    const real low = (real)(1 - call->options->clip_low);
    const real high = (real)(1 + call->options->clip_high);
    struct rl_row_sums sums = rl_row_sums_empty();
    struct rl_token_chunk at;
    for (size_t i = rl_row_at(&call->batch, row), end = rl_row_end(&call->batch, row); i < end;
         i += RL_CHUNK) {
        real sum = 0, least = 0;
        rl_int clipped = 0;
        rl_token_chunk_at(&at, call, i, end);
        /*
         * No zeroing of limited tokens as in PPO: here the ratio carries no gradient, and its limit
         * is far outside the clip.
         */
        rl_token_chunk_ratios(&at, true, &sums);
        const real *log_prob = at.log_prob, *advantages = at.advantages, *weights = at.weights;
        real *slope = at.slope;
#pragma omp simd reduction(+ : clipped, sum) reduction(min : least)
        for (size_t t = 0; t < at.n; t++) {
            rl_int on = at.on[t];
            real p = rl_keep(on, log_prob[t]), a = rl_keep(on, advantages[t]);
            real w = weighted ? rl_keep(on, weights[t]) : 1;
            real factor = rl_limit(at.ratio[t], low, high), pull = -factor * a;
            at.term[t] = w * (pull * p);
            slope[t] = w * pull * row_weight;
            clipped -= rl_below(at.ratio[t], low) | rl_below(high, at.ratio[t]);
            sum += weighted ? a + w : a;
            least = w < least ? w : least;
        }
        sums.loss += (double)rl_sum(at.term, at.n);
        sums.clipped += (double)clipped;
        sums.poisoned |= !isfinite(sum) || least < 0;
    }
    rl_token_row_end(&sums);
    return sums;
}

/* weighted is a constant in either call: a test of it within the loop would not be vectorised. */
RL_HOT static struct rl_row_sums cispo_row(const struct rl_loss_call *call, size_t row,
                                           real row_weight)
{
    return call->in->weights ? cispo_tokens(call, row, row_weight, true)
                             : cispo_tokens(call, row, row_weight, false);
}

enum rl_status rl_cispo_loss(const struct rl_batch *batch, const struct rl_loss_input *in,
                             const struct rl_loss_options *options, real *d_log_prob,
                             struct rl_loss_result *out, struct rl_workspace *ws,
                             struct rl_error *err)
{
    struct rl_loss_call call = {.in = in,
                                .options = options,
                                .d_log_prob = d_log_prob,
                                .out = out,
                                .weights = RL_WEIGHTS_AGG};
    return rl_loss_run(&call, batch, cispo_row, ws, err);
}
