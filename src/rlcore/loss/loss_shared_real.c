/*
 * loss_shared_real.c: the entry of the policy losses, and the checks, entropy statistics and result
 * that they share.
 *
 * Every loss checks all options, including those that it does not read, because an impossible clip
 * in a recipe is a mistake whatever the loss, and sweeps move options between losses.
 */
#include "loss/loss_internal.h"

#include <float.h>

static enum rl_status check_options(const struct rl_loss_options *o, struct rl_error *err)
{
    if (!(o->clip_low >= 0) || !(o->clip_high >= 0) || isinf(o->clip_low) || isinf(o->clip_high))
        return rl_fail(err, RL_EINVAL, "clip range [%g, %g] is negative or not finite", o->clip_low, o->clip_high);
    if (!(o->clip_c > 1))
        return rl_fail(err, RL_EINVAL, "clip_c is %g, not above 1", o->clip_c);
    if (!(o->tau_pos > 0) || !(o->tau_neg > 0) || isinf(o->tau_pos) || isinf(o->tau_neg))
        return rl_fail(err, RL_EINVAL, "tau is %g (positive A), %g: not positive numbers", o->tau_pos, o->tau_neg);
    return RL_OK;
}

/*
 * A missing array must be reported before its values are read. A batch without tokens may have NULL
 * arrays, because empty arrays often are NULL.
 */
static enum rl_status check_arrays(const struct rl_loss_call *call, struct rl_error *err)
{
    if (call->batch.n_rows == 0 || call->batch.n_tokens == 0)
        return RL_OK;
    if (!call->in->log_prob)
        return rl_fail(err, RL_EINVAL, "log_prob is missing");
    if (!call->in->old_log_prob && !call->old_optional)
        return rl_fail(err, RL_EINVAL, "old_log_prob is missing");
    if (!call->in->advantages)
        return rl_fail(err, RL_EINVAL, "advantages is missing");
    if (call->in->clip_scale && call->unclipped)
        return rl_fail(err, RL_EINVAL, "%s has no clip range, so clip_scale cannot act on it", call->unclipped);
    return RL_OK;
}

enum rl_status rl_loss_begin(struct rl_loss_call *call, const struct rl_batch *batch, struct rl_rows *rows,
                             struct rl_workspace *ws, struct rl_error *err)
{
    if (!batch || !call->in || !call->options || !call->out)
        return rl_fail(err, RL_EINVAL, "batch, loss input, options or result are missing");
    RL_TRY(check_options(call->options, err));
    RL_TRY(rl_grid_of(&call->batch, batch, call->needs, err));
    RL_TRY(check_arrays(call, err));
    return rl_rows_begin(rows, &call->batch, call->weights, &call->options->agg, ws, err);
}

/*
 * Weights and clip scales must not be negative. With a negative scale the lower end of the clip range would be above the upper one,
 * and the result would depend on which end is tested last.
 */
static enum rl_status explain_sign(const struct rl_loss_call *call, const char *name, unsigned k, const real *values,
                                   const char *wrong, struct rl_error *err)
{
    const struct rl_grid *batch = &call->batch;
    for (size_t row = 0; row < batch->n_rows && values; row++)
        for (size_t i = rl_row_at(batch, row), t = 0; t < rl_row_length(batch, row); t++) {
            double value = (double)rl_real_at(batch, k, values, i + t);
            if (rl_on(batch, i + t) && !(value >= 0 && isfinite(value)))
                return rl_fail(err, RL_EVALUE, "%s[%zu][%zu] is %g, %s", name, row, t, value, wrong);
        }
    return RL_OK;
}

/*
 * Arrays are searched in the order of the arguments, so that always the same array is named if
 * several are bad.
 */
enum rl_status rl_loss_explain(const struct rl_loss_call *call, struct rl_error *err)
{
    const struct rl_loss_input *in = call->in;
    const struct {
        const char *name;
        const real *values;
    } arrays[] = {[RL_LOG_PROB] = {"log_prob", in->log_prob},
                  [RL_OLD_LOG_PROB] = {"old_log_prob", in->old_log_prob},
                  [RL_ADVANTAGES] = {"advantages", in->advantages},
                  [RL_WEIGHTS] = {"weights", in->weights},
                  [RL_ENTROPY] = {"entropy", in->entropy}};
    for (unsigned k = 0; k < sizeof arrays / sizeof *arrays; k++)
        if (arrays[k].values)
            RL_TRY(rl_grid_check_reals(arrays[k].name, &call->batch, k, arrays[k].values, false, err));
    RL_TRY(explain_sign(call, "weights", RL_WEIGHTS, in->weights, "negative", err));
    return explain_sign(call, "clip_scale", RL_CLIP_SCALE, in->clip_scale, "negative or not finite", err);
}

