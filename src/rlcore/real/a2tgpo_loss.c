/* a2tgpo_loss.c: PPO with one importance ratio per turn, each turn a segment of its row. */
#include <rlcore/a2tgpo.h>

#include "policy.h"
#include "segment.h"
#include "turns.h"

struct turn_loss {
    struct RL(
        rl_policy) policy; /* first, so that the checks of policy losses apply; its options unset */
    const struct rl_turn_loss_options *options;
    const real *clip_scale;
    real *turn_ratio;
};

static const real *offset(const real *values, size_t by)
{
    return values ? values + by : NULL;
}

static void write_ratio(const struct turn_loss *loss, size_t from, size_t n, double ratio)
{
    for (size_t t = from; loss->turn_ratio && t < from + n; t++)
        loss->turn_ratio[t] = loss->policy.batch->mask[t] ? (real)ratio : 0;
}

static struct rl_row_sums turn_loss_row(const void *context, size_t row, size_t n_response,
                                        double weight)
{
    (void)n_response;
    const struct turn_loss *loss = context;
    const struct rl_batch *batch = loss->policy.batch;
    const struct RL(rl_loss_input) *in = loss->policy.in;
    size_t n = batch->n_tokens, end = 0;
    struct rl_row_sums sums = rl_row_sums_empty();
    for (int32_t k = 0; end < n; k++) {
        size_t begin = end, i = row * n + begin;
        end = rl_turn_next(batch->turn + row * n, begin, n, k);
        const struct RL(rl_segment) segment = {
            .n = end - begin,
            .mask = batch->mask + i,
            .log_prob = in->log_prob + i,
            .old_log_prob = in->old_log_prob + i,
            .advantages = in->advantages + i,
            .weights = offset(in->weights, i),
            .clip_scale = offset(loss->clip_scale, i),
            .d_log_prob = loss->policy.d_log_prob ? loss->policy.d_log_prob + i : NULL,
            .low = loss->options->clip_low,
            .high = loss->options->clip_high,
            .row_weight = weight,
        };
        write_ratio(loss, i, segment.n, RL(rl_segment_loss)(&segment, &sums));
    }
    RL(rl_policy_entropy)(&loss->policy, row, &sums);
    return sums;
}

static enum rl_status explain(const void *context, struct rl_error *err)
{
    const struct turn_loss *loss = context;
    const struct rl_batch *batch = loss->policy.batch;
    enum rl_status status = RL(rl_policy_explain)(&loss->policy, err);
    for (size_t i = 0; status == RL_OK && loss->clip_scale && i < batch->n_rows * batch->n_tokens;
         i++)
        if (batch->mask[i] && !(loss->clip_scale[i] >= 0 && isfinite(loss->clip_scale[i])))
            return rl_fail(err, RL_EVALUE, "clip_scale[%zu][%zu] is %g, negative or not finite",
                           i / batch->n_tokens, i % batch->n_tokens, (double)loss->clip_scale[i]);
    return status;
}

enum rl_status RL(rl_a2tgpo_turn_loss)(const struct rl_batch *batch,
                                       const struct RL(rl_loss_input) * in, const real *clip_scale,
                                       const struct rl_turn_loss_options *options, real *d_log_prob,
                                       real *turn_ratio, struct rl_loss_result *out,
                                       struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_loss_options clips;
    rl_loss_options_init(&clips);
    if (!options)
        return rl_fail(err, RL_EINVAL, "options are missing");
    clips.clip_low = options->clip_low;
    clips.clip_high = options->clip_high;
    const struct turn_loss loss = {
        {batch, in, &clips, d_log_prob}, options, clip_scale, turn_ratio};
    const struct rl_agg agg = {.mode = options->mode};
    const struct rl_row_job job = {.batch = batch,
                                   .needs = RL_NEEDS_TURNS,
                                   .weights = RL_WEIGHTS_AGG_OLDER,
                                   .agg = &agg,
                                   .context = &loss,
                                   .row = turn_loss_row,
                                   .explain = explain};
    struct rl_row_sums total;
    size_t n_tokens;
    enum rl_status status = RL(rl_policy_check)(&loss.policy, RL_POLICY_OLD, err);
    if (status == RL_OK)
        status = rl_rows_run(&job, &total, &n_tokens, ws, err);
    if (status == RL_OK)
        rl_loss_result_set(out, &total, n_tokens);
    return status;
}
