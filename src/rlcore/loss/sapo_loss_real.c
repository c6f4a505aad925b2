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
    for (size_t begin = 0; begin < call->batch->n_tokens; begin += RL_CHUNK) {
        real loss = 0, sum = 0, least = 0;
        rl_token_chunk_at(&at, call, row, begin);
        rl_token_chunk_ratios(&at, true, &sums);
        const real *advantages = at.advantages, *weights = at.weights;
        real *slope = at.slope;
#pragma omp simd reduction(+ : loss, sum) reduction(min : least)
        for (size_t t = 0; t < at.n; t++) {
            real on = at.on[t], a = on > 0 ? advantages[t] : 0;
            real w = weighted ? weights[t] : 1;
            w = !weighted || on > 0 ? w : 0;
            real tau = a > 0 ? tau_pos : tau_neg, scale = a > 0 ? scale_pos : scale_neg;
            real gate = 1 / (1 + rl_exp_near(rl_limit(-tau * (at.ratio[t] - 1), -far, far)));
            real gated = -a * gate;
            loss += w * (gated * scale);
            slope[t] = w * (gated * 4 * (1 - gate) * at.ratio[t]) * row_weight;
            sum += weighted ? a + w : a;
            least = w < least ? w : least;
        }
        if (at.limited)
            rl_token_chunk_zero(&at);
        sums.loss += (double)loss;
        sums.poisoned |= !isfinite(sum) || least < 0;
    }
    rl_token_row_end(call, row, &sums);
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
    const struct rl_loss_call call = {.batch = batch,
                                      .in = in,
                                      .options = options,
                                      .d_log_prob = d_log_prob,
                                      .out = out,
                                      .weights = RL_WEIGHTS_SEQ_MEAN};
    struct rl_rows rows;
    enum rl_status status = rl_loss_begin(&call, &rows, ws, err);
    if (status != RL_OK)
        return status;
#pragma omp parallel for schedule(static) if (rows.parallel)
    for (size_t row = 0; row < batch->n_rows; row++)
        rows.sums[row] = sapo_row(&call, row, (real)rl_row_weight(&rows, row));
    return rl_loss_end(&call, &rows, err);
}
