/* minibatch_loss.h: the loss of one minibatch and its gradient with respect to log-probs. */
#pragma once

#include "learn/loss_result.h"
#include "learn/minibatch.h"
#include "support/workspace.h"

/*
 * Fills batch->d_log_prob and *result from batch->log_prob, batch->entropy and the arrays that minibatch_gather filled
 * in. Overwrites entropy and the rl weights, and with OPSM the mask. Returns TRAINER_ENUMERIC for log-probs or
 * advantages that are not finite.
 */
enum trainer_status minibatch_loss(struct minibatch *batch, const struct trainer_loss *loss, struct workspace *workspace,
                                   struct loss_result *result, struct trainer_error *err);

/*
 * Takes the tool's tokens that the policy already finds likely out of cross-entropy (algorithm.echo_probability.below). Called
 * after the forward pass and before anything is counted.
 */
void minibatch_leave_out_likely(struct minibatch *batch);
