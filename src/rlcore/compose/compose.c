/*
 * compose.c: the parts of the composed loss that read no log-prob and are compiled once: options,
 * the tokens of tools, and the checks of routes.
 */
#include <rlcore/compose.h>

#include "compose/compose_internal.h"
#include "support/grid.h"

void rl_compose_options_of(struct rl_compose_options *options, const struct rl_correction_plan *plan)
{
    *options = (struct rl_compose_options){.backend_cap = plan ? plan->cap_low : 2, .staleness_cap = INFINITY};
    rl_loss_options_init(&options->loss);
    if (!plan)
        return;
    options->per_turn = plan->advice[RL_CORRECT_TURN_RATIOS].needed;
    options->replay = plan->replay;
}

/* Write the mask of a row without its tool tokens, one byte per token. */
static enum rl_status mask_row(const struct rl_grid *batch, size_t row, const uint8_t *tool, uint8_t *mask, struct rl_error *err)
{
    for (size_t i = rl_row_at(batch, row), t = 0; t < rl_row_length(batch, row); t++) {
        if (tool[i + t] > 1)
            return rl_fail(err, RL_EVALUE, "tool[%zu][%zu] is %u, not 0 or 1", row, t, tool[i + t]);
        mask[i + t] = rl_on(batch, i + t) && !tool[i + t];
    }
    return RL_OK;
}

/*
 * Renumber the remaining turns of a row, because kernels require turn ids without gaps. A turn that
 * was only tool output is gone, and the turns after it move up.
 */
static enum rl_status number_turns(const struct rl_grid *batch, size_t row, const uint8_t *mask, int32_t *turn,
                                   struct rl_error *err)
{
    int32_t last = -1, number = -1;
    size_t first = rl_row_at(batch, row);
    const struct rl_ids ids = rl_turns_at(batch, first);
    for (size_t t = 0; t < rl_row_length(batch, row); t++) {
        int32_t id = rl_id(ids, t);
        turn[first + t] = -1;
        if (!mask[first + t])
            continue;
        if (id < 0 || id < last)
            return rl_fail(err, RL_EVALUE, "turn id[%zu][%zu] is %d after turn %d", row, t, id, last);
        number += id != last;
        last = id;
        turn[first + t] = number;
    }
    return RL_OK;
}

enum rl_status rl_mask_tools(const struct rl_batch *batch, const uint8_t *tool, uint8_t *mask, int32_t *turn,
                             struct rl_error *err)
{
    struct rl_grid grid;
    enum rl_status status = rl_grid_open(&grid, batch, RL_NEEDS_MASK, true, err);
    bool tokens = status == RL_OK && grid.n_rows && grid.n_tokens;
    if (tokens && (!tool || !mask))
        status = rl_fail(err, RL_EINVAL, "tool or the mask to write is missing");
    if (status == RL_OK && tokens && turn && !batch->turn)
        status = rl_fail(err, RL_EINVAL, "turn ids are missing");
    for (size_t row = 0; status == RL_OK && tokens && row < grid.n_rows; row++) {
        status = mask_row(&grid, row, tool, mask, err);
        if (status == RL_OK && turn)
            status = number_turns(&grid, row, mask, turn, err);
    }
    return status;
}

enum rl_status rl_compose_check(const struct rl_compose_options *o, struct rl_error *err)
{
    if (!(o->backend_cap > 0) || !(o->staleness_cap > 0))
        return rl_fail(err, RL_EINVAL, "caps %g of backend and %g of staleness are not above 0", o->backend_cap,
                       o->staleness_cap);
    if ((unsigned)o->replay > RL_REPLAY_R3)
        return rl_fail(err, RL_EINVAL, "replay %d is unknown", (int)o->replay);
    return RL_OK;
}

/* R2 replays the routes of the training engine's own first pass, R3 those of the inference engine. */
static const struct rl_routes *recorded(const struct rl_compose_data *data, enum rl_replay replay)
{
    return replay == RL_REPLAY_R2 ? data->training_routes : data->sampler_routes;
}

enum rl_status rl_compose_routes(const struct rl_batch *batch, const struct rl_compose_data *data, enum rl_replay replay,
                                 struct rl_route_agreement *out, struct rl_workspace *ws, struct rl_error *err)
{
    *out = (struct rl_route_agreement){.share = 1, .exact = 1};
    if (replay != RL_REPLAY_NONE && (!data->used_routes || !recorded(data, replay)))
        return rl_fail(err, RL_EINVAL, "replay %s: the routes used or those recorded are missing", rl_replay_name(replay));
    if (replay != RL_REPLAY_NONE)
        RL_TRY(rl_routes_replayed(batch, data->used_routes, recorded(data, replay), err));
    if (data->used_routes && data->sampler_routes)
        RL_TRY(rl_routes_compare(batch, data->sampler_routes, data->used_routes, NULL, NULL, out, ws, err));
    return RL_OK;
}

/*
 * Without any remaining token every factor is 1, so that a plot of the ratios does not drop to 0
 * where nothing was trained.
 */
void rl_compose_result_set(struct rl_compose_result *out, const struct rl_compose_row *rows, size_t n_rows)
{
    struct rl_factor_sums sums[RL_FACTORS];
    double n = 0, weight = 0, square = 0;
    for (int f = 0; f < RL_FACTORS; f++)
        sums[f] = (struct rl_factor_sums){.min = INFINITY, .max = -INFINITY};
    for (size_t i = 0; i < n_rows; i++) {
        n += rows[i].n;
        weight += rows[i].weight;
        square += rows[i].square;
        for (int f = 0; f < RL_FACTORS; f++)
            rl_factor_add(&sums[f], &rows[i].factor[f]);
    }
    struct rl_factor *const factors[RL_FACTORS] = {&out->backend, &out->staleness};
    for (int f = 0; f < RL_FACTORS; f++)
        *factors[f] =
            n > 0 ? (struct rl_factor){sums[f].sum / n, sums[f].min, sums[f].max, sums[f].capped / n, (uint64_t)sums[f].clamped}
                  : (struct rl_factor){1, 1, 1, 0, 0};
    out->weight_mean = n > 0 ? weight / n : 1;
    out->weight_ess = square > 0 ? weight * weight / (n * square) : 1;
}
