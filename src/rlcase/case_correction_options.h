/* case_correction_options.h: what the adapters of the off-policy kernels share. */
#ifndef CASE_CORRECTION_OPTIONS_H
#define CASE_CORRECTION_OPTIONS_H

#include <rlcore/offpolicy.h>

#include "case_call.h"

/* rollout_is, rollout_is_threshold, rollout_is_batch_normalize, rollout_rs and its threshold. */
struct rl_correction_options case_correction_options(struct case_call *call);

/* An empty list with room for any one call. */
struct rl_metrics case_metrics(struct case_call *call);

/* Add one more. */
void case_add_metric(struct rl_metrics *metrics, const char *name, double value);

/* The list as the result `metrics`. */
void case_put_metrics(struct case_call *call, const struct rl_metrics *metrics);

#endif
