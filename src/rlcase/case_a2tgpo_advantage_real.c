/* case_a2tgpo_advantage_real.c: `lineage core a2tgpo_advantage`. */
#include <rlcore/a2tgpo.h>

#include "case_real.h"
#include "case_options.h"

/* The number of values of each row must be that of its turns; the core cannot know the former. */
static void check_counts(struct case_call *call, const size_t *turns, const size_t *values, size_t b)
{
    for (size_t i = 0; !call->failed && i < b; i++)
        if (turns[i + 1] - turns[i] != values[i + 1] - values[i])
            case_fail(call, "inputs.turn_values[%zu] has %zu values for %zu turns", i, values[i + 1] - values[i],
                      turns[i + 1] - turns[i]);
}

void case_turn_spread(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t), .turn = case_ids(call, "turn_id", &b, &t)};
    size_t *given = NULL;
    const double *values = case_ragged(call, "turn_values", RL_CASE_FLOAT64, &b, &given);
    double fill = case_number_or(call, "fill", 0);
    size_t *start = case_alloc(call, b.n + 1, sizeof *start);
    real *out = case_alloc(call, b.n * t.n, sizeof *out);
    batch.n_rows = b.n;
    batch.n_tokens = t.n;
    CASE_RUN(call, rl_turn_starts(&batch, start, &call->err));
    if (call->failed)
        return;
    check_counts(call, start, given, b.n);
    CASE_RUN(call, rl_turn_spread(&batch, start, values, fill, out, &call->err));
    case_put_reals(call, "token_values", out, b.n, t.n);
}

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
void case_a2tgpo_advantage(struct case_call *call)
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
