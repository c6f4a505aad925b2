/* case_policy_loss_real.c: `lineage core policy_loss`, all losses of rlcore/loss.h by name. */
#include <rlcore/loss.h>

#include "case_options.h"
#include "case_real.h"

/* The metrics that a loss reports. */
enum metrics { NONE, KL_ONLY, ALL };

/*
 * The losses, in the order of the names below. A loss without a ratio (gpg) needs no old policy and
 * reports no distance to one.
 */
static const struct {
    rl_policy_loss *run;
    enum metrics metrics;
} losses[] = {{rl_ppo_loss, ALL},     {rl_gspo_loss, ALL},          {rl_cispo_loss, ALL},    {rl_sapo_loss, ALL},
              {rl_gpg_loss, NONE},    {rl_reinforce_loss, KL_ONLY}, {rl_geo_mean_loss, ALL}, {rl_dppo_tv_loss, ALL},
              {rl_dppo_kl_loss, ALL}, {rl_dro_loss, KL_ONLY},       {rl_vespo_loss, KL_ONLY}};

static const char *const names[] = {"vanilla",  "gspo",    "cispo",   "sapo", "gpg",   "reinforce",
                                    "geo_mean", "dppo_tv", "dppo_kl", "dro",  "vespo", NULL};

static void put_metrics(struct case_call *call, const struct rl_loss_result *out, enum metrics metrics)
{
    case_put_number(call, "loss", out->loss);
    if (metrics != NONE)
        case_put_number(call, "ppo_kl", out->ppo_kl);
    if (metrics == ALL) {
        case_put_number(call, "pg_clipfrac", out->pg_clipfrac);
        case_put_number(call, "pg_clipfrac_lower", out->pg_clipfrac_lower);
    }
}

/* The definitions of two losses fix the aggregation. */
static void warn_of_sizes(struct case_call *call, const struct rl_agg *agg, rl_policy_loss *loss)
{
    const char *fixed = loss == rl_sapo_loss ? "sapo" : loss == rl_geo_mean_loss ? "geo_mean" : NULL;
    if (fixed && agg->mode != RL_AGG_SEQ_MEAN_TOKEN_MEAN)
        case_warn(call, "inputs.loss_agg_mode has no effect: %s is always seq-mean-token-mean", fixed);
    if (loss == rl_geo_mean_loss && (agg->dp_size > 1 || agg->global_batch_size > 0))
        case_warn(call, "dp_size and global_batch_size have no effect: geo_mean is a mean over the rows of its part");
}

void case_policy_loss(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    int loss = case_choice(call, "loss", names);
    struct rl_loss_options options = case_loss_options(call);
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    struct rl_loss_input in = {
        .log_prob = case_reals(call, "log_prob", &b, &t),
        .old_log_prob = losses[loss].metrics == NONE ? case_reals_or_null(call, "old_log_prob", &b, &t)
                                                     : case_reals(call, "old_log_prob", &b, &t),
        .advantages = case_reals(call, "advantages", &b, &t),
        .weights = case_reals_or_null(call, "rollout_is_weights", &b, &t),
        .clip_scale = case_reals_or_null(call, "ig_clip_scale", &b, &t),
    };
    real *d_log_prob = case_alloc_batch(call, b.n, t.n, sizeof *d_log_prob);
    struct rl_loss_result out;
    const struct rl_batch *laid =
        CASE_LAY_OUT(call, batch, b.n, t.n, in.log_prob, in.old_log_prob, in.advantages, in.weights, in.entropy, in.clip_scale);
    CASE_RUN(call, losses[loss].run(laid, &in, &options, d_log_prob, &out, &call->ws, &call->err));
    if (call->failed)
        return;
    put_metrics(call, &out, losses[loss].metrics);
    warn_of_sizes(call, &options.agg, losses[loss].run);
    case_put_reals(call, "d_log_prob", d_log_prob, b.n, t.n);
}
