/* case_rollout_correction_real.c: `lineage core rollout_correction` and `offpolicy_metrics`. */
#include "case_options.h"

#include <rlcore/offpolicy.h>

#include "case_real.h"

static struct rl_opsm_options read_opsm(struct case_call *call)
{
    static const char *const units[] = {"row", "turn", NULL};
    struct rl_opsm_options o = {.lower = case_number_or(call, "lower", 0),
                                .upper = case_number_or(call, "upper", INFINITY),
                                .per_token = case_bool_or(call, "per_token", false),
                                .negative_only = case_bool_or(call, "negative_only", false)};
    if (case_present(call, "unit"))
        o.unit = (enum rl_opsm_unit)case_choice(call, "unit", units);
    return o;
}

/*
 * Inputs that the chosen form does not read are not required: turns only with unit = turn,
 * advantages only with negative_only.
 */
void case_opsm(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    const real *train = case_reals(call, "train_log_prob", &b, &t);
    const real *rollout = case_reals(call, "rollout_log_prob", &b, &t);
    struct rl_opsm_options options = read_opsm(call);
    if (options.unit == RL_OPSM_TURN)
        batch.turn = case_ids(call, "turn_id", &b, &t);
    const real *advantages = options.negative_only ? case_reals(call, "advantages", &b, &t) : NULL;
    uint8_t *mask = case_alloc_batch(call, b.n, t.n, sizeof *mask);
    real *ratio = case_alloc_batch(call, b.n, t.n, sizeof *ratio);
    struct rl_opsm_result result = {0};
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, train, rollout, advantages);
    CASE_RUN(call, rl_opsm(laid, &options, train, rollout, advantages, mask, ratio, &result, &call->err));
    case_put_mask(call, "modified_response_mask", mask, b.n, t.n);
    case_put_reals(call, "ratio", ratio, b.n, t.n);
    case_put(call, "n_units", json_integer((json_int_t)result.n_units));
    case_put(call, "n_dropped", json_integer((json_int_t)result.n_dropped));
    case_put(call, "n_tokens_dropped", json_integer((json_int_t)result.n_tokens_dropped));
}

struct two_policies {
    const struct rl_batch *batch;
    const real *train, *rollout;
};

static struct two_policies read_policies(struct case_call *call, struct case_dim *b, struct case_dim *t)
{
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", b, t)};
    struct two_policies p = {.train = case_reals(call, "train_log_prob", b, t),
                             .rollout = case_reals(call, "rollout_log_prob", b, t)};
    p.batch = CASE_LAY_OUT(call, batch, b->n, t->n, p.train, p.rollout);
    return p;
}

void case_offpolicy_metrics(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct two_policies p = read_policies(call, &b, &t);
    struct rl_metrics metrics = case_metrics(call);
    CASE_RUN(call, rl_offpolicy_metrics(p.batch, p.train, p.rollout, &metrics, &call->err));
    case_put_metrics(call, &metrics);
}

/* The mask is a result even if nothing was rejected, because the loss must be taken over it. */
void case_rollout_correction(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct two_policies p = read_policies(call, &b, &t);
    struct rl_correction_options options = case_correction_options(call);
    struct rl_metrics metrics = case_metrics(call);
    real *weights = case_alloc_batch(call, b.n, t.n, sizeof *weights);
    uint8_t *mask = case_alloc_batch(call, b.n, t.n, sizeof *mask);
    CASE_RUN(call, (metrics.n = 0, rl_rollout_correction(p.batch, &options, p.train, p.rollout, weights, mask, &metrics,
                                                         &call->ws, &call->err)));
    if (call->failed)
        return;
    /* Stores null, because weights that were not computed must not look like weights of 1. */
    if (options.is == RL_IS_NONE)
        case_put(call, "rollout_is_weights", json_null());
    else
        case_put_reals(call, "rollout_is_weights", weights, b.n, t.n);
    case_put_mask(call, "modified_response_mask", mask, b.n, t.n);
    case_put_metrics(call, &metrics);
}
