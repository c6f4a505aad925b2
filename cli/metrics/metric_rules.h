/* metric_rules.h: the texts of --metric-regex and --metric-take, compiled. */
#pragma once

#include "metrics/metric_scan.h"
#include "metrics/metric_values.h"

struct metric_rules {
    struct metric_pattern **patterns; /* [n_patterns] */
    size_t n_patterns;
    struct metric_rule *takes; /* [n_takes] */
    size_t n_takes;
};

/*
 * Compiles both lists, each ended by NULL or itself NULL. Returns false with a message in error[size], which names the
 * option, the text and, for a pattern, the position; *rules is then empty.
 */
bool metric_rules_make(struct metric_rules *rules, const char *const *regexes, const char *const *takes, char *error,
                       size_t size);
void metric_rules_release(struct metric_rules *rules);

/* As metric_rules_make, but only checks the texts. */
bool metric_rules_check(const char *const *regexes, const char *const *takes, char *error, size_t size);
