/*
 * a2tgpo_turn_loss_real.c: PPO with one importance ratio per turn, each turn a segment of its row,
 * and a clip range of its own from what the turn brought.
 *
 * One ratio per turn because an action of an agent is a turn: a ratio per token lets one word be
 * clipped while the rest of the same query moves on, and a ratio per row lets one long tool call
 * decide about all turns.
 */
#include "loss/segment.h"
#include "support/turns.h"

struct turn_loss {
    struct rl_loss_call call;
    const real *clip_scale; /* [B*T] or NULL */
    real *turn_ratio;       /* [B*T] or NULL */
};

static const real *offset(const real *values, size_t by)
{
    return values ? values + by : NULL;
}

RL_HOT static struct rl_row_sums turn_loss_row(const struct turn_loss *loss, size_t row,
                                               real row_weight)
{
    const struct rl_loss_call *call = &loss->call;
    const struct rl_batch *batch = call->batch;
    const struct rl_loss_input *in = call->in;
    size_t n = batch->n_tokens, end = 0;
    struct rl_row_sums sums = rl_row_sums_empty();
    for (int32_t k = 0; end < n; k++) {
        size_t begin = end, i = row * n + begin;
        end = rl_turn_next(batch->turn + row * n, begin, n, k);
        const struct rl_segment segment = {
            .n = end - begin,
            .mask = batch->mask + i,
            .log_prob = in->log_prob + i,
            .old_log_prob = in->old_log_prob + i,
            .advantages = in->advantages + i,
            .weights = offset(in->weights, i),
            .clip_scale = offset(loss->clip_scale, i),
            .d_log_prob = call->d_log_prob ? call->d_log_prob + i : NULL,
            .low = (real)call->options->clip_low,
            .high = (real)call->options->clip_high,
            .row_weight = row_weight,
        };
        real ratio = (real)rl_segment_loss(&segment, &sums);
        for (size_t t = i; loss->turn_ratio && t < i + segment.n; t++)
            loss->turn_ratio[t] = batch->mask[t] ? ratio : 0;
    }
    rl_loss_entropy(call, row, &sums);
    return sums;
}

/*
 * A negative scale would turn the clip range inside out, where the limit of both ends is no longer
 * a range but whichever end is tested last.
 */
static enum rl_status explain_scale(const struct turn_loss *loss, struct rl_error *err)
{
    const struct rl_batch *batch = loss->call.batch;
    const real *scale = loss->clip_scale;
    for (size_t i = 0; scale && i < batch->n_rows * batch->n_tokens; i++)
        if (batch->mask[i] && !(scale[i] >= 0 && isfinite(scale[i])))
            return rl_fail(err, RL_EVALUE, "clip_scale[%zu][%zu] is %g, negative or not finite",
                           i / batch->n_tokens, i % batch->n_tokens, (double)scale[i]);
    return RL_OK;
}

enum rl_status rl_a2tgpo_turn_loss(const struct rl_batch *batch, const struct rl_loss_input *in,
                                   const real *clip_scale,
                                   const struct rl_turn_loss_options *options, real *d_log_prob,
                                   real *turn_ratio, struct rl_loss_result *out,
                                   struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_loss_options clips;
    struct rl_rows rows;
    if (!options)
        return rl_fail(err, RL_EINVAL, "options are missing");
    /*
     * The checks of policy losses are for options with a dual clip and temperatures, which this
     * loss lacks: it passes them with the defaults.
     */
    rl_loss_options_init(&clips);
    clips.agg.mode = options->mode;
    clips.clip_low = options->clip_low;
    clips.clip_high = options->clip_high;
    const struct turn_loss loss = {.call = {.batch = batch,
                                            .in = in,
                                            .options = &clips,
                                            .d_log_prob = d_log_prob,
                                            .out = out,
                                            .weights = RL_WEIGHTS_AGG_OLDER,
                                            .needs = RL_NEEDS_TURNS},
                                   .clip_scale = clip_scale,
                                   .turn_ratio = turn_ratio};
    enum rl_status status = rl_loss_begin(&loss.call, &rows, ws, err);
    if (status != RL_OK)
        return status;
#pragma omp parallel for schedule(static) if (rows.parallel)
    for (size_t row = 0; row < batch->n_rows; row++)
        rows.sums[row] = turn_loss_row(&loss, row, (real)rl_row_weight(&rows, row));
    const struct rl_row_sums total = rl_rows_total(&rows);
    status = total.poisoned ? rl_loss_explain(&loss.call, err) : RL_OK;
    if (status == RL_OK && total.poisoned)
        status = explain_scale(&loss, err);
    return status == RL_OK ? rl_loss_result_set(out, &total, rows.n_tokens, err) : status;
}
