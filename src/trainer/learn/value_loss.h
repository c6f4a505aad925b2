/* value_loss.h: the loss of the value head. */
#pragma once

#include "learn/loss_result.h"
#include "learn/minibatch.h"
#include "support/workspace.h"

/*
 * Called after minibatch_loss. Fills batch->d_value from value, expected and returns, and adds the loss times its
 * weight to result->loss.
 */
enum trainer_status minibatch_value_loss(struct minibatch *batch, const struct trainer_recipe *recipe,
                                         struct workspace *workspace, struct loss_result *result, struct trainer_error *err);
