/* case_opsm_real.c: `lineage core opsm`. */
#include <rlcore/offpolicy.h>

#include <math.h>

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
static void run_opsm(struct case_call *call)
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
    struct rl_opsm_result result;
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, train, rollout, advantages);
    CASE_RUN(call, rl_opsm(laid, &options, train, rollout, advantages, mask, ratio, &result, &call->err));
    if (call->failed)
        return;
    case_put_mask(call, "modified_response_mask", mask, b.n, t.n);
    case_put_reals(call, "ratio", ratio, b.n, t.n);
    case_put(call, "n_units", json_integer((json_int_t)result.n_units));
    case_put(call, "n_dropped", json_integer((json_int_t)result.n_dropped));
    case_put(call, "n_tokens_dropped", json_integer((json_int_t)result.n_tokens_dropped));
}

const struct case_kernel case_opsm = {
    .family = "opsm",
    .summary = "off-policy sequence masking: rows or turns whose ratio leaves its bounds are dropped",
    .inputs = "response_mask, train_log_prob, rollout_log_prob, unit?, turn_id?, lower?, "
              "upper?, per_token?, negative_only?, advantages?",
    .outputs = "modified_response_mask [B][T], ratio [B][T], n_units, n_dropped, "
               "n_tokens_dropped",
    .layouts = true,
    .run = run_opsm,
};
