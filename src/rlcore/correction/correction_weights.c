/*
 * correction_weights.c: truncated importance weights and their metrics.
 *
 * Weights are truncated and not renormalised per row, so that the cap bounds the bias of the
 * estimator. Metrics are computed before truncation, because afterwards they would not show what
 * the cap cut; is_applied measures the truncated weights instead, as verl does since 0.8.
 */

#include "correction/correction_internal.h"
#include "support/metrics.h"
#include "support/real.h"

/* The smallest ratio that is not too low: the end of the interval, or the inverse of the cap. */
static double lowest(const struct rl_correction_options *o)
{
    return o->is_lower > 0 ? o->is_lower : 1 / o->is_threshold;
}

/* The weight of a ratio: truncated, or 0 outside of the interval (IcePop). */
static RL_INLINE double weight_of(double ratio, double low, double cap)
{
    return low > 0 ? (ratio >= low && ratio <= cap ? ratio : 0) : fmin(ratio, cap);
}

/* The range that the measured values are limited to for their spread. */
struct bounds {
    double low, floor, cap;
};

/* Add the ratios of a chunk to the sums of a row; measured: the ratios, or the weights that they become. */
HOT_VOID(add_ratios,
         (const double *on, const double *ratio, const double *measured, size_t n, struct bounds at, struct rl_weight_row *row),
         (on, ratio, measured, n, at, row))
{
    double sum[RL_CHUNK], raw[RL_CHUNK], shifted[RL_CHUNK], square[RL_CHUNK], high = 0, low = 0;
    double seen[RL_CHUNK], min, max, unused, floor = at.floor, cap = at.cap;
#pragma omp simd reduction(+ : high, low)
    for (size_t t = 0; t < n; t++) {
        double o = on[t], r = measured[t], u = o * (rl_limit(r, floor, cap) - 1);
        sum[t] = o * r;
        raw[t] = o * ratio[t];
        seen[t] = o > 0 ? r : NAN;
        high += ratio[t] > cap ? o : 0;
        low += ratio[t] < at.low ? o : 0;
        shifted[t] = u;
        square[t] = u * u;
    }
    rl_extremes(seen, n, &min, &unused);
    row->min = min < row->min ? min : row->min;
    row->sum += rl_sum_wide(sum, n);
    row->raw += rl_sum_wide(raw, n);
    rl_extremes(sum, n, &unused, &max);
    row->max = max > row->max ? max : row->max;
    row->high += high;
    row->low += low;
    row->shifted += rl_sum_wide(shifted, n);
    row->shifted_square += rl_sum_wide(square, n);
}

struct walk {
    const struct rl_correcting *c;
    struct rl_weight_row row;
};

static void visit(void *context, size_t from, const struct rl_ratio_chunk *chunk, const double *ratio)
{
    struct walk *w = context;
    const struct rl_correction_options *o = w->c->options;
    double weights[RL_CHUNK];
    struct bounds at = {lowest(o), o->is_applied ? 0 : lowest(o), o->is_threshold};
    for (size_t t = 0; t < chunk->n; t++)
        weights[t] = weight_of(ratio[t], o->is_lower, at.cap);
    w->c->sink.store(&w->c->sink, from, chunk, o->is_lower > 0 ? weights : ratio, at.cap);
    add_ratios(chunk->on, ratio, o->is_applied ? weights : ratio, chunk->n, at, &w->row);
}

/*
 * All tokens of a row have the same weight: the product of the ratios of the row, limited to
 * exp(20) before the cap, so that a row of thousands of slightly different log-probs stays finite.
 */
static struct rl_weight_row weigh_sequence(const struct rl_correcting *c, size_t row)
{
    const struct rl_ratio_row *sums = &c->m.ratios[row];
    const struct rl_correction_options *o = c->options;
    double cap = o->is_threshold, n = sums->n;
    double w = exp(rl_limit(sums->l, -RL_LOG_RATIO_LIMIT, RL_LOG_RATIO_LIMIT));
    double capped = weight_of(w, o->is_lower, cap), measured = o->is_applied ? capped : w;
    double shift = rl_limit(measured, o->is_applied ? 0 : lowest(o), cap) - 1;
    const struct rl_grid *batch = &c->p->batch;
    c->sink.fill(&c->sink, rl_row_at(batch, row), rl_row_length(batch, row), batch, capped);
    return (struct rl_weight_row){.sum = n * measured,
                                  .raw = n * w,
                                  .high = w > cap ? n : 0,
                                  .low = w < lowest(o) ? n : 0,
                                  .shifted = n * shift,
                                  .shifted_square = n * shift * shift,
                                  .capped = n * capped};
}

