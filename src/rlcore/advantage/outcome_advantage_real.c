/*
 * outcome_advantage_real.c: scores of rows, their credits onto tokens, and whitening.
 *
 * Rows are scored and spread in wide loops over tokens, while the estimators between see one number
 * per row.
 */
#include "support/hot.h"
#include "advantage/outcome_estimators.h"
#include "support/real.h"

/*
 * Over ALL positions, as the reference sums: a reward that an environment puts on a tool's token
 * counts. In double, see outcome.h.
 */
RL_HOT static double row_sum(const real *values, size_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t t = 0; t < n; t++)
        sum += (double)values[t];
    return sum;
}

RL_HOT static size_t row_length(const uint8_t *mask, size_t n)
{
    size_t length = 0;
    for (size_t t = 0; t < n; t++)
        length += mask[t];
    return length;
}

RL_HOT static void spread(const uint8_t *mask, size_t n, real credit, real *out)
{
    for (size_t t = 0; t < n; t++)
        out[t] = mask[t] ? credit : 0;
}

static void score_rows(const struct rl_batch *batch, const real *rewards,
                       const struct rl_outcome *outcome)
{
    size_t n = batch->n_tokens;
#pragma omp parallel for schedule(static) if (batch->n_rows * n >= RL_PARALLEL_TOKENS)
    for (size_t row = 0; row < batch->n_rows; row++) {
        outcome->scores[row] = n ? row_sum(rewards + row * n, n) : 0;
        outcome->lengths[row] = n ? row_length(batch->mask + row * n, n) : 0;
    }
}

/* A row whose sum is not finite is walked for the element at fault. */
static enum rl_status check_scores(const struct rl_batch *batch, const real *rewards,
                                   const double *scores, struct rl_error *err)
{
    for (size_t row = 0; row < batch->n_rows; row++) {
        if (isfinite(scores[row]))
            continue;
        for (size_t t = 0; t < batch->n_tokens; t++)
            if (!isfinite(rewards[row * batch->n_tokens + t]))
                return rl_fail(err, RL_EVALUE,
                               "token_level_rewards[%zu][%zu] is %g, not a finite number", row, t,
                               (double)rewards[row * batch->n_tokens + t]);
        return rl_fail(err, RL_EVALUE, "token_level_rewards[%zu]: their sum overflows", row);
    }
    return RL_OK;
}

static void spread_credits(const struct rl_batch *batch, const double *credits, real *advantages)
{
    size_t n = batch->n_tokens;
#pragma omp parallel for schedule(static) if (batch->n_rows * n >= RL_PARALLEL_TOKENS)
    for (size_t row = 0; row < batch->n_rows; row++)
        if (n)
            spread(batch->mask + row * n, n, (real)credits[row], advantages + row * n);
}

RL_HOT static double masked_sum(const uint8_t *mask, const real *x, size_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t t = 0; t < n; t++)
        sum += mask[t] ? (double)x[t] : 0;
    return sum;
}

/*
 * A second pass: after a group baseline the mean is near 0, but rewards may sit on a large
 * constant, where sums of squares cancel.
 */
RL_HOT static double masked_squares(const uint8_t *mask, const real *x, size_t n, double mean)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t t = 0; t < n; t++) {
        double d = (double)x[t] - mean;
        sum += mask[t] ? d * d : 0;
    }
    return sum;
}

/*
 * Without a mask every position is whitened, holes included, which REINFORCE++ and GAE of the
 * reference differ in.
 */
RL_HOT static void scale_row(const uint8_t *mask, real *x, size_t n, double mean, double scale)
{
    for (size_t t = 0; t < n; t++)
        x[t] = mask && !mask[t] ? 0 : (real)(((double)x[t] - mean) * scale);
}

