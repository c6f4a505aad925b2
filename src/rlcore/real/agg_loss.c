/* agg_loss.c: aggregation of a matrix of token losses. */
#include "hot.h"
#include "real.h"
#include "rows.h"

struct matrix {
    const struct rl_batch *batch;
    const real *losses;
    real *d_losses;
};

RL_HOT static struct rl_row_sums matrix_row(const void *context, size_t row, size_t n_response,
                                            double weight)
{
    (void)n_response;
    const struct matrix *m = context;
    size_t n = m->batch->n_tokens;
    const uint8_t *mask = m->batch->mask + row * n;
    const real *losses = m->losses + row * n;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t t = 0; t < n; t++)
        sum += mask[t] ? (double)losses[t] : 0;
    for (size_t t = 0; m->d_losses && t < n; t++)
        m->d_losses[row * n + t] = mask[t] ? (real)weight : 0;
    struct rl_row_sums sums = rl_row_sums_empty();
    sums.loss = sum;
    sums.poisoned = !isfinite(sum);
    return sums;
}

static enum rl_status explain_matrix(const void *context, struct rl_error *err)
{
    const struct matrix *m = context;
    return RL(rl_batch_check_reals)("loss_mat", m->losses, m->batch, err);
}

enum rl_status RL(rl_agg_loss)(const struct rl_batch *batch, const struct rl_agg *agg,
                               const real *loss_mat, real *d_loss_mat, double *loss,
                               struct rl_workspace *ws, struct rl_error *err)
{
    if (!batch || !agg || (!loss_mat && batch->n_rows > 0 && batch->n_tokens > 0))
        return rl_fail(err, RL_EINVAL, "batch, aggregation or loss_mat is missing");
    const struct matrix matrix = {batch, loss_mat, d_loss_mat};
    const struct rl_row_job job = {.batch = batch,
                                   .weights = RL_WEIGHTS_AGG,
                                   .agg = agg,
                                   .context = &matrix,
                                   .row = matrix_row,
                                   .explain = explain_matrix};
    struct rl_row_sums total;
    size_t n_tokens;
    enum rl_status status = rl_rows_run(&job, &total, &n_tokens, ws, err);
    if (status == RL_OK)
        *loss = total.loss;
    return status;
}
