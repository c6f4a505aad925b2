/*
 * batch_real.c: checks that an array of reals is finite. Only an array that fails is searched for
 * the index.
 */

#include <rlcore/batch.h>

#include "support/real.h"

/* x - x is 0 only for a finite x. */
HOT(bool, chunk_is_finite, (const struct rl_grid *grid, unsigned k, const real *array, bool everywhere, size_t i, size_t n),
    (grid, k, array, everywhere, i, n))
{
    real poison = 0, buffer[RL_CHUNK];
    rl_int on[RL_CHUNK];
    const real *values = rl_reals_at(grid, k, array, i, n, buffer);
    if (everywhere)
        for (size_t t = 0; t < n; t++)
            on[t] = -1;
    else
        rl_mask_bits(grid, i, n, on);
#pragma omp simd reduction(+ : poison)
    for (size_t t = 0; t < n; t++) {
        real x = rl_keep(on[t], values[t]);
        poison += x - x;
    }
    return poison == 0;
}

static bool row_is_finite(const struct rl_grid *grid, unsigned k, const real *array, bool everywhere, size_t row)
{
    bool finite = true;
    for (size_t i = rl_row_at(grid, row), end = rl_row_end(grid, row); i < end; i += RL_CHUNK)
        finite &= chunk_is_finite(grid, k, array, everywhere, i, end - i < RL_CHUNK ? end - i : RL_CHUNK);
    return finite;
}

/*
 * Every row is tested even if one is bad: leaving a parallel loop early costs more than the rest of
 * a batch that is refused anyway.
 */
static bool all_finite(const struct rl_grid *grid, unsigned k, const real *array, bool everywhere)
{
    bool bad = false;
#pragma omp parallel for schedule(static) reduction(|| : bad) if (rl_grid_parallel(grid))
    for (size_t row = 0; row < grid->n_rows; row++)
        bad = !row_is_finite(grid, k, array, everywhere, row) || bad;
    return !bad;
}

enum rl_status rl_grid_check_reals(const char *name, const struct rl_grid *grid, unsigned k, const real *values, bool everywhere,
                                   struct rl_error *err)
{
    if (grid->n_rows && grid->n_tokens && !values)
        return rl_fail(err, RL_EINVAL, "%s is missing", name);
    if (all_finite(grid, k, values, everywhere))
        return RL_OK;
    for (size_t row = 0; row < grid->n_rows; row++)
        for (size_t i = rl_row_at(grid, row), t = 0; t < rl_row_length(grid, row); t++) {
            real x = rl_real_at(grid, k, values, i + t);
            if (!isfinite(x) && (everywhere || rl_on(grid, i + t)))
                return rl_fail(err, RL_EVALUE, "%s[%zu][%zu] is %g, not a finite number", name, row, t, (double)x);
        }
    return RL_OK;
}

/* NaN passes, because padding may hold anything that is not a number. */
HOT(bool, chunk_is_empty, (const struct rl_grid *grid, const real *array, size_t i, size_t n), (grid, array, i, n))
{
    real buffer[RL_CHUNK];
    rl_int on[RL_CHUNK], found = 0;
    const real *values = rl_reals_at(grid, 0, array, i, n, buffer);
    rl_mask_bits(grid, i, n, on);
    for (size_t t = 0; t < n; t++) {
        real x = rl_keep(~on[t], values[t]);
        found |= rl_below(x, 0) | rl_below(0, x);
    }
    return !found;
}

enum rl_status rl_grid_check_rewards(const struct rl_grid *grid, const real *rewards, struct rl_error *err)
{
    if (!grid->mask || !rewards)
        return RL_OK;
    for (size_t row = 0; row < grid->n_rows; row++)
        for (size_t begin = rl_row_at(grid, row), i = begin, end = rl_row_end(grid, row); i < end; i += RL_CHUNK) {
            size_t n = end - i < RL_CHUNK ? end - i : RL_CHUNK;
            if (chunk_is_empty(grid, rewards, i, n))
                continue;
            while (rl_on(grid, i) ||
                   !((double)rl_real_at(grid, 0, rewards, i) < 0 || (double)rl_real_at(grid, 0, rewards, i) > 0))
                i++;
            return rl_fail(err, RL_EVALUE,
                           "token_level_rewards[%zu][%zu] is %g, but its mask is 0 and it would be lost: move it to the last "
                           "response token before it",
                           row, i - begin, (double)rl_real_at(grid, 0, rewards, i));
        }
    return RL_OK;
}

enum rl_status rl_batch_check_rewards(const real *rewards, const struct rl_batch *batch, struct rl_error *err)
{
    struct rl_grid grid;
    RL_TRY(rl_grid_of(&grid, batch, RL_NEEDS_MASK, err));
    if (grid.n_rows && grid.n_tokens)
        RL_TRY(RL_NEED(err, {"token_level_rewards", rewards}));
    return rl_grid_check_rewards(&grid, rewards, err);
}

enum rl_status rl_batch_check_reals(const char *name, const real *values, const struct rl_batch *batch, struct rl_error *err)
{
    struct rl_grid grid;
    RL_TRY(rl_grid_view(&grid, batch, RL_NEEDS_NO_MASK, sizeof(real) == sizeof(float), err));
    return rl_grid_check_reals(name, &grid, 0, values, !grid.mask, err);
}
