/* case_a2tgpo_turn_loss_real.c: `lineage core a2tgpo_turn_loss`. */
#include <rlcore/a2tgpo.h>

#include "case_options.h"
#include "case_real.h"

/* dynamic_clip = false ignores a scale that is present, so that one case can run both losses. */
void case_a2tgpo_turn_loss(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_turn_loss_options options = {.mode = case_agg(call).mode,
                                           .clip_low = case_number(call, "cliprange_low"),
                                           .clip_high = case_number(call, "cliprange_high")};
    bool dynamic = case_bool_or(call, "dynamic_clip", true);
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t), .turn = case_ids(call, "turn_id", &b, &t)};
    struct rl_loss_input in = {.log_prob = case_reals(call, "log_prob", &b, &t),
                               .old_log_prob = case_reals(call, "old_log_prob", &b, &t),
                               .advantages = case_reals(call, "advantages", &b, &t)};
    const real *scale = case_reals_or_null(call, "ig_clip_scale", &b, &t);
    real *d_log_prob = case_alloc_batch(call, b.n, t.n, sizeof *d_log_prob);
    real *turn_ratio = case_alloc_batch(call, b.n, t.n, sizeof *turn_ratio);
    struct rl_loss_result out = {0};
    const struct rl_batch *laid =
        CASE_LAY_OUT(call, batch, b.n, t.n, in.log_prob, in.old_log_prob, in.advantages, NULL, NULL, scale);
    CASE_RUN(call, rl_a2tgpo_turn_loss(laid, &in, dynamic ? scale : NULL, &options, d_log_prob, turn_ratio, &out, &call->ws,
                                       &call->err));
    case_put_number(call, "loss", out.loss);
    case_put_number(call, "pg_clipfrac", out.pg_clipfrac);
    case_put_number(call, "pg_clipfrac_lower", out.pg_clipfrac_lower);
    case_put_number(call, "ppo_kl", out.ppo_kl);
    case_put_reals(call, "d_log_prob", d_log_prob, b.n, t.n);
    case_put_reals(call, "turn_ratio", turn_ratio, b.n, t.n);
}
