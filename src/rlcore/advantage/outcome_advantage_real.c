/*
 * outcome_advantage_real.c: scores of rows, credits spread over their tokens, and whitening.
 *
 * Rows are scored and spread in wide loops over tokens; the estimators in between work on one
 * number per row.
 */
#include "support/loops.h"
#include "advantage/outcome_estimators.h"
#include "advantage/whiten.h"
#include "support/real.h"

static size_t chunk_of(size_t i, size_t end)
{
    return end - i < RL_CHUNK ? end - i : RL_CHUNK;
}

/*
 * Sums the rewards over ALL positions, like the reference: a reward that an environment gives at a
 * tool token counts too. The sum is double, see outcome_estimators.h.
 */
HOT(double, sum_chunk, (const struct rl_grid *batch, const real *array, size_t i, size_t n), (batch, array, i, n))
{
    real buffer[RL_CHUNK];
    double term[RL_CHUNK];
    const real *values = rl_reals_at(batch, 0, array, i, n, buffer);
    for (size_t t = 0; t < n; t++)
        term[t] = (double)values[t];
    return rl_sum_wide(term, n);
}

static double row_sum(const struct rl_grid *batch, const real *array, size_t row)
{
    double sum = 0;
    for (size_t i = rl_row_at(batch, row), end = rl_row_end(batch, row); i < end; i += RL_CHUNK)
        sum += sum_chunk(batch, array, i, chunk_of(i, end));
    return sum;
}

HOT_VOID(spread, (const struct rl_grid *batch, size_t i, size_t n, real credit, real *out), (batch, i, n, credit, out))
{
    rl_int on[RL_CHUNK];
    rl_mask_bits(batch, i, n, on);
    for (size_t t = 0; t < n; t++)
        out[i + t] = rl_keep(on[t], credit);
}

static void score_rows(const struct rl_grid *batch, const real *rewards, const struct rl_outcome *outcome)
{
#pragma omp parallel for schedule(static) if (rl_grid_parallel(batch))
    for (size_t row = 0; row < batch->n_rows; row++) {
        outcome->scores[row] = row_sum(batch, rewards, row);
        outcome->lengths[row] = rl_count_on(batch, rl_row_at(batch, row), rl_row_length(batch, row));
    }
}

/* If the sum of a row is not finite, search the row for the element at fault. */
static enum rl_status check_scores(const struct rl_grid *batch, const real *rewards, const double *scores, struct rl_error *err)
{
    for (size_t row = 0; row < batch->n_rows; row++) {
        if (isfinite(scores[row]))
            continue;
        for (size_t i = rl_row_at(batch, row), t = 0; t < rl_row_length(batch, row); t++)
            if (!isfinite(rl_real_at(batch, 0, rewards, i + t)))
                return rl_fail(err, RL_EVALUE, "token_level_rewards[%zu][%zu] is %g, not a finite number", row, t,
                               (double)rl_real_at(batch, 0, rewards, i + t));
        return rl_fail(err, RL_EVALUE, "token_level_rewards[%zu]: their sum overflows", row);
    }
    return RL_OK;
}

static void spread_credits(const struct rl_grid *batch, const double *credits, real *advantages)
{
#pragma omp parallel for schedule(static) if (rl_grid_parallel(batch))
    for (size_t row = 0; row < batch->n_rows; row++)
        for (size_t i = rl_row_at(batch, row), end = rl_row_end(batch, row); i < end; i += RL_CHUNK)
            spread(batch, i, chunk_of(i, end), (real)credits[row], advantages);
}

/*
 * Sums x over response tokens, and (x - mean)^2 in a second pass. After a group baseline the mean
 * is near 0, but rewards may have a large constant, where sums of squares would cancel.
 */
HOT(double, masked_chunk, (const struct rl_grid *batch, const real *x, size_t i, size_t n), (batch, x, i, n))
{
    double term[RL_CHUNK];
    rl_int on[RL_CHUNK];
    rl_mask_bits(batch, i, n, on);
    for (size_t t = 0; t < n; t++)
        term[t] = (double)rl_keep(on[t], x[i + t]);
    return rl_sum_wide(term, n);
}

HOT(double, square_chunk, (const struct rl_grid *batch, const real *x, size_t i, size_t n, double mean), (batch, x, i, n, mean))
{
    double term[RL_CHUNK];
    rl_int on[RL_CHUNK];
    rl_mask_bits(batch, i, n, on);
    for (size_t t = 0; t < n; t++) {
        double d = (double)x[i + t] - mean;
        term[t] = on[t] ? d * d : 0;
    }
    return rl_sum_wide(term, n);
}

/* Sums per row in double, chunk after chunk in their order. */
static void sum_rows(const struct rl_grid *batch, const real *x, double *sums)
{
#pragma omp parallel for schedule(static) if (rl_grid_parallel(batch))
    for (size_t row = 0; row < batch->n_rows; row++) {
        sums[row] = 0;
        for (size_t i = rl_row_at(batch, row), end = rl_row_end(batch, row); i < end; i += RL_CHUNK)
            sums[row] += masked_chunk(batch, x, i, chunk_of(i, end));
    }
}

