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

/*
 * ---- maximum likelihood of the beta-binomial distribution. Newton's method runs over ln alpha and ln beta,
 * which need no bounds. Steps are halved until the likelihood rises; gradient steps replace Newton's where the surface is not
 * concave.
 */

/* Beyond this logarithm alpha or beta diverges: the likelihood has no maximum. */
static const double LARGEST_LOG = 16.0;
/*
 * Newton needs about ten steps for two unknowns; halving stops where a step no longer changes a
 * double. The recurrence goes up to 20, where the four terms of the series are exact to 1e-15.
 */
enum { MAX_STEPS = 500, MAX_HALVINGS = 60, MAX_POLISH = 8, SUMMED_ABOVE = 20 };

struct counts {
    size_t n_problems;
    const int64_t *n, *c;
};

/* Value, gradient and Hessian with respect to (ln alpha, ln beta). */
struct surface {
    double value, g[2], h[2][2];
};

/* ln Gamma, digamma and trigamma of x > 0: recurrence up to 20, then the asymptotic series. */
struct gammas {
    double log, di, tri;
};

static struct gammas gammas_at(double x)
{
    struct gammas out = {lgamma(x), 0, 0};
    for (; x < SUMMED_ABOVE; x += 1) {
        out.di -= 1 / x;
        out.tri += 1 / (x * x);
    }
    double r = 1 / (x * x);
    out.di += log(x) - 0.5 / x - r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r / 240)));
    out.tri += 1 / x + r / 2 + r / x * (1.0 / 6 - r * (1.0 / 30 - r * (1.0 / 42 - r / 30)));
    return out;
}

static struct gammas difference(struct gammas more, struct gammas base)
{
    return (struct gammas){more.log - base.log, more.di - base.di, more.tri - base.tri};
}

static void add_differences(struct surface *s, struct gammas by, int i)
{
    s->value += by.log;
    s->g[i] += by.di;
    s->h[i][i] += by.tri;
}

/*
 * Convert derivatives with respect to alpha and beta to derivatives with respect to their
 * logarithms.
 */
static void to_logarithms(struct surface *s, double alpha, double beta)
{
    double by[2] = {alpha, beta};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            s->h[i][j] = s->h[i][j] * by[i] * by[j] + (i == j ? s->g[i] * by[i] : 0);
    s->g[0] *= alpha;
    s->g[1] *= beta;
}

/*
 * Differences of log-gammas are used instead of products of probabilities, which underflow for a
 * thousand samples per problem. A problem with the counts of the problem before it costs no gamma,
 * so a caller that fits many times sorts its problems by their counts.
 */
static struct surface surface_at(const struct counts *data, const double x[2])
{
    double alpha = exp(x[0]), beta = exp(x[1]);
    struct gammas a = gammas_at(alpha), b = gammas_at(beta), ab = gammas_at(alpha + beta);
    struct gammas right = {0}, wrong = {0}, total = {0};
    int64_t last_n = 0, last_c = 0;
    struct surface s = {0};
    for (size_t i = 0; i < data->n_problems; i++) {
        double n = (double)data->n[i], c = (double)data->c[i];
        if (data->n[i] == 0)
            continue;
        if (data->n[i] != last_n || data->c[i] != last_c) {
            right = difference(gammas_at(c + alpha), a);
            wrong = difference(gammas_at(n - c + beta), b);
            total = difference(gammas_at(n + alpha + beta), ab);
            last_n = data->n[i];
            last_c = data->c[i];
        }
        add_differences(&s, right, 0);
        add_differences(&s, wrong, 1);
        s.value -= total.log;
        for (int j = 0; j < 2; j++) {
            s.g[j] -= total.di;
            s.h[j][0] -= total.tri;
            s.h[j][1] -= total.tri;
        }
    }
    to_logarithms(&s, alpha, beta);
    return s;
}

/* Newton's step if the Hessian is negative definite, else a step along the gradient. */
static void choose_step(const struct surface *s, double step[2])
{
    double det = s->h[0][0] * s->h[1][1] - s->h[0][1] * s->h[1][0];
    if (s->h[0][0] < 0 && det > 0) {
        step[0] = -(s->h[1][1] * s->g[0] - s->h[0][1] * s->g[1]) / det;
        step[1] = -(s->h[0][0] * s->g[1] - s->h[1][0] * s->g[0]) / det;
    } else {
        step[0] = s->g[0];
        step[1] = s->g[1];
    }
    /*
     * A step of 1 in a logarithm is a factor of e: large enough for a start that is wrong by orders
     * of magnitude, and small enough for the quadratic model.
     */
    double length = hypot(step[0], step[1]);
    for (int i = 0; i < 2 && length > 1; i++)
        step[i] /= length;
}

/* Take the first halved step that raises the likelihood; returns false if none does. */
static bool climb(const struct counts *data, struct surface *s, double x[2], const double step[2])
{
    double share = 1;
    for (int i = 0; i < MAX_HALVINGS; i++, share /= 2) {
        const double next[2] = {x[0] + share * step[0], x[1] + share * step[1]};
        struct surface there = surface_at(data, next);
        if (there.value > s->value) {
            x[0] = next[0];
            x[1] = next[1];
            *s = there;
            return true;
        }
    }
    return false;
}

/*
 * The likelihood determines alpha and beta only to half of the digits of a double. From there on, a
 * step is taken if it reduces the gradient.
 */
