#include "case_metrics.h"

#include <stdio.h>

/* Steals value, which is NULL for a number that JSON cannot represent. */
static void set_metric(struct case_call *call, json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) != 0)
        case_fail(call, "metric %s is not finite", name);
}

void case_put_metric_list(struct case_call *call, const struct case_metric *metrics, size_t n)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++)
        set_metric(call, object, metrics[i].name, case_real_value(metrics[i].value));
    case_put(call, "metrics", object);
}

struct rl_metrics case_metrics(struct case_call *call)
{
    struct rl_metric *items = case_alloc(call, RL_METRICS_ENOUGH, sizeof *items);
    return (struct rl_metrics){.items = items, .capacity = items ? RL_METRICS_ENOUGH : 0};
}

void case_add_metric(struct rl_metrics *metrics, const char *name, double value)
{
    if (metrics->n == metrics->capacity)
        return;
    struct rl_metric *item = &metrics->items[metrics->n++];
    snprintf(item->name, sizeof item->name, "%s", name);
    item->value = value;
}

void case_put_metrics(struct case_call *call, const struct rl_metrics *metrics)
{
    json_t *object = json_object();
    for (size_t i = 0; i < metrics->n && i < metrics->capacity; i++)
        set_metric(call, object, metrics->items[i].name, json_real(metrics->items[i].value));
    case_put(call, "metrics", object);
}
