/*
 * case_advantage_real.c: `lineage core advantage`: one estimator by name.
 *
 * Estimators need different inputs besides rewards. Each reads its own inputs when it runs, so that
 * a case need not contain the others.
 */
#include <rlcore/advantage.h>
#include <rlcore/process.h>

#include "case_real.h"

/* The event array, narrowed to bytes. The range is checked first, because 257 would become 1. */
static uint8_t *read_events(struct case_call *call, struct case_dim *b, struct case_dim *t)
{
    const int32_t *ids = case_ids(call, "event", b, t);
    const size_t *start = call->start;
    uint8_t *out = case_alloc_batch(call, b->n, t->n, sizeof *out);
    for (size_t i = 0; ids && out && i < b->n; i++) {
        size_t at = start ? start[i] : i * case_stride(call, t->n);
        for (size_t j = 0; j < (start ? start[i + 1] - at : t->n); j++) {
            if (ids[at + j] < 0 || ids[at + j] > RL_EVENT_OUTCOME)
                case_fail(call, "inputs.event[%zu][%zu] is %d, not 0, 1 or 2", i, j, ids[at + j]);
            out[at + j] = (uint8_t)ids[at + j];
        }
    }
    return out;
}

void case_process_advantage(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t), .group = case_integers(call, "group_index", &b)};
    const uint8_t *event = read_events(call, &b, &t);
    const real *rewards = case_reals(call, "token_level_rewards", &b, &t);
    real *advantages = case_alloc_batch(call, b.n, t.n, sizeof *advantages);
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, rewards);
    CASE_RUN(call, rl_process_advantage(laid, event, rewards, advantages, &call->ws, &call->err));
    case_put_reals(call, "advantages", advantages, b.n, t.n);
}

/* The input may be the caller's own memory, so a copy of it is whitened. */
void case_whiten(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    const real *in = case_reals(call, "advantages", &b, &t);
    bool masked = case_bool_or(call, "masked", true);
    real *out = case_alloc(call, b.n * t.n, sizeof *out);
    if (call->failed)
        return;
    batch.n_rows = b.n;
    batch.n_tokens = t.n;
    if (in) /* an empty batch has none */
        memcpy(out, in, b.n * t.n * sizeof *out);
    CASE_RUN(call, rl_whiten(&batch, masked, out, &call->ws, &call->err));
    case_put_reals(call, "advantages", out, b.n, t.n);
}

struct problem {
    struct case_call *call;
    struct rl_batch batch;
    struct case_dim b, t;
    const real *rewards;
    real *advantages, *returns;
};

static const struct rl_batch *laid(struct problem *p, const real *second)
{
    return CASE_LAY_OUT(p->call, p->batch, p->b.n, p->t.n, p->rewards, second);
}

/*
 * For these estimators the returns equal the advantages: verl reports both, and its cases compare
 * both.
 */
static enum rl_status group(struct problem *p, int estimator)
{
    struct rl_outcome_options o;
    rl_outcome_options_init(&o);
    o.estimator = (enum rl_estimator)estimator;
    o.epsilon = case_number_or(p->call, "epsilon", o.epsilon);
    o.norm_adv_by_std = case_bool_or(p->call, "norm_adv_by_std", o.norm_adv_by_std);
    if (p->call->failed)
        return RL_EINVAL;
    enum rl_status status = rl_outcome_advantage(laid(p, NULL), &o, p->rewards, p->advantages, &p->call->ws, &p->call->err);
    if (status == RL_OK)
        memcpy(p->returns, p->advantages, case_batch_size(p->call, p->b.n, p->t.n) * sizeof *p->returns);
    return status;
}

static enum rl_status reinforce(struct problem *p)
{
    double gamma = case_number_or(p->call, "gamma", 1);
    bool through = case_bool_or(p->call, "through_holes", false);
    if (p->call->failed)
        return RL_EINVAL;
    return rl_reinforce_plus_plus(laid(p, NULL), gamma, through, p->rewards, p->advantages, p->returns, &p->call->ws,
                                  &p->call->err);
}

static enum rl_status remax(struct problem *p)
{
    const real *baselines = case_list(p->call, "reward_baselines", OWN_TYPE, &p->b);
    if (p->call->failed)
        return RL_EINVAL;
    return rl_remax(laid(p, NULL), p->rewards, baselines, p->advantages, p->returns, &p->call->err);
}