static void polish(const struct counts *data, struct surface *s, double x[2])
{
    double step[2];
    for (int i = 0; i < MAX_POLISH; i++) {
        choose_step(s, step);
        const double next[2] = {x[0] + step[0], x[1] + step[1]};
        struct surface there = surface_at(data, next);
        if (!(hypot(there.g[0], there.g[1]) < hypot(s->g[0], s->g[1])))
            return;
        x[0] = next[0];
        x[1] = next[1];
        *s = there;
    }
}

/*
 * As alpha + beta goes to infinity the likelihood approaches that of one pass rate for all
 * problems. A fit that exceeds it by no more than the rounding of its sum has stopped on the way
 * there.
 */
static bool is_one_rate(const struct counts *data, const struct surface *s, const double x[2])
{
    double correct = 0, samples = 0, terms = 0;
    for (size_t i = 0; i < data->n_problems; i++) {
        correct += (double)data->c[i];
        samples += (double)data->n[i];
        terms += data->n[i] > 0;
    }
    double rate = correct / samples;
    double limit = correct * log(rate) + (samples - correct) * log1p(-rate);
    double rounding = 4e-16 * terms * lgamma(exp(x[0]) + exp(x[1]) + samples / terms);
    return s->value <= limit + fabs(rounding) + 1e-14 * fabs(limit);
}

/*
 * The start: the mean pass rate, with alpha + beta = 1. A likelihood without a maximum is refused
 * here if the counts show it (all right, all wrong, or one sample per problem); otherwise the
 * search would diverge.
 */
static enum rl_status start(const struct counts *data, double x[2], struct rl_error *err)
{
    double correct = 0, samples = 0;
    int64_t most = 0;
    if (data->n_problems && (!data->n || !data->c))
        return rl_fail(err, RL_EINVAL, "n or c is missing");
    for (size_t i = 0; i < data->n_problems; i++) {
        if (data->n[i] < 0 || data->c[i] < 0 || data->c[i] > data->n[i])
            return rl_fail(err, RL_EVALUE, "c[%zu] is %lld of n[%zu] = %lld", i, (long long)data->c[i], i, (long long)data->n[i]);
        correct += (double)data->c[i];
        samples += (double)data->n[i];
        most = data->n[i] > most ? data->n[i] : most;
    }
    if (!(correct > 0 && correct < samples))
        return rl_fail(err, RL_ENOMAX, "all samples %s: the likelihood of alpha, beta has no maximum",
                       correct > 0 ? "are correct" : "are wrong or missing");
    if (most == 1)
        return rl_fail(err, RL_ENOMAX,
                       "one sample a problem shows the mean pass rate and no spread: the likelihood "
                       "of alpha, beta has no single maximum");
    x[0] = log(correct / samples);
    x[1] = log1p(-correct / samples);
    return RL_OK;
}

enum rl_status rl_passk_beta_fit(size_t n_problems, const int64_t *n, const int64_t *c, struct rl_beta_fit *fit,
                                 struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"fit", fit}));
    const struct counts data = {n_problems, n, c};
    double x[2] = {0}, step[2];
    RL_TRY(start(&data, x, err));
    struct surface s = surface_at(&data, x);
    for (int i = 0; i < MAX_STEPS; i++) {
        choose_step(&s, step);
        /* Below 1e-13 the value cannot distinguish an improvement from rounding. */
        bool near = hypot(step[0], step[1]) < 1e-13;
        if (near || !climb(&data, &s, x, step))
            break;
        if (fabs(x[0]) > LARGEST_LOG || fabs(x[1]) > LARGEST_LOG)
            return rl_fail(err, RL_ENOMAX,
                           "the likelihood rises towards alpha %.3g, beta %.3g: it has no "
                           "maximum",
                           exp(x[0]), exp(x[1]));
    }
    polish(&data, &s, x);
    if (is_one_rate(&data, &s, x))
        return rl_fail(err, RL_ENOMAX,
                       "one pass rate explains the counts: the likelihood of alpha, "
                       "beta has no maximum");
    *fit = (struct rl_beta_fit){exp(x[0]), exp(x[1]), s.value};
    return RL_OK;
}

/*
 * ---- dynamic n: which problems need more samples.
 *
 * Samples go where they are still informative: a problem with enough successes has a known rate,
 * and one at the end of its budget counts as hard. Rounds limit how much a single decision can
 * spend.
 */

static enum rl_status check(const struct rl_passk_sampling *s, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"sampling", s}));
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {{"enough", s->enough}, {"budget", s->budget}, {"round", s->round}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].value < 1)
            return rl_fail(err, RL_EINVAL, "%s is %lld, below 1", counts[i].name, (long long)counts[i].value);
    return RL_OK;
}

enum rl_status rl_passk_more(const struct rl_passk_sampling *sampling, size_t n_problems, const int64_t *n, const int64_t *c,
                             int64_t *more, struct rl_error *err)
{
    RL_TRY(check(sampling, err));
    if (n_problems && (!n || !c || !more))
        return rl_fail(err, RL_EINVAL, "n, c or more is missing");
    for (size_t i = 0; i < n_problems; i++) {
        if (n[i] < 0 || c[i] < 0 || c[i] > n[i])
            return rl_fail(err, RL_EVALUE, "c[%zu] is %lld of n[%zu] = %lld", i, (long long)c[i], i, (long long)n[i]);
        int64_t left = n[i] < sampling->budget ? sampling->budget - n[i] : 0;
        more[i] = left < sampling->round ? left : sampling->round;
        if (c[i] >= sampling->enough)
            more[i] = 0;
    }
    return RL_OK;
}