enum rl_status rl_loss_overwritten(const struct rl_loss_call *call, const real *more, struct rl_error *err)
{
    const struct rl_loss_input *in = call->in;
    const real *const inputs[] = {in->log_prob, in->old_log_prob, in->advantages, in->weights, in->entropy, in->clip_scale};
    for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++)
        if (inputs[k] && (inputs[k] == call->d_log_prob || inputs[k] == more))
            return rl_fail(err, RL_EVALUE,
                           "a value is not finite, or a weight or clip scale is negative; an output "
                           "has overwritten its array");
    return RL_OK;
}

/*
 * The entropies have a separate loop, because few callers pass them and the loops of the losses
 * have no registers to spare.
 */
HOT_VOID(add_entropy, (const struct rl_loss_call *call, size_t i, size_t n, struct rl_row_sums *sums), (call, i, n, sums))
{
    real low, high, buffer[RL_CHUNK], seen[RL_CHUNK];
    double term[RL_CHUNK];
    rl_int on[RL_CHUNK];
    const real *entropy = rl_reals_at(&call->batch, RL_ENTROPY, call->in->entropy, i, n, buffer);
    rl_mask_bits(&call->batch, i, n, on);
    for (size_t t = 0; t < n; t++)
        term[t] = (double)rl_keep(on[t], entropy[t]);
    for (size_t t = 0; t < n; t++)
        seen[t] = rl_real_of(rl_bits_in(entropy[t]) | ~on[t]); /* NaN at mask 0, which is never an extreme */
    rl_extremes(seen, n, &low, &high);
    double sum = rl_sum_wide(term, n);
    sums->entropy += sum;
    sums->entropy_min = (double)low < sums->entropy_min ? (double)low : sums->entropy_min;
    sums->entropy_max = (double)high > sums->entropy_max ? (double)high : sums->entropy_max;
    sums->poisoned |= !isfinite(sum);
}

void rl_loss_entropy(const struct rl_loss_call *call, size_t row, struct rl_row_sums *sums)
{
    size_t end = rl_row_end(&call->batch, row);
    for (size_t i = rl_row_at(&call->batch, row); call->in->entropy && i < end; i += RL_CHUNK)
        add_entropy(call, i, end - i < RL_CHUNK ? end - i : RL_CHUNK, sums);
}

/*
 * The result is written last and only on success, so that a caller that ignores the status finds
 * the old values instead of half of the new ones.
 */
enum rl_status rl_loss_end(const struct rl_loss_call *call, const struct rl_rows *rows, struct rl_error *err)
{
    const struct rl_row_sums total = rl_rows_total(rows);
    if (total.poisoned) {
        RL_TRY(rl_loss_explain(call, err));
        RL_TRY(rl_loss_overwritten(call, NULL, err));
    }
    return rl_loss_result_set(call->out, &total, rows->n_tokens, err);
}

static struct rl_row_sums with_entropy(const struct rl_loss_call *call, size_t row, rl_loss_row *run_row, real row_weight)
{
    struct rl_row_sums first = rl_row_sums_empty();
    rl_loss_entropy(call, row, &first);
    struct rl_row_sums sums = run_row(call, row, row_weight);
    sums.entropy = first.entropy;
    sums.entropy_min = first.entropy_min;
    sums.entropy_max = first.entropy_max;
    sums.poisoned |= first.poisoned;
    return sums;
}

enum rl_status rl_loss_run(const struct rl_loss_rule *rule, const struct rl_batch *batch, const struct rl_loss_input *in,
                           const struct rl_loss_options *options, real *d_log_prob, struct rl_loss_result *out,
                           struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_loss_call call = {.in = in,
                                .options = options,
                                .d_log_prob = d_log_prob,
                                .out = out,
                                .weights = rule->weights,
                                .old_optional = rule->old_optional,
                                .unclipped = rule->unclipped};
    struct rl_rows rows;
    enum rl_status status = rl_loss_begin(&call, batch, &rows, ws, err);
    if (status != RL_OK)
        return status;
#pragma omp parallel for schedule(static) if (rows.parallel)
    for (size_t row = 0; row < rows.n; row++)
        rows.sums[row] = with_entropy(&call, row, rule->row, (real)rl_row_weight(&rows, row));
    return rl_loss_end(&call, &rows, err);
}
