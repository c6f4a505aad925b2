/* case_loss_options.h: the aggregation and clip settings of a loss, from a case. */
#pragma once

#include <rlcore/loss.h>

#include "case_call.h"

/*
 * Reads loss_agg_mode and, if present, dp_size, batch_num_tokens, global_batch_size,
 * loss_scale_factor.
 */
struct rl_agg case_agg(struct case_call *call);

/*
 * Also reads clip_ratio_low, _high and _c, tau_pos and tau_neg; absent ones have the core's
 * defaults.
 */
struct rl_loss_options case_loss_options(struct case_call *call);
