/*
 * rlcore/passk.h: pass@k: estimated from counts, extrapolated, fitted, and used as reward.
 *
 * All in double. n samples of a problem, c of them correct. Refused: c > n, k < 1, and values that
 * are not finite; the message names the array and index. Nothing here needs a workspace.
 */
#ifndef RLCORE_PASSK_H
#define RLCORE_PASSK_H

#include <stddef.h>
#include <stdint.h>

#include <rlcore/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rl_passk {
    RL_PASSK_UNBIASED, /* 1 - C(n-c, k) / C(n, k), 1 if n - c < k (arXiv 2107.03374); k <= n */
    RL_PASSK_BERNOULLI /* 1 - (1 - c/n)^k for any k: extrapolates; good for ranking only */
};

/*
 * per_problem [n_problems][n_k] and mean [n_k] over problems, each unless NULL; n, c [n_problems],
 * k [n_k]. Exact to rounding for any n: a sum of logarithms over min(c, k) terms, no factorials. n
 * = 0 is refused, and mean without a problem.
 */
RL_API RL_NODISCARD enum rl_status rl_passk(enum rl_passk estimator, size_t n_problems,
                                            const int64_t *n, const int64_t *c, size_t n_k,
                                            const int64_t *k, double *per_problem, double *mean,
                                            struct rl_error *err);

/*
 * pass@k when pass rates are Beta(alpha, beta): 1 - B(alpha, beta + k) / B(alpha, beta). alpha,
 * beta > 0. k [n_k] -> passk [n_k].
 */
RL_API RL_NODISCARD enum rl_status rl_passk_beta(double alpha, double beta, size_t n_k,
                                                 const int64_t *k, double *passk,
                                                 struct rl_error *err);

struct rl_beta_fit {
    double alpha, beta;
    double log_likelihood; /* sum of ln B(c + alpha, n - c + beta) - ln B(alpha, beta) */
};

/*
 * The beta-binomial distribution of greatest likelihood; n may differ between problems (dynamic n:
 * sample a problem until it has one or two correct answers or the budget ends). Problems of n = 0
 * say nothing. RL_ENOMAX if there is no maximum at finite alpha, beta: all c = 0, all c = n, or
 * counts that vary no more than a single pass rate explains.
 */
RL_API RL_NODISCARD enum rl_status rl_passk_beta_fit(size_t n_problems, const int64_t *n,
                                                     const int64_t *c, struct rl_beta_fit *fit,
                                                     struct rl_error *err);

/* When a problem has been sampled enough (dynamic n). */
struct rl_passk_sampling {
    int64_t enough; /* correct answers after which to stop, >= 1; usually 1 or 2 */
    int64_t budget; /* samples a problem may take in all, >= 1 */
    int64_t round;  /* samples drawn at a time, >= 1 */
};

/*
 * How many samples to draw next for each of n_problems problems that have had n [n_problems]
 * samples, c of them correct: a round, or what is left of the budget; 0 once `enough` are correct
 * or the budget is spent. Call until all of more [n_problems] are 0, then give n and c to
 * rl_passk_beta_fit, which takes unequal n. (The unbiased estimator does not: n that depends on c
 * biases it.)
 */
RL_API RL_NODISCARD enum rl_status rl_passk_more(const struct rl_passk_sampling *sampling,
                                                 size_t n_problems, const int64_t *n,
                                                 const int64_t *c, int64_t *more,
                                                 struct rl_error *err);

/*
 * pass@k as reward: rewards [n] of one problem in consecutive blocks of k; every rollout of a block
 * gets the block's largest. out [n] may be rewards. n that is no multiple of k is refused.
 */
RL_API RL_NODISCARD enum rl_status rl_passk_reward(size_t n, const double *rewards, size_t k,
                                                   double *out, struct rl_error *err);

#ifdef __cplusplus
}
#endif

#endif
