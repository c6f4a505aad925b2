/* policy.c: checks, entropy statistics and the run that all policy losses share. */
#include "policy.h"

#include <float.h>

static enum rl_status check_options(const struct rl_loss_options *o, struct rl_error *err)
{
    if (!(o->clip_low >= 0) || !(o->clip_high >= 0) || isinf(o->clip_low) || isinf(o->clip_high))
        return rl_fail(err, RL_EINVAL, "clip range [%g, %g] is negative or not finite", o->clip_low,
                       o->clip_high);
    if (!(o->clip_c > 1))
        return rl_fail(err, RL_EINVAL, "clip_c is %g, not above 1", o->clip_c);
    if (!(o->tau_pos > 0) || !(o->tau_neg > 0) || isinf(o->tau_pos) || isinf(o->tau_neg))
        return rl_fail(err, RL_EINVAL, "tau is %g (positive A), %g: not positive numbers",
                       o->tau_pos, o->tau_neg);
    return RL_OK;
}

enum rl_status RL(rl_policy_check)(const struct RL(rl_policy) * policy, enum rl_policy_needs needs,
                                   struct rl_error *err)
{
    if (!policy->batch || !policy->in || !policy->options)
        return rl_fail(err, RL_EINVAL, "batch, loss input or options are missing");
    bool tokens = policy->batch->n_rows > 0 && policy->batch->n_tokens > 0;
    if (tokens && !policy->in->log_prob)
        return rl_fail(err, RL_EINVAL, "log_prob is missing");
    if (tokens && !policy->in->old_log_prob && needs == RL_POLICY_OLD)
        return rl_fail(err, RL_EINVAL, "old_log_prob is missing");
    if (tokens && !policy->in->advantages)
        return rl_fail(err, RL_EINVAL, "advantages is missing");
    return check_options(policy->options, err);
}

static enum rl_status explain_weights(const struct RL(rl_policy) * policy, struct rl_error *err)
{
    const struct rl_batch *batch = policy->batch;
    const real *weights = policy->in->weights;
    for (size_t i = 0; i < batch->n_rows * batch->n_tokens; i++)
        if (batch->mask[i] && weights[i] < 0)
            return rl_fail(err, RL_EVALUE, "weights[%zu][%zu] is %g, negative", i / batch->n_tokens,
                           i % batch->n_tokens, (double)weights[i]);
    return RL_OK;
}

enum rl_status RL(rl_policy_explain)(const void *context, struct rl_error *err)
{
    const struct RL(rl_policy) *policy = context;
    const struct RL(rl_loss_input) *in = policy->in;
    const struct {
        const char *name;
        const real *values;
    } arrays[] = {{"log_prob", in->log_prob},
                  {"old_log_prob", in->old_log_prob},
                  {"advantages", in->advantages},
                  {"weights", in->weights},
                  {"entropy", in->entropy}};
    enum rl_status status = RL_OK;
    for (size_t i = 0; status == RL_OK && i < sizeof arrays / sizeof *arrays; i++)
        if (arrays[i].values)
            status = RL(rl_batch_check_reals)(arrays[i].name, arrays[i].values, policy->batch, err);
    return status == RL_OK && in->weights ? explain_weights(policy, err) : status;
}

static RL_HOT void add_entropy(struct rl_row_sums *sums, const real *entropy, const uint8_t *mask,
                               size_t n)
{
    double sum = 0, low = sums->entropy_min, high = sums->entropy_max;
#pragma omp simd reduction(+ : sum) reduction(min : low) reduction(max : high)
    for (size_t t = 0; t < n; t++) {
        double h = entropy[t];
        sum += mask[t] ? h : 0;
        low = mask[t] && h < low ? h : low;
        high = mask[t] && h > high ? h : high;
    }
    sums->entropy = sum;
    sums->entropy_min = low;
    sums->entropy_max = high;
    sums->poisoned |= !isfinite(sum);
}

void RL(rl_policy_entropy)(const struct RL(rl_policy) * policy, size_t row,
                           struct rl_row_sums *sums)
{
    size_t n = policy->batch->n_tokens;
    if (policy->in->entropy)
        add_entropy(sums, policy->in->entropy + row * n, policy->batch->mask + row * n, n);
}

enum rl_status RL(rl_policy_run)(const struct RL(rl_policy) * policy, rl_row_fn *row,
                                 enum rl_row_weights weights, const struct rl_agg *agg,
                                 struct rl_loss_result *out, struct rl_workspace *ws,
                                 struct rl_error *err)
{
    const struct rl_row_job job = {.batch = policy->batch,
                                   .needs = RL_NEEDS_MASK,
                                   .weights = weights,
                                   .agg = agg,
                                   .context = policy,
                                   .row = row,
                                   .explain = RL(rl_policy_explain)};
    struct rl_row_sums total;
    size_t n_tokens;
    enum rl_status status = rl_rows_run(&job, &total, &n_tokens, ws, err);
    if (status == RL_OK)
        rl_loss_result_set(out, &total, n_tokens);
    return status;
}
