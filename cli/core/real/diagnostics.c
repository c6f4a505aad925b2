/* diagnostics.c: `lineage core diagnostics` and `opsm`. */
#include <rlcore/diagnostics.h>
#include <rlcore/offpolicy.h>

#include <math.h>

#include "core_real.h"

struct RL(policies) {
    struct rl_batch batch;
    const real *train, *rollout;
    struct core_dim b, t;
};

static struct RL(policies) read_policies(struct core_call *call)
{
    struct RL(policies) p = {0};
    p.batch.mask = core_mask(call, "response_mask", &p.b, &p.t);
    p.train = RL(core_reals)(call, "train_log_prob", &p.b, &p.t);
    p.rollout = RL(core_reals)(call, "rollout_log_prob", &p.b, &p.t);
    p.batch.n_rows = p.b.n;
    p.batch.n_tokens = p.t.n;
    return p;
}

static void put_diagnostics(struct core_call *call, const struct rl_diagnostics *d)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"kl", d->kl},
                   {"k3", d->k3},
                   {"chi2_token", d->chi2_token},
                   {"chi2_seq", d->chi2_seq},
                   {"ess", d->ess},
                   {"ratio_mean", d->ratio_mean},
                   {"ratio_min", d->ratio_min},
                   {"ratio_max", d->ratio_max},
                   {"clip_low_fraction", d->clip_low},
                   {"clip_high_fraction", d->clip_high}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        core_put_number(call, numbers[i].name, numbers[i].value);
    core_put_numbers(call, "ratio_percentiles", d->ratio_percentile, RL_PERCENTILES);
    core_put(call, "n_tokens", json_integer((json_int_t)d->n_tokens));
    core_put(call, "n_rows", json_integer((json_int_t)d->n_rows));
    core_put(call, "n_clamped", json_integer((json_int_t)d->n_clamped));
}

static void run_diagnostics(struct core_call *call)
{
    struct RL(policies) p = read_policies(call);
    double low = core_number_or(call, "clip_ratio_low", 0.2);
    double high = core_number_or(call, "clip_ratio_high", 0.2);
    struct rl_diagnostics d;
    enum rl_status status;
    if (call->failed)
        return;
    do
        status =
            RL(rl_diagnose)(&p.batch, p.train, p.rollout, low, high, &d, &call->ws, &call->err);
    while (core_again(call, status));
    if (!call->failed)
        put_diagnostics(call, &d);
}

static struct rl_opsm_options read_opsm(struct core_call *call)
{
    static const char *const units[] = {"row", "turn", NULL};
    struct rl_opsm_options o = {.lower = core_number_or(call, "lower", 0),
                                .upper = core_number_or(call, "upper", INFINITY),
                                .per_token = core_bool_or(call, "per_token", false),
                                .negative_only = core_bool_or(call, "negative_only", false)};
    if (core_present(call, "unit"))
        o.unit = (enum rl_opsm_unit)core_choice(call, "unit", units);
    return o;
}

static void run_opsm(struct core_call *call)
{
    struct RL(policies) p = read_policies(call);
    struct rl_opsm_options options = read_opsm(call);
    if (options.unit == RL_OPSM_TURN)
        p.batch.turn = core_ids(call, "turn_id", &p.b, &p.t);
    const real *advantages =
        options.negative_only ? RL(core_reals)(call, "advantages", &p.b, &p.t) : NULL;
    uint8_t *mask = core_alloc(call, p.b.n * p.t.n, sizeof *mask);
    real *ratio = core_alloc(call, p.b.n * p.t.n, sizeof *ratio);
    struct rl_opsm_result result;
    if (call->failed || core_again(call, RL(rl_opsm)(&p.batch, &options, p.train, p.rollout,
                                                     advantages, mask, ratio, &result, &call->err)))
        return;
    if (call->failed)
        return;
    core_put_mask(call, "modified_response_mask", mask, p.b.n, p.t.n);
    RL(core_put_reals)(call, "ratio", ratio, p.b.n, p.t.n);
    core_put(call, "n_units", json_integer((json_int_t)result.n_units));
    core_put(call, "n_dropped", json_integer((json_int_t)result.n_dropped));
    core_put(call, "n_tokens_dropped", json_integer((json_int_t)result.n_tokens_dropped));
}

const struct core_kernel RL(core_diagnostics) = {
    .family = "diagnostics",
    .summary = "how far two policies are apart: KL, k3, chi-square, ESS, ratio percentiles, clip "
               "fractions",
    .inputs = "response_mask, train_log_prob, rollout_log_prob [B][T], clip_ratio_low? (0.2), "
              "clip_ratio_high? (0.2)",
    .run = run_diagnostics,
};

const struct core_kernel RL(core_opsm) = {
    .family = "opsm",
    .summary =
        "off-policy sequence masking: rows or turns whose ratio leaves its bounds are dropped",
    .inputs = "response_mask, train_log_prob, rollout_log_prob [B][T], unit? (row|turn), turn_id? "
              "[B][T], lower? (0), upper?, per_token?, negative_only?, advantages? [B][T]",
    .run = run_opsm,
};
