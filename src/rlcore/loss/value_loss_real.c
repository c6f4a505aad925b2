/*
 * value_loss_real.c: the clipped value loss of PPO: of the errors of the value and of the value
 * kept within the clip range of the old one, the worse counts, as in the policy loss.
 */
#include "support/hot.h"
#include "support/real.h"
#include "support/rows.h"

struct value_call {
    const struct rl_batch *batch;
    const real *vpreds, *values, *returns;
    real *d_vpreds; /* or NULL */
    double cliprange;
};

/*
 * The loss carries the factor 1/2: half the square, whose slope is the error itself. Where the
 * clipped error is the worse one the gradient is 0, since the bound does not move with the value.
 */
RL_HOT static struct rl_row_sums value_row(const struct value_call *call, size_t row,
                                           real row_weight)
{
    const real cliprange = (real)call->cliprange;
    size_t n_tokens = call->batch->n_tokens;
    struct rl_row_sums sums = rl_row_sums_empty();
    real unwanted[RL_CHUNK], mask[RL_CHUNK];
    for (size_t begin = 0; begin < n_tokens; begin += RL_CHUNK) {
        size_t i = row * n_tokens + begin, n = n_tokens - begin;
        const real *vpreds = call->vpreds + i, *values = call->values + i;
        const real *returns = call->returns + i;
        real *slope = call->d_vpreds ? call->d_vpreds + i : unwanted;
        real loss = 0, clipped = 0, poison = 0;
        n = n < RL_CHUNK ? n : RL_CHUNK;
        rl_fetch_ahead(vpreds);
        rl_fetch_ahead(values);
        rl_fetch_ahead(returns);
        rl_fetch_ahead(slope);
        rl_mask_reals(call->batch->mask + i, n, mask);
#pragma omp simd reduction(+ : loss, clipped, poison)
        for (size_t t = 0; t < n; t++) {
            real on = mask[t], v = on > 0 ? vpreds[t] : 0;
            real old = on > 0 ? values[t] : 0, g = on > 0 ? returns[t] : 0;
            real error = v - g, bounded = rl_limit(v, old - cliprange, old + cliprange) - g;
            real plain = error * error, limited = bounded * bounded;
            loss += limited > plain ? limited : plain;
            clipped += limited > plain ? 1 : 0;
            slope[t] = limited > plain ? 0 : error * row_weight;
            poison += (v - v) + (old - old) + (g - g);
        }
        sums.loss += 0.5 * (double)loss;
        sums.clipped += (double)clipped;
        sums.poisoned |= !(poison == 0);
    }
    return sums;
}

static enum rl_status explain(const struct value_call *call, struct rl_error *err)
{
    enum rl_status status = rl_batch_check_reals("vpreds", call->vpreds, call->batch, err);
    if (status == RL_OK)
        status = rl_batch_check_reals("values", call->values, call->batch, err);
    return status == RL_OK ? rl_batch_check_reals("returns", call->returns, call->batch, err)
                           : status;
}

/*
 * A clip range of 0 is allowed: the value then may not leave the old one, which is a use and no
 * mistake.
 */
static enum rl_status check(const struct value_call *call, const struct rl_agg *agg,
                            struct rl_error *err)
{
    if (!call->batch || !agg)
        return rl_fail(err, RL_EINVAL, "batch or aggregation is missing");
    if (!(call->cliprange >= 0) || isinf(call->cliprange))
        return rl_fail(err, RL_EINVAL, "value clip range is %g, negative or not finite",
                       call->cliprange);
    if (call->batch->n_rows > 0 && call->batch->n_tokens > 0 &&
        (!call->vpreds || !call->values || !call->returns))
        return rl_fail(err, RL_EINVAL, "%s is missing",
                       !call->vpreds   ? "vpreds"
                       : !call->values ? "values"
                                       : "returns");
    return RL_OK;
}

enum rl_status rl_value_loss(const struct rl_batch *batch, const struct rl_agg *agg,
                             double cliprange, const real *vpreds, const real *values,
                             const real *returns, real *d_vpreds, struct rl_value_result *out,
                             struct rl_workspace *ws, struct rl_error *err)
{
    const struct value_call call = {batch, vpreds, values, returns, d_vpreds, cliprange};
    struct rl_rows rows;
    enum rl_status status = out ? check(&call, agg, err) : RL_NEED(err, {"out", out});
    if (status == RL_OK)
        status = rl_rows_begin(&rows, batch, RL_NEEDS_MASK, RL_WEIGHTS_AGG, agg, ws, err);
    if (status != RL_OK)
        return status;
#pragma omp parallel for schedule(static) if (rows.parallel)
    for (size_t row = 0; row < batch->n_rows; row++)
        rows.sums[row] = value_row(&call, row, (real)rl_row_weight(&rows, row));
    const struct rl_row_sums total = rl_rows_total(&rows);
    status = total.poisoned ? explain(&call, err) : RL_OK;
    if (status == RL_OK && !isfinite(total.loss))
        return rl_fail(err, RL_EVALUE, "the loss overflows: it is %g", total.loss);
    if (status == RL_OK)
        *out = (struct rl_value_result){total.loss, rl_masked_mean(total.clipped, rows.n_tokens)};
    return status;
}
