/*
 * batch_real.c: finiteness check of an array of reals; only an array that fails is walked for the
 * index.
 */
#include <stdbool.h>

#include <rlcore/batch.h>

#include "support/hot.h"
#include "support/scratch.h"
#include "support/real.h"

/* x - x is 0 for a finite x only. */
RL_HOT static bool row_is_finite(const real *values, const uint8_t *mask, size_t n)
{
    real poison = 0;
#pragma omp simd reduction(+ : poison)
    for (size_t t = 0; t < n; t++) {
        real x = mask && !mask[t] ? 0 : values[t];
        poison += x - x;
    }
    return poison == 0;
}

/*
 * Every row is tested even when one is bad: a way out of a parallel loop costs more than the rest
 * of a batch that is refused anyway.
 */
static bool all_finite(const real *values, const struct rl_batch *batch)
{
    size_t n = batch->n_tokens;
    bool bad = false;
#pragma omp parallel for schedule(static)                                                          \
    reduction(||                                                                                   \
              : bad) if (batch->n_rows * n >= RL_PARALLEL_TOKENS)
    for (size_t row = 0; row < batch->n_rows; row++)
        bad =
            !row_is_finite(values + row * n, batch->mask ? batch->mask + row * n : NULL, n) || bad;
    return !bad;
}

enum rl_status rl_batch_check_reals(const char *name, const real *values,
                                    const struct rl_batch *batch, struct rl_error *err)
{
    if (RL_NEED(err, {"batch", batch}) != RL_OK)
        return RL_EINVAL;
    size_t cells = batch->n_rows * batch->n_tokens;
    if (cells && !values)
        return rl_fail(err, RL_EINVAL, "%s is missing", name);
    if (cells == 0 || all_finite(values, batch))
        return RL_OK;
    for (size_t i = 0; i < cells; i++)
        if (!isfinite(values[i]) && (!batch->mask || batch->mask[i]))
            return rl_fail(err, RL_EVALUE, "%s[%zu][%zu] is %g, not a finite number", name,
                           i / batch->n_tokens, i % batch->n_tokens, (double)values[i]);
    return RL_OK;
}
