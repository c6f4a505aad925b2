/* passk.c: pass@k from counts and from a Beta distribution of pass rates; pass@k as reward. */
#include <rlcore/passk.h>

#include "support/scratch.h"

static enum rl_status check_counts(size_t n_problems, const int64_t *n, const int64_t *c, int64_t least, struct rl_error *err)
{
    if (n_problems && (!n || !c))
        return rl_fail(err, RL_EINVAL, "n or c is missing");
    for (size_t i = 0; i < n_problems; i++) {
        if (n[i] < least)
            return rl_fail(err, RL_EVALUE, "n[%zu] is %lld, below %lld", i, (long long)n[i], (long long)least);
        if (c[i] < 0 || c[i] > n[i])
            return rl_fail(err, RL_EVALUE, "c[%zu] is %lld, not in 0..%lld", i, (long long)c[i], (long long)n[i]);
    }
    return RL_OK;
}

static enum rl_status check_ks(size_t n_k, const int64_t *k, struct rl_error *err)
{
    if (n_k && !k)
        return rl_fail(err, RL_EINVAL, "k is missing");
    for (size_t j = 0; j < n_k; j++)
        if (k[j] < 1)
            return rl_fail(err, RL_EVALUE, "k[%zu] is %lld, below 1", j, (long long)k[j]);
    return RL_OK;
}

/*
 * C(n-c, k) / C(n, k) is the product of 1 - k/(n-i) over i < c, and also that of 1 - c/(n-i) over i
 * < k. The shorter product is used. It stops as soon as 1 minus the product no longer differs from
 * 1.
 */
static double unbiased(int64_t n, int64_t c, int64_t k)
{
    if (n - c < k)
        return 1;
    double logarithm = 0, of = (double)(c > k ? c : k);
    int64_t terms = c > k ? k : c;
    for (int64_t i = 0; i < terms && logarithm > -40; i++)
        logarithm += log1p(-of / (double)(n - i));
    return terms ? -expm1(logarithm) : 0;
}

/*
 * expm1 and log1p keep the digits of small rates: 1 - (1 - p)^k computed directly is 0 for p below
 * 1e-16.
 */
static double bernoulli(int64_t n, int64_t c, int64_t k)
{
    if (c == n)
        return 1;
    return c ? -expm1((double)k * log1p(-(double)c / (double)n)) : 0;
}

/* For k > n the unbiased estimator is undefined; the reference's 1 would be wrong. */
static enum rl_status check_within(enum rl_passk estimator, size_t n_problems, const int64_t *n, size_t n_k, const int64_t *k,
                                   struct rl_error *err)
{
    if ((unsigned)estimator > RL_PASSK_BERNOULLI)
        return rl_fail(err, RL_EINVAL, "pass@k estimator %d is unknown", (int)estimator);
    for (size_t i = 0; estimator == RL_PASSK_UNBIASED && i < n_problems; i++)
        for (size_t j = 0; j < n_k; j++)
            if (k[j] > n[i])
                return rl_fail(err, RL_EVALUE, "k[%zu] is %lld, above n[%zu] = %lld", j, (long long)k[j], i, (long long)n[i]);
    return RL_OK;
}

enum rl_status rl_passk(enum rl_passk estimator, size_t n_problems, const int64_t *n, const int64_t *c, size_t n_k,
                        const int64_t *k, double *per_problem, double *mean, struct rl_error *err)
{
    enum rl_status status = check_counts(n_problems, n, c, 1, err);
    if (status == RL_OK)
        status = check_ks(n_k, k, err);
    if (status == RL_OK)
        status = check_within(estimator, n_problems, n, n_k, k, err);
    if (status == RL_OK && mean && n_problems == 0)
        return rl_fail(err, RL_EINVAL, "n is empty: a mean needs at least one problem");
    for (size_t j = 0; status == RL_OK && j < n_k; j++) {
        double sum = 0;
        for (size_t i = 0; i < n_problems; i++) {
            double value = estimator == RL_PASSK_UNBIASED ? unbiased(n[i], c[i], k[j]) : bernoulli(n[i], c[i], k[j]);
            sum += value;
            if (per_problem)
                per_problem[i * n_k + j] = value;
        }
        if (mean)
            mean[j] = sum / (double)n_problems;
    }
    return status;
}

/*
 * ln Gamma(x + a) - ln Gamma(x) for large x by Stirling's series, without subtracting two large
 * numbers.
 */
static double log_gamma_ratio(double x, double a)
{
    double tail = (1 / (x + a) - 1 / x) / 12 - (pow(x + a, -3) - pow(x, -3)) / 360;
    return (x - 0.5) * log1p(a / x) + a * log(x + a) - a + tail;
}

/*
 * ln of B(alpha, beta + k) / B(alpha, beta), the expected probability of failing k times: the
 * product of (beta + i) / (alpha + beta + i) over i < k. The first terms are summed, the rest uses
 * log-gamma.
 */
static double log_fail(double alpha, double beta, int64_t k)
{
    enum { SUMMED = 1 << 12 };
    double sum = 0;
    int64_t summed = k < SUMMED ? k : SUMMED;
    for (int64_t i = 0; i < summed; i++)
        sum += log1p(-alpha / (alpha + beta + (double)i));
    if (summed == k)
        return sum;
    return sum + log_gamma_ratio(beta + (double)summed, alpha) - log_gamma_ratio(beta + (double)k, alpha);
}

enum rl_status rl_passk_beta(double alpha, double beta, size_t n_k, const int64_t *k, double *passk, struct rl_error *err)
{
    if (!(alpha > 0 && isfinite(alpha) && beta > 0 && isfinite(beta)))
        return rl_fail(err, RL_EINVAL, "alpha %g, beta %g: both must be positive and finite", alpha, beta);
    RL_TRY(check_ks(n_k, k, err));
    if (n_k)
        RL_TRY(RL_NEED(err, {"passk", passk}));
    for (size_t j = 0; j < n_k; j++)
        passk[j] = -expm1(log_fail(alpha, beta, k[j]));
    return RL_OK;
}

/*
 * Each sample of a block gets the reward of the whole block: the policy is rewarded if one of k
 * samples is right.
 */
enum rl_status rl_passk_reward(size_t n, const double *rewards, size_t k, double *out, struct rl_error *err)
{
    if (k < 1 || n % k != 0)
        return rl_fail(err, RL_EINVAL, "%zu rewards cannot be divided into blocks of k = %zu", n, k);
    if (n && (!rewards || !out))
        return rl_fail(err, RL_EINVAL, "rewards are missing");
    for (size_t i = 0; i < n; i++)
        if (!isfinite(rewards[i]))
            return rl_fail(err, RL_EVALUE, "rewards[%zu] is %g, not a finite number", i, rewards[i]);
    for (size_t block = 0; block < n; block += k) {
        double best = rewards[block];
        for (size_t i = block; i < block + k; i++)
            best = fmax(best, rewards[i]);
        for (size_t i = block; i < block + k; i++)
            out[i] = best;
    }
    return RL_OK;
}
