/*
 * correction.c: a correction from its options to its metrics.
 *
 * The order of the parts follows from what they need: the sums over rows come first, because the
 * weights depend on them; then the weights of all tokens; rejection comes last, and its metrics are
 * computed from the ratios of all tokens, including rejected ones.
 */
#include "correction/correction_internal.h"
#include "support/metrics.h"
#include "support/real.h"
#include "support/scratch.h"
#include "support/vexp.h"

/*
 * ---- parser of rejection options and thresholds.
 *
 * They are text because verl's recipes name several options in one string. They are parsed once,
 * before any row is processed.
 */

static const struct rl_rejection known[] = {
    {"token_k1", RL_REJECT_TOKEN, 1, 0, 0},       {"token_k2", RL_REJECT_TOKEN, 2, 0, 0},
    {"token_k3", RL_REJECT_TOKEN, 3, 0, 0},       {"seq_sum_k1", RL_REJECT_SEQ_SUM, 1, 0, 0},
    {"seq_sum_k2", RL_REJECT_SEQ_SUM, 2, 0, 0},   {"seq_sum_k3", RL_REJECT_SEQ_SUM, 3, 0, 0},
    {"seq_mean_k1", RL_REJECT_SEQ_MEAN, 1, 0, 0}, {"seq_mean_k2", RL_REJECT_SEQ_MEAN, 2, 0, 0},
    {"seq_mean_k3", RL_REJECT_SEQ_MEAN, 3, 0, 0}, {"seq_max_k2", RL_REJECT_SEQ_MAX, 2, 0, 0},
    {"seq_max_k3", RL_REJECT_SEQ_MAX, 3, 0, 0}};

/*
 * The next item of a comma-separated list without surrounding blanks. *text advances past the
 * item's comma, or becomes NULL at the end.
 */
static size_t next_item(const char **text, const char **item)
{
    size_t length = strcspn(*text, ",");
    const char *end = *text + length;
    *item = *text;
    *text = *end ? end + 1 : NULL;
    while (length && strchr(" \t", **item)) {
        ++*item;
        length--;
    }
    while (length && strchr(" \t", (*item)[length - 1]))
        length--;
    return length;
}

/*
 * A repeated option is used once; otherwise it would count the same rejected tokens twice. Names
 * point into the table, so two of them can be compared as pointers.
 */
static enum rl_status parse_names(const char *rs, struct rl_rejection *out, size_t *n, struct rl_error *err)
{
    const char *item;
    *n = 0;
    while (rs) {
        size_t length = next_item(&rs, &item), i = 0, seen = 0;
        while (i < RL_REJECTIONS_MAX && (strlen(known[i].name) != length || strncmp(known[i].name, item, length) != 0))
            i++;
        if (i == RL_REJECTIONS_MAX)
            return rl_fail(err, RL_EINVAL, "rollout_rs: no option '%.*s'", (int)(length < 40 ? length : 40), item);
        while (seen < *n && out[seen].name != known[i].name)
            seen++;
        if (seen == *n)
            out[(*n)++] = known[i];
    }
    return RL_OK;
}

/*
 * Parse one positive number, ignoring blanks around it. The item is copied because strtod needs a
 * terminator. All characters of the item must be used; otherwise "2,5" in a language with decimal
 * commas would silently become 2.
 */
static bool parse_bound(const char *item, size_t length, double *bound)
{
    char text[64], *end;
    while (length && strchr(" \t", item[length - 1]))
        length--;
    if (!length || length >= sizeof text)
        return false;
    memcpy(text, item, length);
    text[length] = '\0';
    *bound = strtod(text, &end);
    return !*end && isfinite(*bound) && *bound > 0;
}

/*
 * k1 is a signed log-ratio: its bounds are given as ratios, and the logarithm is taken here; a
 * single number stands for itself and its reciprocal. The bounds of k2 and k3 are used without
 * conversion.
 */
static enum rl_status set_bounds(struct rl_rejection *option, const char *item, size_t length, struct rl_error *err)
{
    const char *bar = memchr(item, '_', length);
    size_t low = bar ? (size_t)(bar - item) : 0;
    double lower = 0, upper = 0;
    bool ok = bar ? option->k == 1 && parse_bound(item, low, &lower) && parse_bound(bar + 1, length - low - 1, &upper)
                  : parse_bound(item, length, &upper);
    if (!ok || (bar && lower > upper))
        return rl_fail(err, RL_EINVAL, "rollout_rs_threshold '%.*s' is not a bound for %s: use %s",
                       (int)(length < 40 ? length : 40), item, option->name,
                       option->k == 1 ? "lower_upper or one number, above 0" : "one number above 0");
    option->upper = option->k == 1 ? log(upper) : upper;
    option->lower = option->k == 1 ? (bar ? log(lower) : -log(upper)) : 0;
    return RL_OK;
}

static enum rl_status rl_rejections_parse(const char *rs, const char *thresholds, struct rl_rejection *out, size_t *n,
                                          struct rl_error *err)
{
    const char *items[RL_REJECTIONS_MAX];
    size_t lengths[RL_REJECTIONS_MAX], n_items = 0;
    *n = 0;
    if (!rs)
        return RL_OK;
    enum rl_status status = parse_names(rs, out, n, err);
    if (status == RL_OK && !thresholds)
        status = rl_fail(err, RL_EINVAL, "rollout_rs_threshold is missing");
    while (status == RL_OK && thresholds) {
        if (n_items == RL_REJECTIONS_MAX)
            return rl_fail(err, RL_EINVAL, "rollout_rs_threshold: too many thresholds");
        lengths[n_items] = next_item(&thresholds, &items[n_items]);
        n_items++;
    }
    /*
     * One threshold serves all options, as in verl. With any other number it would be unclear which
     * threshold belongs to which option.
     */
    if (status == RL_OK && n_items != 1 && n_items != *n)
        status = rl_fail(err, RL_EINVAL, "rollout_rs_threshold: %zu thresholds for %zu options", n_items, *n);
    for (size_t i = 0; status == RL_OK && i < *n; i++)
        status = set_bounds(&out[i], items[n_items == 1 ? 0 : i], lengths[n_items == 1 ? 0 : i], err);
    return status;
}

