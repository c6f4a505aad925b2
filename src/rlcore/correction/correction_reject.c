/*
 * correction_reject.c: rejection of tokens and sequences, and the metrics of each option. Options
 * are applied one after the other, each to all rows in parallel.
 *
 * Weights limit how much a sample counts; rejection decides whether it counts at all. Even with a
 * capped weight, a sample that the trained policy would never produce still pulls towards itself.
 */

#include "correction/correction_internal.h"
#include "support/metrics.h"
#include "support/real.h"
#include "support/vexp.h"

/* One option on one batch. */
struct rejecting {
    const struct rl_correcting *c;
    const struct rl_rejection *option;
};

/*
 * Schulman's three estimators. k1 can have either sign; k2 and k3 cannot, and so have no lower
 * bound.
 */
static RL_INLINE double estimate(double l, int k)
{
    double x = rl_limit(l, -RL_LOG_RATIO_LIMIT, RL_LOG_RATIO_LIMIT);
    if (k == 1)
        return -x;
    return k == 2 ? 0.5 * x * x : rl_exp_near(x) - 1 - x;
}

static RL_INLINE void estimate_all(const struct rl_ratio_chunk *chunk, int k, double *x)
{
    for (size_t t = 0; t < chunk->n; t++)
        x[t] = estimate(chunk->l[t], k);
}

/* k is a constant in each call: a loop with a choice inside would not be vectorised. */
HOT_VOID(estimates, (const struct rl_ratio_chunk *chunk, int k, double *restrict x), (chunk, k, x))
{
    if (k == 1)
        estimate_all(chunk, 1, x);
    else if (k == 2)
        estimate_all(chunk, 2, x);
    else
        estimate_all(chunk, 3, x);
}

HOT_VOID(add_sums, (const double *on, const double *x, size_t n, struct rl_reject_row *row), (on, x, n, row))
{
    double sum[RL_CHUNK], seen[RL_CHUNK], min, max;
#pragma omp simd
    for (size_t t = 0; t < n; t++) {
        seen[t] = on[t] > 0 ? x[t] : NAN;
        sum[t] = on[t] * x[t];
    }
    row->sum += rl_sum_wide(sum, n);
    rl_extremes(seen, n, &min, &max);
    row->min = min < row->min ? min : row->min;
    row->max = max > row->max ? max : row->max;
}

/* Compare every token with the bounds; the lower bound applies to k1 only. */
HOT_VOID(judge_tokens,
         (const double *on, const double *x, size_t n, const struct rl_rejection *option, struct rl_reject_row *row,
          uint8_t *keep),
         (on, x, n, option, row, keep))
{
    double high = 0, low = 0, clipped[RL_CHUNK], square[RL_CHUNK];
    double lower = option->lower, upper = option->upper, least = option->k == 1 ? lower : -INFINITY;
#pragma omp simd reduction(+ : high, low)
    for (size_t t = 0; t < n; t++) {
        double v = on[t] * rl_limit(x[t], lower, upper);
        high += x[t] > upper ? on[t] : 0;
        low += x[t] < least ? on[t] : 0;
        clipped[t] = v;
        square[t] = v * v;
    }
    for (size_t t = 0; t < n; t++)
        keep[t] = keep[t] & (x[t] <= upper) & (x[t] >= least);
    row->high += high;
    row->low += low;
    row->masked += high + low;
    row->clipped += rl_sum_wide(clipped, n);
    row->clipped_square += rl_sum_wide(square, n);
}

/*
 * A rejected sequence is removed as a whole, including holes, because the statistic judges the
 * whole response.
 */
static void judge_sequence(const struct rejecting *j, size_t row, struct rl_reject_row *sums)
{
    const struct rl_rejection *option = j->option;
    const struct rl_grid *batch = &j->c->p->batch;
    size_t tokens = rl_row_length(batch, row);
    double n = j->c->m.ratios[row].n, v = fmin(fmax(sums->q, option->lower), option->upper);
    bool kept = sums->q <= option->upper && (option->k != 1 || sums->q >= option->lower);
    sums->sum = n * sums->q;
    sums->clipped = n * v;
    sums->clipped_square = n * v * v;
    sums->masked = kept ? 0 : n;
    if (!kept && tokens)
        memset(j->c->keep + rl_row_at(batch, row), 0, tokens);
}

