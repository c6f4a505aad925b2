/*
 * rlcore/advantage.h: advantages of outcome- and token-level rewards: the GRPO family, REINFORCE++,
 * ReMax, GAE, optimal token baselines.
 *
 * Shapes and ownership: rewards, values, log-probs, advantages and returns are [B*T], the caller's.
 * returns may be NULL. Which output may be which input: rlcore/status.h, "Overlap". Scores, means and deviations are
 * held in double in both precisions, so that a group of equal rewards has no deviation in float
 * either.
 *
 * Errors: as in rlcore/status.h. Values that a formula reads must be finite; the message names
 * array, row and token. Where the reference reads values at mask 0, that is said below, and they
 * must be finite there too.
 *
 * Source of all formulas: verl, trainer/ppo/core_algos.py, which cites the papers.
 */
#ifndef RLCORE_ADVANTAGE_H
#define RLCORE_ADVANTAGE_H

#include <stdbool.h>
#include <stddef.h>

#include <rlcore/batch.h>
#include <rlcore/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Credit a of a row from its score s, the sum of its rewards over ALL positions; mu and sigma are
 * mean and unbiased standard deviation of the scores of its prompt group, n their number, len
 * response tokens.
 */
enum rl_estimator {
    RL_GRPO,            /* (s - mu) / (sigma + epsilon); a group of one keeps s, with sigma 1 */
    RL_GRPO_VECTORIZED, /* the same with sigma = sqrt(max(variance, epsilon)) */
    RL_GRPO_PASSK, /* the best row gets its lead over the second / (sigma + epsilon), others 0; a
                      group of one is refused */
    RL_RLOO,       /* (s - mu) n / (n - 1); a group of one keeps s */
    RL_RLOO_VECTORIZED, /* the same; a group of one gets 0 */
    RL_OPO,             /* s - sum(len s) / sum(len); a group of one keeps s */
    RL_GPG,             /* (s - mu) B / number of scores that are not 0; mu = 0 in a group of one */
    RL_REINFORCE_PLUS_PLUS_BASELINE /* s - mu (mu = 0 in a group of one), whitened */
};

struct rl_outcome_options {
    enum rl_estimator estimator; /* GRPO */
    bool norm_adv_by_std;        /* true; false in the GRPO estimators: no division (Dr. GRPO) */
    double epsilon;              /* 1e-6; >= 0 */
};

RL_API void rl_outcome_options_init(struct rl_outcome_options *options);

/*
 * advantages [B*T] = credit of the row at mask 1, 0 elsewhere. Needs groups. rewards must be finite
 * at every position. REINFORCE++-baseline refuses a batch of fewer than two response tokens (see
 * rl_whiten).
 */
