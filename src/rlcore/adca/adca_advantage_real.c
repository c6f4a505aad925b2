/*
 * adca_advantage_real.c: the parts of ADCA-GRPO that read or write tokens: outcomes, and step
 * values at their tokens.
 */

#include "adca/adca_internal.h"
#include "support/real.h"

struct tokens {
    struct rl_grid batch; /* its turns are the steps */
    const size_t *start;
};

/*
 * The sum is double and in the order of tokens. It is compared with 0.5 to tell a success, and its
 * rounding error in float can exceed eps, which would give each member of a group of equal rewards
 * an outcome of +-1.
 */
static double row_sum(const struct rl_grid *batch, const real *rewards, size_t row)
{
    double sum = 0;
    for (size_t i = rl_row_at(batch, row), end = rl_row_end(batch, row); i < end; i++)
        sum += (double)rl_real_at(batch, 0, rewards, i);
    return sum;
}

/* Searches a row whose sum is not finite for the token at fault, and names it. */
static enum rl_status explain_outcome(const struct rl_grid *batch, const real *rewards, size_t row, struct rl_error *err)
{
    for (size_t i = rl_row_at(batch, row), t = 0; t < rl_row_length(batch, row); t++) {
        double reward = (double)rl_real_at(batch, 0, rewards, i + t);
        if (!isfinite(reward))
            return rl_fail(err, RL_EVALUE, "token_level_rewards[%zu][%zu] is %g, not a finite number", row, t, reward);
    }
    return rl_fail(err, RL_EVALUE, "token_level_rewards[%zu]: their sum overflows", row);
}

static enum rl_status sum_outcomes(const struct rl_adca_work *w, const struct rl_grid *batch, const real *rewards,
                                   struct rl_error *err)
{
#pragma omp parallel for schedule(static) if (rl_grid_parallel(batch))
    for (size_t row = 0; row < batch->n_rows; row++)
        w->outcomes[row] = row_sum(batch, rewards, row);
    for (size_t row = 0; row < batch->n_rows; row++)
        if (!isfinite(w->outcomes[row]))
            return explain_outcome(batch, rewards, row, err);
    return RL_OK;
}

/*
 * Returns false if a token has a step that its row lacks. A row without steps gives 0 to every id.
 * All tokens are written even if one is wrong, because leaving the loop early would cost every good
 * batch a branch per token.
 */
static bool spread_row(const struct tokens *x, size_t row, const double *values, real *out)
{
    size_t n = x->start[row + 1] - x->start[row], first = rl_row_at(&x->batch, row);
    const struct rl_ids step_id = rl_turns_at(&x->batch, first);
    bool known = true;
    for (size_t t = 0; t < rl_row_length(&x->batch, row); t++) {
        int32_t id = rl_id(step_id, t);
        bool has_value = id >= 0 && (size_t)id < n;
        known &= has_value || id == -1 || (n == 0 && id >= 0);
        out[first + t] = has_value ? (real)values[x->start[row] + (size_t)id] : 0;
    }
    return known;
}

static enum rl_status explain_step(const struct tokens *x, struct rl_error *err)
{
    for (size_t row = 0; row < x->batch.n_rows; row++)
        for (size_t t = 0; t < rl_row_length(&x->batch, row); t++) {
            size_t n = x->start[row + 1] - x->start[row];
            int32_t id = rl_id(rl_turns_at(&x->batch, rl_row_at(&x->batch, row)), t);
            if (id < -1 || (n && id >= 0 && (size_t)id >= n))
                return rl_fail(err, RL_EVALUE, "step_ids[%zu][%zu] is %d, the row has %zu steps", row, t, id, n);
        }
    return RL_OK;
}

static enum rl_status spread(const struct tokens *x, const double *values, real *out, struct rl_error *err)
{
    bool bad = false;
    if (x->batch.n_tokens == 0)
        return RL_OK;
#pragma omp parallel for schedule(static) reduction(|| : bad) if (rl_grid_parallel(&x->batch))
    for (size_t row = 0; row < x->batch.n_rows; row++)
        bad = !spread_row(x, row, values, out) || bad;
    return bad ? explain_step(x, err) : RL_OK;
}

enum rl_status rl_adca_batch_spread(const struct rl_batch *batch, const size_t *start, const double *values, real *out,
                                    struct rl_error *err)
{
    struct tokens tokens = {.start = start};
    enum rl_status status =
        rl_grid_view(&tokens.batch, batch, RL_NEEDS_NO_MASK | RL_NEEDS_TURNS, sizeof(real) == sizeof(float), err);
    if (status != RL_OK)
        return status;
    if (!start || (tokens.batch.n_rows && tokens.batch.n_tokens && !out) || (start[tokens.batch.n_rows] && !values))
        return rl_fail(err, RL_EINVAL, "starts, values or output is missing");
    return spread(&tokens, values, out, err);
}

enum rl_status rl_adca_spread(size_t n_rows, size_t n_tokens, const int32_t *step_id, const size_t *start, const double *values,
                              real *out, struct rl_error *err)
{
    const struct rl_batch batch = {.n_rows = n_rows, .n_tokens = n_tokens, .turn = step_id};
    if (n_rows && n_tokens && !step_id)
        return rl_fail(err, RL_EINVAL, "step_ids are missing");
    return rl_adca_batch_spread(&batch, start, values, out, err);
}

enum rl_status rl_adca_batch_advantage(const struct rl_batch *batch, const struct rl_adca_input *in,
                                       const struct rl_adca_options *options, const real *rewards, real *advantages,
                                       const struct rl_adca_output *out, struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_adca_work w;
    struct tokens tokens;
    RL_TRY(RL_NEED(err, {"input", in}));
    RL_TRY(rl_grid_view(&tokens.batch, batch, RL_NEEDS_NO_MASK | RL_NEEDS_TURNS | RL_NEEDS_GROUPS, sizeof(real) == sizeof(float),
                        err));
    struct rl_adca_input rows = *in;
    rows.n_rows = tokens.batch.n_rows;
    rows.n_tokens = tokens.batch.n_tokens;
    rows.group = tokens.batch.group;
    rows.step_id = batch->turn;
    tokens.start = in->start;
    RL_TRY(rl_adca_begin(&w, &rows, options, out, ws, err));
    if (rows.n_rows && rows.n_tokens && (!rewards || !advantages))
        return rl_fail(err, RL_EINVAL, "token_level_rewards or advantages are missing");
    /* Outcomes are needed first: they decide the reward of a flag. */
    RL_TRY(sum_outcomes(&w, &tokens.batch, rewards, err));
    RL_TRY(rl_adca_run(&w, out, err));
    return spread(&tokens, out->step_advantages, advantages, err);
}

enum rl_status rl_adca_advantage(const struct rl_adca_input *in, const struct rl_adca_options *options, const real *rewards,
                                 real *advantages, const struct rl_adca_output *out, struct rl_workspace *ws,
                                 struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"input", in}));
    if (in->n_rows && in->n_tokens && !in->step_id)
        return rl_fail(err, RL_EINVAL, "step_ids are missing");
    const struct rl_batch batch = {.n_rows = in->n_rows, .n_tokens = in->n_tokens, .turn = in->step_id, .group = in->group};
    return rl_adca_batch_advantage(&batch, in, options, rewards, advantages, out, ws, err);
}
