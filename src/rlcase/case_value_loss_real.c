/* case_value_loss_real.c: `lineage core value_loss`. */
#include <rlcore/loss.h>

#include "case_options.h"
#include "case_real.h"

void case_value_loss(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_agg agg = case_agg(call);
    double cliprange = case_number(call, "cliprange_value");
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    const real *vpreds = case_reals(call, "vpreds", &b, &t);
    const real *values = case_reals(call, "values", &b, &t);
    const real *returns = case_reals(call, "returns", &b, &t);
    real *d_vpreds = case_alloc_batch(call, b.n, t.n, sizeof *d_vpreds);
    struct rl_value_result out = {0};
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, vpreds, values, returns);
    CASE_RUN(call, rl_value_loss(laid, &agg, cliprange, vpreds, values, returns, d_vpreds, &out, &call->ws, &call->err));
    case_put_number(call, "loss", out.loss);
    case_put_number(call, "vf_clipfrac", out.vf_clipfrac);
    case_put_reals(call, "d_vpreds", d_vpreds, b.n, t.n);
}