static void square_rows(const struct rl_grid *batch, const real *x, double mean, double *sums)
{
#pragma omp parallel for schedule(static) if (rl_grid_parallel(batch))
    for (size_t row = 0; row < batch->n_rows; row++) {
        sums[row] = 0;
        for (size_t i = rl_row_at(batch, row), end = rl_row_end(batch, row); i < end; i += RL_CHUNK)
            sums[row] += square_chunk(batch, x, i, chunk_of(i, end), mean);
    }
}

/*
 * Without `masked` every position is whitened, including holes. The reference masks in REINFORCE++
 * but not in GAE.
 */
HOT_VOID(scale_chunk, (const struct rl_grid *batch, bool masked, real *x, size_t i, size_t n, double mean, double scale),
         (batch, masked, x, i, n, mean, scale))
{
    rl_int on[RL_CHUNK];
    rl_mask_bits(batch, i, n, on);
    for (size_t t = 0; t < n; t++)
        on[t] |= masked ? 0 : -1;
    for (size_t t = 0; t < n; t++)
        x[i + t] = rl_keep(on[t], (real)(((double)x[i + t] - mean) * scale));
}

static void scale_rows(const struct rl_grid *batch, bool masked, real *x, double mean, double scale)
{
#pragma omp parallel for schedule(static) if (rl_grid_parallel(batch))
    for (size_t row = 0; row < batch->n_rows; row++)
        for (size_t i = rl_row_at(batch, row), end = rl_row_end(batch, row); i < end; i += RL_CHUNK)
            scale_chunk(batch, masked, x, i, chunk_of(i, end), mean, scale);
}

static size_t count_tokens(const struct rl_grid *batch)
{
    size_t count = 0;
    for (size_t row = 0; row < batch->n_rows; row++)
        count += rl_count_on(batch, rl_row_at(batch, row), rl_row_length(batch, row));
    return count;
}

static double total_of(const double *sums, size_t n)
{
    double total = 0;
    for (size_t i = 0; i < n; i++)
        total += sums[i];
    return total;
}

/* Whiten a batch whose mask has been checked. sums [B] is scratch. Rows are added in their order. */
static enum rl_status whiten(const struct rl_grid *batch, bool masked, real *x, double *sums, struct rl_error *err)
{
    size_t count = count_tokens(batch);
    RL_TRY(rl_whiten_check(count, err));
    sum_rows(batch, x, sums);
    double tokens = (double)count, mean = total_of(sums, batch->n_rows) / (tokens + 1e-8);
    square_rows(batch, x, mean, sums);
    double squares = total_of(sums, batch->n_rows);
    double scale = 1 / sqrt(squares / (tokens + 1e-8) * tokens / (tokens - 1) + 1e-8);
    if (!isfinite(mean) || !isfinite(squares))
        return rl_fail(err, RL_EVALUE, "whitening overflows: the mean is %g", mean);
    scale_rows(batch, masked, x, mean, scale);
    return RL_OK;
}

/* Whitening happens in place, so x has the precision of an output, whatever type the inputs have. */
enum rl_status rl_whiten_grid(const struct rl_grid *batch, bool masked, real *x, struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_grid own = *batch;
    own.bf16 = 0;
    RL_TRY(rl_grid_check_reals("values to whiten", &own, 0, x, false, err));
    struct rl_scratch s = rl_scratch_begin(ws);
    double *sums = rl_scratch_take(&s, own.n_rows, sizeof *sums);
    return rl_scratch_fits(&s) ? whiten(&own, masked, x, sums, err) : rl_scratch_short(&s, err);
}

enum rl_status rl_whiten(const struct rl_batch *batch, bool masked, real *x, struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_grid grid;
    enum rl_status status = rl_grid_of(&grid, batch, RL_NEEDS_MASK, err);
    if (status == RL_OK && rl_is_bf16(&grid, 0))
        return rl_fail(err, RL_EINVAL, "values to whiten must not be bfloat16: whitening writes to them");
    return status == RL_OK ? rl_whiten_grid(&grid, masked, x, ws, err) : status;
}

enum rl_status rl_outcome_advantage(const struct rl_batch *batch, const struct rl_outcome_options *options, const real *rewards,
                                    real *advantages, struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_grid grid;
    RL_TRY(rl_group_check(options, err));
    RL_TRY(rl_grid_of(&grid, batch, RL_NEEDS_GROUPS, err));
    struct rl_scratch s = rl_scratch_begin(ws);
    struct rl_outcome outcome = {.groups = rl_groups_take(&s, grid.n_rows),
                                 .scores = rl_scratch_take(&s, grid.n_rows, sizeof(double)),
                                 .lengths = rl_scratch_take(&s, grid.n_rows, sizeof(size_t)),
                                 .credits = rl_scratch_take(&s, grid.n_rows, sizeof(double))};
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    if (grid.n_rows && grid.n_tokens && (!rewards || !advantages))
        return rl_fail(err, RL_EINVAL, "token_level_rewards or advantages is missing");
    rl_groups_build(&outcome.groups, grid.group);
    score_rows(&grid, rewards, &outcome);
    RL_TRY(check_scores(&grid, rewards, outcome.scores, err));
    RL_TRY(rl_outcome_credits(&outcome, options, err));
    spread_credits(&grid, outcome.credits, advantages);
    if (options->estimator == RL_REINFORCE_PLUS_PLUS_BASELINE)
        RL_TRY(whiten(&grid, true, advantages, outcome.scores, err));
    return RL_OK;
}
