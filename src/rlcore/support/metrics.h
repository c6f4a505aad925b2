/* metrics.h: appends to a caller's list of metrics. */
#pragma once

#include <rlcore/offpolicy.h>

/* Append the metric "<prefix><name>". Does nothing if metrics is NULL. */
void rl_metrics_add(struct rl_metrics *metrics, const char *prefix, const char *name, double value);
