/* minibatch_loss.h: the loss of one minibatch and its gradient with respect to log-probs. */
#pragma once

#include "learn/minibatch.h"

#include <stdint.h>

#include <trainer/train.h>

#include "support/workspace.h"

/* ---- what the losses of a minibatch report ---- */

struct loss_result {
    struct trainer_part component[TRAINER_N_COMPONENTS]; /* enum rl_component */
    struct trainer_streams streams; /* sums over rows, not means */
    struct trainer_offpolicy offpolicy; /* of this minibatch; opsm_dropped and after_tool are shares of the rl component */
    double loss, clip_fraction, kl, entropy;
    double value_loss, value_clip_fraction;
    uint64_t n_valued;                 /* tokens with a value to train */
    double distilled, distill_clipped; /* distance to a teacher: loss, and share of taught tokens without a gradient */
    uint64_t n_tokens;                 /* of the policy */
};

/*
 * Takes the tool's tokens that the policy already finds likely out of cross-entropy (algorithm.echo_probability.below). Called
 * after the forward pass and before anything is counted.
 */
void minibatch_leave_out_likely(struct minibatch *batch);

/*
 * Fills batch->d_log_prob and *result from batch->log_prob, batch->entropy and the arrays that minibatch_gather filled
 * in. Overwrites entropy and the rl weights, and with OPSM the mask. Returns TRAINER_ENUMERIC for log-probs or
 * advantages that are not finite.
 */
enum trainer_status minibatch_loss(struct minibatch *batch, const struct trainer_loss *loss, struct workspace *workspace,
                                   struct loss_result *result, struct trainer_error *err);

/* ---- the loss of the value head ---- */

/*
 * Called after minibatch_loss. Fills batch->d_value from value, expected and returns, and adds the loss times its
 * weight to result->loss.
 */
enum trainer_status minibatch_value_loss(struct minibatch *batch, const struct trainer_recipe *recipe,
                                         struct workspace *workspace, struct loss_result *result, struct trainer_error *err);
