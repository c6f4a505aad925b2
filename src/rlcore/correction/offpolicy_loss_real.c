/*
 * offpolicy_loss_real.c: a correction followed by a policy loss, with two policies or three.
 *
 * Bypass: the sampler's policy replaces the old one, which saves a forward pass; the ratio then
 * mixes the drift of the engine with that of the update, and the clip acts on both. Decoupled: the
 * old policy is recomputed, the clip is relative to that policy, and the drift of the sampler is a
 * constant weight outside the clip (arXiv 2505.24298).
 */
#include <rlcore/offpolicy.h>

#include "correction/correction_internal.h"
#include "support/scratch.h"
#include "support/real.h"
#include "support/row_sums.h"

/* The correction and the loss use the same memory one after the other. */
static size_t inner_bytes(const struct rl_grid *batch)
{
    size_t correction = rl_correction_bytes(batch->n_rows), loss = rl_rows_bytes(batch->n_rows);
    return correction > loss ? correction : loss;
}

/* The bypass loss keeps the weights and the mask of the correction at the front of its workspace. */
enum { ARRAYS = 7 }; /* bfloat16 bits of log_prob, rollout and advantages; weights are computed here */

struct corrected {
    struct rl_layout batch; /* with the remaining mask */
    real *weights;
    uint8_t *mask;
    struct rl_workspace rest;
};

static enum rl_status split(struct corrected *c, const struct rl_grid *batch, struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_scratch s = rl_scratch_begin(ws);
    size_t cells = rl_grid_end(batch);
    c->weights = rl_scratch_take(&s, cells, sizeof *c->weights);
    c->mask = rl_scratch_take(&s, cells, sizeof *c->mask);
    size_t front = s.used;
    rl_scratch_take(&s, inner_bytes(batch), 1);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    c->batch = rl_grid_layout(batch, c->mask, NULL, batch->bf16 & ARRAYS);
    c->rest = (struct rl_workspace){(unsigned char *)ws->data + front, ws->size - front, 0};
    return RL_OK;
}

enum rl_status rl_bypass_loss(const struct rl_batch *batch, enum rl_bypass_kind kind,
                              const struct rl_correction_options *correction, const struct rl_loss_options *options,
                              const real *log_prob, const real *rollout, const real *advantages, real *d_log_prob,
                              struct rl_loss_result *out, struct rl_metrics *metrics, struct rl_workspace *ws,
                              struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"batch", batch}, {"correction options", correction}, {"options", options}, {"out", out}));
    struct corrected c;
    struct rl_grid grid;
    RL_TRY(rl_grid_of(&grid, batch, RL_NEEDS_MASK, err));
    RL_TRY(split(&c, &grid, ws, err));
    const struct rl_layout given = rl_grid_layout(&grid, NULL, NULL, grid.bf16 & 3);
    RL_TRY(rl_rollout_correction(&given.batch, correction, log_prob, rollout, c.weights, c.mask, metrics, &c.rest, err));
    struct rl_loss_input in = {.log_prob = log_prob, .old_log_prob = rollout, .advantages = advantages};
    /*
     * PPO already contains the ratio to the sampler; weights would apply it twice. REINFORCE has no
     * ratio and needs them.
     */
    if (kind == RL_BYPASS_REINFORCE && correction->is != RL_IS_NONE)
        in.weights = c.weights;
    return kind == RL_BYPASS_REINFORCE ? rl_reinforce_loss(&c.batch.batch, &in, options, d_log_prob, out, &c.rest, err)
                                       : rl_ppo_loss(&c.batch.batch, &in, options, d_log_prob, out, &c.rest, err);
}

enum rl_status rl_decoupled_loss(const struct rl_batch *batch, const struct rl_correction_options *correction,
                                 const struct rl_loss_options *options, const real *log_prob, const real *proximal,
                                 const real *rollout, const real *advantages, real *weights, uint8_t *modified_mask,
                                 real *d_log_prob, struct rl_loss_result *out, struct rl_metrics *metrics,
                                 struct rl_workspace *ws, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"batch", batch}, {"correction options", correction}, {"options", options}, {"out", out}));
    struct rl_grid grid;
    struct rl_scratch s = rl_scratch_begin(ws);
    RL_TRY(rl_grid_of(&grid, batch, RL_NEEDS_MASK, err));
    /*
     * The bfloat16 bits of the arrays that the correction (proximal, rollout) and the loss
     * (log_prob, proximal, advantages) read.
     */
    uint32_t old = grid.bf16 >> 1 & 3, mine = (grid.bf16 & 3) | (grid.bf16 >> 3 & 1) << 2;
    const struct rl_layout given = rl_grid_layout(&grid, NULL, NULL, old);
    const struct rl_layout left = rl_grid_layout(&grid, modified_mask, NULL, mine);
    rl_scratch_take(&s, inner_bytes(&grid), 1);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    RL_TRY(rl_rollout_correction(&given.batch, correction, proximal, rollout, weights, modified_mask, metrics, ws, err));
    struct rl_loss_input in = {.log_prob = log_prob,
                               .old_log_prob = proximal,
                               .advantages = advantages,
                               .weights = correction->is == RL_IS_NONE ? NULL : weights};
    return rl_ppo_loss(&left.batch, &in, options, d_log_prob, out, ws, err);
}