/* Whiten a batch whose mask is checked; sums [B] is scratch. Rows are added in order. */
static enum rl_status whiten(const struct rl_batch *batch, bool masked, real *x, double *sums,
                             struct rl_error *err)
{
    size_t n = batch->n_tokens, count = 0;
    double total = 0, squares = 0;
#pragma omp parallel for schedule(static) reduction(+ : count) \
    if (batch->n_rows * n >= RL_PARALLEL_TOKENS)
    for (size_t row = 0; row < batch->n_rows; row++) {
        sums[row] = n ? masked_sum(batch->mask + row * n, x + row * n, n) : 0;
        count += n ? row_length(batch->mask + row * n, n) : 0;
    }
    enum rl_status status = rl_whiten_check(count, err);
    if (status != RL_OK)
        return status;
    for (size_t row = 0; row < batch->n_rows; row++)
        total += sums[row];
    double tokens = (double)count, mean = total / (tokens + 1e-8);
#pragma omp parallel for schedule(static) if (batch->n_rows * n >= RL_PARALLEL_TOKENS)
    for (size_t row = 0; row < batch->n_rows; row++)
        sums[row] = masked_squares(batch->mask + row * n, x + row * n, n, mean);
    for (size_t row = 0; row < batch->n_rows; row++)
        squares += sums[row];
    double scale = 1 / sqrt(squares / (tokens + 1e-8) * tokens / (tokens - 1) + 1e-8);
    if (!isfinite(mean) || !isfinite(squares))
        return rl_fail(err, RL_EVALUE, "whitening overflows: the mean is %g", mean);
#pragma omp parallel for schedule(static) if (batch->n_rows * n >= RL_PARALLEL_TOKENS)
    for (size_t row = 0; row < batch->n_rows; row++)
        scale_row(masked ? batch->mask + row * n : NULL, x + row * n, n, mean, scale);
    return RL_OK;
}

enum rl_status rl_whiten(const struct rl_batch *batch, bool masked, real *x,
                         struct rl_workspace *ws, struct rl_error *err)
{
    enum rl_status status = rl_batch_check(batch, RL_NEEDS_MASK, err);
    if (status == RL_OK)
        status = rl_batch_check_reals("values to whiten", x, batch, err);
    if (status != RL_OK)
        return status;
    struct rl_scratch s = rl_scratch_begin(ws);
    double *sums = rl_scratch_take(&s, batch->n_rows, sizeof *sums);
    return rl_scratch_fits(&s) ? whiten(batch, masked, x, sums, err) : rl_scratch_short(&s, err);
}

enum rl_status rl_outcome_advantage(const struct rl_batch *batch,
                                    const struct rl_outcome_options *options, const real *rewards,
                                    real *advantages, struct rl_workspace *ws, struct rl_error *err)
{
    enum rl_status status = rl_group_check(options, err);
    if (status == RL_OK)
        status = rl_batch_check(batch, RL_NEEDS_GROUPS, err);
    if (status != RL_OK)
        return status;
    struct rl_scratch s = rl_scratch_begin(ws);
    struct rl_outcome outcome = {.groups = rl_groups_take(&s, batch->n_rows),
                                 .scores = rl_scratch_take(&s, batch->n_rows, sizeof(double)),
                                 .lengths = rl_scratch_take(&s, batch->n_rows, sizeof(size_t)),
                                 .credits = rl_scratch_take(&s, batch->n_rows, sizeof(double))};
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    if (batch->n_rows && batch->n_tokens && (!rewards || !advantages))
        return rl_fail(err, RL_EINVAL, "token_level_rewards or advantages is missing");
    rl_groups_build(&outcome.groups, batch->group);
    score_rows(batch, rewards, &outcome);
    status = check_scores(batch, rewards, outcome.scores, err);
    if (status == RL_OK)
        status = rl_outcome_credits(&outcome, options, err);
    if (status != RL_OK)
        return status;
    spread_credits(batch, outcome.credits, advantages);
    if (options->estimator == RL_REINFORCE_PLUS_PLUS_BASELINE)
        status = whiten(batch, true, advantages, outcome.scores, err);
    return status;
}