/* Copy the mask of a row, which rejection then reduces, with one byte per token. */
static void keep_all(const struct rl_correcting *c, size_t row)
{
    const struct rl_grid *batch = &c->p->batch;
    size_t first = rl_row_at(batch, row), n = rl_row_length(batch, row);
    if (n && batch->mask_step == 1)
        memmove(c->keep + first, batch->mask + first, n);
    for (size_t i = first; batch->mask_step != 1 && i < first + n; i++)
        c->keep[i] = rl_on(batch, i);
}

/*
 * Computes ratios, weights and mask in one pass, because reading the log-probs of both policies is
 * limited by memory bandwidth.
 */
static void walk_row(struct rl_correcting *c, size_t row)
{
    enum rl_is_level is = c->options->is;
    struct walk w = {.c = c, .row = {.min = INFINITY}};
    const struct rl_grid *batch = &c->p->batch;
    c->m.ratios[row] = rl_ratio_row(c->p, row, is == RL_IS_TOKEN ? visit : NULL, &w);
    c->m.weights[row] = is == RL_IS_SEQUENCE ? weigh_sequence(c, row) : w.row;
    if (is == RL_IS_TOKEN && c->options->is_batch_normalize)
        c->m.weights[row].capped = c->sink.sum(&c->sink, rl_row_at(batch, row), rl_row_length(batch, row));
    keep_all(c, row);
}

void rl_correction_walk(struct rl_correcting *c)
{
#pragma omp parallel for schedule(static) if (rl_grid_parallel(&c->p->batch))
    for (size_t row = 0; row < c->p->batch.n_rows; row++)
        walk_row(c, row);
}

static struct rl_weight_row add_rows(const struct rl_correcting *c)
{
    struct rl_weight_row total = {.min = INFINITY};
    for (size_t i = 0; i < c->p->batch.n_rows; i++) {
        const struct rl_weight_row *row = &c->m.weights[i];
        total.sum += row->sum;
        total.min = fmin(total.min, row->min);
        total.max = fmax(total.max, row->max);
        total.high += row->high;
        total.low += row->low;
        total.shifted += row->shifted;
        total.shifted_square += row->shifted_square;
    }
    return total;
}

/* Range of the ratios before truncation. */
struct range {
    double min, max, high, low;
};

/*
 * At sequence level, extremes and fractions are computed from the rows' sums of l. The sums are
 * compared as logarithms, which do not overflow. The minimum is reported without a limit, as in the
 * reference, and can overflow.
 */
static struct range sequence_range(const struct rl_correcting *c)
{
    double b = (double)c->p->batch.n_rows, high = log(c->options->is_threshold), low = log(lowest(c->options));
    struct range r = {INFINITY, -INFINITY, 0, 0};
    for (size_t i = 0; i < c->p->batch.n_rows; i++) {
        double l = c->m.ratios[i].l;
        r.min = fmin(r.min, l);
        r.max = fmax(r.max, l);
        r.high += l > high;
        r.low += l < low;
    }
    return (struct range){exp(r.min), exp(fmin(r.max, RL_LOG_RATIO_LIMIT)), r.high / b, r.low / b};
}

static enum rl_status add_range(const struct rl_correcting *c, const struct rl_weight_row *total, double n, struct rl_error *err)
{
    struct range r = {total->min, total->max, total->high / n, total->low / n};
    if (c->options->is == RL_IS_SEQUENCE)
        r = sequence_range(c);
    if (!isfinite(r.min))
        return rl_fail(err, RL_EVALUE,
                       "train_log_prob exceeds rollout_log_prob by more than 709 in the sum of every "
                       "row: exp overflows in rollout_is_min, which has no limit");
    rl_metrics_add(c->metrics, "rollout_is_", "max", r.max);
    rl_metrics_add(c->metrics, "rollout_is_", "min", r.min);
    rl_metrics_add(c->metrics, "rollout_is_", "ratio_fraction_high", r.high);
    rl_metrics_add(c->metrics, "rollout_is_", "ratio_fraction_low", r.low);
    return RL_OK;
}

/*
 * Standard deviation of v and effective sample size, from the sums of v - 1, which keep their
 * digits if both policies are nearly equal: with s = N / (N + 1e-8), mm(v) = s + mm(v - 1). The
 * effective sample size is 1 / mm((v / mean)^2), a share between 0 and 1.
 */
