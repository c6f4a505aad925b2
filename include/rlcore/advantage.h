/*
 * rlcore/advantage.h: advantages from outcome- and token-level rewards: the GRPO family,
 * REINFORCE++, ReMax, GAE and optimal token baselines.
 *
 * Shapes and ownership: rewards, values, log-probs, advantages and returns are arrays [B*T] of the
 * caller. returns may be NULL. rlcore/status.h, "Overlap", lists the outputs that may be the same
 * array as an input. Scores, means and deviations are held in double in both precisions, so that a
 * group of equal rewards has deviation 0 in float as well.
 *
 * Errors: see rlcore/status.h. Values that a formula reads must be finite; the message names array,
 * row and token. Some functions read values at mask 0, as the reference does. Their comments
 * mention it, and those values must be finite too.
 *
 * Source of all formulas: verl, trainer/ppo/core_algos.py, which cites the papers.
 */
#ifndef RLCORE_ADVANTAGE_H
#define RLCORE_ADVANTAGE_H

#include <stdbool.h>
#include <stddef.h>

#include <rlcore/batch.h>
#include <rlcore/status.h>

/*
 * The credit a of a row from its score s, which is the sum of its rewards over ALL positions. mu
 * and sigma are mean and unbiased standard deviation of the scores of its prompt group, n their
 * number, len the number of response tokens.
 */
enum rl_estimator {
    RL_GRPO,            /* (s - mu) / (sigma + epsilon); a group of one keeps s, with sigma = 1 */
    RL_GRPO_VECTORIZED, /* as RL_GRPO, but with sigma = sqrt(max(variance, epsilon)) */
    RL_GRPO_PASSK,      /* the best row gets lead / (sigma + epsilon), where lead is its distance to
                           the second best; the others get 0; a group of one is refused */
    RL_RLOO,            /* (s - mu) n / (n - 1); a group of one keeps s */
    RL_RLOO_VECTORIZED, /* as RL_RLOO, but a group of one gets 0 */
    RL_OPO,             /* s - sum(len s) / sum(len); a group of one keeps s */
    RL_GPG, /* (s - mu) B / (number of scores that are not 0); mu = 0 in a group of one */
    RL_REINFORCE_PLUS_PLUS_BASELINE /* s - mu (mu = 0 in a group of one), whitened */
};

struct rl_outcome_options {
    enum rl_estimator estimator; /* GRPO */
    bool norm_adv_by_std;        /* true; false: the GRPO estimators do not divide (Dr. GRPO) */
    double epsilon;              /* 1e-6; >= 0 */
};

RL_API void rl_outcome_options_init(struct rl_outcome_options *options);

/*
 * advantages [B*T] receives the credit of the row at mask 1, 0 elsewhere. The batch needs groups.
 * rewards must be finite at every position. RL_REINFORCE_PLUS_PLUS_BASELINE refuses a batch with
 * fewer than two response tokens (see rl_whiten).
 */
