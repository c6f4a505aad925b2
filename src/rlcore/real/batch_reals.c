/* batch_reals.c: finiteness check of an array of reals. */
#include <rlcore/batch.h>

#include "internal.h"
#include "real.h"

enum rl_status RL(rl_batch_check_reals)(const char *name, const real *values, const struct rl_batch *batch,
                                        struct rl_error *err)
{
    size_t cells = batch->n_rows * batch->n_tokens;
    if (cells && !values)
        return rl_fail(err, RL_EINVAL, "%s is missing", name);
    for (size_t i = 0; i < cells; i++)
        if (!isfinite(values[i]) && (!batch->mask || batch->mask[i]))
            return rl_fail(err, RL_EVALUE, "%s[%zu][%zu] is %g, not a finite number", name,
                           i / batch->n_tokens, i % batch->n_tokens, (double)values[i]);
    return RL_OK;
}
