/*
 * agg_loss_real.c: aggregation of a matrix of token losses.
 *
 * The sum of a row is taken in double even for floats, because a caller may aggregate losses that
 * it computed itself and has no other check on.
 */
#include "support/loops.h"
#include "support/real.h"
#include "support/row_sums.h"

struct agg_call {
    struct rl_grid batch;
    const real *losses;
    real *d_losses; /* or NULL */
};

HOT(double, agg_chunk, (const struct agg_call *call, size_t i, size_t n, real row_weight), (call, i, n, row_weight))
{
    double term[RL_CHUNK];
    real buffer[RL_CHUNK];
    rl_int on[RL_CHUNK];
    const real *losses = rl_reals_at(&call->batch, 0, call->losses, i, n, buffer);
    rl_mask_bits(&call->batch, i, n, on);
    for (size_t t = 0; t < n; t++)
        term[t] = (double)rl_keep(on[t], losses[t]);
    for (size_t t = 0; call->d_losses && t < n; t++)
        call->d_losses[i + t] = rl_keep(on[t], row_weight);
    return rl_sum_wide(term, n);
}

static struct rl_row_sums agg_row(const struct agg_call *call, size_t row, real row_weight)
{
    struct rl_row_sums sums = rl_row_sums_empty();
    size_t end = rl_row_end(&call->batch, row);
    for (size_t i = rl_row_at(&call->batch, row); i < end; i += RL_CHUNK)
        sums.loss += agg_chunk(call, i, end - i < RL_CHUNK ? end - i : RL_CHUNK, row_weight);
    /*
     * A sum keeps any NaN or infinity among its terms, so one test of the sum replaces a test of
     * each token. Only a row that fails is searched for the index.
     */
    sums.poisoned = !isfinite(sums.loss);
    return sums;
}

enum rl_status rl_agg_loss(const struct rl_batch *batch, const struct rl_agg *agg, const real *loss_mat, real *d_loss_mat,
                           double *loss, struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_rows rows;
    struct agg_call call = {.losses = loss_mat, .d_losses = d_loss_mat};
    if (!batch || !agg || !loss)
        return rl_fail(err, RL_EINVAL, "batch, aggregation or loss is missing");
    enum rl_status status = rl_grid_of(&call.batch, batch, RL_NEEDS_MASK, err);
    if (status == RL_OK && call.batch.n_rows && call.batch.n_tokens)
        status = RL_NEED(err, {"loss_mat", loss_mat});
    if (status == RL_OK)
        status = rl_rows_begin(&rows, &call.batch, RL_WEIGHTS_AGG, agg, ws, err);
    if (status != RL_OK)
        return status;
#pragma omp parallel for schedule(static) if (rows.parallel)
    for (size_t row = 0; row < rows.n; row++)
        rows.sums[row] = agg_row(&call, row, (real)rl_row_weight(&rows, row));
    const struct rl_row_sums total = rl_rows_total(&rows);
    /* A bad input is reported rather than the overflow that it caused. */
    if (total.poisoned)
        status = rl_grid_check_reals("loss_mat", &call.batch, 0, loss_mat, false, err);
    if (status == RL_OK && !isfinite(total.loss))
        return rl_fail(err, RL_EVALUE, "the loss overflows: it is %g", total.loss);
    if (status == RL_OK)
        *loss = total.loss;
    return status;
}
