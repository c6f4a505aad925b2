/*
 * core_agg_loss_real.c: `lineage core agg_loss`.
 *
 * Aggregation by itself, so that a case can tell a wrong mean from a wrong loss.
 */
#include <rlcore/loss.h>

#include "core_agg_options.h"
#include "core_real.h"

static void run(struct core_call *call)
{
    struct core_dim b = {0}, t = {0};
    struct rl_agg agg = core_agg(call);
    struct rl_batch batch = {.mask = core_mask(call, "loss_mask", &b, &t)};
    const real *losses = core_reals(call, "loss_mat", &b, &t);
    real *d_losses = core_alloc(call, b.n * t.n, sizeof *d_losses);
    double loss = 0;
    enum rl_status status;
    if (call->failed)
        return;
    batch.n_rows = b.n;
    batch.n_tokens = t.n;
    do
        status = rl_agg_loss(&batch, &agg, losses, d_losses, &loss, &call->ws, &call->err);
    while (core_again(call, status));
    if (call->failed)
        return;
    core_put_number(call, "loss", loss);
    core_put_reals(call, "d_loss_mat", d_losses, b.n, t.n);
}

const struct core_kernel core_agg_loss = {
    .family = "agg_loss",
    .summary = "aggregation of token losses over a batch, with gradient",
    .inputs = "loss_agg_mode "
              "(token-mean|seq-mean-token-sum|seq-mean-token-mean|seq-mean-token-sum-norm), "
              "loss_mask [B][T], loss_mat [B][T], dp_size?, batch_num_tokens?, global_batch_size?, "
              "loss_scale_factor?",
    .run = run,
};
