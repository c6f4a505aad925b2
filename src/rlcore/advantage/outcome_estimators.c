/*
 * outcome_estimators.c: the estimators that give every token of a response the same credit. Each
 * one is a function of one prompt group; groups influence each other only through GPG's factor.
 *
 * Scores and credits are double for every type of token, see outcome_estimators.h. A group of one
 * has nothing to be compared with; each estimator has its own rule for it, taken from its
 * reference.
 */
#include "advantage/outcome_estimators.h"

void rl_outcome_options_init(struct rl_outcome_options *options)
{
    *options = (struct rl_outcome_options){RL_GRPO, true, 1e-6};
}

void rl_token_baseline_options_init(struct rl_token_baseline_options *options)
{
    *options = (struct rl_token_baseline_options){.epsilon = 1e-8};
}

enum rl_status rl_discount_check(const char *name, double value, struct rl_error *err)
{
    if (value >= 0 && isfinite(value))
        return RL_OK;
    return rl_fail(err, RL_EINVAL, "%s is %g, negative or not finite", name, value);
}

/*
 * N / (N - 1) is undefined for one token; the reference divides by zero there and continues with
 * NaN.
 */
enum rl_status rl_whiten_check(size_t n, struct rl_error *err)
{
    if (n > 1)
        return RL_OK;
    return rl_fail(err, RL_EVALUE, "whitening over %zu response tokens: a variance needs two", n);
}

enum rl_status rl_group_check(const struct rl_outcome_options *options, struct rl_error *err)
{
    if (!options)
        return rl_fail(err, RL_EINVAL, "options are missing");
    if ((unsigned)options->estimator > RL_REINFORCE_PLUS_PLUS_BASELINE)
        return rl_fail(err, RL_EINVAL, "estimator %d is unknown", (int)options->estimator);
    return rl_discount_check("epsilon", options->epsilon, err);
}

/* One prompt group. */
struct group {
    const struct rl_outcome *outcome;
    const size_t *rows;
    size_t n;
    double sum;
    double factor; /* GPG only */
};

static double score(const struct group *g, size_t j)
{
    return g->outcome->scores[g->rows[j]];
}

static void credit(const struct group *g, size_t j, double value)
{
    g->outcome->credits[g->rows[j]] = value;
}

/* credit = (s - baseline) factor for the whole group. */
static void credit_all(const struct group *g, double baseline, double factor)
{
    for (size_t j = 0; j < g->n; j++)
        credit(g, j, (score(g, j) - baseline) * factor);
}

/*
 * A group of one keeps its score, because the score minus its own mean would always be 0, from
 * which nothing is learned.
 */
static double mean_or_zero(const struct group *g)
{
    return g->n == 1 ? 0 : g->sum / (double)g->n;
}

/* Unbiased standard deviation; 1 for a group of one. */
static double deviation(const struct group *g)
{
    double mean = g->sum / (double)g->n, squares = 0;
    for (size_t j = 0; j < g->n; j++)
        squares += (score(g, j) - mean) * (score(g, j) - mean);
    return g->n == 1 ? 1 : sqrt(squares / (double)(g->n - 1));
}

/*
 * The one-pass variance of the vectorised reference, with its floor of epsilon. Sums of squares
 * lose the digits in which nearly equal scores differ, and the floor hides that; both are kept so
 * that the numbers agree with the reference.
 */
static double deviation_floored(const struct group *g, double epsilon)
{
    double squares = 0, n = (double)g->n;
    for (size_t j = 0; j < g->n; j++)
        squares += score(g, j) * score(g, j);
    return g->n == 1 ? 1 : sqrt(fmax((squares - g->sum * g->sum / n) / (n - 1), epsilon));
}

/*
 * Scores that equal the mean get exactly 0, even if deviation and epsilon are both 0. Otherwise 0 /
 * 0 would make the whole batch NaN because of a group that has nothing to learn.
 */
static void grpo(const struct group *g, const struct rl_outcome_options *options)
{
    double mean = mean_or_zero(g), sigma = 1;
    if (!options->norm_adv_by_std) {
        credit_all(g, mean, 1);
        return;
    }
    sigma = options->estimator == RL_GRPO ? deviation(g) : deviation_floored(g, options->epsilon);
    for (size_t j = 0; j < g->n; j++)
        credit(g, j, score(g, j) - mean == 0 ? 0 : (score(g, j) - mean) / (sigma + options->epsilon));
}