static void add_spread(const struct rl_correcting *c, const struct rl_weight_row *total, double n_tokens)
{
    double n = n_tokens + 1e-8, rest = 1e-8 / n, share = n_tokens / n;
    double shift = total->shifted / n, square = total->shifted_square / n;
    double variance = share * rest + 2 * shift * rest + square - shift * shift;
    double mean = share + shift, scale = (mean + 1e-8) * (mean + 1e-8);
    bool none = c->options->is_applied && !(total->sum > 0); /* an interval without a ratio; rounding would leave some sum */
    rl_metrics_add(c->metrics, "rollout_is_", "mean", total->sum / n);
    rl_metrics_add(c->metrics, "rollout_is_", "std", n_tokens > 1 ? sqrt(fmax(0, variance)) : 0);
    rl_metrics_add(c->metrics, "rollout_is_", "eff_sample_size", none ? 0 : scale / (share + 2 * shift + square));
    if (c->options->is_lower > 0)
        rl_metrics_add(c->metrics, "rollout_is_", "oob_ratio", (total->high + total->low) / n);
}

/* mm_i(w) of a row. */
static double row_mean(const struct rl_correcting *c, size_t row)
{
    return c->m.weights[row].sum / (c->m.ratios[row].n + 1e-8);
}

static void add_row_metrics(const struct rl_correcting *c)
{
    size_t b = c->p->batch.n_rows;
    double sum = 0, square = 0, cap = c->options->is_threshold, low = lowest(c->options), deviation = 0;
    struct range r = {INFINITY, -INFINITY, 0, 0};
    for (size_t i = 0; i < b; i++) {
        double q = row_mean(c, i), raw = c->m.weights[i].raw / (c->m.ratios[i].n + 1e-8);
        sum += q;
        r.min = fmin(r.min, q);
        r.max = fmax(r.max, q);
        deviation = fmax(deviation, fabs(q - 1));
        r.high += raw > cap;
        r.low += raw < low;
    }
    double mean = sum / (double)b;
    for (size_t i = 0; i < b; i++)
        square += (row_mean(c, i) - mean) * (row_mean(c, i) - mean);
    rl_metrics_add(c->metrics, "rollout_is_", "seq_mean", mean);
    rl_metrics_add(c->metrics, "rollout_is_", "seq_std", b > 1 ? sqrt(square / (double)(b - 1)) : 0);
    rl_metrics_add(c->metrics, "rollout_is_", "seq_max", r.max);
    rl_metrics_add(c->metrics, "rollout_is_", "seq_min", r.min);
    rl_metrics_add(c->metrics, "rollout_is_", "seq_max_deviation", deviation);
    rl_metrics_add(c->metrics, "rollout_is_", "seq_fraction_high", r.high / (double)b);
    rl_metrics_add(c->metrics, "rollout_is_", "seq_fraction_low", r.low / (double)b);
}

/*
 * Mean of the truncated weights: token weights over tokens, sequence weights over the non-empty
 * rows. A mean over tokens would count the single weight of a long row many times.
 */
static double capped_mean(const struct rl_correcting *c, const struct rl_distance *d)
{
    double tokens = 0, rows = 0;
    for (size_t i = 0; i < c->p->batch.n_rows; i++) {
        tokens += c->m.weights[i].capped;
        rows += c->m.weights[i].capped / (c->m.ratios[i].n + 1e-8);
    }
    return c->options->is == RL_IS_TOKEN ? tokens / (d->n_tokens + 1e-8) : rows / d->n_filled;
}

/*
 * Dividing by the mean keeps the step size of the update independent of the sampler's drift. If the
 * mean is near 0, the weights stay undivided.
 */
static void normalise(const struct rl_correcting *c, double mean)
{
    const struct rl_grid *batch = &c->p->batch;
    double factor = mean > 1e-8 ? mean : 1;
#pragma omp parallel for schedule(static) if (rl_grid_parallel(batch))
    for (size_t row = 0; row < batch->n_rows; row++)
        c->sink.divide(&c->sink, rl_row_at(batch, row), rl_row_length(batch, row), factor);
    rl_metrics_add(c->metrics, "rollout_is_", "batch_norm_factor", factor);
}

enum rl_status rl_correction_weights(struct rl_correcting *c, const struct rl_distance *d, struct rl_error *err)
{
    struct rl_weight_row total = add_rows(c);
    RL_TRY(add_range(c, &total, d->n_tokens + 1e-8, err));
    add_spread(c, &total, d->n_tokens);
    add_row_metrics(c);
    if (c->options->is_batch_normalize)
        normalise(c, capped_mean(c, d));
    return RL_OK;
}
