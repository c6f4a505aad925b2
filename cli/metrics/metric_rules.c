#include "metrics/metric_rules.h"

#include "cli.h"

bool metric_rules_make(struct metric_rules *rules, const char *const *regexes, const char *const *takes, char *error, size_t size)
{
    size_t n_patterns = cli_texts_length(regexes), n_takes = cli_texts_length(takes);
    char why[512];
    *rules = (struct metric_rules){.patterns = calloc(n_patterns + 1, sizeof *rules->patterns),
                                   .takes = calloc(n_takes + 1, sizeof *rules->takes)};
    if (!rules->patterns || !rules->takes) {
        snprintf(error, size, "out of memory");
        goto failed;
    }
    for (; rules->n_patterns < n_patterns; rules->n_patterns++)
        if (!(rules->patterns[rules->n_patterns] = metric_pattern_new(regexes[rules->n_patterns], why, sizeof why))) {
            snprintf(error, size, "--metric-regex: %s", why);
            goto failed;
        }
    for (; rules->n_takes < n_takes; rules->n_takes++)
        if (!metric_rule_parse(&rules->takes[rules->n_takes], takes[rules->n_takes], why, sizeof why)) {
            snprintf(error, size, "--metric-take: %s", why);
            goto failed;
        }
    return true;

failed:
    metric_rules_release(rules);
    return false;
}

void metric_rules_release(struct metric_rules *rules)
{
    for (size_t i = 0; i < rules->n_patterns; i++)
        metric_pattern_free(rules->patterns[i]);
    free(rules->patterns);
    free(rules->takes);
    *rules = (struct metric_rules){0};
}

bool metric_rules_check(const char *const *regexes, const char *const *takes, char *error, size_t size)
{
    struct metric_rules rules;
    bool good = metric_rules_make(&rules, regexes, takes, error, size);
    if (good)
        metric_rules_release(&rules);
    return good;
}
