/* case_whiten_real.c: `lineage core whiten`. */
#include <rlcore/advantage.h>

#include <string.h>

#include "case_real.h"

/* The input may be the caller's own memory, so a copy of it is whitened. */
static void run(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    const real *in = case_reals(call, "advantages", &b, &t);
    bool masked = case_bool_or(call, "masked", true);
    real *out = case_alloc(call, b.n * t.n, sizeof *out);
    if (call->failed)
        return;
    batch.n_rows = b.n;
    batch.n_tokens = t.n;
    if (in) /* an empty batch has none */
        memcpy(out, in, b.n * t.n * sizeof *out);
    CASE_RUN(call, rl_whiten(&batch, masked, out, &call->ws, &call->err));
    if (!call->failed)
        case_put_reals(call, "advantages", out, b.n, t.n);
}

const struct case_kernel case_whiten = {
    .family = "whiten",
    .summary = "advantages with mean 0 and standard deviation 1 over the response tokens of a batch",
    .inputs = "response_mask, advantages, masked?",
    .outputs = "advantages [B][T]",
    .run = run,
};
