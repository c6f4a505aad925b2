/*
 * ppo_loss_real.c: PPO with dual clip (arXiv 1707.06347, 1912.09729), and DAPO's asymmetric clip
 * (2503.14476) through clip_high > clip_low.
 */
#include "loss/token_chunk.h"

/*
 * The clip takes the larger, worse loss of the plain and the clipped ratio, so that it only ever
 * removes what would be gained by moving further. Where A < 0 a large ratio makes that loss
 * unbounded; the dual clip bounds it at c. In both cases the loss no longer moves with the token.
 * Comparisons become numbers, as a loop over numbers of one width is vectorised, and one with
 * conditions of another width often not.
 */
static RL_INLINE struct rl_row_sums ppo_tokens(const struct rl_loss_call *call, size_t row,
                                               real row_weight, bool weighted)
{
    const real low = (real)(1 - call->options->clip_low);
    const real high = (real)(1 + call->options->clip_high), c = (real)call->options->clip_c;
    struct rl_row_sums sums = rl_row_sums_empty();
    struct rl_token_chunk at;
    for (size_t begin = 0; begin < call->batch->n_tokens; begin += RL_CHUNK) {
        real loss = 0, clipped = 0, lower = 0, sum = 0, least = 0;
        rl_token_chunk_at(&at, call, row, begin);
        rl_token_chunk_ratios(&at, true, &sums);
        const real *advantages = at.advantages, *weights = at.weights;
        real *slope = at.slope;
#pragma omp simd reduction(+ : loss, clipped, lower, sum) reduction(min : least)
        for (size_t t = 0; t < at.n; t++) {
            real on = at.on[t], a = on > 0 ? advantages[t] : 0;
            real w = weighted ? weights[t] : 1;
            w = !weighted || on > 0 ? w : 0;
            real plain = -a * at.ratio[t], bounded = -a * rl_limit(at.ratio[t], low, high);
            real larger = bounded > plain ? bounded : plain, bound = -a * c;
            real cut = bounded > plain ? 1 : 0, above = larger > bound ? 1 : 0;
            real dual = a < 0 ? above : 0;
            loss += w * (dual > 0 ? bound : larger);
            slope[t] = w * (cut + dual > 0 ? 0 : plain) * row_weight;
            clipped += cut;
            lower += dual;
            sum += weighted ? a + w : a;
            least = w < least ? w : least;
        }
        /*
         * A ratio at the limit of exp no longer moves with the token, so its slope is 0; rare
         * enough for a pass of its own.
         */
        if (at.limited)
            rl_token_chunk_zero(&at);
        sums.loss += (double)loss;
        sums.clipped += (double)clipped;
        sums.lower += (double)lower;
        sums.poisoned |= !isfinite(sum) || least < 0;
    }
    rl_token_row_end(call, row, &sums);
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
        rows.sums[row] = ppo_row(&call, row, (real)rl_row_weight(&rows, row));
    return rl_loss_end(&call, &rows, err);
}
