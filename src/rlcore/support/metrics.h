/* metrics.h: adding to a caller's list of metrics. */
#ifndef RLCORE_METRICS_H
#define RLCORE_METRICS_H

#include <rlcore/offpolicy.h>

/* Add "<prefix><name>". NULL metrics take nothing. */
void rl_metrics_add(struct rl_metrics *metrics, const char *prefix, const char *name, double value);

#endif
