/*
 * loss_internal.h: what the policy losses share: their arguments, the checks of these, and the
 * result. What differs is the loop over a row's tokens, which each loss has in its own file.
 */
#ifndef RLCORE_LOSS_INTERNAL_H
#define RLCORE_LOSS_INTERNAL_H

#include <rlcore/loss.h>

#include "support/real.h"
#include "support/rows.h"
#include "support/scratch.h"

/* One call of a policy loss. */
struct rl_loss_call {
    const struct rl_batch *batch;
    const struct rl_loss_input *in;
    const struct rl_loss_options *options;
    real *d_log_prob; /* or NULL */
    struct rl_loss_result *out;
    enum rl_row_weights weights;
    unsigned needs;    /* of rl_batch_check */
    bool old_optional; /* the loss has no ratio to an old policy */
};

/* Options in range, required arrays present, the rows prepared. */
enum rl_status rl_loss_begin(const struct rl_loss_call *call, struct rl_rows *rows,
                             struct rl_workspace *ws, struct rl_error *err);

/* Find the element that is not allowed. */
enum rl_status rl_loss_explain(const struct rl_loss_call *call, struct rl_error *err);

/* Add up the rows and fill *call->out, or say why there is no result. */
enum rl_status rl_loss_end(const struct rl_loss_call *call, const struct rl_rows *rows,
                           struct rl_error *err);

/* Add the entropy statistics of a row to its sums; nothing without entropies. */
void rl_loss_entropy(const struct rl_loss_call *call, size_t row, struct rl_row_sums *sums);

/* The result from the sums of all rows; refused if the loss overflowed. */
enum rl_status rl_loss_result_set(struct rl_loss_result *out, const struct rl_row_sums *total,
                                  size_t n_tokens, struct rl_error *err);

#endif
