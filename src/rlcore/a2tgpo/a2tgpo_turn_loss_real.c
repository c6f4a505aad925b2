/*
 * a2tgpo_turn_loss_real.c: PPO with one importance ratio per turn. Each turn is a segment of its
 * row and has its own clip range, which depends on its information gain.
 *
 * The ratio is taken per turn because the action of an agent is a turn. With a ratio per token a
 * single word could be clipped while the rest of the same query moves on; with a ratio per row one
 * long tool call would decide about all turns.
 */
#include "loss/segment.h"
#include "support/turns.h"

struct turn_loss {
    struct rl_loss_call call;
    real *turn_ratio; /* [B*T] or NULL */
};

/* Write one value at the response tokens of a segment and 0 at the others. */
static void spread_ratio(const struct rl_segment *segment, real ratio, real *out)
{
    for (size_t i = segment->from; i < segment->from + segment->n; i++)
        out[i] = rl_on(&segment->call->batch, i) ? ratio : 0;
}

HOT(struct rl_row_sums, turn_loss_row, (const struct turn_loss *loss, size_t row, real row_weight), (loss, row, row_weight))
{
    const struct rl_loss_call *call = &loss->call;
    size_t first = rl_row_at(&call->batch, row), n = rl_row_length(&call->batch, row), end = 0;
    const struct rl_ids turn = rl_turns_at(&call->batch, first);
    struct rl_row_sums sums = rl_row_sums_empty();
    rl_loss_entropy(call, row, &sums);
    for (int32_t k = 0; end < n; k++) {
        size_t begin = end;
        end = rl_turn_next(turn, begin, n, k);
        const struct rl_segment segment = {
            .call = call,
            .from = first + begin,
            .n = end - begin,
            .low = (real)call->options->clip_low,
            .high = (real)call->options->clip_high,
            .row_weight = row_weight,
        };
        real ratio = (real)rl_segment_loss(&segment, &sums);
        if (loss->turn_ratio)
            spread_ratio(&segment, ratio, loss->turn_ratio);
    }
    return sums;
}

/* clip_scale takes the place of in->clip_scale, which other losses read. */
enum rl_status rl_a2tgpo_turn_loss(const struct rl_batch *batch, const struct rl_loss_input *in, const real *clip_scale,
                                   const struct rl_turn_loss_options *options, real *d_log_prob, real *turn_ratio,
                                   struct rl_loss_result *out, struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_loss_options clips;
    struct rl_rows rows;
    if (!options || !in)
        return rl_fail(err, RL_EINVAL, "loss input or options are missing");
    struct rl_loss_input own = *in;
    own.clip_scale = clip_scale ? clip_scale : in->clip_scale;
    /*
     * The shared checks expect options with a dual clip and temperatures. This loss has neither and
     * passes the defaults.
     */
    rl_loss_options_init(&clips);
    clips.agg.mode = options->mode;
    clips.clip_low = options->clip_low;
    clips.clip_high = options->clip_high;
    struct turn_loss loss = {.call = {.in = &own,
                                      .options = &clips,
                                      .d_log_prob = d_log_prob,
                                      .out = out,
                                      .weights = RL_WEIGHTS_AGG_OLDER,
                                      .needs = RL_NEEDS_TURNS},
                             .turn_ratio = turn_ratio};
    enum rl_status status = rl_loss_begin(&loss.call, batch, &rows, ws, err);
    if (status != RL_OK)
        return status;
#pragma omp parallel for schedule(static) if (rows.parallel)
    for (size_t row = 0; row < rows.n; row++)
        rows.sums[row] = turn_loss_row(&loss, row, (real)rl_row_weight(&rows, row));
    const struct rl_row_sums total = rl_rows_total(&rows);
    status = total.poisoned ? rl_loss_explain(&loss.call, err) : RL_OK;
    if (status == RL_OK && total.poisoned)
        status = rl_loss_overwritten(&loss.call, turn_ratio, err);
    return status == RL_OK ? rl_loss_result_set(out, &total, rows.n_tokens, err) : status;
}
