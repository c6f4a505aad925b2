/*
 * metric_values.h: all values of a trial's metrics, and which value of each metric counts.
 *
 * The last value counts, unless the caller has a rule for the metric (`--metric-take`):
 *
 *     loss=min       the smallest value
 *     acc=max        the largest value
 *     loss=mean:5    the mean of the last five values, or of all if there are fewer
 *     loss=last      the last value
 *
 * A value that is not finite counts like any other with `last` and `mean`, so that a loss which became nan is not
 * reported as the number before it. `min` and `max` ignore it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { METRIC_VALUES_MAX = 64, METRIC_NAME_BYTES = 64, METRIC_MEAN_MAX = 10000 };

enum metric_take { METRIC_TAKE_LAST, METRIC_TAKE_MIN, METRIC_TAKE_MAX, METRIC_TAKE_MEAN };

struct metric_rule {
    char name[METRIC_NAME_BYTES];
    enum metric_take take;
    size_t n; /* values of a mean */
};

/* Reads `NAME=min`, `max`, `last` or `mean:N`. Returns false with a message in error[size] for any other text. */
bool metric_rule_parse(struct metric_rule *rule, const char *spec, char *error, size_t size);

/* Writes the rule for people: "last", "minimum", "maximum", "mean of the last 5". Returns out. */
const char *metric_rule_text(char out[64], const struct metric_rule *rule);

/* Where a value belongs: a step of a phase. */
struct metric_place {
    uint32_t phase; /* a digest of its name */
    int64_t step;
};

/* One metric. Zero is a metric without values, of which the last counts. */
struct metric_value {
    struct metric_rule rule;
    double value;   /* the value that counts, if count > 0; may be infinite or not a number */
    uint64_t count; /* number of values */
    struct metric_mark {
        struct metric_place place;
        double value;
    } *marks; /* [n_marks] of min and max: each value that counted; of a mean: the last rule.n values, as a ring buffer */
    size_t n_marks;
};

/* Takes the next value. Returns whether it decides the value that counts: always with `last` and `mean`. If memory runs
 * out for a mean, the last value counts. */
bool metric_value_add(struct metric_value *metric, struct metric_place place, double value);

/*
 * Forgets the values from the first one on that belongs to this step or a later one of the phase, because the training went back and
 * takes another way. Of min and max only every second of many values that counted is remembered, so an earlier one may count.
 */
void metric_value_go_back(struct metric_value *metric, struct metric_place place);

/* Forgets the values and keeps the rule. */
void metric_value_reset(struct metric_value *metric);
void metric_value_release(struct metric_value *metric);

/* The metrics of a trial, in the order in which they appeared. */
struct metric_values {
    const struct metric_rule *rules; /* [n_rules], borrowed */
    size_t n_rules;
    struct metric_value *metrics; /* [n] */
    size_t n;
};

/* Returns the rule for this name; the default rule if there is none. */
struct metric_rule metric_values_rule(const struct metric_values *values, const char *name);

/*
 * Takes the next value of a metric. Returns the metric, or NULL if its name is too long, if there are already
 * METRIC_VALUES_MAX metrics, or when out of memory. *decides as in metric_value_add; NULL is allowed.
 */
struct metric_value *metric_values_add(struct metric_values *values, const char *name, struct metric_place place, double value,
                                       bool *decides);

/* Returns the metric, or NULL. */
const struct metric_value *metric_values_find(const struct metric_values *values, const char *name);

/* Forgets the values of one metric, which is then as if it had not been reported. */
void metric_values_forget(struct metric_values *values, const char *name);

/* Forgets the metrics and keeps the rules. */
void metric_values_reset(struct metric_values *values);

/* Significant digits of the shortest text of the number, which is at most what the program printed. */
int metric_values_digits(double value);

/* Whether a program may have printed the exact number as the other one, which has fewer digits. */
bool metric_values_rounds_to(double exact, double printed);
