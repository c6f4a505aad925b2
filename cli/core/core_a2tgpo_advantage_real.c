/* core_a2tgpo_advantage_real.c: `lineage core a2tgpo_advantage`. */
#include <rlcore/a2tgpo.h>

#include "core_real.h"

static struct rl_a2tgpo_options read_options(struct core_call *call)
{
    static const char *const modes[] = {"joint", "separate", "turn-group", "turn-group-v1d", NULL};
    struct rl_a2tgpo_options o;
    rl_a2tgpo_options_init(&o);
    o.mode = (enum rl_a2tgpo_mode)core_choice(call, "info_gain_norm_mode", modes);
    o.gamma = core_number_or(call, "gamma", o.gamma);
    o.alpha = core_number_or(call, "alpha", o.alpha);
    o.clip_beta = core_number_or(call, "clip_beta", o.clip_beta);
    o.norm_adv_by_std = core_bool_or(call, "norm_adv_by_std", o.norm_adv_by_std);
    o.epsilon = core_number_or(call, "epsilon", o.epsilon);
    return o;
}

/* The clip scale exists in one of the modes; in the others its keys are left out, as they are
 * from the vectors. */
static void run(struct core_call *call)
{
    struct core_dim b = {0}, t = {0};
    struct rl_a2tgpo_options options = read_options(call);
    struct rl_batch batch = {.mask = core_mask(call, "response_mask", &b, &t),
                             .turn = core_ids(call, "turn_id", &b, &t),
                             .group = core_integers(call, "group_index", &b)};
    const real *rewards = core_reals(call, "token_level_rewards", &b, &t);
    real *advantages = core_alloc(call, b.n * t.n, sizeof *advantages);
    real *clip_scale = core_alloc(call, b.n * t.n, sizeof *clip_scale);
    struct rl_a2tgpo_stats stats;
    enum rl_status status;
    if (call->failed)
        return;
    batch.n_rows = b.n;
    batch.n_tokens = t.n;
    do
        status = rl_a2tgpo_advantage(&batch, &options, rewards, advantages, clip_scale, &stats,
                                     &call->ws, &call->err);
    while (core_again(call, status));
    if (call->failed)
        return;
    core_put_reals(call, "advantages", advantages, b.n, t.n);
    if (options.mode != RL_A2TGPO_TURN_GROUP_V1D)
        return;
    core_put_reals(call, "ig_clip_scale", clip_scale, b.n, t.n);
    core_put_number(call, "ig_clip_scale_mean", stats.ig_clip_scale_mean);
    core_put_number(call, "ig_clip_scale_std", stats.ig_clip_scale_std);
}

const struct core_kernel core_a2tgpo_advantage = {
    .family = "a2tgpo_advantage",
    .summary = "A2TGPO advantages and clip scale from information gains and outcomes",
    .inputs =
        "info_gain_norm_mode (joint|separate|turn-group|turn-group-v1d), response_mask [B][T], "
        "turn_id [B][T], group_index [B], token_level_rewards [B][T], gamma?, alpha?, clip_beta?, "
        "norm_adv_by_std?, epsilon?",
    .run = run,
};
