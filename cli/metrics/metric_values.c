#include "metrics/metric_values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

bool metric_rule_parse(struct metric_rule *rule, const char *spec, char *error, size_t size)
{
    const char *equals = strrchr(spec, '='), *how = equals ? equals + 1 : "";
    char *end;
    *rule = (struct metric_rule){.take = METRIC_TAKE_LAST};
    if (!equals || equals == spec || (size_t)(equals - spec) >= sizeof rule->name)
        return snprintf(error, size, "'%.200s' is not NAME=min, max, last or mean:N", spec), false;
    memcpy(rule->name, spec, (size_t)(equals - spec));
    if (strcmp(how, "last") == 0)
        return true;
    if (strcmp(how, "min") == 0 || strcmp(how, "max") == 0) {
        rule->take = how[1] == 'i' ? METRIC_TAKE_MIN : METRIC_TAKE_MAX;
        return true;
    }
    if (strncmp(how, "mean:", 5) == 0 && how[5] >= '0' && how[5] <= '9') {
        unsigned long n = strtoul(how + 5, &end, 10);
        if (*end == '\0' && n >= 1 && n <= METRIC_MEAN_MAX) {
            rule->take = METRIC_TAKE_MEAN;
            rule->n = n;
            return true;
        }
        return snprintf(error, size, "'%.200s': N of mean:N is a whole number from 1 to %d", spec, METRIC_MEAN_MAX), false;
    }
    return snprintf(error, size, "'%.200s': use min, max, last or mean:N", spec), false;
}

const char *metric_rule_text(char out[64], const struct metric_rule *rule)
{
    static const char *const words[] = {
        [METRIC_TAKE_LAST] = "last", [METRIC_TAKE_MIN] = "minimum", [METRIC_TAKE_MAX] = "maximum"};
    if (rule->take == METRIC_TAKE_MEAN)
        snprintf(out, 64, "mean of the last %zu", rule->n);
    else
        snprintf(out, 64, "%s", words[rule->take]);
    return out;
}

/* Values of min and max that are remembered; then every second one is dropped. */
enum { MARKS_MAX = 1024 };

/* The sum is formed anew for each value, so that rounding errors do not add up over a long training. */
static double mean_of_recent(const struct metric_value *metric)
{
    size_t n = metric->count < metric->rule.n ? (size_t)metric->count : metric->rule.n;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += metric->marks[i].value;
    return sum / (double)n;
}

/* The memory is made with the first value. Without memory nothing can be forgotten later. */
static bool has_marks(struct metric_value *metric)
{
    if (!metric->marks)
        metric->marks = calloc(metric->rule.take == METRIC_TAKE_MEAN ? metric->rule.n : MARKS_MAX, sizeof *metric->marks);
    return metric->marks != NULL;
}

static void remember(struct metric_value *metric, struct metric_mark mark)
{
    size_t n = 0;
    if (!has_marks(metric))
        return;
    for (size_t i = 0; metric->n_marks == MARKS_MAX && i < MARKS_MAX; i += 2)
        metric->marks[n++] = metric->marks[i];
    metric->n_marks = n ? n : metric->n_marks;
    metric->marks[metric->n_marks++] = mark;
}

bool metric_value_add(struct metric_value *metric, struct metric_place place, double value)
{
    bool better = true, first = metric->count == 0;
    switch (metric->rule.take) {
    case METRIC_TAKE_LAST: break;
    case METRIC_TAKE_MIN: better = first || (isfinite(value) && !(metric->value <= value)); break;
    case METRIC_TAKE_MAX: better = first || (isfinite(value) && !(metric->value >= value)); break;
    case METRIC_TAKE_MEAN:
        if (!has_marks(metric))
            break;
        metric->marks[metric->count++ % metric->rule.n] = (struct metric_mark){place, value};
        metric->value = mean_of_recent(metric);
        return true;
    }
    metric->count++;
    if (better)
        metric->value = value;
    if (better && metric->rule.take != METRIC_TAKE_LAST)
        remember(metric, (struct metric_mark){place, value});
    return better;
}

static bool is_from(const struct metric_mark *mark, struct metric_place place)
{
    return mark->place.phase == place.phase && mark->place.step >= place.step;
}

