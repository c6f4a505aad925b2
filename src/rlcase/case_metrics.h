/* case_metrics.h: the result `metrics`, an object of numbers. */
#pragma once

#include <rlcore/offpolicy.h>

#include "case_call.h"

struct case_metric {
    const char *name;
    double value;
};

/*
 * Stores the result `metrics` with n numbers. It is {} if n is 0, so that every result of the
 * kernel has the key.
 */
void case_put_metric_list(struct case_call *call, const struct case_metric *metrics, size_t n);

/* An empty list that a kernel fills, with room for the metrics of any kernel. */
struct rl_metrics case_metrics(struct case_call *call);

/* Append a metric; does nothing if the list is full. */
void case_add_metric(struct rl_metrics *metrics, const char *name, double value);

/* Stores the list as the result `metrics`. */
void case_put_metrics(struct case_call *call, const struct rl_metrics *metrics);