/*
 * pass@k rewards only the best of a group (arXiv 2503.19595). The advantage of the best row is what
 * the group would lose without it: its lead over the second best. Rows that tie for the best have
 * lead 0, because either could replace the other.
 */
static void grpo_passk(const struct group *g, const struct rl_outcome_options *options)
{
    size_t best = 0;
    double second = -INFINITY;
    for (size_t j = 1; j < g->n; j++)
        if (score(g, j) > score(g, best)) {
            second = score(g, best);
            best = j;
        } else {
            second = fmax(second, score(g, j));
        }
    double lead = score(g, best) - second;
    double scale = options->norm_adv_by_std ? deviation(g) + options->epsilon : 1;
    credit_all(g, 0, 0);
    credit(g, best, lead == 0 ? 0 : lead / scale);
}

/*
 * The mean of the others is (n mean - s) / (n - 1). The difference of s and this mean equals (s -
 * mean) n / (n - 1), a form that needs one pass and no difference of large sums.
 */
static void rloo(const struct group *g, bool keep_single)
{
    double n = (double)g->n;
    if (g->n == 1)
        credit_all(g, 0, keep_single ? 1 : 0);
    else
        credit_all(g, g->sum / n, n / (n - 1));
}

/*
 * The baseline is the mean score weighted by the number of response tokens, which has the least
 * variance if gradients grow with length (arXiv 2505.23585). A group without response tokens has
 * weight 0 and trains nothing.
 */
static void opo(const struct group *g)
{
    double weighted = 0, tokens = 0;
    for (size_t j = 0; j < g->n; j++) {
        double length = (double)g->outcome->lengths[g->rows[j]];
        weighted += length * score(g, j);
        tokens += length;
    }
    credit_all(g, g->n == 1 || tokens == 0 ? 0 : weighted / tokens, 1);
}

static void credit_group(const struct group *g, const struct rl_outcome_options *options)
{
    switch (options->estimator) {
    case RL_GRPO:
    case RL_GRPO_VECTORIZED: grpo(g, options); break;
    case RL_GRPO_PASSK: grpo_passk(g, options); break;
    case RL_RLOO: rloo(g, true); break;
    case RL_RLOO_VECTORIZED: rloo(g, false); break;
    case RL_OPO: opo(g); break;
    case RL_GPG: credit_all(g, mean_or_zero(g), g->factor); break;
    case RL_REINFORCE_PLUS_PLUS_BASELINE: credit_all(g, mean_or_zero(g), 1); break;
    }
}

/*
 * Scores of 0 give no gradient but count in the mean of the loss; GPG (arXiv 2504.02546)
 * compensates for them. The count is at least one, for a batch that failed as a whole.
 */
static double gpg_factor(const double *scores, size_t n)
{
    size_t nonzero = 0;
    for (size_t i = 0; i < n; i++)
        nonzero += scores[i] < 0 || scores[i] > 0;
    return (double)n / (double)(nonzero ? nonzero : 1);
}

enum rl_status rl_outcome_credits(const struct rl_outcome *outcome, const struct rl_outcome_options *options,
                                  struct rl_error *err)
{
    const struct rl_groups *groups = &outcome->groups;
    double factor = gpg_factor(outcome->scores, groups->n_rows);
    for (size_t i = 0; i < groups->n; i++) {
        struct group g = {
            .outcome = outcome, .rows = groups->order + groups->start[i], .n = rl_group_size(groups, i), .factor = factor};
        if (g.n == 1 && options->estimator == RL_GRPO_PASSK)
            return rl_fail(err, RL_EVALUE, "group_index[%zu]: a group of one row has no second best", g.rows[0]);
        for (size_t j = 0; j < g.n; j++)
            g.sum += score(&g, j);
        credit_group(&g, options);
    }
    /* Scores are finite, but their differences may overflow. */
    for (size_t row = 0; row < groups->n_rows; row++)
        if (!isfinite(outcome->credits[row]))
            return rl_fail(err, RL_EVALUE, "token_level_rewards[%zu]: the advantage overflows", row);
    return RL_OK;
}
