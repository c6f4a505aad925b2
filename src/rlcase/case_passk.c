/* case_passk.c: `lineage core passk | passk_beta | passk_beta_fit | passk_more | passk_reward`. */
#include <rlcore/passk.h>

#include "case_real.h"

/*
 * Stores the result of each problem and their mean, because the mean alone would hide a problem
 * that an estimator gets wrong.
 */
static void run_passk(struct case_call *call)
{
    static const char *const estimators[] = {"unbiased", "bernoulli", NULL};
    int estimator = case_choice(call, "estimator", estimators);
    struct case_dim p = {0}, n_k = {0};
    const int64_t *n = case_integers(call, "n", &p), *c = case_integers(call, "c", &p);
    const int64_t *k = case_integers(call, "k", &n_k);
    double *each = case_alloc(call, p.n * n_k.n, sizeof *each);
    double *mean = case_alloc(call, n_k.n, sizeof *mean);
    CASE_RUN(call, rl_passk((enum rl_passk)estimator, p.n, n, c, n_k.n, k, each, mean, &call->err));
    if (call->failed)
        return;
    case_put_reals(call, "per_problem", each, p.n, n_k.n);
    case_put_numbers(call, "mean", mean, n_k.n);
}

/* Stores passk [K] at the requested k, for a Beta distribution that was either fitted or given. */
static void put_curve(struct case_call *call, double alpha, double beta)
{
    struct case_dim n_k = {0};
    const int64_t *k = case_integers(call, "k", &n_k);
    double *passk = case_alloc(call, n_k.n, sizeof *passk);
    CASE_RUN(call, rl_passk_beta(alpha, beta, n_k.n, k, passk, &call->err));
    if (call->failed)
        return;
    case_put_numbers(call, "passk", passk, n_k.n);
}

static void run_beta(struct case_call *call)
{
    double alpha = case_number(call, "alpha"), beta = case_number(call, "beta");
    put_curve(call, alpha, beta);
}

static void run_fit(struct case_call *call)
{
    struct case_dim p = {0};
    const int64_t *n = case_integers(call, "n", &p), *c = case_integers(call, "c", &p);
    struct rl_beta_fit fit;
    CASE_RUN(call, rl_passk_beta_fit(p.n, n, c, &fit, &call->err));
    if (call->failed)
        return;
    case_put_number(call, "alpha", fit.alpha);
    case_put_number(call, "beta", fit.beta);
    case_put_number(call, "log_likelihood", fit.log_likelihood);
    if (case_present(call, "k"))
        put_curve(call, fit.alpha, fit.beta);
}

/* A round is 1 by default, because what a problem still needs depends on its last answer. */
static void run_more(struct case_call *call)
{
    struct case_dim p = {0};
    const int64_t *n = case_integers(call, "n", &p), *c = case_integers(call, "c", &p);
    struct rl_passk_sampling sampling = {.enough = case_integer_or(call, "enough", 2),
                                         .budget = case_integer(call, "budget"),
                                         .round = case_integer_or(call, "round", 1)};
    int64_t *more = case_alloc(call, p.n, sizeof *more);
    json_t *list = json_array();
    CASE_RUN(call, rl_passk_more(&sampling, p.n, n, c, more, &call->err));
    for (size_t i = 0; !call->failed && i < p.n; i++)
        json_array_append_new(list, json_integer((json_int_t)more[i]));
    case_put(call, "more", list);
}

static void run_reward(struct case_call *call)
{
    struct case_dim n = {0};
    const double *rewards = case_numbers(call, "rewards", &n);
    int64_t k = case_integer(call, "k");
    double *out = case_alloc(call, n.n, sizeof *out);
    if (!call->failed && k < 1)
        case_fail(call, "inputs.k is %lld, below 1", (long long)k);
    CASE_RUN(call, rl_passk_reward(n.n, rewards, (size_t)k, out, &call->err));
    if (call->failed)
        return;
    case_put_numbers(call, "rewards", out, n.n);
}

const struct case_kernel case_passk = {
    .family = "passk",
    .summary = "pass@k of each problem and their mean, unbiased or extrapolated",
    .inputs = "estimator (unbiased|bernoulli), n, c, k",
    .outputs = "per_problem [P][K], mean [K]",
    .run = run_passk,
};

const struct case_kernel case_passk_beta = {
    .family = "passk_beta",
    .summary = "pass@k of pass rates that are Beta distributed",
    .inputs = "alpha, beta, k",
    .outputs = "passk [K]",
    .run = run_beta,
};

const struct case_kernel case_passk_beta_fit = {
    .family = "passk_beta_fit",
    .summary = "Beta distribution of pass rates of greatest likelihood, and its pass@k",
    .inputs = "n, c, k?",
    .outputs = "alpha, beta, log_likelihood, passk [K]",
    .run = run_fit,
};

const struct case_kernel case_passk_more = {
    .family = "passk_more",
    .summary = "dynamic n: samples to draw next of each problem, 0 once enough are correct",
    .inputs = "n, c, enough?, budget, round?",
    .outputs = "more [P]",
    .run = run_more,
};

const struct case_kernel case_passk_reward = {
    .family = "passk_reward",
    .summary = "every rollout of a block of k gets the block's best reward",
    .inputs = "rewards [N], k (1)",
    .outputs = "rewards [N]",
    .run = run_reward,
};
