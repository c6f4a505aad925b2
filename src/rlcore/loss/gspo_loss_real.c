/*
 * gspo_loss_real.c: GSPO (arXiv 2507.18071), one segment per row.
 *
 * Clipping by token, with one reward for the whole response, corrects each token by a ratio that a
 * single sample cannot estimate; the ratio of the response is on the scale of what is rewarded.
 */
#include "loss/segment.h"

RL_HOT static struct rl_row_sums gspo_row(const struct rl_loss_call *call, size_t row,
                                          real row_weight)
{
    const struct rl_loss_input *in = call->in;
    size_t n = call->batch->n_tokens, i = row * n;
    const struct rl_segment segment = {
        .n = n,
        .mask = call->batch->mask + i,
        .log_prob = in->log_prob + i,
        .old_log_prob = in->old_log_prob + i,
        .advantages = in->advantages + i,
        .weights = in->weights ? in->weights + i : NULL,
        .d_log_prob = call->d_log_prob ? call->d_log_prob + i : NULL,
        .low = (real)call->options->clip_low,
        .high = (real)call->options->clip_high,
        .row_weight = row_weight,
    };
    struct rl_row_sums sums = rl_row_sums_empty();
    rl_segment_loss(&segment, &sums);
    rl_loss_entropy(call, row, &sums);
    return sums;
}

/* A ratio per row asks for a mean per row: the paper's objective, and verl's whatever is set. */
enum rl_status rl_gspo_loss(const struct rl_batch *batch, const struct rl_loss_input *in,
                            const struct rl_loss_options *options, real *d_log_prob,
                            struct rl_loss_result *out, struct rl_workspace *ws,
                            struct rl_error *err)
{
    const struct rl_loss_call call = {.batch = batch,
                                      .in = in,
                                      .options = options,
                                      .d_log_prob = d_log_prob,
                                      .out = out,
                                      .weights = RL_WEIGHTS_SEQ_MEAN};
    struct rl_rows rows;
    enum rl_status status = rl_loss_begin(&call, &rows, ws, err);
    if (status != RL_OK)
        return status;
#pragma omp parallel for schedule(static) if (rows.parallel)
    for (size_t row = 0; row < batch->n_rows; row++)
        rows.sums[row] = gspo_row(&call, row, (real)rl_row_weight(&rows, row));
    return rl_loss_end(&call, &rows, err);
}
