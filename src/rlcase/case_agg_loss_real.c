/*
 * case_agg_loss_real.c: `lineage core agg_loss`: aggregation alone, so that a case can distinguish
 * a wrong mean from a wrong loss.
 */
#include <rlcore/loss.h>

#include "case_options.h"
#include "case_real.h"

void case_agg_loss(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_agg agg = case_agg(call);
    struct rl_batch batch = {.mask = case_mask(call, "loss_mask", &b, &t)};
    const real *losses = case_reals(call, "loss_mat", &b, &t);
    real *d_losses = case_alloc_batch(call, b.n, t.n, sizeof *d_losses);
    double loss = 0;
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, losses);
    CASE_RUN(call, rl_agg_loss(laid, &agg, losses, d_losses, &loss, &call->ws, &call->err));
    case_put_number(call, "loss", loss);
    case_put_reals(call, "d_loss_mat", d_losses, b.n, t.n);
}
