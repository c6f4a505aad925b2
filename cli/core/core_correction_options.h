/* core_correction_options.h: what the adapters of the off-policy kernels share. */
#ifndef CORE_CORRECTION_OPTIONS_H
#define CORE_CORRECTION_OPTIONS_H

#include <rlcore/offpolicy.h>

#include "core_call.h"

/* rollout_is, rollout_is_threshold, rollout_is_batch_normalize, rollout_rs and its threshold. */
struct rl_correction_options core_correction_options(struct core_call *call);

/* An empty list with room for any one call. */
struct rl_metrics core_metrics(struct core_call *call);

/* Add one more. */
void core_add_metric(struct rl_metrics *metrics, const char *name, double value);

/* The list as the result `metrics`. */
void core_put_metrics(struct core_call *call, const struct rl_metrics *metrics);

#endif
