/* value_loss.c: the clipped value loss of PPO. */
#include "hot.h"
#include "real.h"
#include "rows.h"

struct value_job {
    const struct rl_batch *batch;
    const real *vpreds, *values, *returns;
    real *d_vpreds;
    double cliprange;
};

/* Pointers to RL_CHUNK tokens at most. */
struct chunk {
    size_t n;
    const uint8_t *mask;
    const real *vpreds, *values, *returns;
    real *slope;
};

/* The loss carries the factor 1/2: half the square, whose slope is the error itself. */
static RL_INLINE void value_chunk(const struct chunk *chunk, real cliprange, real weight,
                                  struct rl_row_sums *sums)
{
    const struct chunk at = *chunk; /* a copy cannot be what the gradient is written to */
    real loss = 0, clipped = 0, poison = 0, mask[RL_CHUNK];
    rl_fetch_ahead(at.vpreds);
    rl_fetch_ahead(at.values);
    rl_fetch_ahead(at.returns);
    rl_fetch_ahead(at.slope);
    rl_mask_reals(at.mask, at.n, mask);
#pragma omp simd reduction(+ : loss, clipped, poison)
    for (size_t t = 0; t < at.n; t++) {
        real on = mask[t], v = at.vpreds[t], old = at.values[t], g = at.returns[t];
        v = on > 0 ? v : 0;
        old = on > 0 ? old : 0;
        g = on > 0 ? g : 0;
        real error = v - g, bounded = rl_limit(v, old - cliprange, old + cliprange) - g;
        real plain = error * error, limited = bounded * bounded;
        loss += limited > plain ? limited : plain;
        clipped += limited > plain ? 1 : 0;
        at.slope[t] = limited > plain ? 0 : error * weight;
        poison += (v - v) + (old - old) + (g - g);
    }
    sums->loss += 0.5 * (double)loss;
    sums->clipped += (double)clipped;
    sums->poisoned |= !(poison == 0);
}

RL_HOT static struct rl_row_sums value_row(const void *context, size_t row, size_t n_response,
                                           double weight)
{
    (void)n_response;
    const struct value_job *job = context;
    size_t n = job->batch->n_tokens;
    struct rl_row_sums sums = rl_row_sums_empty();
    real unwanted[RL_CHUNK];
    for (size_t t = 0; t < n; t += RL_CHUNK) {
        size_t i = row * n + t;
        const struct chunk at = {.n = n - t < RL_CHUNK ? n - t : RL_CHUNK,
                                 .mask = job->batch->mask + i,
                                 .vpreds = job->vpreds + i,
                                 .values = job->values + i,
                                 .returns = job->returns + i,
                                 .slope = job->d_vpreds ? job->d_vpreds + i : unwanted};
        value_chunk(&at, (real)job->cliprange, (real)weight, &sums);
    }
    return sums;
}

static enum rl_status explain_value(const void *context, struct rl_error *err)
{
    const struct value_job *job = context;
    enum rl_status status = RL(rl_batch_check_reals)("vpreds", job->vpreds, job->batch, err);
    if (status == RL_OK)
        status = RL(rl_batch_check_reals)("values", job->values, job->batch, err);
    return status == RL_OK ? RL(rl_batch_check_reals)("returns", job->returns, job->batch, err)
                           : status;
}

static enum rl_status check(const struct value_job *job, const struct rl_agg *agg,
                            struct rl_error *err)
{
    if (!job->batch || !agg)
        return rl_fail(err, RL_EINVAL, "batch or aggregation is missing");
    if (!(job->cliprange >= 0) || isinf(job->cliprange))
        return rl_fail(err, RL_EINVAL, "value clip range is %g, negative or not finite",
                       job->cliprange);
    if (job->batch->n_rows > 0 && job->batch->n_tokens > 0 &&
        (!job->vpreds || !job->values || !job->returns))
        return rl_fail(err, RL_EINVAL, "%s is missing",
                       !job->vpreds   ? "vpreds"
                       : !job->values ? "values"
                                      : "returns");
    return RL_OK;
}

enum rl_status RL(rl_value_loss)(const struct rl_batch *batch, const struct rl_agg *agg,
                                 double cliprange, const real *vpreds, const real *values,
                                 const real *returns, real *d_vpreds, struct rl_value_result *out,
                                 struct rl_workspace *ws, struct rl_error *err)
{
    const struct value_job value = {batch, vpreds, values, returns, d_vpreds, cliprange};
    const struct rl_row_job job = {.batch = batch,
                                   .weights = RL_WEIGHTS_AGG,
                                   .agg = agg,
                                   .context = &value,
                                   .row = value_row,
                                   .explain = explain_value};
    struct rl_row_sums total;
    size_t n_tokens;
    enum rl_status status = check(&value, agg, err);
    if (status == RL_OK)
        status = rl_rows_run(&job, &total, &n_tokens, ws, err);
    if (status == RL_OK)
        *out = (struct rl_value_result){total.loss, rl_masked_mean(total.clipped, n_tokens)};
    return status;
}