/*
 * The sum grows with length and rejects long responses first; the mean does not; the maximum finds
 * a single token that reveals a faulty sampler.
 */
static double row_statistic(const struct rl_rejection *option, const struct rl_reject_row *sums, double n)
{
    if (option->over == RL_REJECT_SEQ_SUM)
        return sums->sum;
    if (option->over == RL_REJECT_SEQ_MAX)
        return n > 0 ? sums->max : 0;
    return sums->sum / (n + 1e-8);
}

static void walk_row(const struct rejecting *j, size_t row)
{
    struct rl_reject_row sums = {.min = INFINITY, .max = -INFINITY};
    const struct rl_two_policies *p = j->c->p;
    struct rl_ratio_chunk chunk;
    double x[RL_CHUNK];
    for (size_t i = rl_row_at(&p->batch, row), end = rl_row_end(&p->batch, row); i < end; i += RL_CHUNK) {
        p->load(p, i, end - i < RL_CHUNK ? end - i : RL_CHUNK, &chunk);
        estimates(&chunk, j->option->k, x);
        add_sums(chunk.on, x, chunk.n, &sums);
        if (j->option->over == RL_REJECT_TOKEN)
            judge_tokens(chunk.on, x, chunk.n, j->option, &sums, j->c->keep + i);
    }
    sums.q = row_statistic(j->option, &sums, j->c->m.ratios[row].n);
    if (j->option->over != RL_REJECT_TOKEN)
        judge_sequence(j, row, &sums);
    j->c->m.rejected[row] = sums;
}

static void walk_rows(const struct rejecting *j)
{
    const struct rl_grid *batch = &j->c->p->batch;
#pragma omp parallel for schedule(static) if (rl_grid_parallel(batch))
    for (size_t row = 0; row < batch->n_rows; row++)
        walk_row(j, row);
}

/* Sums over tokens and over the rows with a response token. */
struct reject_sums {
    struct rl_reject_row tokens; /* q is the sum over rows */
    double min, max, deviation, high, low, rows_masked;
};

/* Rows without a response token are skipped: counted as 0 they would look like perfect agreement. */
static struct reject_sums add_rows(const struct rejecting *j)
{
    struct reject_sums s = {.tokens = {.min = INFINITY, .max = -INFINITY}, .min = INFINITY, .max = -INFINITY};
    for (size_t i = 0; i < j->c->p->batch.n_rows; i++) {
        const struct rl_reject_row *row = &j->c->m.rejected[i];
        if (!(j->c->m.ratios[i].n > 0))
            continue;
        s.tokens.q += row->q;
        s.tokens.sum += row->sum;
        s.tokens.min = fmin(s.tokens.min, row->min);
        s.tokens.max = fmax(s.tokens.max, row->max);
        s.tokens.high += row->high;
        s.tokens.low += row->low;
        s.tokens.clipped += row->clipped;
        s.tokens.clipped_square += row->clipped_square;
        s.tokens.masked += row->masked;
        s.min = fmin(s.min, row->q);
        s.max = fmax(s.max, row->q);
        s.deviation = fmax(s.deviation, fabs(row->q));
        s.high += row->q > j->option->upper;
        s.low += row->q < j->option->lower;
        s.rows_masked += row->masked > 0;
    }
    return s;
}

/* Unbiased standard deviation of q over the rows with a response token. */
static double row_std(const struct rejecting *j, double mean, double n)
{
    double square = 0;
    for (size_t i = 0; i < j->c->p->batch.n_rows; i++)
        if (j->c->m.ratios[i].n > 0)
            square += (j->c->m.rejected[i].q - mean) * (j->c->m.rejected[i].q - mean);
    return n > 1 ? sqrt(square / (n - 1)) : 0;
}

