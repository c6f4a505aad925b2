/*
 * policy.h: what the policy losses share: their arguments in one struct, its checks, and the
 * result.
 */
#ifndef RLCORE_POLICY_H
#define RLCORE_POLICY_H

#include <rlcore/loss.h>

#include "hot.h"
#include "internal.h"
#include "real.h"
#include "rows.h"

struct RL(rl_policy) {
    const struct rl_batch *batch;
    const struct RL(rl_loss_input) * in;
    const struct rl_loss_options *options;
    real *d_log_prob; /* or NULL */
};

/* Where a loss has no ratio to an old policy. */
enum rl_policy_needs { RL_POLICY_OLD = 0, RL_POLICY_OLD_OPTIONAL = 1 };

/* Options in range and required arrays present. */
enum rl_status RL(rl_policy_check)(const struct RL(rl_policy) * policy, enum rl_policy_needs needs,
                                   struct rl_error *err);

/* The rl_row_job.explain of all policy losses: finds the element that is not allowed. */
enum rl_status RL(rl_policy_explain)(const void *policy, struct rl_error *err);

/* Add the entropy statistics of a row to its sums; nothing without entropies. */
void RL(rl_policy_entropy)(const struct RL(rl_policy) * policy, size_t row,
                           struct rl_row_sums *sums);

/* Run the row function over the batch and fill *out. */
enum rl_status RL(rl_policy_run)(const struct RL(rl_policy) * policy, rl_row_fn *row,
                                 enum rl_row_weights weights, const struct rl_agg *agg,
                                 struct rl_loss_result *out, struct rl_workspace *ws,
                                 struct rl_error *err);

#endif
