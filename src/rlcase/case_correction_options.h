/* case_correction_options.h: what the adapters of the off-policy kernels share. */
#ifndef CASE_CORRECTION_OPTIONS_H
#define CASE_CORRECTION_OPTIONS_H

#include <rlcore/offpolicy.h>

#include "case_call.h"

/* rollout_is, rollout_is_threshold, rollout_is_batch_normalize, rollout_rs and its threshold. */
struct rl_correction_options case_correction_options(struct case_call *call);

#endif
