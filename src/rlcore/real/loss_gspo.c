/* loss_gspo.c: GSPO, one segment per row. */
#include "policy.h"
#include "segment.h"

static struct rl_row_sums gspo_row(const void *context, size_t row, size_t n_response,
                                   double weight)
{
    (void)n_response;
    const struct RL(rl_policy) *policy = context;
    const struct RL(rl_loss_input) *in = policy->in;
    size_t n = policy->batch->n_tokens, i = row * n;
    const struct RL(rl_segment) segment = {
        .n = n,
        .mask = policy->batch->mask + i,
        .log_prob = in->log_prob + i,
        .old_log_prob = in->old_log_prob + i,
        .advantages = in->advantages + i,
        .weights = in->weights ? in->weights + i : NULL,
        .d_log_prob = policy->d_log_prob ? policy->d_log_prob + i : NULL,
        .low = policy->options->clip_low,
        .high = policy->options->clip_high,
        .row_weight = weight,
    };
    struct rl_row_sums sums = rl_row_sums_empty();
    RL(rl_segment_loss)(&segment, &sums);
    RL(rl_policy_entropy)(policy, row, &sums);
    return sums;
}

enum rl_status RL(rl_gspo_loss)(const struct rl_batch *batch, const struct RL(rl_loss_input) * in,
                                const struct rl_loss_options *options, real *d_log_prob,
                                struct rl_loss_result *out, struct rl_workspace *ws,
                                struct rl_error *err)
{
    const struct RL(rl_policy) policy = {batch, in, options, d_log_prob};
    enum rl_status status = RL(rl_policy_check)(&policy, RL_POLICY_OLD, err);
    if (status != RL_OK)
        return status;
    struct rl_agg agg = options->agg;
    agg.mode = RL_AGG_SEQ_MEAN_TOKEN_MEAN;
    return RL(rl_policy_run)(&policy, gspo_row, RL_WEIGHTS_AGG, &agg, out, ws, err);
}
