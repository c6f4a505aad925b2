/* case_rollout_correction_real.c: `lineage core rollout_correction` and `offpolicy_metrics`. */
#include "case_correction_options.h"
#include "case_metrics.h"
#include "case_real.h"

struct two_policies {
    const struct rl_batch *batch;
    const real *train, *rollout;
};

static struct two_policies read_policies(struct case_call *call, struct case_dim *b, struct case_dim *t)
{
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", b, t)};
    struct two_policies p = {.train = case_reals(call, "train_log_prob", b, t),
                             .rollout = case_reals(call, "rollout_log_prob", b, t)};
    p.batch = CASE_LAY_OUT(call, batch, b->n, t->n, p.train, p.rollout);
    return p;
}

static void run_metrics(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct two_policies p = read_policies(call, &b, &t);
    struct rl_metrics metrics = case_metrics(call);
    CASE_RUN(call, rl_offpolicy_metrics(p.batch, p.train, p.rollout, &metrics, &call->err));
    if (!call->failed)
        case_put_metrics(call, &metrics);
}

/* The mask is a result even if nothing was rejected, because the loss must be taken over it. */
static void run_correction(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct two_policies p = read_policies(call, &b, &t);
    struct rl_correction_options options = case_correction_options(call);
    struct rl_metrics metrics = case_metrics(call);
    real *weights = case_alloc_batch(call, b.n, t.n, sizeof *weights);
    uint8_t *mask = case_alloc_batch(call, b.n, t.n, sizeof *mask);
    CASE_RUN(call, (metrics.n = 0, rl_rollout_correction(p.batch, &options, p.train, p.rollout, weights, mask, &metrics,
                                                         &call->ws, &call->err)));
    if (call->failed)
        return;
    /* Stores null, because weights that were not computed must not look like weights of 1. */
    if (options.is == RL_IS_NONE)
        case_put(call, "rollout_is_weights", json_null());
    else
        case_put_reals(call, "rollout_is_weights", weights, b.n, t.n);
    case_put_mask(call, "modified_response_mask", mask, b.n, t.n);
    case_put_metrics(call, &metrics);
}

const struct case_kernel case_offpolicy_metrics = {
    .family = "offpolicy_metrics",
    .summary = "distance of the training policy from the sampler: KL, k3, chi-square, perplexities",
    .inputs = "response_mask, train_log_prob, rollout_log_prob",
    .outputs = "metrics",
    .layouts = true,
    .run = run_metrics,
};

const struct case_kernel case_rollout_correction = {
    .family = "rollout_correction",
    .summary = "truncated importance weights and rejection masks with their metrics",
    .inputs = "response_mask, train_log_prob, rollout_log_prob, rollout_is?, "
              "rollout_is_threshold?, rollout_is_batch_normalize?, rollout_is_metrics?, rollout_rs?, "
              "rollout_rs_threshold?",
    .outputs = "rollout_is_weights [B][T], modified_response_mask [B][T], metrics",
    .layouts = true,
    .run = run_correction,
};
