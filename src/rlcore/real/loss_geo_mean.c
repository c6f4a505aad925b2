/*
 * loss_geo_mean.c: GMPO. The row's loss is -A_i R_i W_i with all three from sums over the row, so the gradient
 * needs a second pass: each token whose log-ratio the clip left alone gets the row's loss / (n_i + 1e-8).
 */
#include "policy.h"

struct row_means {
    double t, advantage, log_weight; /* sums first, means over n_i + 1e-8 after */
};

/* Log-ratio of one response token and whether the clip cuts it off in the direction the advantage asks. */
struct cut {
    real t;
    bool above, below; /* outside the range, with A > 0 and with A < 0 */
    bool flat;         /* no gradient */
};

static RL_INLINE struct cut cut_log_ratio(real l, real a, real low, real high)
{
    real lc = rl_limit(l, -low, high);
    real least = l < lc ? l : lc, most = l < lc ? lc : l;
    bool outside = (l < lc) | (l > lc);
    real t = a > 0 ? least : a < 0 ? most : 0;
    bool flat = a > 0 ? l > lc : a < 0 ? l < lc : true;
    return (struct cut){t, outside & (a > 0), outside & (a < 0), flat};
}

RL_HOT static struct row_means add_up(const struct RL(rl_policy) *policy, size_t row,
                                      struct rl_row_sums *sums)
{
    size_t n = policy->batch->n_tokens, i = row * n;
    const uint8_t *mask = policy->batch->mask + i;
    const real *log_prob = policy->in->log_prob + i, *old = policy->in->old_log_prob + i;
    const real *advantages = policy->in->advantages + i;
    const real low = (real)policy->options->clip_low, high = (real)policy->options->clip_high;
    double sum_t = 0, sum_a = 0, above = 0, below = 0, kl = 0, poison = 0;
#pragma omp simd reduction(+ : sum_t, sum_a, above, below, kl, poison)
    for (size_t t = 0; t < n; t++) {
        bool on = mask[t] != 0;
        real p = on ? log_prob[t] : 0, q = on ? old[t] : 0, a = on ? advantages[t] : 0;
        struct cut c = cut_log_ratio(p - q, a, low, high);
        sum_t += (double)c.t;
        sum_a += (double)a;
        above += c.above ? 1 : 0;
        below += c.below ? 1 : 0;
        kl -= (double)(p - q);
        poison += (double)((p - p) + (q - q) + (a - a));
    }
    sums->clipped = above;
    sums->lower = below;
    sums->kl = kl;
    sums->poisoned = !(poison == 0);
    return (struct row_means){.t = sum_t, .advantage = sum_a};
}

static double sum_log_weights(const struct RL(rl_policy) *policy, size_t row, struct rl_row_sums *sums)
{
    size_t n = policy->batch->n_tokens, i = row * n;
    double sum = 0;
    for (size_t t = 0; policy->in->weights && t < n; t++) {
        double w = policy->batch->mask[i + t] ? (double)policy->in->weights[i + t] : 1;
        sum += policy->batch->mask[i + t] ? log(w + 1e-10) : 0;
        sums->poisoned |= !(w >= 0) || isinf(w);
    }
    return sum;
}

RL_HOT static void write_gradient(const struct RL(rl_policy) *policy, size_t row, double slope)
{
    size_t n = policy->batch->n_tokens, i = row * n;
    const uint8_t *mask = policy->batch->mask + i;
    const real *log_prob = policy->in->log_prob + i, *old = policy->in->old_log_prob + i;
    const real *advantages = policy->in->advantages + i;
    const real low = (real)policy->options->clip_low, high = (real)policy->options->clip_high;
    real *d = policy->d_log_prob + i;
#pragma omp simd
    for (size_t t = 0; t < n; t++) {
        bool flat = cut_log_ratio(log_prob[t] - old[t], advantages[t], low, high).flat;
        d[t] = mask[t] && !flat ? (real)slope : 0;
    }
}

static struct rl_row_sums geo_mean_row(const void *context, size_t row, size_t n_response, double weight)
{
    const struct RL(rl_policy) *policy = context;
    struct rl_row_sums sums = rl_row_sums_empty();
    struct row_means sum = add_up(policy, row, &sums);
    double length = (double)n_response + 1e-8;
    double ratio = exp(sum.t / length);
    double is_weight = exp(sum_log_weights(policy, row, &sums) / length);
    sums.loss = -sum.advantage / length * ratio * is_weight;
    if (n_response) {
        sums.ratio = ratio * (double)n_response;
        sums.ratio_min = sums.ratio_max = ratio;
    }
    if (policy->d_log_prob)
        write_gradient(policy, row, sums.loss * weight / length);
    RL(rl_policy_entropy)(policy, row, &sums);
    return sums;
}

enum rl_status RL(rl_geo_mean_loss)(const struct rl_batch *batch, const struct RL(rl_loss_input) *in,
                                    const struct rl_loss_options *options, real *d_log_prob,
                                    struct rl_loss_result *out, struct rl_workspace *ws,
                                    struct rl_error *err)
{
    const struct RL(rl_policy) policy = {batch, in, options, d_log_prob};
    enum rl_status status = RL(rl_policy_check)(&policy, RL_POLICY_OLD, err);
    if (status != RL_OK)
        return status;
    return RL(rl_policy_run)(&policy, geo_mean_row, RL_WEIGHTS_PER_ROW, NULL, out, ws, err);
}