/* Brings the ring into the order of time, without the values from the first one on that is forgotten. */
static void shorten_ring(struct metric_value *metric, struct metric_place place)
{
    const size_t n = metric->count < metric->rule.n ? (size_t)metric->count : metric->rule.n;
    const size_t first = metric->count < metric->rule.n ? 0 : (size_t)(metric->count % metric->rule.n);
    struct metric_mark *kept = calloc(metric->rule.n, sizeof *kept);
    size_t k = 0;
    for (; kept && k < n && !is_from(&metric->marks[(first + k) % metric->rule.n], place); k++)
        kept[k] = metric->marks[(first + k) % metric->rule.n];
    if (!kept)
        return;
    free(metric->marks);
    metric->marks = kept;
    metric->count = k;
    metric->value = k ? mean_of_recent(metric) : 0;
}

void metric_value_go_back(struct metric_value *metric, struct metric_place place)
{
    if (!metric->marks)
        return;
    if (metric->rule.take == METRIC_TAKE_MEAN) {
        shorten_ring(metric, place);
        return;
    }
    size_t n = 0;
    while (n < metric->n_marks && !is_from(&metric->marks[n], place))
        n++;
    if (n == metric->n_marks)
        return;
    metric->n_marks = n;
    metric->count = n ? metric->count : 0;
    metric->value = n ? metric->marks[n - 1].value : 0;
}

void metric_value_reset(struct metric_value *metric)
{
    metric->count = 0;
    metric->n_marks = 0;
    metric->value = 0;
}

void metric_value_release(struct metric_value *metric)
{
    free(metric->marks);
    *metric = (struct metric_value){0};
}

struct metric_rule metric_values_rule(const struct metric_values *values, const char *name)
{
    struct metric_rule rule = {.take = METRIC_TAKE_LAST};
    for (size_t i = 0; i < values->n_rules; i++) /* the last rule of a name wins, like the last option */
        if (strcmp(values->rules[i].name, name) == 0)
            rule = values->rules[i];
    snprintf(rule.name, sizeof rule.name, "%s", name);
    return rule;
}

const struct metric_value *metric_values_find(const struct metric_values *values, const char *name)
{
    for (size_t i = 0; i < values->n; i++)
        if (strcmp(values->metrics[i].rule.name, name) == 0)
            return &values->metrics[i];
    return NULL;
}

struct metric_value *metric_values_add(struct metric_values *values, const char *name, struct metric_place place, double value,
                                       bool *decides)
{
    struct metric_value *metric = (struct metric_value *)(uintptr_t)metric_values_find(values, name);
    if (!metric) {
        if (values->n == METRIC_VALUES_MAX || strlen(name) >= METRIC_NAME_BYTES)
            return NULL;
        if (!values->metrics && !(values->metrics = calloc(METRIC_VALUES_MAX, sizeof *values->metrics)))
            return NULL;
        metric = &values->metrics[values->n++];
        metric->rule = metric_values_rule(values, name);
    }
    bool decided = metric_value_add(metric, place, value);
    if (decides)
        *decides = decided;
    return metric;
}

void metric_values_forget(struct metric_values *values, const char *name)
{
    struct metric_value *metric = (struct metric_value *)(uintptr_t)metric_values_find(values, name);
    if (!metric)
        return;
    metric_value_release(metric);
    memmove(metric, metric + 1, (size_t)(values->metrics + values->n - metric - 1) * sizeof *metric);
    values->n--;
}

void metric_values_reset(struct metric_values *values)
{
    for (size_t i = 0; i < values->n; i++)
        metric_value_release(&values->metrics[i]);
    free(values->metrics);
    values->metrics = NULL;
    values->n = 0;
}

int metric_values_digits(double value)
{
    char text[LINEAGE_NUMBER_MAX];
    int n = 0;
    for (const char *c = lineage_number_format(text, value); *c && *c != 'e'; c++)
        n += *c >= '0' && *c <= '9' && (n > 0 || *c != '0');
    return n > 0 ? n : 1;
}

bool metric_values_rounds_to(double exact, double printed)
{
    char text[64];
    const int digits = metric_values_digits(printed);
    snprintf(text, sizeof text, "%.*g", digits < 17 ? digits : 17, exact);
    return strtod(text, NULL) == printed;
}
