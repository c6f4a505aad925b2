/*
 * agg_loss_real.c: aggregation of a matrix of token losses.
 *
 * The sum of a row is taken in double even of floats, since a caller may aggregate what it computed
 * itself and has no other check on it.
 */
#include "support/hot.h"
#include "support/real.h"
#include "support/rows.h"

RL_HOT static struct rl_row_sums agg_row(const uint8_t *mask, const real *losses, size_t n,
                                         real row_weight, real *d_losses)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t t = 0; t < n; t++)
        sum += mask[t] ? (double)losses[t] : 0;
    for (size_t t = 0; d_losses && t < n; t++)
        d_losses[t] = mask[t] ? row_weight : 0;
    /*
     * A sum keeps any NaN or infinity that came into it: one test of it stands for a test of each
     * token, and only a row that fails is walked for the index.
     */
    struct rl_row_sums sums = rl_row_sums_empty();
    sums.loss = sum;
    sums.poisoned = !isfinite(sum);
    return sums;
}

enum rl_status rl_agg_loss(const struct rl_batch *batch, const struct rl_agg *agg,
                           const real *loss_mat, real *d_loss_mat, double *loss,
                           struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_rows rows;
    if (!batch || !agg || !loss || (!loss_mat && batch->n_rows > 0 && batch->n_tokens > 0))
        return rl_fail(err, RL_EINVAL, "batch, aggregation, loss_mat or loss is missing");
    enum rl_status status =
        rl_rows_begin(&rows, batch, RL_NEEDS_MASK, RL_WEIGHTS_AGG, agg, ws, err);
    if (status != RL_OK)
        return status;
    size_t n = batch->n_tokens;
#pragma omp parallel for schedule(static) if (rows.parallel)
    for (size_t row = 0; row < batch->n_rows; row++)
        rows.sums[row] =
            agg_row(batch->mask + row * n, loss_mat + row * n, n, (real)rl_row_weight(&rows, row),
                    d_loss_mat ? d_loss_mat + row * n : NULL);
    const struct rl_row_sums total = rl_rows_total(&rows);
    /* A bad input is named before the overflow that it caused. */
    if (total.poisoned)
        status = rl_batch_check_reals("loss_mat", loss_mat, batch, err);
    if (status == RL_OK && !isfinite(total.loss))
        return rl_fail(err, RL_EVALUE, "the loss overflows: it is %g", total.loss);
    if (status == RL_OK)
        *loss = total.loss;
    return status;
}