RL_API RL_NODISCARD enum rl_status rl_outcome_advantage(const struct rl_batch *batch,
                                                        const struct rl_outcome_options *options,
                                                        const double *rewards, double *advantages,
                                                        struct rl_workspace *ws,
                                                        struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_outcome_advantagef(const struct rl_batch *batch,
                                                         const struct rl_outcome_options *options,
                                                         const float *rewards, float *advantages,
                                                         struct rl_workspace *ws,
                                                         struct rl_error *err);

/*
 * x [B*T] := (x - mean) / sqrt(var + 1e-8) at every position, with mean = sum(m x) / (N + 1e-8) and
 * var = sum(m (x - mean)^2) / (N + 1e-8) N / (N - 1) over the N response tokens; masked: 0 at mask
 * 0. Fewer than two response tokens are refused.
 */
RL_API RL_NODISCARD enum rl_status rl_whiten(const struct rl_batch *batch, bool masked, double *x,
                                             struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_whitenf(const struct rl_batch *batch, bool masked, float *x,
                                              struct rl_workspace *ws, struct rl_error *err);

/*
 * REINFORCE++: from the last position back, return_t = R_t + gamma run, run = return_t m_t;
 * advantages are the whitened returns, 0 at mask 0. returns are not masked. A hole of tool tokens
 * cuts the return, as in the reference; `through_holes` carries it over the hole instead. rewards
 * must be finite at every position.
 */
RL_API RL_NODISCARD enum rl_status rl_reinforce_plus_plus(const struct rl_batch *batch,
                                                          double gamma, bool through_holes,
                                                          const double *rewards, double *advantages,
                                                          double *returns, struct rl_workspace *ws,
                                                          struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_reinforce_plus_plusf(const struct rl_batch *batch,
                                                           double gamma, bool through_holes,
                                                           const float *rewards, float *advantages,
                                                           float *returns, struct rl_workspace *ws,
                                                           struct rl_error *err);

/*
 * ReMax: return_t = sum of R_u m_u over u >= t; advantage = return_t - baseline_i m_t, with
 * baselines [B] the reward of each prompt's greedy response. Neither is masked, as in the
 * reference: at tool tokens before the reward the advantage is the return.
 */
RL_API RL_NODISCARD enum rl_status rl_remax(const struct rl_batch *batch, const double *rewards,
                                            const double *baselines, double *advantages,
                                            double *returns, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_remaxf(const struct rl_batch *batch, const float *rewards,
                                             const float *baselines, float *advantages,
                                             float *returns, struct rl_error *err);

/*
 * GAE (arXiv 1506.02438) over response tokens, holes skipped: delta_t = R_t + gamma V_next - V_t,
 * A_t = delta_t + gamma lam A_next; at mask 0, A is that of the next response token. returns = A +
 * V at every position (values must be finite everywhere); advantages are A whitened, not masked.
 * gamma, lam >= 0.
 */
RL_API RL_NODISCARD enum rl_status rl_gae(const struct rl_batch *batch, double gamma, double lam,
                                          const double *rewards, const double *values,
                                          double *advantages, double *returns,
                                          struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_gaef(const struct rl_batch *batch, double gamma, double lam,
                                           const float *rewards, const float *values,
                                           float *advantages, float *returns,
                                           struct rl_workspace *ws, struct rl_error *err);

/* Inputs of the optimal token baseline, each [B*T]. */
struct rl_token_baseline_input {
    const double *rewards;
    const double *old_log_prob;
    const double *sum_pi_squared; /* sum over the vocabulary of pi^2 */
    const double *weights;        /* importance weights, or NULL for 1 */
};
struct rl_token_baseline_inputf {
    const float *rewards, *old_log_prob, *sum_pi_squared, *weights;
};

struct rl_token_baseline_options {
    bool compact;          /* false; true: rows are compacted to their response tokens (TIR form) */
    bool handle_zero_tail; /* false; true: the longest row has baseline 0 where it is alone */
    double epsilon;        /* 1e-8 */
};

RL_API void rl_token_baseline_options_init(struct rl_token_baseline_options *options);

/*
 * Variance-minimising baseline per prompt group and position. G_t = sum of R_u m_u over u >= t,
 * e_t = 1 - 2 exp(old_log_prob_t) + sum_pi_squared_t, times weight^2, W_t = sum of e_u m_u over u
 * <= t; b_t = sum_i(G W m) / (sum_i(W m) + epsilon) over the rows of the group; advantage = (G - b)
 * m, return = G. b = 0 in a group of one. compact: position is the rank among the response tokens
 * of the row, rows without any take no part, and the sums have no mask (a row that has ended adds
 * 0). Needs groups.
 */
RL_API RL_NODISCARD enum rl_status
rl_token_baseline(const struct rl_batch *batch, const struct rl_token_baseline_input *in,
                  const struct rl_token_baseline_options *options, double *advantages,
                  double *returns, struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status
rl_token_baselinef(const struct rl_batch *batch, const struct rl_token_baseline_inputf *in,
                   const struct rl_token_baseline_options *options, float *advantages,
                   float *returns, struct rl_workspace *ws, struct rl_error *err);

#ifdef __cplusplus
}
#endif

#endif
