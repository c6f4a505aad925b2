/* case_loss_options.h: the aggregation settings of a loss, from a JSON case. */
#ifndef CASE_LOSS_OPTIONS_H
#define CASE_LOSS_OPTIONS_H

#include <rlcore/loss.h>

#include "case_call.h"

/*
 * loss_agg_mode and, where given, dp_size, batch_num_tokens, global_batch_size, loss_scale_factor.
 */
struct rl_agg case_agg(struct case_call *call);

/* The same, and clip_ratio_low, _high and _c, tau_pos and tau_neg over the defaults. */
struct rl_loss_options case_loss_options(struct case_call *call);

#endif
