/*
 * value_loss_real.c: the clipped value loss of PPO. The value is compared with the return twice,
 * unchanged and limited to the clip range around the old value; the larger error counts, as in the
 * policy loss.
 */
#include "support/loops.h"
#include "support/real.h"
#include "support/row_sums.h"

struct value_call {
    struct rl_grid batch;
    const real *vpreds, *values, *returns;
    real *d_vpreds; /* or NULL */
    double cliprange;
};

enum { VPREDS, VALUES, RETURNS }; /* in the order of the arguments */

/*
 * The loss is half the square, whose slope is the error itself. Where the clipped error is the
 * larger one the gradient is 0, because the bound does not move with the value.
 */
HOT(struct rl_row_sums, value_row, (const struct value_call *call, size_t row, real row_weight), (call, row, row_weight))
{
    const struct rl_grid *batch = &call->batch;
    const real cliprange = (real)call->cliprange;
    struct rl_row_sums sums = rl_row_sums_empty();
    _Alignas(64) real unwanted[RL_CHUNK], term[RL_CHUNK], floats[3][RL_CHUNK];
    _Alignas(64) rl_int on[RL_CHUNK];
    for (size_t i = rl_row_at(batch, row), end = rl_row_end(batch, row); i < end; i += RL_CHUNK) {
        size_t n = end - i < RL_CHUNK ? end - i : RL_CHUNK;
        const real *vpreds = rl_reals_at(batch, VPREDS, call->vpreds, i, n, floats[0]);
        const real *values = rl_reals_at(batch, VALUES, call->values, i, n, floats[1]);
        const real *returns = rl_reals_at(batch, RETURNS, call->returns, i, n, floats[2]);
        real *slope = call->d_vpreds ? call->d_vpreds + i : unwanted;
        rl_int clipped = 0, bad = 0;
        rl_fetch_ahead(vpreds);
        rl_fetch_ahead(values);
        rl_fetch_ahead(returns);
        rl_fetch_ahead(slope);
        rl_mask_bits(batch, i, n, on);
        RL_INDEPENDENT
        for (size_t t = 0; t < n; t++) {
            real v = rl_keep(on[t], vpreds[t]), old = rl_keep(on[t], values[t]);
            real g = rl_keep(on[t], returns[t]);
            real error = v - g, bounded = rl_limit(v, old - cliprange, old + cliprange) - g;
            real plain = error * error, limited = bounded * bounded;
            rl_int cut = rl_below(plain, limited);
            term[t] = rl_pick(cut, limited, plain);
            slope[t] = rl_keep(~cut, error * row_weight);
            clipped -= cut;
            bad |= rl_not_finite(v) | rl_not_finite(old) | rl_not_finite(g);
        }
        sums.loss += 0.5 * (double)rl_sum(term, n);
        sums.clipped += (double)clipped;
        sums.poisoned |= bad != 0;
    }
    return sums;
}

static enum rl_status explain(const struct value_call *call, struct rl_error *err)
{
    const struct rl_grid *batch = &call->batch;
    RL_TRY(rl_grid_check_reals("vpreds", batch, VPREDS, call->vpreds, false, err));
    RL_TRY(rl_grid_check_reals("values", batch, VALUES, call->values, false, err));
    return rl_grid_check_reals("returns", batch, RETURNS, call->returns, false, err);
}

/* A clip range of 0 is allowed: it keeps the value at the old one, which is a legitimate use. */
static enum rl_status check(const struct value_call *call, const struct rl_agg *agg, struct rl_error *err)
{
    if (!agg)
        return rl_fail(err, RL_EINVAL, "aggregation is missing");
    if (!(call->cliprange >= 0) || isinf(call->cliprange))
        return rl_fail(err, RL_EINVAL, "value clip range is %g, negative or not finite", call->cliprange);
    if (call->batch.n_rows > 0 && call->batch.n_tokens > 0 && (!call->vpreds || !call->values || !call->returns))
        return rl_fail(err, RL_EINVAL, "%s is missing", !call->vpreds ? "vpreds" : !call->values ? "values" : "returns");
    return RL_OK;
}

enum rl_status rl_value_loss(const struct rl_batch *batch, const struct rl_agg *agg, double cliprange, const real *vpreds,
                             const real *values, const real *returns, real *d_vpreds, struct rl_value_result *out,
                             struct rl_workspace *ws, struct rl_error *err)
{
    struct value_call call = {
        .vpreds = vpreds, .values = values, .returns = returns, .d_vpreds = d_vpreds, .cliprange = cliprange};
    struct rl_rows rows;
    enum rl_status status = RL_NEED(err, {"out", out});
    if (status == RL_OK)
        status = rl_grid_of(&call.batch, batch, RL_NEEDS_MASK, err);
    if (status == RL_OK)
        status = check(&call, agg, err);
    if (status == RL_OK)
        status = rl_rows_begin(&rows, &call.batch, RL_WEIGHTS_AGG, agg, ws, err);
    if (status != RL_OK)
        return status;
#pragma omp parallel for schedule(static) if (rows.parallel)
    for (size_t row = 0; row < rows.n; row++)
        rows.sums[row] = value_row(&call, row, (real)rl_row_weight(&rows, row));
    const struct rl_row_sums total = rl_rows_total(&rows);
    status = total.poisoned ? explain(&call, err) : RL_OK;
    if (status == RL_OK && total.poisoned)
        return rl_fail(err, RL_EVALUE, "a value is not finite; d_vpreds has overwritten its array");
    if (status == RL_OK && !isfinite(total.loss))
        return rl_fail(err, RL_EVALUE, "the loss overflows: it is %g", total.loss);
    if (status == RL_OK)
        *out = (struct rl_value_result){total.loss, rl_masked_mean(total.clipped, rows.n_tokens)};
    return status;
}
