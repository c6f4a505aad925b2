/* core_value_loss_real.c: `lineage core value_loss`. */
#include <rlcore/loss.h>

#include "core_agg_options.h"
#include "core_real.h"

static void run(struct core_call *call)
{
    struct core_dim b = {0}, t = {0};
    struct rl_agg agg = core_agg(call);
    double cliprange = core_number(call, "cliprange_value");
    struct rl_batch batch = {.mask = core_mask(call, "response_mask", &b, &t)};
    const real *vpreds = core_reals(call, "vpreds", &b, &t);
    const real *values = core_reals(call, "values", &b, &t);
    const real *returns = core_reals(call, "returns", &b, &t);
    real *d_vpreds = core_alloc(call, b.n * t.n, sizeof *d_vpreds);
    struct rl_value_result out;
    enum rl_status status;
    if (call->failed)
        return;
    batch.n_rows = b.n;
    batch.n_tokens = t.n;
    do
        status = rl_value_loss(&batch, &agg, cliprange, vpreds, values, returns, d_vpreds, &out,
                               &call->ws, &call->err);
    while (core_again(call, status));
    if (call->failed)
        return;
    core_put_number(call, "loss", out.loss);
    core_put_number(call, "vf_clipfrac", out.vf_clipfrac);
    core_put_reals(call, "d_vpreds", d_vpreds, b.n, t.n);
}

const struct core_kernel core_value_loss = {
    .family = "value_loss",
    .summary = "PPO's clipped value loss, with gradient",
    .inputs = "cliprange_value, loss_agg_mode, response_mask [B][T], vpreds [B][T], values [B][T], "
              "returns [B][T], dp_size?, batch_num_tokens?, global_batch_size?, loss_scale_factor?",
    .run = run,
};