/*
 * ---- truncated importance weights and their metrics.
 *
 * Weights are truncated and not renormalised per row, so that the cap bounds the bias of the
 * estimator. Metrics are computed before truncation, because afterwards they would not show what
 * the cap cut; is_applied measures the truncated weights instead, as verl does since 0.8.
 */

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
static void weigh_row(struct rl_correcting *c, size_t row)
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

static void rl_correction_walk(struct rl_correcting *c)
{
#pragma omp parallel for schedule(static) if (rl_grid_parallel(&c->p->batch))
    for (size_t row = 0; row < c->p->batch.n_rows; row++)
        weigh_row(c, row);
}

static struct rl_weight_row add_weights(const struct rl_correcting *c)
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

static enum rl_status rl_correction_weights(struct rl_correcting *c, const struct rl_distance *d, struct rl_error *err)
{
    struct rl_weight_row total = add_weights(c);
    RL_TRY(add_range(c, &total, d->n_tokens + 1e-8, err));
    add_spread(c, &total, d->n_tokens);
    add_row_metrics(c);
    if (c->options->is_batch_normalize)
        normalise(c, capped_mean(c, d));
    return RL_OK;
}

/*
 * ---- rejection of tokens and sequences, and the metrics of each option. Options
 * are applied one after the other, each to all rows in parallel.
 *
 * Weights limit how much a sample counts; rejection decides whether it counts at all. Even with a
 * capped weight, a sample that the trained policy would never produce still pulls towards itself.
 */

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

static void reject_row(const struct rejecting *j, size_t row)
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
        reject_row(j, row);
}

/* Sums over tokens and over the rows with a response token. */
struct reject_sums {
    struct rl_reject_row tokens; /* q is the sum over rows */
    double min, max, deviation, high, low, rows_masked;
};

/* Rows without a response token are skipped: counted as 0 they would look like perfect agreement. */
static struct reject_sums add_rejected(const struct rejecting *j)
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
    struct reject_sums s = add_rejected(j);
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
static void rl_correction_reject(struct rl_correcting *c, const struct rl_distance *d)
{
    for (size_t i = 0; i < c->n_rejections; i++) {
        struct rejecting j = {c, &c->rejections[i]};
        walk_rows(&j);
        report(&j, d);
    }
    if (c->n_rejections)
        report_all(c, d);
}

static struct rl_correction_memory take(struct rl_scratch *s, size_t n_rows)
{
    struct rl_correction_memory m;
    m.ratios = rl_scratch_take(s, n_rows, sizeof *m.ratios);
    m.weights = rl_scratch_take(s, n_rows, sizeof *m.weights);
    m.rejected = rl_scratch_take(s, n_rows, sizeof *m.rejected);
    return m;
}

size_t rl_correction_bytes(size_t n_rows)
{
    struct rl_scratch s = rl_scratch_begin(NULL);
    take(&s, n_rows);
    return s.used;
}

static enum rl_status check(struct rl_correcting *c, struct rl_error *err)
{
    const struct rl_correction_options *o = c->options;
    if (c->p->batch.n_tokens && !c->keep)
        return rl_fail(err, RL_EINVAL, "the array for the modified mask is missing");
    if (o->is != RL_IS_NONE && c->p->batch.n_tokens && !c->sink.weights)
        return rl_fail(err, RL_EINVAL, "rollout_is: the array for the weights is missing");
    if (o->is != RL_IS_NONE && (!(o->is_threshold > 0) || !isfinite(o->is_threshold)))
        return rl_fail(err, RL_EINVAL, "rollout_is_threshold is %g, not above 0", o->is_threshold);
    if (o->is != RL_IS_NONE && (!(o->is_lower >= 0) || o->is_lower > o->is_threshold))
        return rl_fail(err, RL_EINVAL, "rollout_is_threshold begins at %g, not between 0 and %g", o->is_lower, o->is_threshold);
    return rl_rejections_parse(o->rs, o->rs_threshold, c->rejections, &c->n_rejections, err);
}

enum rl_status rl_correction_run(struct rl_correcting *c, struct rl_workspace *ws, struct rl_error *err)
{
    RL_TRY(check(c, err));
    struct rl_scratch s = rl_scratch_begin(ws);
    struct rl_distance d = rl_distance_empty();
    c->m = take(&s, c->p->batch.n_rows);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    rl_correction_walk(c);
    rl_distance_add(&d, c->m.ratios, c->p->batch.n_rows);
    /* Every metric is a mean over response tokens, so there must be at least one. */
    if (!(d.n_tokens > 0))
        return rl_fail(err, RL_EINVAL, "response mask has no response token");
    RL_TRY(rl_distance_check(c->p, &d, err));
    if (c->options->is != RL_IS_NONE)
        RL_TRY(rl_correction_weights(c, &d, err));
    rl_correction_reject(c, &d);
    rl_distance_report(&d, c->metrics);
    return RL_OK;
}
