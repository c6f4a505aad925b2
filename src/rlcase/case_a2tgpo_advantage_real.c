/* case_a2tgpo_advantage_real.c: `lineage core a2tgpo_advantage`. */
#include <rlcore/a2tgpo.h>

#include "case_real.h"

static struct rl_a2tgpo_options read_options(struct case_call *call)
{
    static const char *const modes[] = {"joint", "separate", "turn-group", "turn-group-v1d", NULL};
    struct rl_a2tgpo_options o;
    rl_a2tgpo_options_init(&o);
    o.mode = (enum rl_a2tgpo_mode)case_choice(call, "info_gain_norm_mode", modes);
    o.gamma = case_number_or(call, "gamma", o.gamma);
    o.alpha = case_number_or(call, "alpha", o.alpha);
    o.clip_beta = case_number_or(call, "clip_beta", o.clip_beta);
    o.norm_adv_by_std = case_bool_or(call, "norm_adv_by_std", o.norm_adv_by_std);
    o.epsilon = case_number_or(call, "epsilon", o.epsilon);
    return o;
}

/*
 * The clip scale exists in one mode only. In the other modes its keys are left out, as in the
 * golden vectors.
 */
static void run(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_a2tgpo_options options = read_options(call);
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t),
                             .turn = case_ids(call, "turn_id", &b, &t),
                             .group = case_integers(call, "group_index", &b)};
    const real *rewards = case_reals(call, "token_level_rewards", &b, &t);
    real *advantages = case_alloc_batch(call, b.n, t.n, sizeof *advantages);
    real *clip_scale = case_alloc_batch(call, b.n, t.n, sizeof *clip_scale);
    struct rl_a2tgpo_stats stats;
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, rewards);
    CASE_RUN(call, rl_a2tgpo_advantage(laid, &options, rewards, advantages, clip_scale, &stats, &call->ws, &call->err));
    if (call->failed)
        return;
    case_put_reals(call, "advantages", advantages, b.n, t.n);
    if (options.mode != RL_A2TGPO_TURN_GROUP_V1D)
        return;
    case_put_reals(call, "ig_clip_scale", clip_scale, b.n, t.n);
    case_put_number(call, "ig_clip_scale_mean", stats.ig_clip_scale_mean);
    case_put_number(call, "ig_clip_scale_std", stats.ig_clip_scale_std);
}

const struct case_kernel case_a2tgpo_advantage = {
    .family = "a2tgpo_advantage",
    .summary = "A2TGPO advantages and clip scale from information gains and outcomes",
    .inputs = "info_gain_norm_mode, response_mask, turn_id, group_index, "
              "token_level_rewards, gamma?, alpha?, clip_beta?, norm_adv_by_std?, epsilon?",
    .outputs = "advantages [B][T], ig_clip_scale [B][T], ig_clip_scale_mean, "
               "ig_clip_scale_std",
    .layouts = true,
    .run = run,
};
