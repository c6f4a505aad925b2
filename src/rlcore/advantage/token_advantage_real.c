/*
 * token_advantage_real.c: REINFORCE++, ReMax and GAE: a backward walk over each row, then
 * whitening.
 *
 * The walk goes backwards because a return is the sum of what follows. Running values are double in
 * both precisions: with float, the reward of the last token would be lost after the thousands of
 * additions that lead back to the first token.
 */
#include "advantage/outcome_estimators.h"
#include "advantage/whiten.h"
#include "support/real.h"
#include "support/scratch.h"

struct walk {
    struct rl_grid batch;
    const real *rewards, *values, *baselines;
    double gamma, lam;
    bool through_holes;
    real *advantages, *returns; /* returns may be NULL */
};

enum { REWARDS, VALUES }; /* in the order of the arguments; in ReMax the second one is baselines */

/* The running values that are passed from a token to the one before it. */
struct state {
    double run, next_value;
};

/* n tokens of a row. Stretches are visited from the end of the row. */
struct stretch {
    size_t at, n; /* index of the first token in every array */
    const rl_int *on;
    const real *rewards, *values;
    double baseline;
};

typedef void walk_fn(const struct walk *w, const struct stretch *x, struct state *state);

static void put(real *array, size_t i, double value)
{
    if (array)
        array[i] = (real)value;
}

/*
 * The reference multiplies the running return by the mask, which also cuts the return at tool
 * tokens inside a response: an action before a tool call then gets no credit for what follows the
 * call. through_holes carries the return across. The default gives the published numbers.
 */
static void reinforce(const struct walk *w, const struct stretch *x, struct state *state)
{
    double run = state->run;
    for (size_t t = x->n; t-- > 0;) {
        double value = (double)x->rewards[t] + w->gamma * run;
        if (!x->on[t])
            value = w->through_holes ? run : value;
        w->advantages[x->at + t] = (real)value;
        put(w->returns, x->at + t, value);
        run = x->on[t] || w->through_holes ? value : 0;
    }
    state->run = run;
}

/*
 * Advantages are not masked, as in the reference; the loss masks them. The baseline is subtracted
 * at response tokens only.
 */
static void remax(const struct walk *w, const struct stretch *x, struct state *state)
{
    double sum = state->run;
    for (size_t t = x->n; t-- > 0;) {
        sum += x->on[t] ? (double)x->rewards[t] : 0;
        put(w->returns, x->at + t, sum);
        w->advantages[x->at + t] = (real)(sum - (x->on[t] ? x->baseline : 0));
    }
    state->run = sum;
}

/*
 * Across a hole the next value is that of the next response token: the policy does not act in
 * between, so no time step passes. Positions in the hole receive the running advantage, as in the
 * reference.
 */
static void gae(const struct walk *w, const struct stretch *x, struct state *state)
{
    double next_value = state->next_value, advantage = state->run;
    for (size_t t = x->n; t-- > 0;) {
        double value = (double)x->values[t];
        if (x->on[t]) {
            double delta = (double)x->rewards[t] + w->gamma * next_value - value;
            advantage = delta + w->gamma * w->lam * advantage;
            next_value = value;
        }
        w->advantages[x->at + t] = (real)advantage;
        put(w->returns, x->at + t, advantage + value);
    }
    *state = (struct state){advantage, next_value};
}

static void walk_row(const struct walk *w, size_t row, walk_fn *walk)
{
    const struct rl_grid *batch = &w->batch;
    real floats[2][RL_CHUNK];
    rl_int on[RL_CHUNK];
    struct state state = {0};
    struct stretch x = {.on = on};
    if (w->baselines)
        x.baseline = (double)rl_real_at(batch, VALUES, w->baselines, row);
    for (size_t begin = rl_row_at(batch, row), left = rl_row_length(batch, row); left > 0; left -= x.n) {
        x.n = (left - 1) % RL_CHUNK + 1;
        x.at = begin + left - x.n;
        x.rewards = rl_reals_at(batch, REWARDS, w->rewards, x.at, x.n, floats[0]);
        x.values = rl_reals_at(batch, VALUES, w->values, x.at, x.n, floats[1]);
        rl_mask_bits(batch, x.at, x.n, on);
        walk(w, &x, &state);
    }
}

