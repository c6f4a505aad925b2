/* offpolicy_loss.c: a correction in front of a policy loss, with two policies or three. */
#include <rlcore/offpolicy.h>

#include "internal.h"
#include "real.h"

/* The correction leaves weights and a mask in the workspace's front; the loss gets the rest. */
struct RL(corrected) {
    struct rl_batch batch; /* with the mask that is left */
    real *weights;
    uint8_t *mask;
    struct rl_workspace rest;
    size_t front;
};

/* Split the workspace; false if not even the front fits, *status then says so. */
static bool take_front(struct RL(corrected) *c, const struct rl_batch *batch, struct rl_workspace *ws,
                       enum rl_status *status, struct rl_error *err)
{
    struct rl_scratch s = rl_scratch_begin(ws);
    size_t cells = batch->n_rows * batch->n_tokens;
    c->weights = rl_scratch_take(&s, cells, sizeof *c->weights);
    c->mask = rl_scratch_take(&s, cells, sizeof *c->mask);
    c->front = s.used;
    if (!rl_scratch_fits(&s)) {
        *status = rl_scratch_short(&s, err);
        return false;
    }
    c->batch = *batch;
    c->batch.mask = c->mask;
    if (ws)
        c->rest = (struct rl_workspace){(unsigned char *)ws->data + c->front, ws->size - c->front, 0};
    return true;
}

/* What the inner call lacked is asked for on top of the front. */
static enum rl_status need_more(const struct RL(corrected) *c, struct rl_workspace *ws, enum rl_status status)
{
    if (status == RL_EWORKSPACE && ws)
        ws->needed = c->front + c->rest.needed;
    return status;
}

enum rl_status RL(rl_bypass_loss)(const struct rl_batch *batch, enum rl_bypass_kind kind,
                                  const struct rl_correction_options *correction, const struct rl_loss_options *options,
                                  const real *log_prob, const real *rollout, const real *advantages, real *d_log_prob,
                                  struct rl_loss_result *out, struct rl_metrics *metrics, struct rl_workspace *ws,
                                  struct rl_error *err)
{
    struct RL(corrected) c;
    enum rl_status status;
    if (!take_front(&c, batch, ws, &status, err))
        return status;
    status = RL(rl_rollout_correction)(batch, correction, log_prob, rollout, c.weights, c.mask, metrics, &c.rest, err);
    if (status != RL_OK)
        return need_more(&c, ws, status);
    struct RL(rl_loss_input) in = {.log_prob = log_prob, .old_log_prob = rollout, .advantages = advantages};
    if (kind == RL_BYPASS_REINFORCE && correction->is != RL_IS_NONE)
        in.weights = c.weights;
    status = kind == RL_BYPASS_REINFORCE
                 ? RL(rl_reinforce_loss)(&c.batch, &in, options, d_log_prob, out, &c.rest, err)
                 : RL(rl_ppo_loss)(&c.batch, &in, options, d_log_prob, out, &c.rest, err);
    return need_more(&c, ws, status);
}

enum rl_status RL(rl_decoupled_loss)(const struct rl_batch *batch, const struct rl_correction_options *correction,
                                     const struct rl_loss_options *options, const real *log_prob, const real *proximal,
                                     const real *rollout, const real *advantages, real *weights,
                                     uint8_t *modified_mask, real *d_log_prob, struct rl_loss_result *out,
                                     struct rl_metrics *metrics, struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_batch left = *batch;
    left.mask = modified_mask;
    enum rl_status status =
        RL(rl_rollout_correction)(batch, correction, proximal, rollout, weights, modified_mask, metrics, ws, err);
    if (status != RL_OK)
        return status;
    struct RL(rl_loss_input) in = {.log_prob = log_prob,
                                   .old_log_prob = proximal,
                                   .advantages = advantages,
                                   .weights = correction->is == RL_IS_NONE ? NULL : weights};
    return RL(rl_ppo_loss)(&left, &in, options, d_log_prob, out, ws, err);
}
