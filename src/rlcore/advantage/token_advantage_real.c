/*
 * token_advantage_real.c: REINFORCE++, ReMax and GAE: a backward walk per row, then whitening.
 *
 * Backwards, because a return is made of what follows. Running values are double in both
 * precisions: thousands of float additions in a row would lose the reward of the last token on the
 * way to the first.
 */
#include "support/scratch.h"
#include "advantage/outcome_estimators.h"
#include "support/real.h"

struct walk {
    const struct rl_batch *batch;
    const real *rewards, *values, *baselines;
    double gamma, lam;
    bool through_holes;
    real *advantages, *returns; /* returns may be NULL */
};

typedef void walk_fn(const struct walk *w, size_t row);

static void put(real *array, size_t i, double value)
{
    if (array)
        array[i] = (real)value;
}

/*
 * The reference multiplies the running return by the mask, which also cuts it at a tool's tokens
 * inside a response: what was done before the call then earns nothing for the result. through_holes
 * mends that; the default keeps published numbers.
 */
static void reinforce_row(const struct walk *w, size_t row)
{
    size_t n = w->batch->n_tokens;
    double run = 0;
    for (size_t i = (row + 1) * n; i-- > row * n;) {
        double value = (double)w->rewards[i] + w->gamma * run;
        if (!w->batch->mask[i])
            value = w->through_holes ? run : value;
        w->advantages[i] = (real)value;
        put(w->returns, i, value);
        run = w->batch->mask[i] || w->through_holes ? value : 0;
    }
}

/*
 * Advantages are not masked, as in the reference; the loss masks them. The baseline is subtracted
 * at response tokens only, so that the array tells which.
 */
static void remax_row(const struct walk *w, size_t row)
{
    size_t n = w->batch->n_tokens;
    double sum = 0;
    for (size_t i = (row + 1) * n; i-- > row * n;) {
        sum += w->batch->mask[i] ? (double)w->rewards[i] : 0;
        put(w->returns, i, sum);
        w->advantages[i] = (real)(sum - (w->batch->mask[i] ? (double)w->baselines[row] : 0));
    }
}

/*
 * Across a hole the next value is that of the next response token: the policy does not act in
 * between, so no step of time passes. Positions in the hole show the running advantage, like the
 * reference's array.
 */
static void gae_row(const struct walk *w, size_t row)
{
    size_t n = w->batch->n_tokens;
    double next_value = 0, advantage = 0;
    for (size_t i = (row + 1) * n; i-- > row * n;) {
        double value = (double)w->values[i];
        if (w->batch->mask[i]) {
            double delta = (double)w->rewards[i] + w->gamma * next_value - value;
            advantage = delta + w->gamma * w->lam * advantage;
            next_value = value;
        }
        w->advantages[i] = (real)advantage;
        put(w->returns, i, advantage + value);
    }
}

static void walk_rows(const struct walk *w, walk_fn *walk_row)
{
#pragma omp parallel for schedule(static) if (w->batch->n_rows * w->batch->n_tokens >=             \
                                              RL_PARALLEL_TOKENS)
    for (size_t row = 0; row < w->batch->n_rows; row++)
        walk_row(w, row);
}

/* Finite at every position, or at response tokens only. */
static enum rl_status check_reals(const struct walk *w, const char *name, const real *values,
                                  bool everywhere, struct rl_error *err)
{
    struct rl_batch batch = *w->batch;
    if (everywhere)
        batch.mask = NULL;
    return rl_batch_check_reals(name, values, &batch, err);
}

static enum rl_status check_output(const struct walk *w, struct rl_error *err)
{
    if (w->advantages || w->batch->n_rows * w->batch->n_tokens == 0)
        return RL_OK;
    return rl_fail(err, RL_EINVAL, "advantages is missing");
}

enum rl_status rl_reinforce_plus_plus(const struct rl_batch *batch, double gamma,
                                      bool through_holes, const real *rewards, real *advantages,
                                      real *returns, struct rl_workspace *ws, struct rl_error *err)
{
    const struct walk w = {.batch = batch,
                           .rewards = rewards,
                           .gamma = gamma,
                           .through_holes = through_holes,
                           .advantages = advantages,
                           .returns = returns};
    enum rl_status status = rl_discount_check("gamma", gamma, err);
    if (status == RL_OK)
        status = rl_batch_check(batch, RL_NEEDS_MASK, err);
    if (status == RL_OK)
        status = check_reals(&w, "token_level_rewards", rewards, true, err);
    if (status == RL_OK)
        status = check_output(&w, err);
    if (status != RL_OK)
        return status;
    walk_rows(&w, reinforce_row);
    return rl_whiten(batch, true, advantages, ws, err);
}

enum rl_status rl_remax(const struct rl_batch *batch, const real *rewards, const real *baselines,
                        real *advantages, real *returns, struct rl_error *err)
{
    const struct walk w = {.batch = batch,
                           .rewards = rewards,
                           .baselines = baselines,
                           .advantages = advantages,
                           .returns = returns};
    enum rl_status status = rl_batch_check(batch, RL_NEEDS_MASK, err);
    if (status == RL_OK)
        status = check_reals(&w, "token_level_rewards", rewards, false, err);
    if (status == RL_OK)
        status = check_output(&w, err);
    if (status != RL_OK)
        return status;
    if (batch->n_rows && !baselines)
        return rl_fail(err, RL_EINVAL, "reward_baselines is missing");
    for (size_t row = 0; row < batch->n_rows; row++)
        if (!isfinite(baselines[row]))
            return rl_fail(err, RL_EVALUE, "reward_baselines[%zu] is %g, not a finite number", row,
                           (double)baselines[row]);
    walk_rows(&w, remax_row);
    return RL_OK;
}

enum rl_status rl_gae(const struct rl_batch *batch, double gamma, double lam, const real *rewards,
                      const real *values, real *advantages, real *returns, struct rl_workspace *ws,
                      struct rl_error *err)
{
    const struct walk w = {.batch = batch,
                           .rewards = rewards,
                           .values = values,
                           .gamma = gamma,
                           .lam = lam,
                           .advantages = advantages,
                           .returns = returns};
    enum rl_status status = rl_discount_check("gamma", gamma, err);
    if (status == RL_OK)
        status = rl_discount_check("lam", lam, err);
    if (status == RL_OK)
        status = rl_batch_check(batch, RL_NEEDS_MASK, err);
    if (status == RL_OK)
        status = check_reals(&w, "token_level_rewards", rewards, false, err);
    if (status == RL_OK)
        status = check_reals(&w, "values", values, true, err);
    if (status == RL_OK)
        status = check_output(&w, err);
    if (status != RL_OK)
        return status;
    walk_rows(&w, gae_row);
    /*
     * Not masked: the reference whitens the array it has, holes and padding included, with mean and
     * variance of the response tokens.
     */
    return rl_whiten(batch, false, advantages, ws, err);
}
