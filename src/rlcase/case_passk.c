/* case_passk.c: `lineage core passk | passk_beta | passk_beta_fit | passk_more | passk_reward`. */
#include <rlcore/passk.h>

#include "case_real.h"

/*
 * Stores the result of each problem and their mean, because the mean alone would hide a problem
 * that an estimator gets wrong.
 */
void case_passk(struct case_call *call)
{
    static const char *const estimators[] = {"unbiased", "bernoulli", NULL};
    int estimator = case_choice(call, "estimator", estimators);
    struct case_dim p = {0}, n_k = {0};
    const int64_t *n = case_integers(call, "n", &p), *c = case_integers(call, "c", &p);
    const int64_t *k = case_integers(call, "k", &n_k);
    double *each = case_alloc(call, p.n * n_k.n, sizeof *each);
    double *mean = case_alloc(call, n_k.n, sizeof *mean);
    CASE_RUN(call, rl_passk((enum rl_passk)estimator, p.n, n, c, n_k.n, k, each, mean, &call->err));
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
    case_put_numbers(call, "passk", passk, n_k.n);
}

void case_passk_beta(struct case_call *call)
{
    double alpha = case_number(call, "alpha"), beta = case_number(call, "beta");
    put_curve(call, alpha, beta);
}

void case_passk_beta_fit(struct case_call *call)
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
void case_passk_more(struct case_call *call)
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

void case_passk_reward(struct case_call *call)
{
    struct case_dim n = {0};
    const double *rewards = case_numbers(call, "rewards", &n);
    int64_t k = case_integer(call, "k");
    double *out = case_alloc(call, n.n, sizeof *out);
    if (!call->failed && k < 1)
        case_fail(call, "inputs.k is %lld, below 1", (long long)k);
    CASE_RUN(call, rl_passk_reward(n.n, rewards, (size_t)k, out, &call->err));
    case_put_numbers(call, "rewards", out, n.n);
}
