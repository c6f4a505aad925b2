/*
 * metrics.c: appends to a caller's list of metrics. Metrics beyond the capacity are counted, so
 * that the caller learns how many there are.
 */
#include "support/metrics.h"

#include <stdio.h>

void rl_metrics_add(struct rl_metrics *metrics, const char *prefix, const char *name, double value)
{
    /* NULL is tested here, so that kernels need not test whether the caller wants metrics. */
    if (!metrics)
        return;
    if (metrics->n < metrics->capacity) {
        struct rl_metric *item = &metrics->items[metrics->n];
        snprintf(item->name, sizeof item->name, "%s%s", prefix, name);
        item->value = value;
    }
    metrics->n++;
}
