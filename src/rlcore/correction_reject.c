/* correction_reject.c: rejection of tokens and sequences, and what is reported of each option. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "correction.h"
#include "internal.h"
#include "metrics.h"
#include "rejection.h"

/* One option on one batch. */
struct rejecting {
    const struct rl_log_ratios *r;
    const struct rl_rejection *option;
    double *row; /* [B] statistic of each row: of the sequence, or the mean of its tokens */
};

static double estimate(double l, int k)
{
    double x = l < -RL_LOG_RATIO_LIMIT ? -RL_LOG_RATIO_LIMIT : l > RL_LOG_RATIO_LIMIT ? RL_LOG_RATIO_LIMIT : l;
    if (k == 1)
        return -x;
    return k == 2 ? 0.5 * x * x : exp(x) - 1 - x;
}

static void fill_rows(const struct rejecting *j)
{
    size_t t_end = j->r->batch->n_tokens;
    for (size_t i = 0; i < j->r->batch->n_rows; i++) {
        double sum = 0, max = -DBL_MAX;
        for (size_t t = i * t_end; t < (i + 1) * t_end; t++)
            if (j->r->batch->mask[t]) {
                double k = estimate(j->r->l[t], j->option->k);
                sum += k;
                max = fmax(max, k);
            }
        if (j->option->over == RL_REJECT_SEQ_SUM)
            j->row[i] = sum;
        else if (j->option->over == RL_REJECT_SEQ_MAX)
            j->row[i] = j->r->n[i] ? max : 0;
        else
            j->row[i] = sum / ((double)j->r->n[i] + 1e-8);
    }
}

static bool keeps(const struct rl_rejection *option, double x)
{
    return x <= option->upper && (option->k != 1 || x >= option->lower);
}

static double statistic(const struct rejecting *j, size_t cell)
{
    return j->option->over == RL_REJECT_TOKEN ? estimate(j->r->l[cell], j->option->k)
                                              : j->row[cell / j->r->batch->n_tokens];
}

struct reject_sums {
    double sum, min, max, high, low, clipped, clipped_square, masked;
    size_t rows_masked;
};

/* Over response tokens; sequence options take extremes and fractions from rows later. */
static struct reject_sums walk_tokens(const struct rejecting *j, uint8_t *keep)
{
    struct reject_sums s = {.min = DBL_MAX, .max = -DBL_MAX};
    size_t t_end = j->r->batch->n_tokens;
    for (size_t i = 0; i < j->r->batch->n_rows; i++) {
        bool row_masked = false;
        for (size_t t = i * t_end; t < (i + 1) * t_end; t++) {
            if (!j->r->batch->mask[t])
                continue;
            double x = statistic(j, t), v = fmin(fmax(x, j->option->lower), j->option->upper);
            bool kept = keeps(j->option, x);
            s.sum += x;
            s.min = fmin(s.min, x);
            s.max = fmax(s.max, x);
            s.high += x > j->option->upper;
            s.low += j->option->k == 1 && x < j->option->lower;
            s.clipped += v;
            s.clipped_square += v * v;
            s.masked += !kept;
            row_masked = row_masked || !kept;
            keep[t] = keep[t] && kept;
        }
        s.rows_masked += row_masked;
    }
    return s;
}

struct row_sums {
    double mean, std, min, max, deviation, high, low;
};

/* Over rows with a response token. */
static struct row_sums walk_rows(const struct rejecting *j)
{
    struct row_sums s = {.min = DBL_MAX, .max = -DBL_MAX};
    double sum = 0, square = 0, n = (double)j->r->n_filled;
    for (size_t i = 0; i < j->r->batch->n_rows; i++) {
        if (!j->r->n[i])
            continue;
        double q = j->row[i];
        sum += q;
        s.min = fmin(s.min, q);
        s.max = fmax(s.max, q);
        s.deviation = fmax(s.deviation, fabs(q));
        s.high += q > j->option->upper;
        s.low += q < j->option->lower;
    }
    s.mean = sum / n;
    for (size_t i = 0; i < j->r->batch->n_rows; i++)
        if (j->r->n[i])
            square += (j->row[i] - s.mean) * (j->row[i] - s.mean);
    s.std = j->r->n_filled > 1 ? sqrt(square / (n - 1)) : 0;
    s.high /= n;
    s.low /= n;
    return s;
}

