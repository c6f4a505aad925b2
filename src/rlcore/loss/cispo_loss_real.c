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
    for (size_t begin = 0; begin < call->batch->n_tokens; begin += RL_CHUNK) {
        real loss = 0, clipped = 0, sum = 0, least = 0;
        rl_token_chunk_at(&at, call, row, begin);
        /*
         * No zeroing of limited tokens as in PPO: here the ratio carries no gradient, and its limit
         * is far outside the clip.
         */
        rl_token_chunk_ratios(&at, true, &sums);
        const real *log_prob = at.log_prob, *advantages = at.advantages, *weights = at.weights;
        real *slope = at.slope;
#pragma omp simd reduction(+ : loss, clipped, sum) reduction(min : least)
        for (size_t t = 0; t < at.n; t++) {
            real on = at.on[t], p = on > 0 ? log_prob[t] : 0;
            real a = on > 0 ? advantages[t] : 0, w = weighted ? weights[t] : 1;
            w = !weighted || on > 0 ? w : 0;
            real factor = rl_limit(at.ratio[t], low, high), excess = at.ratio[t] - factor;
            real pull = -factor * a;
            loss += w * (pull * p);
            slope[t] = w * pull * row_weight;
            /* The square is what the compiler cannot trace back to the limits, to branch on them.
             */
            clipped += excess * excess > 0 ? 1 : 0;
            sum += weighted ? a + w : a;
            least = w < least ? w : least;
        }
        sums.loss += (double)loss;
        sums.clipped += (double)clipped;
        sums.poisoned |= !isfinite(sum) || least < 0;
    }
    rl_token_row_end(call, row, &sums);
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
        rows.sums[row] = cispo_row(&call, row, (real)rl_row_weight(&rows, row));
    return rl_loss_end(&call, &rows, err);
}
