/*
 * loss_shared_real.c: checks, entropy statistics and the result that all policy losses share.
 *
 * Options are checked in every loss, also those that it does not read: an impossible clip in a
 * recipe is a mistake whatever the loss, and options move between losses in sweeps.
 */
#include "loss/loss_internal.h"

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

/*
 * Arguments before values: a missing array must be told before anything reads it. With no tokens at
 * all arrays may be NULL, since an empty one often is.
 */
enum rl_status rl_loss_begin(const struct rl_loss_call *call, struct rl_rows *rows,
                             struct rl_workspace *ws, struct rl_error *err)
{
    const struct rl_batch *batch = call->batch;
    if (!batch || !call->in || !call->options || !call->out)
        return rl_fail(err, RL_EINVAL, "batch, loss input, options or result are missing");
    bool tokens = batch->n_rows > 0 && batch->n_tokens > 0;
    if (tokens && !call->in->log_prob)
        return rl_fail(err, RL_EINVAL, "log_prob is missing");
    if (tokens && !call->in->old_log_prob && !call->old_optional)
        return rl_fail(err, RL_EINVAL, "old_log_prob is missing");
    if (tokens && !call->in->advantages)
        return rl_fail(err, RL_EINVAL, "advantages is missing");
    enum rl_status status = check_options(call->options, err);
    if (status != RL_OK)
        return status;
    return rl_rows_begin(rows, batch, call->needs, call->weights, &call->options->agg, ws, err);
}

static enum rl_status explain_weights(const struct rl_loss_call *call, struct rl_error *err)
{
    const struct rl_batch *batch = call->batch;
    const real *weights = call->in->weights;
    for (size_t i = 0; i < batch->n_rows * batch->n_tokens; i++)
        if (batch->mask[i] && weights[i] < 0)
            return rl_fail(err, RL_EVALUE, "weights[%zu][%zu] is %g, negative", i / batch->n_tokens,
                           i % batch->n_tokens, (double)weights[i]);
    return RL_OK;
}

/* In the order of the arguments, so that of several bad arrays always the same is named. */
enum rl_status rl_loss_explain(const struct rl_loss_call *call, struct rl_error *err)
{
    const struct rl_loss_input *in = call->in;
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
            status = rl_batch_check_reals(arrays[i].name, arrays[i].values, call->batch, err);
    return status == RL_OK && in->weights ? explain_weights(call, err) : status;
}

/*
 * A loop of its own: few callers pass entropies, and the losses' loops are short of registers as
 * they are.
 */
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

void rl_loss_entropy(const struct rl_loss_call *call, size_t row, struct rl_row_sums *sums)
{
    size_t n = call->batch->n_tokens;
    if (call->in->entropy)
        add_entropy(sums, call->in->entropy + row * n, call->batch->mask + row * n, n);
}

/*
 * The result is written last and only if all is well: a caller that ignores the status finds its
 * old values and no half of new ones.
 */
enum rl_status rl_loss_end(const struct rl_loss_call *call, const struct rl_rows *rows,
                           struct rl_error *err)
{
    const struct rl_row_sums total = rl_rows_total(rows);
    enum rl_status status = total.poisoned ? rl_loss_explain(call, err) : RL_OK;
    return status == RL_OK ? rl_loss_result_set(call->out, &total, rows->n_tokens, err) : status;
}
