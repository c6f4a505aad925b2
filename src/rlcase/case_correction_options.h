/* case_correction_options.h: the options of the off-policy kernels, from a case. */
#pragma once

#include <rlcore/offpolicy.h>

#include "case_call.h"

/*
 * Reads rollout_is, rollout_is_threshold, rollout_is_batch_normalize, rollout_rs and
 * rollout_rs_threshold.
 */
struct rl_correction_options case_correction_options(struct case_call *call);