static void report(const struct rejecting *j, const struct reject_sums *s, struct rl_metrics *metrics)
{
    char prefix[40];
    double n = (double)j->r->n_tokens + 1e-8, mean = s->clipped / n;
    bool token = j->option->over == RL_REJECT_TOKEN, k1 = j->option->k == 1;
    struct row_sums rows = walk_rows(j);
    snprintf(prefix, sizeof prefix, "rollout_rs_%s_", j->option->name);
    rl_metrics_add(metrics, prefix, "mean", s->sum / n);
    rl_metrics_add(metrics, prefix, "max", token ? s->max : rows.max);
    rl_metrics_add(metrics, prefix, "min", token ? s->min : rows.min);
    rl_metrics_add(metrics, prefix, "fraction_high", token ? s->high / n : rows.high);
    rl_metrics_add(metrics, prefix, "fraction_low", token ? s->low / n : k1 ? rows.low : 0);
    rl_metrics_add(metrics, prefix, "std",
                   j->r->n_tokens > 1 ? sqrt(fmax(0, s->clipped_square / n - mean * mean)) : 0);
    rl_metrics_add(metrics, prefix, "seq_mean", rows.mean);
    rl_metrics_add(metrics, prefix, "seq_std", rows.std);
    rl_metrics_add(metrics, prefix, "seq_max", rows.max);
    rl_metrics_add(metrics, prefix, "seq_min", rows.min);
    rl_metrics_add(metrics, prefix, "seq_max_deviation", rows.deviation);
    rl_metrics_add(metrics, prefix, "seq_fraction_high", rows.high);
    if (k1)
        rl_metrics_add(metrics, prefix, "seq_fraction_low", rows.low);
    rl_metrics_add(metrics, prefix, "masked_fraction", s->masked / n);
    rl_metrics_add(metrics, prefix, "seq_masked_fraction", (double)s->rows_masked / (double)j->r->n_filled);
}

/* All options together; rows count whether or not they have a token. */
static void report_all(const struct rl_log_ratios *r, const uint8_t *keep, struct rl_metrics *metrics)
{
    double masked = 0, rows = 0;
    for (size_t i = 0; i < r->batch->n_rows; i++) {
        bool any = false;
        for (size_t t = i * r->batch->n_tokens; t < (i + 1) * r->batch->n_tokens; t++) {
            bool rejected = r->batch->mask[t] && !keep[t];
            masked += rejected;
            any = any || rejected;
        }
        rows += any;
    }
    rl_metrics_add(metrics, "rollout_rs_", "masked_fraction", masked / ((double)r->n_tokens + 1e-8));
    rl_metrics_add(metrics, "rollout_rs_", "seq_masked_fraction", rows / (double)r->batch->n_rows);
}

enum rl_status rl_correction_reject(const struct rl_log_ratios *r, const struct rl_correction_options *options,
                                    uint8_t *keep, double *row, struct rl_metrics *metrics, struct rl_error *err)
{
    struct rl_rejection list[RL_REJECTIONS_MAX];
    size_t n;
    enum rl_status status = rl_rejections_parse(options->rs, options->rs_threshold, list, &n, err);
    if (status != RL_OK || !n)
        return status;
    for (size_t i = 0; i < n; i++) {
        struct rejecting j = {r, &list[i], row};
        fill_rows(&j);
        struct reject_sums sums = walk_tokens(&j, keep);
        report(&j, &sums, metrics);
    }
    report_all(r, keep, metrics);
    return RL_OK;
}
