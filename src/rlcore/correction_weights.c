/* correction_weights.c: truncated importance weights and what is reported of them. */
#include <float.h>
#include <math.h>

#include "correction.h"
#include "metrics.h"

struct rl_correction_memory rl_correction_take(struct rl_scratch *s, const struct rl_batch *batch)
{
    struct rl_correction_memory m;
    size_t cells = batch->n_rows * batch->n_tokens;
    m.l = rl_scratch_take(s, cells, sizeof *m.l);
    m.weights = rl_scratch_take(s, cells, sizeof *m.weights);
    m.row = rl_scratch_take(s, batch->n_rows, sizeof *m.row);
    m.n = rl_scratch_take(s, batch->n_rows, sizeof *m.n);
    return m;
}

static double limit(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

static double limit20(double l)
{
    return limit(l, -RL_LOG_RATIO_LIMIT, RL_LOG_RATIO_LIMIT);
}

/* Token weights, or each row's product at its tokens; row receives the rows' sums of l. */
static void make_weights(const struct rl_log_ratios *r, enum rl_is_level is, double *weights, double *row)
{
    size_t t_end = r->batch->n_tokens;
    for (size_t i = 0; i < r->batch->n_rows; i++) {
        const double *l = r->l + i * t_end;
        double *w = weights + i * t_end;
        row[i] = 0;
        for (size_t t = 0; t < t_end; t++)
            row[i] += l[t];
        for (size_t t = 0; t < t_end; t++)
            w[t] = r->batch->mask[i * t_end + t] ? exp(limit20(is == RL_IS_TOKEN ? l[t] : row[i])) : 0;
    }
}

struct moments {
    double sum, min, max, high, low, clipped, clipped_square;
};

static struct moments token_moments(const struct rl_log_ratios *r, const double *weights, double cap)
{
    struct moments m = {.min = DBL_MAX, .max = -DBL_MAX};
    for (size_t i = 0; i < r->batch->n_rows * r->batch->n_tokens; i++) {
        if (!r->batch->mask[i])
            continue;
        double v = limit(weights[i], 1 / cap, cap);
        m.sum += weights[i];
        m.min = fmin(m.min, weights[i]);
        m.max = fmax(m.max, weights[i]);
        m.high += weights[i] > cap;
        m.low += weights[i] < 1 / cap;
        m.clipped += v;
        m.clipped_square += v * v;
    }
    return m;
}

/* Sequence level: extremes and fractions are of the rows' sums of l. */
static void add_ratio_range(const struct rl_log_ratios *r, enum rl_is_level is, const struct moments *m,
                            const double *sums, double cap, struct rl_metrics *metrics)
{
    double n = (double)r->n_tokens + 1e-8, low = m->low / n, high = m->high / n, min = m->min, max = m->max;
    if (is == RL_IS_SEQUENCE) {
        double lowest = DBL_MAX, highest = -DBL_MAX;
        low = high = 0;
        for (size_t i = 0; i < r->batch->n_rows; i++) {
            lowest = fmin(lowest, sums[i]);
            highest = fmax(highest, sums[i]);
            high += sums[i] > log(cap);
            low += sums[i] < -log(cap);
        }
        high /= (double)r->batch->n_rows;
        low /= (double)r->batch->n_rows;
        max = exp(fmin(highest, RL_LOG_RATIO_LIMIT));
        min = exp(lowest);
    }
    rl_metrics_add(metrics, "rollout_is_", "max", max);
    rl_metrics_add(metrics, "rollout_is_", "min", min);
    rl_metrics_add(metrics, "rollout_is_", "ratio_fraction_high", high);
    rl_metrics_add(metrics, "rollout_is_", "ratio_fraction_low", low);
}

/* mm_i(w) of each row. */
static void row_means(const struct rl_log_ratios *r, const double *weights, double *row)
{
    size_t t_end = r->batch->n_tokens;
    for (size_t i = 0; i < r->batch->n_rows; i++) {
        row[i] = 0;
        for (size_t t = 0; t < t_end; t++)
            row[i] += weights[i * t_end + t];
        row[i] /= (double)r->n[i] + 1e-8;
    }
}

static void add_row_metrics(const struct rl_log_ratios *r, const double *q, double cap, struct rl_metrics *metrics)
{
    size_t b = r->batch->n_rows;
    double sum = 0, square = 0, min = DBL_MAX, max = -DBL_MAX, deviation = 0, high = 0, low = 0;
    for (size_t i = 0; i < b; i++) {
        sum += q[i];
        min = fmin(min, q[i]);
        max = fmax(max, q[i]);
        deviation = fmax(deviation, fabs(q[i] - 1));
        high += q[i] > cap;
        low += q[i] < 1 / cap;
    }
    double mean = sum / (double)b;
    for (size_t i = 0; i < b; i++)
        square += (q[i] - mean) * (q[i] - mean);
    rl_metrics_add(metrics, "rollout_is_", "seq_mean", mean);
    rl_metrics_add(metrics, "rollout_is_", "seq_std", b > 1 ? sqrt(square / (double)(b - 1)) : 0);
    rl_metrics_add(metrics, "rollout_is_", "seq_max", max);
    rl_metrics_add(metrics, "rollout_is_", "seq_min", min);
    rl_metrics_add(metrics, "rollout_is_", "seq_max_deviation", deviation);
    rl_metrics_add(metrics, "rollout_is_", "seq_fraction_high", high / (double)b);
    rl_metrics_add(metrics, "rollout_is_", "seq_fraction_low", low / (double)b);
}

/* 1 / mm((v / mean(v))^2), a share of 1. */
static void add_spread(const struct rl_log_ratios *r, const struct moments *m, struct rl_metrics *metrics)
{
    double n = (double)r->n_tokens + 1e-8, mean = m->clipped / n, square = m->clipped_square / n;
    double scale = (mean + 1e-8) * (mean + 1e-8);
    rl_metrics_add(metrics, "rollout_is_", "mean", m->sum / n);
    rl_metrics_add(metrics, "rollout_is_", "std", r->n_tokens > 1 ? sqrt(fmax(0, square - mean * mean)) : 0);
    rl_metrics_add(metrics, "rollout_is_", "eff_sample_size", scale / square);
}

static double batch_mean(const struct rl_log_ratios *r, enum rl_is_level is, const double *weights, double *row)
{
    double sum = 0;
    row_means(r, weights, row);
    for (size_t i = 0; i < r->batch->n_rows; i++)
        sum += is == RL_IS_SEQUENCE ? (r->n[i] ? row[i] : 0) : row[i] * ((double)r->n[i] + 1e-8);
    return is == RL_IS_SEQUENCE ? sum / (double)r->n_filled : sum / ((double)r->n_tokens + 1e-8);
}

void rl_correction_weights(const struct rl_log_ratios *r, const struct rl_correction_options *options, double *weights,
                           double *row, struct rl_metrics *metrics)
{
    size_t cells = r->batch->n_rows * r->batch->n_tokens;
    double cap = options->is_threshold, factor = 1;
    make_weights(r, options->is, weights, row);
    struct moments m = token_moments(r, weights, cap);
    add_ratio_range(r, options->is, &m, row, cap, metrics);
    add_spread(r, &m, metrics);
    row_means(r, weights, row);
    add_row_metrics(r, row, cap, metrics);
    for (size_t i = 0; i < cells; i++)
        weights[i] = fmin(weights[i], cap);
    if (!options->is_batch_normalize)
        return;
    double mean = batch_mean(r, options->is, weights, row);
    if (mean > 1e-8)
        factor = mean;
    for (size_t i = 0; i < cells; i++)
        weights[i] /= factor;
    rl_metrics_add(metrics, "rollout_is_", "batch_norm_factor", factor);
}
