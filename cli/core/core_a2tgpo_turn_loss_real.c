/* core_a2tgpo_turn_loss_real.c: `lineage core a2tgpo_turn_loss`. */
#include <rlcore/a2tgpo.h>

#include "core_agg_options.h"
#include "core_real.h"

/* dynamic_clip false leaves the scale out though it is there: one case then shows both losses. */
static void run(struct core_call *call)
{
    struct core_dim b = {0}, t = {0};
    struct rl_turn_loss_options options = {.mode = core_agg(call).mode,
                                           .clip_low = core_number(call, "cliprange_low"),
                                           .clip_high = core_number(call, "cliprange_high")};
    bool dynamic = core_bool_or(call, "dynamic_clip", true);
    struct rl_batch batch = {.mask = core_mask(call, "response_mask", &b, &t),
                             .turn = core_ids(call, "turn_id", &b, &t)};
    struct rl_loss_input in = {.log_prob = core_reals(call, "log_prob", &b, &t),
                               .old_log_prob = core_reals(call, "old_log_prob", &b, &t),
                               .advantages = core_reals(call, "advantages", &b, &t)};
    const real *scale = core_reals_or_null(call, "ig_clip_scale", &b, &t);
    real *d_log_prob = core_alloc(call, b.n * t.n, sizeof *d_log_prob);
    real *turn_ratio = core_alloc(call, b.n * t.n, sizeof *turn_ratio);
    struct rl_loss_result out;
    enum rl_status status;
    if (call->failed)
        return;
    batch.n_rows = b.n;
    batch.n_tokens = t.n;
    do
        status = rl_a2tgpo_turn_loss(&batch, &in, dynamic ? scale : NULL, &options, d_log_prob,
                                     turn_ratio, &out, &call->ws, &call->err);
    while (core_again(call, status));
    if (call->failed)
        return;
    core_put_number(call, "loss", out.loss);
    core_put_number(call, "pg_clipfrac", out.pg_clipfrac);
    core_put_number(call, "pg_clipfrac_lower", out.pg_clipfrac_lower);
    core_put_number(call, "ppo_kl", out.ppo_kl);
    core_put_reals(call, "d_log_prob", d_log_prob, b.n, t.n);
    core_put_reals(call, "turn_ratio", turn_ratio, b.n, t.n);
}

const struct core_kernel core_a2tgpo_turn_loss = {
    .family = "a2tgpo_turn_loss",
    .summary = "PPO with one importance ratio per turn and a clip scale per token, with gradient",
    .inputs = "loss_agg_mode, cliprange_low, cliprange_high, dynamic_clip?, response_mask [B][T], "
              "turn_id [B][T], log_prob [B][T], old_log_prob [B][T], advantages [B][T], "
              "ig_clip_scale [B][T]?",
    .run = run,
};
