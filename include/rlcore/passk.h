/*
 * rlcore/passk.h: pass@k: estimated from counts, extrapolated, fitted, and used as reward.
 *
 * All numbers are double. A problem has n samples, c of them correct. RL_EVALUE or RL_EINVAL for c
 * > n, k < 1, and values that are not finite; the message names the array and the index. No
 * function here needs a workspace.
 */
#ifndef RLCORE_PASSK_H
#define RLCORE_PASSK_H

#include <stddef.h>
#include <stdint.h>

#include <rlcore/status.h>

enum rl_passk {
    RL_PASSK_UNBIASED, /* 1 - C(n-c, k) / C(n, k), 1 if n - c < k (arXiv 2107.03374); k <= n */
    RL_PASSK_BERNOULLI /* 1 - (1 - c/n)^k for any k, also beyond n; biased, use it for ranking only */
};

/*
 * pass@k of each problem, per_problem [n_problems][n_k], and its mean over the problems, mean
 * [n_k]; each may be NULL. n and c are [n_problems], k is [n_k]. The result is exact to rounding
 * for any n, because it is a sum of logarithms over min(c, k) terms, without factorials. n = 0 is
 * refused, and so is a mean over no problem.
 */
RL_API RL_NODISCARD enum rl_status rl_passk(enum rl_passk estimator, size_t n_problems, const int64_t *n, const int64_t *c,
                                            size_t n_k, const int64_t *k, double *per_problem, double *mean,
                                            struct rl_error *err);

/*
 * pass@k for pass rates that follow Beta(alpha, beta): passk [n_k] = 1 - B(alpha, beta + k) /
 * B(alpha, beta) for each k [n_k]. alpha, beta > 0.
 */
RL_API RL_NODISCARD enum rl_status rl_passk_beta(double alpha, double beta, size_t n_k, const int64_t *k, double *passk,
                                                 struct rl_error *err);

struct rl_beta_fit {
    double alpha, beta;
    double log_likelihood; /* sum of ln B(c + alpha, n - c + beta) - ln B(alpha, beta) */
};

/*
 * Fit the beta-binomial distribution of greatest likelihood. n may differ between problems (dynamic
 * n: a problem is sampled until it has one or two correct answers or its budget is spent). Problems
 * with n = 0 are ignored. RL_ENOMAX if the likelihood has no maximum at finite alpha, beta: all c =
 * 0, all c = n, or counts that vary no more than a single pass rate explains.
 */
RL_API RL_NODISCARD enum rl_status rl_passk_beta_fit(size_t n_problems, const int64_t *n, const int64_t *c,
                                                     struct rl_beta_fit *fit, struct rl_error *err);

/* When a problem has been sampled enough (dynamic n). */
struct rl_passk_sampling {
    int64_t enough; /* stop after this many correct answers, >= 1; usually 1 or 2 */
    int64_t budget; /* largest number of samples of a problem, >= 1 */
    int64_t round;  /* samples drawn at a time, >= 1 */
};

/*
 * Sets more [n_problems] to the number of samples to draw next of each problem, which has had n
 * [n_problems] samples, c of them correct. That is a round or the rest of the budget, and 0 once
 * `enough` samples are correct or the budget is spent. Repeat until all of more [n_problems] are 0,
 * then pass n and c to rl_passk_beta_fit, which accepts unequal n. (The unbiased estimator would be
 * biased, because n depends on c.)
 */
RL_API RL_NODISCARD enum rl_status rl_passk_more(const struct rl_passk_sampling *sampling, size_t n_problems, const int64_t *n,
                                                 const int64_t *c, int64_t *more, struct rl_error *err);

/*
 * pass@k as reward: rewards [n] of one problem in consecutive blocks of k; every rollout of a block
 * gets the block's largest reward. out [n] may be rewards. RL_EINVAL if n is not a multiple of k.
 */
RL_API RL_NODISCARD enum rl_status rl_passk_reward(size_t n, const double *rewards, size_t k, double *out, struct rl_error *err);

#endif