/*
 * There is no discount unless the case sets one, because episodes are short and end with their
 * reward.
 */
static enum rl_status gae(struct problem *p)
{
    double gamma = case_number_or(p->call, "gamma", 1), lam = case_number_or(p->call, "lam", 1);
    const real *values = case_reals(p->call, "values", &p->b, &p->t);
    if (p->call->failed)
        return RL_EINVAL;
    return rl_gae(laid(p, values), gamma, lam, p->rewards, values, p->advantages, p->returns, &p->call->ws, &p->call->err);
}

static enum rl_status token_baseline(struct problem *p, bool compact)
{
    struct rl_token_baseline_options o;
    rl_token_baseline_options_init(&o);
    o.compact = compact;
    o.handle_zero_tail = case_bool_or(p->call, "handle_zero_tail", o.handle_zero_tail);
    o.epsilon = case_number_or(p->call, "epsilon", o.epsilon);
    const struct rl_token_baseline_input in = {
        .rewards = p->rewards,
        .old_log_prob = case_reals(p->call, "old_log_prob", &p->b, &p->t),
        .sum_pi_squared = case_reals(p->call, "sum_pi_squared", &p->b, &p->t),
        .weights = case_reals_or_null(p->call, "rollout_is_weights", &p->b, &p->t),
    };
    if (p->call->failed)
        return RL_EINVAL;
    const struct rl_batch *batch =
        CASE_LAY_OUT(p->call, p->batch, p->b.n, p->t.n, in.rewards, in.old_log_prob, in.sum_pi_squared, in.weights);
    return rl_token_baseline(batch, &in, &o, p->advantages, p->returns, &p->call->ws, &p->call->err);
}

/*
 * If the kernel needs a larger workspace, this runs again and reads its inputs again; a case is
 * small.
 */
static enum rl_status estimate(struct problem *p, int estimator)
{
    switch (estimator) {
    case 8: return reinforce(p);
    case 9: return remax(p);
    case 10: return gae(p);
    case 11: return token_baseline(p, false);
    case 12: return token_baseline(p, true);
    default: return group(p, estimator);
    }
}

/*
 * The published numbers of three estimators ignore a reward at mask 0, and cases with them exist. A
 * rollout that ends with a tool's answer has its outcome there and would teach nothing.
 */
static void warn_of_lost_reward(struct problem *p, int estimator, const char *name)
{
    struct rl_error err;
    bool ignores = estimator == 9 || estimator == 11 || (estimator == 8 && !case_bool_or(p->call, "through_holes", false));
    if (ignores && rl_batch_check_rewards(p->rewards, laid(p, NULL), &err) != RL_OK)
        case_warn(p->call, "%s: %s", name, err.text);
}

void case_advantage(struct case_call *call)
{
    static const char *const estimators[] = {
        /* names in the order of enum rl_estimator, then the other names that estimate() knows */
        "grpo",
        "grpo_vectorized",
        "grpo_passk",
        "rloo",
        "rloo_vectorized",
        "opo",
        "gpg",
        "reinforce_plus_plus_baseline",
        "reinforce_plus_plus",
        "remax",
        "gae",
        "optimal_token_baseline",
        "tir_optimal_token_baseline",
        NULL};
    int estimator = case_choice(call, "estimator", estimators);
    struct problem p = {.call = call};
    p.batch.mask = case_mask(call, "response_mask", &p.b, &p.t);
    p.batch.group = case_present(call, "group_index") ? case_integers(call, "group_index", &p.b) : NULL;
    p.rewards = case_reals(call, "token_level_rewards", &p.b, &p.t);
    p.advantages = case_alloc_batch(call, p.b.n, p.t.n, sizeof *p.advantages);
    p.returns = case_alloc_batch(call, p.b.n, p.t.n, sizeof *p.returns);
    CASE_RUN(call, estimate(&p, estimator));
    if (call->failed)
        return;
    case_put_reals(call, "advantages", p.advantages, p.b.n, p.t.n);
    case_put_reals(call, "returns", p.returns, p.b.n, p.t.n);
    warn_of_lost_reward(&p, estimator, estimators[estimator]);
}
