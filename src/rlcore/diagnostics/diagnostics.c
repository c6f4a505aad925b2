/*
 * diagnostics.c: the sums of the distance, then all log-ratios in sorted order, from which
 * percentiles and extremes are read; one more pass computes the statistics of the ratios.
 *
 * Percentiles are exact and not estimated, because a fault of the sampler shows in the tail beyond
 * the 99th. Sorting takes linear time, see sort.h.
 */
#include "diagnostics/diagnostics_internal.h"

#include "support/sort.h"
#include "support/vexp.h"

/*
 * Collect the log-ratios of all response tokens. Chunks end at the end of a row, because load()
 * reads tokens of one row. Every position is stored, but the counter advances for response tokens
 * only: a branch per token would cost more than the store. The array therefore needs one element
 * more than there are tokens.
 */
static size_t gather(const struct rl_two_policies *p, double *out)
{
    size_t count = 0;
    struct rl_ratio_chunk chunk;
    for (size_t row = 0; row < p->batch.n_rows; row++)
        for (size_t i = rl_row_at(&p->batch, row), end = rl_row_end(&p->batch, row); i < end; i += chunk.n) {
            p->load(p, i, end - i < RL_CHUNK ? end - i : RL_CHUNK, &chunk);
            for (size_t t = 0; t < chunk.n; t++) {
                out[count] = chunk.l[t];
                count += chunk.on[t] > 0;
            }
        }
    return count;
}

struct moments {
    double sum, limited, limited_square; /* sums of exp(l), of exp(l20) and of its square */
    double low, high, clamped;           /* numbers of tokens below and above the clip range and
                                            beyond 20 */
};

/*
 * The effective sample size uses limited ratios, the mean unlimited ones: a single exp(30) would
 * make the size 1 for any batch, but should show in the mean and the maximum.
 */
HOT(struct moments, add_chunk, (const double *l, size_t n, double least, double most), (l, n, least, most))
{
    double sum[RL_CHUNK], limited[RL_CHUNK], square[RL_CHUNK];
    rl_int low = 0, high = 0, clamped = 0;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        sum[i] = rl_exp(l[i]);
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        double w20 = rl_exp_near(rl_limit(l[i], -RL_LOG_RATIO_LIMIT, RL_LOG_RATIO_LIMIT));
        limited[i] = w20;
        square[i] = w20 * w20;
    }
    RL_INDEPENDENT
    for (size_t i = 0; i < n; i++) {
        low -= rl_below(sum[i], least);
        high -= rl_below(most, sum[i]);
        clamped -= rl_below(RL_LOG_RATIO_LIMIT, fabs(l[i]));
    }
    return (struct moments){rl_sum_wide(sum, n), rl_sum_wide(limited, n), rl_sum_wide(square, n), (double)low,
                            (double)high,        (double)clamped};
}

static struct moments add_up(const double *l, size_t n, double least, double most)
{
    struct moments total = {0};
    for (size_t i = 0; i < n; i += RL_CHUNK) {
        struct moments part = add_chunk(l + i, n - i < RL_CHUNK ? n - i : RL_CHUNK, least, most);
        total.sum += part.sum;
        total.limited += part.limited;
        total.limited_square += part.limited_square;
        total.low += part.low;
        total.high += part.high;
        total.clamped += part.clamped;
    }
    return total;
}

/*
 * The ratio at rank (n - 1) * share of n sorted log-ratios. It is interpolated between ratios
 * instead of between their logarithms, like numpy.percentile of the ratios.
 */
static double quantile(const double *sorted, size_t n, double share)
{
    double rank = (double)(n - 1) * share, below = floor(rank);
    size_t i = (size_t)below;
    double low = exp(sorted[i]), high = exp(sorted[i + 1 < n ? i + 1 : i]);
    return low + (rank - below) * (high - low);
}

static void fill(struct rl_diagnostics *out, const double *sorted, size_t n, const struct moments *m)
{
    double count = (double)n;
    for (int p = 1; p <= RL_PERCENTILES; p++)
        out->ratio_percentile[p - 1] = quantile(sorted, n, p / 100.0);
    out->ess = m->limited * m->limited / (count * m->limited_square);
    out->ratio_mean = m->sum / count;
    out->ratio_min = exp(sorted[0]);
    out->ratio_max = exp(sorted[n - 1]);
    out->clip_low = m->low / count;
    out->clip_high = m->high / count;
    out->n_tokens = n;
    out->n_clamped = (uint64_t)m->clamped;
}

enum rl_status rl_diagnose_policies(const struct rl_two_policies *p, double clip_low, double clip_high,
                                    struct rl_diagnostics *out, struct rl_workspace *ws, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"out", out}));
    struct rl_distance d;
    if (!(clip_low >= 0) || !(clip_high >= 0))
        return rl_fail(err, RL_EINVAL, "clip range %g, %g is negative", clip_low, clip_high);
    size_t cells = rl_grid_tokens(&p->batch);
    struct rl_scratch s = rl_scratch_begin(ws);
    double *l = rl_scratch_take(&s, cells + 1, sizeof *l);
    double *spare = rl_scratch_take(&s, cells, sizeof *spare);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    /*
     * The distance is measured first, because that also checks the log-probs, and NaN cannot be
     * sorted.
     */
    RL_TRY(rl_distance_measure(p, &d, err));
    if (!(d.n_tokens > 0))
        return rl_fail(err, RL_EINVAL, "response mask has no response token");
    size_t n = gather(p, l);
    const double *sorted = rl_sort(l, spare, n);
    struct moments m = add_up(sorted, n, 1 - clip_low, 1 + clip_high);
    *out = (struct rl_diagnostics){.kl = d.kl / (d.n_tokens + 1e-8),
                                   .k3 = d.k3 / (d.n_tokens + 1e-8),
                                   .chi2_token = d.chi2_token / (d.n_tokens + 1e-8) - 1,
                                   .chi2_seq = d.chi2_seq / d.n_rows - 1,
                                   .n_rows = (uint64_t)d.n_filled};
    fill(out, sorted, n, &m);
    return RL_OK;
}
