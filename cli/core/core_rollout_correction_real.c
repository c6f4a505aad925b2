/* core_rollout_correction_real.c: `lineage core rollout_correction` and `offpolicy_metrics`. */
#include "core_correction_options.h"
#include "core_real.h"

struct two_policies {
    struct rl_batch batch;
    const real *train, *rollout;
};

static struct two_policies read_policies(struct core_call *call, struct core_dim *b,
                                         struct core_dim *t)
{
    struct two_policies p = {.batch = {.mask = core_mask(call, "response_mask", b, t)},
                             .train = core_reals(call, "train_log_prob", b, t),
                             .rollout = core_reals(call, "rollout_log_prob", b, t)};
    p.batch.n_rows = b->n;
    p.batch.n_tokens = t->n;
    return p;
}

static void run_metrics(struct core_call *call)
{
    struct core_dim b = {0}, t = {0};
    struct two_policies p = read_policies(call, &b, &t);
    struct rl_metrics metrics = core_metrics(call);
    if (!call->failed)
        core_again(call, rl_offpolicy_metrics(&p.batch, p.train, p.rollout, &metrics, &call->err));
    if (!call->failed)
        core_put_metrics(call, &metrics);
}

/* The mask is printed whether or not anything was rejected, as it is what a loss is to be taken
 * with. */
static void run_correction(struct core_call *call)
{
    struct core_dim b = {0}, t = {0};
    struct two_policies p = read_policies(call, &b, &t);
    struct rl_correction_options options = core_correction_options(call);
    struct rl_metrics metrics = core_metrics(call);
    real *weights = core_alloc(call, b.n * t.n, sizeof *weights);
    uint8_t *mask = core_alloc(call, b.n * t.n, sizeof *mask);
    enum rl_status status;
    if (call->failed)
        return;
    do {
        metrics.n = 0;
        status = rl_rollout_correction(&p.batch, &options, p.train, p.rollout, weights, mask,
                                       &metrics, &call->ws, &call->err);
    } while (core_again(call, status));
    if (call->failed)
        return;
    if (options.is == RL_IS_NONE)
        core_put(call, "rollout_is_weights", json_null());
    else
        core_put_reals(call, "rollout_is_weights", weights, b.n, t.n);
    core_put_mask(call, "modified_response_mask", mask, b.n, t.n);
    core_put_metrics(call, &metrics);
}

const struct core_kernel core_offpolicy_metrics = {
    .family = "offpolicy_metrics",
    .summary = "distance of the training policy from the sampler: KL, k3, chi-square, perplexities",
    .inputs = "response_mask [B][T], train_log_prob [B][T], rollout_log_prob [B][T]",
    .run = run_metrics,
};

const struct core_kernel core_rollout_correction = {
    .family = "rollout_correction",
    .summary = "truncated importance weights and rejection masks with their metrics",
    .inputs =
        "response_mask [B][T], train_log_prob [B][T], rollout_log_prob [B][T], rollout_is "
        "(token|sequence)?, "
        "rollout_is_threshold?, rollout_is_batch_normalize?, rollout_rs?, rollout_rs_threshold?",
    .run = run_correction,
};
