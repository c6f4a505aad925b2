/* sapo_loss_real.c: SAPO (arXiv 2511.20347). */
#include "loss/token_chunk.h"

/*
 * Where a sigmoid is 0 or 1 in either precision. Out of line: a limit unknown to the compiler
 * becomes a minimum, a known one a choice of paths, which is not vectorised.
 */
static __attribute__((noinline)) real sigmoid_reach(void)
{
    return 80;
}

/*
 * A sigmoid of the ratio in place of the clip: the gradient fades out instead of breaking off. The
 * factor 4 / tau gives it the slope 1 at ratio 1, whatever the temperature, which is larger (fades
 * sooner) where A <= 0, since pushing a token down raises many others by chance.
 */
static RL_INLINE struct rl_row_sums sapo_tokens(const struct rl_loss_call *call, size_t row,
                                                real row_weight, bool weighted)
{
    const real tau_pos = (real)call->options->tau_pos, tau_neg = (real)call->options->tau_neg;
    const real scale_pos = (real)(4 / call->options->tau_pos);
    const real scale_neg = (real)(4 / call->options->tau_neg), far = sigmoid_reach();
    struct rl_row_sums sums = rl_row_sums_empty();
    struct rl_token_chunk at;
    for (size_t i = rl_row_at(&call->batch, row), end = rl_row_end(&call->batch, row); i < end;
         i += RL_CHUNK) {
        real sum = 0, least = 0;
        rl_token_chunk_at(&at, call, i, end);
        rl_token_chunk_ratios(&at, true, &sums);
        const real *advantages = at.advantages, *weights = at.weights;
        real *slope = at.slope;
#pragma omp simd reduction(+ : sum) reduction(min : least)
        for (size_t t = 0; t < at.n; t++) {
            rl_int on = at.on[t];
            real a = rl_keep(on, advantages[t]), w = weighted ? rl_keep(on, weights[t]) : 1;
            rl_int up = rl_below(0, a);
            real tau = rl_pick(up, tau_pos, tau_neg), scale = rl_pick(up, scale_pos, scale_neg);
            real gate = 1 / (1 + rl_exp_near(rl_limit(-tau * (at.ratio[t] - 1), -far, far)));
            real gated = -a * gate;
            at.term[t] = w * (gated * scale);
            slope[t] = w * (gated * 4 * (1 - gate) * at.ratio[t]) * row_weight;
            sum += weighted ? a + w : a;
            least = w < least ? w : least;
        }
        if (at.limited)
            rl_token_chunk_zero(&at);
        sums.loss += (double)rl_sum(at.term, at.n);
        sums.poisoned |= !isfinite(sum) || least < 0;
    }
    rl_token_row_end(&sums);
    return sums;
}

/* weighted is a constant in either call: a test of it within the loop would not be vectorised. */
RL_HOT static struct rl_row_sums sapo_row(const struct rl_loss_call *call, size_t row,
                                          real row_weight)
{
    return call->in->weights ? sapo_tokens(call, row, row_weight, true)
                             : sapo_tokens(call, row, row_weight, false);
}

enum rl_status rl_sapo_loss(const struct rl_batch *batch, const struct rl_loss_input *in,
                            const struct rl_loss_options *options, real *d_log_prob,
                            struct rl_loss_result *out, struct rl_workspace *ws,
                            struct rl_error *err)
{
    struct rl_loss_call call = {.in = in,
                                .options = options,
                                .d_log_prob = d_log_prob,
                                .out = out,
                                .weights = RL_WEIGHTS_SEQ_MEAN};
    return rl_loss_run(&call, batch, sapo_row, ws, err);
}
