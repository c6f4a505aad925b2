/*
 * reinforce_loss_real.c: REINFORCE (Williams 1992) and GPG (arXiv 2504.02546), which differ in
 * their advantages and in whether there is an old policy to compare with.
 */
#include "loss/token_chunk.h"

/*
 * The ratio is reported, not used: its limit counts nothing and cuts no gradient, and without an
 * old policy there is none to report.
 */
static RL_INLINE struct rl_row_sums reinforce_tokens(const struct rl_loss_call *call, size_t row,
                                                     real row_weight, bool weighted)
{
    struct rl_row_sums sums = rl_row_sums_empty();
    struct rl_token_chunk at;
    for (size_t i = rl_row_at(&call->batch, row), end = rl_row_end(&call->batch, row); i < end;
         i += RL_CHUNK) {
        real sum = 0, least = 0;
        rl_token_chunk_at(&at, call, i, end);
        rl_token_chunk_ratios(&at, false, &sums);
        const real *log_prob = at.log_prob, *advantages = at.advantages, *weights = at.weights;
        real *slope = at.slope;
#pragma omp simd reduction(+ : sum) reduction(min : least)
        for (size_t t = 0; t < at.n; t++) {
            rl_int on = at.on[t];
            real p = rl_keep(on, log_prob[t]), a = rl_keep(on, advantages[t]);
            real w = weighted ? rl_keep(on, weights[t]) : 1;
            at.term[t] = w * (-a * p);
            slope[t] = w * -a * row_weight;
            sum += weighted ? a + w : a;
            least = w < least ? w : least;
        }
        sums.loss += (double)rl_sum(at.term, at.n);
        sums.poisoned |= !isfinite(sum) || least < 0;
    }
    rl_token_row_end(&sums);
    sums.clamped = 0;
    if (!call->in->old_log_prob) {
        sums.ratio_min = INFINITY;
        sums.ratio_max = -INFINITY;
    }
    return sums;
}

/* weighted is a constant in either call: a test of it within the loop would not be vectorised. */
RL_HOT static struct rl_row_sums reinforce_row(const struct rl_loss_call *call, size_t row,
                                               real row_weight)
{
    return call->in->weights ? reinforce_tokens(call, row, row_weight, true)
                             : reinforce_tokens(call, row, row_weight, false);
}

enum rl_status rl_reinforce_loss(const struct rl_batch *batch, const struct rl_loss_input *in,
                                 const struct rl_loss_options *options, real *d_log_prob,
                                 struct rl_loss_result *out, struct rl_workspace *ws,
                                 struct rl_error *err)
{
    struct rl_loss_call call = {.in = in,
                                .options = options,
                                .d_log_prob = d_log_prob,
                                .out = out,
                                .weights = RL_WEIGHTS_AGG};
    return rl_loss_run(&call, batch, reinforce_row, ws, err);
}

enum rl_status rl_gpg_loss(const struct rl_batch *batch, const struct rl_loss_input *in,
                           const struct rl_loss_options *options, real *d_log_prob,
                           struct rl_loss_result *out, struct rl_workspace *ws,
                           struct rl_error *err)
{
    struct rl_loss_call call = {.in = in,
                                .options = options,
                                .d_log_prob = d_log_prob,
                                .out = out,
                                .weights = RL_WEIGHTS_AGG,
                                .old_optional = true};
    return rl_loss_run(&call, batch, reinforce_row, ws, err);
}
