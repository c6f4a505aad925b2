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
    for (size_t begin = 0; begin < call->batch->n_tokens; begin += RL_CHUNK) {
        real loss = 0, sum = 0, least = 0;
        rl_token_chunk_at(&at, call, row, begin);
        rl_token_chunk_ratios(&at, false, &sums);
        const real *log_prob = at.log_prob, *advantages = at.advantages, *weights = at.weights;
        real *slope = at.slope;
#pragma omp simd reduction(+ : loss, sum) reduction(min : least)
        for (size_t t = 0; t < at.n; t++) {
            real on = at.on[t], p = on > 0 ? log_prob[t] : 0;
            real a = on > 0 ? advantages[t] : 0, w = weighted ? weights[t] : 1;
            w = !weighted || on > 0 ? w : 0;
            loss += w * (-a * p);
            slope[t] = w * -a * row_weight;
            sum += weighted ? a + w : a;
            least = w < least ? w : least;
        }
        sums.loss += (double)loss;
        sums.poisoned |= !isfinite(sum) || least < 0;
    }
    rl_token_row_end(call, row, &sums);
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
    const struct rl_loss_call call = {.batch = batch,
                                      .in = in,
                                      .options = options,
                                      .d_log_prob = d_log_prob,
                                      .out = out,
                                      .weights = RL_WEIGHTS_AGG};
    struct rl_rows rows;
    enum rl_status status = rl_loss_begin(&call, &rows, ws, err);
    if (status != RL_OK)
        return status;
#pragma omp parallel for schedule(static) if (rows.parallel)
    for (size_t row = 0; row < batch->n_rows; row++)
        rows.sums[row] = reinforce_row(&call, row, (real)rl_row_weight(&rows, row));
    return rl_loss_end(&call, &rows, err);
}

enum rl_status rl_gpg_loss(const struct rl_batch *batch, const struct rl_loss_input *in,
                           const struct rl_loss_options *options, real *d_log_prob,
                           struct rl_loss_result *out, struct rl_workspace *ws,
                           struct rl_error *err)
{
    const struct rl_loss_call call = {.batch = batch,
                                      .in = in,
                                      .options = options,
                                      .d_log_prob = d_log_prob,
                                      .out = out,
                                      .weights = RL_WEIGHTS_AGG,
                                      .old_optional = true};
    struct rl_rows rows;
    enum rl_status status = rl_loss_begin(&call, &rows, ws, err);
    if (status != RL_OK)
        return status;
#pragma omp parallel for schedule(static) if (rows.parallel)
    for (size_t row = 0; row < batch->n_rows; row++)
        rows.sums[row] = reinforce_row(&call, row, (real)rl_row_weight(&rows, row));
    return rl_loss_end(&call, &rows, err);
}
