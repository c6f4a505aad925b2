/* offpolicy.c: log-ratios of a batch, the distance of its two policies, and the correction as a whole. */
#include <rlcore/offpolicy.h>

#include <math.h>
#include <string.h>

#include "correction.h"
#include "internal.h"
#include "metrics.h"
#include "real.h"

/* Running sums over rows of what rl_offpolicy_metrics reports. */
struct RL(distance) {
    double train_ppl, train_log_ppl, rollout_ppl, rollout_log_ppl, kl, k3, chi2_token, chi2_seq;
    double diff, abs_diff, diff_max, diff_min, ppl_ratio;
    size_t n_tokens;
};

static double limit20(double x)
{
    return fmin(fmax(x, -RL_LOG_RATIO_LIMIT), RL_LOG_RATIO_LIMIT);
}

static void add_row(struct RL(distance) *d, const struct rl_batch *batch, const real *train, const real *rollout,
                    size_t row)
{
    double a = 0, b = 0, sum = 0;
    size_t n = 0;
    for (size_t i = row * batch->n_tokens; i < (row + 1) * batch->n_tokens; i++) {
        if (!batch->mask[i])
            continue;
        double l = (double)train[i] - (double)rollout[i];
        a += (double)train[i];
        b += (double)rollout[i];
        sum += l;
        d->kl -= l;
        d->k3 += exp(l) - l - 1;
        d->chi2_token += exp(2 * limit20(l));
        n++;
    }
    a /= (double)n + 1e-8;
    b /= (double)n + 1e-8;
    d->n_tokens += n;
    d->train_ppl += exp(-a);
    d->train_log_ppl -= a;
    d->rollout_ppl += exp(-b);
    d->rollout_log_ppl -= b;
    d->diff += b - a;
    d->abs_diff += fabs(b - a);
    d->diff_max = row ? fmax(d->diff_max, b - a) : b - a;
    d->diff_min = row ? fmin(d->diff_min, b - a) : b - a;
    d->ppl_ratio += exp(b - a);
    d->chi2_seq += exp(2 * limit20(sum));
}

static void add_distance(struct rl_metrics *metrics, const struct RL(distance) *d, size_t n_rows)
{
    double b = (double)n_rows, n = (double)d->n_tokens + 1e-8;
    rl_metrics_add(metrics, "", "training_ppl", d->train_ppl / b);
    rl_metrics_add(metrics, "", "training_log_ppl", d->train_log_ppl / b);
    rl_metrics_add(metrics, "", "rollout_ppl", d->rollout_ppl / b);
    rl_metrics_add(metrics, "", "rollout_log_ppl", d->rollout_log_ppl / b);
    rl_metrics_add(metrics, "", "kl", d->kl / n);
    rl_metrics_add(metrics, "", "k3_kl", d->k3 / n);
    rl_metrics_add(metrics, "", "log_ppl_diff", d->diff / b);
    rl_metrics_add(metrics, "", "log_ppl_abs_diff", d->abs_diff / b);
    rl_metrics_add(metrics, "", "log_ppl_diff_max", d->diff_max);
    rl_metrics_add(metrics, "", "log_ppl_diff_min", d->diff_min);
    rl_metrics_add(metrics, "", "ppl_ratio", d->ppl_ratio / b);
    rl_metrics_add(metrics, "", "chi2_token", d->chi2_token / n - 1);
    rl_metrics_add(metrics, "", "chi2_seq", d->chi2_seq / b - 1);
}

static enum rl_status check(const struct rl_batch *batch, const real *train, const real *rollout, struct rl_error *err)
{
    enum rl_status status = rl_batch_check(batch, RL_NEEDS_MASK, err);
    if (status == RL_OK && !batch->n_rows)
        status = rl_fail(err, RL_EINVAL, "the batch has no rows");
    if (status == RL_OK)
        status = RL(rl_batch_check_reals)("train_log_prob", train, batch, err);
    if (status == RL_OK)
        status = RL(rl_batch_check_reals)("rollout_log_prob", rollout, batch, err);
    return status;
}

enum rl_status RL(rl_offpolicy_metrics)(const struct rl_batch *batch, const real *train, const real *rollout,
                                        struct rl_metrics *metrics, struct rl_error *err)
{
    struct RL(distance) d = {0};
    enum rl_status status = check(batch, train, rollout, err);
    if (status != RL_OK)
        return status;
    for (size_t row = 0; row < batch->n_rows; row++)
        add_row(&d, batch, train, rollout, row);
    add_distance(metrics, &d, batch->n_rows);
    return RL_OK;
}

static void take_ratios(struct rl_log_ratios *r, const real *train, const real *rollout, double *l, size_t *n)
{
    const struct rl_batch *batch = r->batch;
    for (size_t row = 0; row < batch->n_rows; row++) {
        n[row] = 0;
        for (size_t i = row * batch->n_tokens; i < (row + 1) * batch->n_tokens; i++) {
            l[i] = batch->mask[i] ? (double)train[i] - (double)rollout[i] : 0;
            n[row] += batch->mask[i];
        }
        r->n_tokens += n[row];
        r->n_filled += n[row] > 0;
    }
    r->l = l;
    r->n = n;
}

static enum rl_status check_options(const struct rl_correction_options *options, const void *weights,
                                    struct rl_error *err)
{
    if (options->is == RL_IS_NONE)
        return RL_OK;
    if (!weights)
        return rl_fail(err, RL_EINVAL, "rollout_is: the array for the weights is missing");
    if (!(options->is_threshold > 0) || !isfinite(options->is_threshold))
        return rl_fail(err, RL_EINVAL, "rollout_is_threshold is %g, not above 0", options->is_threshold);
    return RL_OK;
}

enum rl_status RL(rl_rollout_correction)(const struct rl_batch *batch, const struct rl_correction_options *options,
                                         const real *train, const real *rollout, real *weights,
                                         uint8_t *modified_mask, struct rl_metrics *metrics, struct rl_workspace *ws,
                                         struct rl_error *err)
{
    struct rl_log_ratios r = {.batch = batch};
    enum rl_status status = check(batch, train, rollout, err);
    if (status == RL_OK)
        status = check_options(options, weights, err);
    if (status != RL_OK)
        return status;
    size_t cells = batch->n_rows * batch->n_tokens;
    struct rl_scratch s = rl_scratch_begin(ws);
    struct rl_correction_memory m = rl_correction_take(&s, batch);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    take_ratios(&r, train, rollout, m.l, m.n);
    if (!r.n_tokens)
        return rl_fail(err, RL_EINVAL, "response mask has no response token");
    if (options->is != RL_IS_NONE) {
        rl_correction_weights(&r, options, m.weights, m.row, metrics);
        for (size_t i = 0; i < cells; i++)
            weights[i] = (real)m.weights[i];
    }
    memcpy(modified_mask, batch->mask, cells);
    status = rl_correction_reject(&r, options, modified_mask, m.row, metrics, err);
    return status == RL_OK ? RL(rl_offpolicy_metrics)(batch, train, rollout, metrics, err) : status;
}
