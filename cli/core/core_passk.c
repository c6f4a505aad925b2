/* core_passk.c: `lineage core passk | passk_beta | passk_beta_fit | passk_more | passk_reward`. */
#include <rlcore/passk.h>

#include "core_real.h"

/* Per problem and in the mean: the mean alone hides which problem an estimator gets wrong. */
static void run_passk(struct core_call *call)
{
    static const char *const estimators[] = {"unbiased", "bernoulli", NULL};
    int estimator = core_choice(call, "estimator", estimators);
    struct core_dim p = {0}, n_k = {0};
    const int64_t *n = core_integers(call, "n", &p), *c = core_integers(call, "c", &p);
    const int64_t *k = core_integers(call, "k", &n_k);
    double *each = core_alloc(call, p.n * n_k.n, sizeof *each);
    double *mean = core_alloc(call, n_k.n, sizeof *mean);
    if (call->failed || core_again(call, rl_passk((enum rl_passk)estimator, p.n, n, c, n_k.n, k,
                                                  each, mean, &call->err)))
        return;
    if (call->failed)
        return;
    core_put_reals(call, "per_problem", each, p.n, n_k.n);
    core_put_numbers(call, "mean", mean, n_k.n);
}

/* passk [K] at the requested k for a known distribution. For a fitted distribution and for one
 * that is given: a curve is a curve. */
static void put_curve(struct core_call *call, double alpha, double beta)
{
    struct core_dim n_k = {0};
    const int64_t *k = core_integers(call, "k", &n_k);
    double *passk = core_alloc(call, n_k.n, sizeof *passk);
    if (call->failed || core_again(call, rl_passk_beta(alpha, beta, n_k.n, k, passk, &call->err)))
        return;
    if (!call->failed)
        core_put_numbers(call, "passk", passk, n_k.n);
}

static void run_beta(struct core_call *call)
{
    double alpha = core_number(call, "alpha"), beta = core_number(call, "beta");
    put_curve(call, alpha, beta);
}

static void run_fit(struct core_call *call)
{
    struct core_dim p = {0};
    const int64_t *n = core_integers(call, "n", &p), *c = core_integers(call, "c", &p);
    struct rl_beta_fit fit;
    if (call->failed || core_again(call, rl_passk_beta_fit(p.n, n, c, &fit, &call->err)) ||
        call->failed)
        return;
    core_put_number(call, "alpha", fit.alpha);
    core_put_number(call, "beta", fit.beta);
    core_put_number(call, "log_likelihood", fit.log_likelihood);
    if (core_present(call, "k"))
        put_curve(call, fit.alpha, fit.beta);
}

/* A round of 1 by default: what a problem still needs depends on its last answer. */
static void run_more(struct core_call *call)
{
    struct core_dim p = {0};
    const int64_t *n = core_integers(call, "n", &p), *c = core_integers(call, "c", &p);
    struct rl_passk_sampling sampling = {.enough = core_integer_or(call, "enough", 2),
                                         .budget = core_integer(call, "budget"),
                                         .round = core_integer_or(call, "round", 1)};
    int64_t *more = core_alloc(call, p.n, sizeof *more);
    json_t *list = json_array();
    if (!call->failed)
        core_again(call, rl_passk_more(&sampling, p.n, n, c, more, &call->err));
    for (size_t i = 0; !call->failed && i < p.n; i++)
        json_array_append_new(list, json_integer((json_int_t)more[i]));
    core_put(call, "more", list);
}

static void run_reward(struct core_call *call)
{
    struct core_dim n = {0};
    const double *rewards = core_numbers(call, "rewards", &n);
    int64_t k = core_integer(call, "k");
    double *out = core_alloc(call, n.n, sizeof *out);
    if (!call->failed && k < 1)
        core_fail(call, "inputs.k is %lld, below 1", (long long)k);
    if (call->failed || core_again(call, rl_passk_reward(n.n, rewards, (size_t)k, out, &call->err)))
        return;
    if (!call->failed)
        core_put_numbers(call, "rewards", out, n.n);
}

const struct core_kernel core_passk = {
    .family = "passk",
    .summary = "pass@k of each problem and their mean, unbiased or extrapolated",
    .inputs = "estimator (unbiased|bernoulli), n [P], c [P], k [K]",
    .run = run_passk,
};

const struct core_kernel core_passk_beta = {
    .family = "passk_beta",
    .summary = "pass@k of pass rates that are Beta distributed",
    .inputs = "alpha, beta, k [K]",
    .run = run_beta,
};

const struct core_kernel core_passk_beta_fit = {
    .family = "passk_beta_fit",
    .summary = "Beta distribution of pass rates of greatest likelihood, and its pass@k",
    .inputs = "n [P], c [P], k? [K]",
    .run = run_fit,
};

const struct core_kernel core_passk_more = {
    .family = "passk_more",
    .summary = "dynamic n: samples to draw next of each problem, 0 once enough are correct",
    .inputs = "n [P], c [P], enough? (2), budget, round? (1)",
    .run = run_more,
};

const struct core_kernel core_passk_reward = {
    .family = "passk_reward",
    .summary = "every rollout of a block of k gets the block's best reward",
    .inputs = "rewards [n], k",
    .run = run_reward,
};
