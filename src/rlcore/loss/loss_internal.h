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

/* The arrays of a policy loss in the order of struct rl_loss_input, by which bfloat16 is told. */
enum { RL_LOG_PROB, RL_OLD_LOG_PROB, RL_ADVANTAGES, RL_WEIGHTS, RL_ENTROPY };

/* One call of a policy loss. */
struct rl_loss_call {
    struct rl_grid batch; /* rl_loss_begin opens it */
    const struct rl_loss_input *in;
    const struct rl_loss_options *options;
    real *d_log_prob; /* or NULL */
    struct rl_loss_result *out;
    enum rl_row_weights weights;
    unsigned needs;    /* of rl_batch_check */
    bool old_optional; /* the loss has no ratio to an old policy */
};

/* The batch opened, options in range, required arrays present, the rows prepared. */
enum rl_status rl_loss_begin(struct rl_loss_call *call, const struct rl_batch *batch,
                             struct rl_rows *rows, struct rl_workspace *ws, struct rl_error *err);

/* Find the element that is not allowed. */
enum rl_status rl_loss_explain(const struct rl_loss_call *call, struct rl_error *err);

/*
 * What explain cannot find where an output, d_log_prob or more, stands in the place of an input (or
 * of another one): refused without its place.
 */
enum rl_status rl_loss_overwritten(const struct rl_loss_call *call, const real *another,
                                   const real *more, struct rl_error *err);

/* Add up the rows and fill *call->out, or say why there is no result. */
enum rl_status rl_loss_end(const struct rl_loss_call *call, const struct rl_rows *rows,
                           struct rl_error *err);

/* All of it, for a loss whose rows need nothing but their weight. */
typedef struct rl_row_sums rl_loss_row(const struct rl_loss_call *call, size_t row,
                                       real row_weight);
enum rl_status rl_loss_run(struct rl_loss_call *call, const struct rl_batch *batch,
                           rl_loss_row *run_row, struct rl_workspace *ws, struct rl_error *err);

/*
 * Add the entropy statistics of a row to its sums; nothing without entropies. First of all, as the
 * gradient may be written over them.
 */
void rl_loss_entropy(const struct rl_loss_call *call, size_t row, struct rl_row_sums *sums);

/* The result from the sums of all rows; refused if the loss overflowed. */
enum rl_status rl_loss_result_set(struct rl_loss_result *out, const struct rl_row_sums *total,
                                  size_t n_tokens, struct rl_error *err);

#endif