static void walk_rows(const struct walk *w, walk_fn *walk)
{
#pragma omp parallel for schedule(static) if (rl_grid_parallel(&w->batch))
    for (size_t row = 0; row < w->batch.n_rows; row++)
        walk_row(w, row, walk);
}

/* Check that rewards are finite at every position, or at response tokens only. */
static enum rl_status check_rewards(const struct walk *w, bool everywhere, struct rl_error *err)
{
    return rl_grid_check_reals("token_level_rewards", &w->batch, REWARDS, w->rewards, everywhere, err);
}

static enum rl_status check_output(const struct walk *w, struct rl_error *err)
{
    if (w->advantages || w->batch.n_rows == 0 || w->batch.n_tokens == 0)
        return RL_OK;
    return rl_fail(err, RL_EINVAL, "advantages is missing");
}

enum rl_status rl_reinforce_plus_plus(const struct rl_batch *batch, double gamma, bool through_holes, const real *rewards,
                                      real *advantages, real *returns, struct rl_workspace *ws, struct rl_error *err)
{
    struct walk w = {
        .rewards = rewards, .gamma = gamma, .through_holes = through_holes, .advantages = advantages, .returns = returns};
    RL_TRY(rl_discount_check("gamma", gamma, err));
    RL_TRY(rl_grid_of(&w.batch, batch, RL_NEEDS_MASK, err));
    RL_TRY(check_rewards(&w, true, err));
    if (through_holes)
        RL_TRY(rl_grid_check_rewards(&w.batch, rewards, err));
    RL_TRY(check_output(&w, err));
    walk_rows(&w, reinforce);
    return rl_whiten_grid(&w.batch, true, advantages, ws, err);
}

enum rl_status rl_remax(const struct rl_batch *batch, const real *rewards, const real *baselines, real *advantages, real *returns,
                        struct rl_error *err)
{
    struct walk w = {.rewards = rewards, .baselines = baselines, .advantages = advantages, .returns = returns};
    RL_TRY(rl_grid_of(&w.batch, batch, RL_NEEDS_MASK, err));
    RL_TRY(check_rewards(&w, false, err));
    RL_TRY(check_output(&w, err));
    if (w.batch.n_rows && !baselines)
        return rl_fail(err, RL_EINVAL, "reward_baselines is missing");
    for (size_t row = 0; row < w.batch.n_rows; row++) {
        double baseline = (double)rl_real_at(&w.batch, VALUES, baselines, row);
        if (!isfinite(baseline))
            return rl_fail(err, RL_EVALUE, "reward_baselines[%zu] is %g, not a finite number", row, baseline);
    }
    walk_rows(&w, remax);
    return RL_OK;
}

enum rl_status rl_gae(const struct rl_batch *batch, double gamma, double lam, const real *rewards, const real *values,
                      real *advantages, real *returns, struct rl_workspace *ws, struct rl_error *err)
{
    struct walk w = {
        .rewards = rewards, .values = values, .gamma = gamma, .lam = lam, .advantages = advantages, .returns = returns};
    RL_TRY(rl_discount_check("gamma", gamma, err));
    RL_TRY(rl_discount_check("lam", lam, err));
    RL_TRY(rl_grid_of(&w.batch, batch, RL_NEEDS_MASK, err));
    RL_TRY(check_rewards(&w, false, err));
    RL_TRY(rl_grid_check_rewards(&w.batch, rewards, err));
    RL_TRY(rl_grid_check_reals("values", &w.batch, VALUES, values, true, err));
    RL_TRY(check_output(&w, err));
    walk_rows(&w, gae);
    /*
     * The advantages are not masked, because the reference whitens the whole array, including holes
     * and padding, with mean and variance of the response tokens.
     */
    return rl_whiten_grid(&w.batch, false, advantages, ws, err);
}
