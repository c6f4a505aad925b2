/* adca_advantage_real.c: ADCA-GRPO where it touches tokens: outcomes, step values onto tokens. */
#include <math.h>

#include "adca/adca_internal.h"
#include "support/real.h"

struct tokens {
    size_t n_rows, n_tokens;
    const int32_t *step_id;
    const size_t *start;
};

/*
 * In double and in the order of tokens: the sum decides at 0.5 whether the row is a success, and
 * its rounding in float can exceed eps, which would give each member of a group of equal rewards an
 * outcome of +-1.
 */
static double row_sum(const real *rewards, size_t n)
{
    double sum = 0;
    for (size_t t = 0; t < n; t++)
        sum += (double)rewards[t];
    return sum;
}

/*
 * A sum that is not finite is only known as such; the tokens are walked again for the one to name.
 */
static enum rl_status explain_outcome(const real *rewards, size_t row, size_t n,
                                      struct rl_error *err)
{
    for (size_t t = 0; t < n; t++)
        if (!isfinite(rewards[t]))
            return rl_fail(err, RL_EVALUE,
                           "token_level_rewards[%zu][%zu] is %g, not a finite number", row, t,
                           (double)rewards[t]);
    return rl_fail(err, RL_EVALUE, "token_level_rewards[%zu]: their sum overflows", row);
}

static enum rl_status sum_outcomes(const struct rl_adca_work *w, const real *rewards,
                                   struct rl_error *err)
{
    size_t n = w->in->n_tokens;
#pragma omp parallel for schedule(static) if (w->in->n_rows * n >= RL_PARALLEL_TOKENS)
    for (size_t row = 0; row < w->in->n_rows; row++)
        w->outcomes[row] = n ? row_sum(rewards + row * n, n) : 0;
    for (size_t row = 0; row < w->in->n_rows; row++)
        if (!isfinite(w->outcomes[row]))
            return explain_outcome(rewards + row * n, row, n, err);
    return RL_OK;
}

/*
 * False if a token has a step that its row lacks. A row without steps gives 0 to any. All tokens
 * are written even when one is wrong: leaving the loop early would cost a branch per token of every
 * good batch.
 */
static bool spread_row(const struct tokens *x, size_t row, const double *values, real *out)
{
    const int32_t *step_id = x->step_id + row * x->n_tokens;
    size_t n = x->start[row + 1] - x->start[row];
    bool known = true;
    for (size_t t = 0; t < x->n_tokens; t++) {
        bool has_value = step_id[t] >= 0 && (size_t)step_id[t] < n;
        known &= has_value || step_id[t] == -1 || (n == 0 && step_id[t] >= 0);
        out[t] = has_value ? (real)values[x->start[row] + (size_t)step_id[t]] : 0;
    }
    return known;
}

static enum rl_status explain_step(const struct tokens *x, struct rl_error *err)
{
    for (size_t row = 0; row < x->n_rows; row++)
        for (size_t t = 0; t < x->n_tokens; t++) {
            size_t n = x->start[row + 1] - x->start[row];
            int32_t id = x->step_id[row * x->n_tokens + t];
            if (id < -1 || (n && id >= 0 && (size_t)id >= n))
                return rl_fail(err, RL_EVALUE, "step_ids[%zu][%zu] is %d, the row has %zu steps",
                               row, t, id, n);
        }
    return RL_OK;
}

static enum rl_status spread(const struct tokens *x, const double *values, real *out,
                             struct rl_error *err)
{
    bool bad = false;
#pragma omp parallel for schedule(static)                                                          \
    reduction(||                                                                                   \
              : bad) if (x->n_rows * x->n_tokens >= RL_PARALLEL_TOKENS)
    for (size_t row = 0; row < x->n_rows; row++)
        bad = !spread_row(x, row, values, out + row * x->n_tokens) || bad;
    return bad ? explain_step(x, err) : RL_OK;
}

enum rl_status rl_adca_spread(size_t n_rows, size_t n_tokens, const int32_t *step_id,
                              const size_t *start, const double *values, real *out,
                              struct rl_error *err)
{
    const struct tokens tokens = {n_rows, n_tokens, step_id, start};
    if (!start || (n_rows && n_tokens && (!step_id || !out)) || (start[n_rows] && !values))
        return rl_fail(err, RL_EINVAL, "step_ids, starts, values or output is missing");
    return n_tokens ? spread(&tokens, values, out, err) : RL_OK;
}

enum rl_status rl_adca_advantage(const struct rl_adca_input *in,
                                 const struct rl_adca_options *options, const real *rewards,
                                 real *advantages, const struct rl_adca_output *out,
                                 struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_adca_work w;
    enum rl_status status = rl_adca_begin(&w, in, options, out, ws, err);
    if (status != RL_OK)
        return status;
    if (in->n_rows && in->n_tokens && (!rewards || !advantages))
        return rl_fail(err, RL_EINVAL, "token_level_rewards or advantages are missing");
    /* Outcomes decide what a flag is worth, so they come before any step reward. */
    status = sum_outcomes(&w, rewards, err);
    if (status == RL_OK)
        status = rl_adca_run(&w, out, err);
    if (status != RL_OK)
        return status;
    return rl_adca_spread(in->n_rows, in->n_tokens, in->step_id, in->start, out->step_advantages,
                          advantages, err);
}