static void report_rows(const struct rejecting *j, const struct reject_sums *s, double n, const char *prefix)
{
    struct rl_metrics *metrics = j->c->metrics;
    double mean = s->tokens.q / n;
    rl_metrics_add(metrics, prefix, "seq_mean", mean);
    rl_metrics_add(metrics, prefix, "seq_std", row_std(j, mean, n));
    rl_metrics_add(metrics, prefix, "seq_max", s->max);
    rl_metrics_add(metrics, prefix, "seq_min", s->min);
    rl_metrics_add(metrics, prefix, "seq_max_deviation", s->deviation);
    rl_metrics_add(metrics, prefix, "seq_fraction_high", s->high / n);
    if (j->option->k == 1)
        rl_metrics_add(metrics, prefix, "seq_fraction_low", s->low / n);
    rl_metrics_add(metrics, prefix, "seq_masked_fraction", s->rows_masked / n);
}

static void report(const struct rejecting *j, const struct rl_distance *d)
{
    char prefix[40];
    struct rl_metrics *metrics = j->c->metrics;
    struct reject_sums s = add_rows(j);
    double n = d->n_tokens + 1e-8, rows = d->n_filled, mean = s.tokens.clipped / n;
    /*
     * The variance is that of the values limited to their bounds; otherwise one token at the limit
     * of 20 could determine it.
     */
    double variance = s.tokens.clipped_square / n - mean * mean;
    bool token = j->option->over == RL_REJECT_TOKEN, k1 = j->option->k == 1;
    snprintf(prefix, sizeof prefix, "rollout_rs_%s_", j->option->name);
    rl_metrics_add(metrics, prefix, "mean", s.tokens.sum / n);
    rl_metrics_add(metrics, prefix, "max", token ? s.tokens.max : s.max);
    rl_metrics_add(metrics, prefix, "min", token ? s.tokens.min : s.min);
    rl_metrics_add(metrics, prefix, "fraction_high", token ? s.tokens.high / n : s.high / rows);
    rl_metrics_add(metrics, prefix, "fraction_low", token ? s.tokens.low / n : k1 ? s.low / rows : 0);
    rl_metrics_add(metrics, prefix, "std", d->n_tokens > 1 ? sqrt(fmax(0, variance)) : 0);
    rl_metrics_add(metrics, prefix, "masked_fraction", s.tokens.masked / n);
    report_rows(j, &s, rows, prefix);
}

static size_t count_rejected(const struct rl_correcting *c, size_t row)
{
    const struct rl_grid *batch = &c->p->batch;
    size_t count = 0;
    for (size_t i = rl_row_at(batch, row), end = rl_row_end(batch, row); i < end; i++)
        count += rl_on(batch, i) > c->keep[i];
    return count;
}

/* Metrics of all options together; all rows count, including those without a response token. */
static void report_all(const struct rl_correcting *c, const struct rl_distance *d)
{
    double masked = 0, rows = 0;
    for (size_t row = 0; row < c->p->batch.n_rows; row++) {
        size_t rejected = count_rejected(c, row);
        masked += (double)rejected;
        rows += rejected > 0;
    }
    rl_metrics_add(c->metrics, "rollout_rs_", "masked_fraction", masked / (d->n_tokens + 1e-8));
    rl_metrics_add(c->metrics, "rollout_rs_", "seq_masked_fraction", rows / d->n_rows);
}

/*
 * All options judge the same ratios, and a token stays only if no option rejects it, so the mask
 * does not depend on their order.
 */
void rl_correction_reject(struct rl_correcting *c, const struct rl_distance *d)
{
    for (size_t i = 0; i < c->n_rejections; i++) {
        struct rejecting j = {c, &c->rejections[i]};
        walk_rows(&j);
        report(&j, d);
    }
    if (c->n_rejections)
        report_all(c, d);
}
