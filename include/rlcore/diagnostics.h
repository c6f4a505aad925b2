/*
 * rlcore/diagnostics.h: how far the trained policy is from the sampler, as one struct of numbers to
 * log at each step. From them a user can decide whether a correction is needed, and with which cap
 * or rejection bound.
 *
 * l = train - rollout at a response token, w = exp(l) is the importance ratio, S_i is the sum of l
 * over row i, N is the number of response tokens, mm(x) = sum(x) / (N + 1e-8), l20 is l limited to
 * +-20. Names have the same meaning as in rl_offpolicy_metrics.
 *
 * Errors
 *     RL_EINVAL  an array is missing, the batch is without rows or response tokens, or the clip range
 *                is negative
 *     RL_EVALUE  a log-prob is not finite, or a log-ratio exceeds 709, where exp overflows: k3 and
 *                the percentiles have no limit. The text names array, row and token.
 *
 * Sources: k3 from Schulman, "Approximating KL divergence"; ESS from Kong (1992); chi-square as in
 * verl's rollout_corr_helper.
 */
#ifndef RLCORE_DIAGNOSTICS_H
#define RLCORE_DIAGNOSTICS_H

#include <stdint.h>

#include <rlcore/batch.h>
#include <rlcore/status.h>

enum { RL_PERCENTILES = 99 };

struct rl_diagnostics {
    double kl;         /* mm(-l), the k1 estimate of KL(rollout || train) */
    double k3;         /* mm(exp(l) - l - 1): an estimate of the same KL that is never negative and
                          has less noise */
    double chi2_token; /* mm(exp(l20)^2) - 1 */
    double chi2_seq;   /* mean over rows of exp(2 (S_i limited to +-20)), less 1 */
    double ess;        /* (sum w)^2 / (N sum w^2) with w = exp(l20): the effective share of the
                          tokens, 0..1 */
    double ratio_mean, ratio_min, ratio_max; /* of w */
    double ratio_percentile[RL_PERCENTILES]; /* [p - 1]: p % of the ratios are below it; linear
                                                interpolation between ranks */
    double clip_low, clip_high; /* share of w below 1 - clip_low, and above 1 + clip_high */
    uint64_t n_tokens;                       /* N */
    uint64_t n_rows;                         /* rows with a response token */
    uint64_t n_clamped;                      /* tokens with |l| > 20 */
};

/*
 * train, rollout [B*T] log-probs; clip_low, clip_high >= 0 give the clip range whose shares are
 * reported.
 */
RL_API RL_NODISCARD enum rl_status rl_diagnose(const struct rl_batch *batch, const double *train, const double *rollout,
                                               double clip_low, double clip_high, struct rl_diagnostics *out,
                                               struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_diagnosef(const struct rl_batch *batch, const float *train, const float *rollout,
                                                double clip_low, double clip_high, struct rl_diagnostics *out,
                                                struct rl_workspace *ws, struct rl_error *err);

#endif
