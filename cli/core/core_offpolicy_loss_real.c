/* core_offpolicy_loss_real.c: `lineage core bypass_loss` and `decoupled_loss`. */
#include "core_agg_options.h"
#include "core_correction_options.h"
#include "core_real.h"

/* The list of metrics is emptied before each attempt: a kernel that came back for more scratch
 * may have written some. */
static void run_bypass(struct core_call *call)
{
    static const char *const kinds[] = {"ppo_clip", "reinforce", NULL};
    struct core_dim b = {0}, t = {0};
    enum rl_bypass_kind kind = (enum rl_bypass_kind)core_choice(call, "loss_type", kinds);
    struct rl_loss_options options = core_loss_options(call);
    struct rl_correction_options correction = core_correction_options(call);
    struct rl_batch batch = {.mask = core_mask(call, "response_mask", &b, &t)};
    const real *log_prob = core_reals(call, "log_prob", &b, &t);
    const real *rollout = core_reals(call, "rollout_log_prob", &b, &t);
    const real *advantages = core_reals(call, "advantages", &b, &t);
    struct rl_metrics metrics = core_metrics(call);
    real *d_log_prob = core_alloc(call, b.n * t.n, sizeof *d_log_prob);
    struct rl_loss_result out;
    enum rl_status status;
    if (call->failed)
        return;
    batch.n_rows = b.n;
    batch.n_tokens = t.n;
    do {
        metrics.n = 0;
        status = rl_bypass_loss(&batch, kind, &correction, &options, log_prob, rollout, advantages,
                                d_log_prob, &out, &metrics, &call->ws, &call->err);
    } while (core_again(call, status));
    if (call->failed)
        return;
    core_add_metric(&metrics, "ppo_kl", out.ppo_kl);
    if (kind == RL_BYPASS_PPO_CLIP) {
        core_add_metric(&metrics, "pg_clipfrac", out.pg_clipfrac);
        core_add_metric(&metrics, "pg_clipfrac_lower", out.pg_clipfrac_lower);
    }
    core_put_number(call, "loss", out.loss);
    core_put_reals(call, "d_log_prob", d_log_prob, b.n, t.n);
    core_put_metrics(call, &metrics);
}

/* null without importance weights: an array of ones would say that there were some and that all
 * were 1. */
static void put_decoupled(struct core_call *call, const struct rl_loss_result *out,
                          const real *weights, const uint8_t *mask, const real *d_log_prob,
                          size_t b, size_t t)
{
    core_put_number(call, "loss", out->loss);
    core_put_number(call, "ppo_kl", out->ppo_kl);
    core_put_number(call, "pg_clipfrac", out->pg_clipfrac);
    core_put_number(call, "pg_clipfrac_lower", out->pg_clipfrac_lower);
    if (weights)
        core_put_reals(call, "rollout_is_weights", weights, b, t);
    else
        core_put(call, "rollout_is_weights", json_null());
    core_put_mask(call, "modified_response_mask", mask, b, t);
    core_put_reals(call, "d_log_prob", d_log_prob, b, t);
}

/* Options before arrays: of a case with several mistakes the message is about the shortest. */
static void run_decoupled(struct core_call *call)
{
    struct core_dim b = {0}, t = {0};
    struct rl_loss_options options = core_loss_options(call);
    struct rl_correction_options correction = core_correction_options(call);
    struct rl_batch batch = {.mask = core_mask(call, "response_mask", &b, &t)};
    const real *log_prob = core_reals(call, "log_prob", &b, &t);
    const real *proximal = core_reals(call, "proximal_log_prob", &b, &t);
    const real *rollout = core_reals(call, "rollout_log_prob", &b, &t);
    const real *advantages = core_reals(call, "advantages", &b, &t);
    struct rl_metrics metrics = core_metrics(call);
    real *weights = core_alloc(call, b.n * t.n, sizeof *weights);
    real *d_log_prob = core_alloc(call, b.n * t.n, sizeof *d_log_prob);
    uint8_t *mask = core_alloc(call, b.n * t.n, sizeof *mask);
    struct rl_loss_result out;
    enum rl_status status;
    if (call->failed)
        return;
    batch.n_rows = b.n;
    batch.n_tokens = t.n;
    do {
        metrics.n = 0;
        status = rl_decoupled_loss(&batch, &correction, &options, log_prob, proximal, rollout,
                                   advantages, weights, mask, d_log_prob, &out, &metrics, &call->ws,
                                   &call->err);
    } while (core_again(call, status));
    if (call->failed)
        return;
    put_decoupled(call, &out, correction.is == RL_IS_NONE ? NULL : weights, mask, d_log_prob, b.n,
                  t.n);
    core_put_metrics(call, &metrics);
}

const struct core_kernel core_bypass_loss = {
    .family = "bypass_loss",
    .summary =
        "policy loss against the sampler's log-probs, with rejection and, for reinforce, weights",
    .inputs =
        "loss_type (ppo_clip|reinforce), loss_agg_mode, response_mask, log_prob, rollout_log_prob, "
        "advantages [B][T], "
        "clip_ratio_low?, clip_ratio_high?, clip_ratio_c?, rollout_is?, rollout_is_threshold?, "
        "rollout_is_batch_normalize?, rollout_rs?, rollout_rs_threshold?",
    .run = run_bypass,
};

const struct core_kernel core_decoupled_loss = {
    .family = "decoupled_loss",
    .summary = "decoupled PPO: current, proximal and sampling policy",
    .inputs =
        "loss_agg_mode, response_mask, log_prob, proximal_log_prob, rollout_log_prob, advantages "
        "[B][T], "
        "clip_ratio_low?, clip_ratio_high?, clip_ratio_c?, rollout_is?, rollout_is_threshold?, "
        "rollout_is_batch_normalize?, rollout_rs?, rollout_rs_threshold?",
    .run = run_decoupled,
};
