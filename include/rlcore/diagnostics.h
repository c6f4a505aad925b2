/*
 * rlcore/diagnostics.h: how far the trained policy is from the sampler, in one struct of numbers to
 * log beside a step and to decide by: is a correction needed, which cap, which rejection bound?
 *
 * l = train - rollout at a response token, w = exp(l) the importance ratio, S_i the sum of l over
 * row i, N the response tokens, mm(x) = sum(x) / (N + 1e-8), l20 = l limited to +-20. The names of
 * rl_offpolicy_metrics mean the same here.
 *
 * Errors
 *   RL_EINVAL  an array is missing, no row or no response token, a clip range that is negative
 *   RL_EVALUE  a log-prob that is not finite; a log-ratio beyond 709, where exp overflows: k3 and
 * the percentiles have no limit. The text names array, row and token.
 *
 * Sources: k3 from Schulman, "Approximating KL divergence"; ESS from Kong (1992); chi-square as in
 * verl's rollout_corr_helper.
 */
#ifndef RLCORE_DIAGNOSTICS_H
#define RLCORE_DIAGNOSTICS_H

#include <stdint.h>

#include <rlcore/batch.h>
#include <rlcore/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RL_PERCENTILES = 99 };

struct rl_diagnostics {
    double kl;         /* mm(-l), the k1 estimate of KL(rollout || train) */
    double k3;         /* mm(exp(l) - l - 1): the same, never negative, less noise */
    double chi2_token; /* mm(exp(l20)^2) - 1 */
    double chi2_seq;   /* mean over rows of exp(2 (S_i limited to +-20)), less 1 */
    double ess;        /* (sum w)^2 / (N sum w^2) of w = exp(l20): share of the tokens, 0..1 */
    double ratio_mean, ratio_min, ratio_max; /* of w */
    double ratio_percentile[RL_PERCENTILES]; /* [p - 1]: p % of the w lie below, linear between
                                                ranks */
    double clip_low, clip_high;              /* share of w below 1 - low, above 1 + high */
    uint64_t n_tokens;                       /* N */
    uint64_t n_rows;                         /* rows with a response token */
    uint64_t n_clamped;                      /* tokens with |l| > 20 */
};

/* train, rollout [B*T] log-probs; clip_low, clip_high >= 0 the clip range that is asked about. */
RL_API RL_NODISCARD enum rl_status rl_diagnose(const struct rl_batch *batch, const double *train,
                                               const double *rollout, double clip_low,
                                               double clip_high, struct rl_diagnostics *out,
                                               struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_diagnosef(const struct rl_batch *batch, const float *train,
                                                const float *rollout, double clip_low,
                                                double clip_high, struct rl_diagnostics *out,
                                                struct rl_workspace *ws, struct rl_error *err);

#ifdef __cplusplus
}
#endif

#endif