RL_API RL_NODISCARD enum rl_status rl_outcome_advantage(const struct rl_batch *batch, const struct rl_outcome_options *options,
                                                        const double *rewards, double *advantages, struct rl_workspace *ws,
                                                        struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_outcome_advantagef(const struct rl_batch *batch, const struct rl_outcome_options *options,
                                                         const float *rewards, float *advantages, struct rl_workspace *ws,
                                                         struct rl_error *err);

/*
 * Whiten in place: x [B*T] := (x - mean) / sqrt(var + 1e-8) at every position, with mean = sum(m x)
 * / (N + 1e-8) and var = sum(m (x - mean)^2) / (N + 1e-8) N / (N - 1) over the N response tokens.
 * With `masked`, x becomes 0 at mask 0. Fewer than two response tokens are refused.
 */
RL_API RL_NODISCARD enum rl_status rl_whiten(const struct rl_batch *batch, bool masked, double *x, struct rl_workspace *ws,
                                             struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_whitenf(const struct rl_batch *batch, bool masked, float *x, struct rl_workspace *ws,
                                              struct rl_error *err);

/*
 * REINFORCE++: backwards from the last position, return_t = R_t + gamma run, run = return_t m_t.
 * advantages are the whitened returns, 0 at mask 0; returns are not masked. A hole of tool tokens
 * cuts the return, as in the reference; through_holes carries the return across the hole instead.
 * rewards must be finite at every position. With through_holes a reward at mask 0 is RL_EVALUE;
 * without, no advantage contains it, as in the reference.
 */
RL_API RL_NODISCARD enum rl_status rl_reinforce_plus_plus(const struct rl_batch *batch, double gamma, bool through_holes,
                                                          const double *rewards, double *advantages, double *returns,
                                                          struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_reinforce_plus_plusf(const struct rl_batch *batch, double gamma, bool through_holes,
                                                           const float *rewards, float *advantages, float *returns,
                                                           struct rl_workspace *ws, struct rl_error *err);

/*
 * ReMax: return_t = sum of R_u m_u over u >= t; advantage_t = return_t - baseline_i m_t. baselines
 * [B] holds the reward of each prompt's greedy response. Neither array is masked, as in the
 * reference: at tool tokens before the reward the advantage equals the return. A reward at mask 0 is
 * not read, as in the reference (rl_batch_check_rewards).
 */
RL_API RL_NODISCARD enum rl_status rl_remax(const struct rl_batch *batch, const double *rewards, const double *baselines,
                                            double *advantages, double *returns, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_remaxf(const struct rl_batch *batch, const float *rewards, const float *baselines,
                                             float *advantages, float *returns, struct rl_error *err);

/*
 * GAE (arXiv 1506.02438) over response tokens; holes are skipped: delta_t = R_t + gamma V_next -
 * V_t, A_t = delta_t + gamma lam A_next. At mask 0, A is that of the next response token. returns =
 * A + V at every position, so values must be finite everywhere. advantages are A whitened, not
 * masked. gamma, lam >= 0. A reward at mask 0 is RL_EVALUE.
 */
RL_API RL_NODISCARD enum rl_status rl_gae(const struct rl_batch *batch, double gamma, double lam, const double *rewards,
                                          const double *values, double *advantages, double *returns, struct rl_workspace *ws,
                                          struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_gaef(const struct rl_batch *batch, double gamma, double lam, const float *rewards,
                                           const float *values, float *advantages, float *returns, struct rl_workspace *ws,
                                           struct rl_error *err);

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
    bool compact; /* false; true: rows are compacted to their response tokens (verl's TIR form) */
    bool handle_zero_tail; /* false; true: the longest row has baseline 0 beyond the end of the
                              second longest */
    double epsilon;        /* 1e-8 */
};

RL_API void rl_token_baseline_options_init(struct rl_token_baseline_options *options);

/*
 * Variance-minimising baseline per prompt group and position. With
 *     G_t = sum of R_u m_u over u >= t,
 *     e_t = (1 - 2 exp(old_log_prob_t) + sum_pi_squared_t) weight_t^2,
 *     W_t = sum of e_u m_u over u <= t,
 *     b_t = sum_i(G W m) / (sum_i(W m) + epsilon) over the rows of the group, 0 in a group of one,
 * the advantage is (G - b) m and the return G. compact: the position is the rank among the response
 * tokens of the row, rows without response tokens take no part, and the sums have no mask (a row
 * that has ended adds 0). The batch needs groups. A reward at mask 0 is RL_EVALUE if compact, else
 * it is not read, as in the reference.
 */
RL_API RL_NODISCARD enum rl_status rl_token_baseline(const struct rl_batch *batch, const struct rl_token_baseline_input *in,
                                                     const struct rl_token_baseline_options *options, double *advantages,
                                                     double *returns, struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_token_baselinef(const struct rl_batch *batch, const struct rl_token_baseline_inputf *in,
                                                      const struct rl_token_baseline_options *options, float *advantages,
                                                      float *returns, struct rl_workspace *ws, struct rl_error *err);

#endif
