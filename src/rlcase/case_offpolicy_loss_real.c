/* case_offpolicy_loss_real.c: `lineage core bypass_loss` and `decoupled_loss`. */
#include "case_options.h"
#include "case_real.h"

/*
 * The list of metrics is emptied before each run, because a kernel that asked for more scratch
 * memory may have written some.
 */
void case_bypass_loss(struct case_call *call)
{
    static const char *const kinds[] = {"ppo_clip", "reinforce", NULL};
    struct case_dim b = {0}, t = {0};
    enum rl_bypass_kind kind = (enum rl_bypass_kind)case_choice(call, "loss_type", kinds);
    struct rl_loss_options options = case_ppo_options(call);
    struct rl_correction_options correction = case_correction_options(call);
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    const real *log_prob = case_reals(call, "log_prob", &b, &t);
    const real *rollout = case_reals(call, "rollout_log_prob", &b, &t);
    const real *advantages = case_reals(call, "advantages", &b, &t);
    struct rl_metrics metrics = case_metrics(call);
    real *d_log_prob = case_alloc_batch(call, b.n, t.n, sizeof *d_log_prob);
    struct rl_loss_result out;
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, log_prob, rollout, advantages);
    CASE_RUN(call, (metrics.n = 0, rl_bypass_loss(laid, kind, &correction, &options, log_prob, rollout, advantages, d_log_prob,
                                                  &out, &metrics, &call->ws, &call->err)));
    if (call->failed)
        return;
    case_add_metric(&metrics, "ppo_kl", out.ppo_kl);
    if (kind == RL_BYPASS_PPO_CLIP) {
        case_add_metric(&metrics, "pg_clipfrac", out.pg_clipfrac);
        case_add_metric(&metrics, "pg_clipfrac_lower", out.pg_clipfrac_lower);
    }
    case_put_number(call, "loss", out.loss);
    case_put_reals(call, "d_log_prob", d_log_prob, b.n, t.n);
    case_put_metrics(call, &metrics);
}

/*
 * Stores null if there are no importance weights, because an array of ones would mean that all
 * weights were 1.
 */
static void put_decoupled(struct case_call *call, const struct rl_loss_result *out, const real *weights, const uint8_t *mask,
                          const real *d_log_prob, size_t b, size_t t)
{
    case_put_number(call, "loss", out->loss);
    case_put_number(call, "ppo_kl", out->ppo_kl);
    case_put_number(call, "pg_clipfrac", out->pg_clipfrac);
    case_put_number(call, "pg_clipfrac_lower", out->pg_clipfrac_lower);
    if (weights)
        case_put_reals(call, "rollout_is_weights", weights, b, t);
    else
        case_put(call, "rollout_is_weights", json_null());
    case_put_mask(call, "modified_response_mask", mask, b, t);
    case_put_reals(call, "d_log_prob", d_log_prob, b, t);
}

/* Options are read before arrays, so that their mistakes are reported first. */
void case_decoupled_loss(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_loss_options options = case_ppo_options(call);
    struct rl_correction_options correction = case_correction_options(call);
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    const real *log_prob = case_reals(call, "log_prob", &b, &t);
    const real *proximal = case_reals(call, "proximal_log_prob", &b, &t);
    const real *rollout = case_reals(call, "rollout_log_prob", &b, &t);
    const real *advantages = case_reals(call, "advantages", &b, &t);
    struct rl_metrics metrics = case_metrics(call);
    real *weights = case_alloc_batch(call, b.n, t.n, sizeof *weights);
    real *d_log_prob = case_alloc_batch(call, b.n, t.n, sizeof *d_log_prob);
    uint8_t *mask = case_alloc_batch(call, b.n, t.n, sizeof *mask);
    struct rl_loss_result out;
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, log_prob, proximal, rollout, advantages);
    CASE_RUN(call, (metrics.n = 0, rl_decoupled_loss(laid, &correction, &options, log_prob, proximal, rollout, advantages,
                                                     weights, mask, d_log_prob, &out, &metrics, &call->ws, &call->err)));
    if (call->failed)
        return;
    put_decoupled(call, &out, correction.is == RL_IS_NONE ? NULL : weights, mask, d_log_prob, b.n, t.n);
    case_put_metrics(call, &metrics);
}
