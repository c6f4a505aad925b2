/* case_diagnostics_real.c: `lineage core diagnostics`. */
#include <rlcore/diagnostics.h>

#include "case_real.h"

/*
 * The number of clamped ratios is a result too, because a maximum equal to the clamp is not a
 * measured value.
 */
static void put_diagnostics(struct case_call *call, const struct rl_diagnostics *d)
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
        case_put_number(call, numbers[i].name, numbers[i].value);
    case_put_numbers(call, "ratio_percentiles", d->ratio_percentile, RL_PERCENTILES);
    case_put(call, "n_tokens", json_integer((json_int_t)d->n_tokens));
    case_put(call, "n_rows", json_integer((json_int_t)d->n_rows));
    case_put(call, "n_clamped", json_integer((json_int_t)d->n_clamped));
}

void case_diagnostics(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    const real *train = case_reals(call, "train_log_prob", &b, &t);
    const real *rollout = case_reals(call, "rollout_log_prob", &b, &t);
    /* The default is PPO's own clip range (arXiv 1707.06347), as in the losses. */
    double low = case_number_or(call, "clip_ratio_low", 0.2);
    double high = case_number_or(call, "clip_ratio_high", 0.2);
    struct rl_diagnostics d;
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, train, rollout);
    CASE_RUN(call, rl_diagnose(laid, train, rollout, low, high, &d, &call->ws, &call->err));
    if (!call->failed)
        put_diagnostics(call, &d);
}
