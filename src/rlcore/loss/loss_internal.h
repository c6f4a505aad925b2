/*
 * loss_internal.h: what the policy losses share: the entry, the checks of the arguments, and the result.
 * Each loss has a file of its own with the loop over the tokens of a row.
 */
#pragma once

#include <rlcore/loss.h>

#include "support/real.h"
#include "support/row_sums.h"
#include "support/scratch.h"

/* The arrays of struct rl_loss_input in their order, which is the order of the bits of rl_layout.bf16. */
enum { RL_LOG_PROB, RL_OLD_LOG_PROB, RL_ADVANTAGES, RL_WEIGHTS, RL_ENTROPY, RL_CLIP_SCALE };

/* One call of a policy loss. */
struct rl_loss_call {
    struct rl_grid batch; /* set by rl_loss_begin */
    const struct rl_loss_input *in;
    const struct rl_loss_options *options;
    real *d_log_prob; /* or NULL */
    struct rl_loss_result *out;
    enum rl_row_weights weights;
    unsigned needs;    /* enum rl_batch_needs */
    bool old_optional; /* the loss has no ratio to an old policy, so old_log_prob may be NULL */
    const char *unclipped; /* name of a loss without a clip range, which refuses clip scales; else NULL */
};

/* The sums of one row; row_weight is the factor of its token losses in the aggregate. */
typedef struct rl_row_sums rl_loss_row(const struct rl_loss_call *call, size_t row, real row_weight);

/* The differences between the losses whose rows need only their weight. */
struct rl_loss_rule {
    rl_loss_row *row;
    enum rl_row_weights weights;
    bool old_optional;
    const char *unclipped;
};

/* A whole policy loss: begin, all rows, end. The arguments are those of the public functions. */
enum rl_status rl_loss_run(const struct rl_loss_rule *rule, const struct rl_batch *batch, const struct rl_loss_input *in,
                           const struct rl_loss_options *options, real *d_log_prob, struct rl_loss_result *out,
                           struct rl_workspace *ws, struct rl_error *err);

/* Defines a public loss that has only a rule. What follows the name are members of the rule. */
#define RL_POLICY_LOSS(name, ...)                                                                                                \
    enum rl_status name(const struct rl_batch *batch, const struct rl_loss_input *in, const struct rl_loss_options *options,     \
                        real *d_log_prob, struct rl_loss_result *out, struct rl_workspace *ws, struct rl_error *err)             \
    {                                                                                                                            \
        const struct rl_loss_rule rule = {__VA_ARGS__};                                                                          \
        return rl_loss_run(&rule, batch, in, options, d_log_prob, out, ws, err);                                                 \
    }

/* Check options and required arrays, read the batch into call->batch, and prepare the rows. */
enum rl_status rl_loss_begin(struct rl_loss_call *call, const struct rl_batch *batch, struct rl_rows *rows,
                             struct rl_workspace *ws, struct rl_error *err);

/* Add up the rows and fill *call->out. If a row met a value that is not allowed, the error names it. */
enum rl_status rl_loss_end(const struct rl_loss_call *call, const struct rl_rows *rows, struct rl_error *err);

/* Search the arrays for the value that is not allowed, and name it. RL_OK if none is found. */
enum rl_status rl_loss_explain(const struct rl_loss_call *call, struct rl_error *err);

/*
 * Returns an error that cannot name the place of the bad value. It is for a value that
 * rl_loss_explain did not find, because an output (d_log_prob or `more`) has overwritten the array
 * that held the value.
 */
enum rl_status rl_loss_overwritten(const struct rl_loss_call *call, const real *more, struct rl_error *err);

/*
 * Add the entropy statistics of a row to its sums; does nothing without entropies. Must run before the row's
 * gradient is written, which may be stored in the array of the entropies.
 */
void rl_loss_entropy(const struct rl_loss_call *call, size_t row, struct rl_row_sums *sums);

/* The result from the sums of all rows. RL_EVALUE if the loss overflowed; *out is then unchanged. */
enum rl_status rl_loss_result_set(struct rl_loss_result *out, const struct rl_row_sums *total, size_t n_tokens,
                                  struct rl_error *err);
