#include "trial/prune_rule.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <lineage/text.h>

static const struct {
    const char *name;
    enum prune_method method;
} methods[] = {{"none", PRUNE_NONE}, {"median", PRUNE_MEDIAN}, {"halving", PRUNE_HALVING}};

static bool is_word(const char *at, size_t n, const char *word)
{
    return strlen(word) == n && strncmp(at, word, n) == 0;
}

static bool set_method(struct prune_rule *rule, const char *at, size_t n)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (is_word(at, n, methods[i].name)) {
            rule->method = methods[i].method;
            return true;
        }
    return false;
}

/* A factor may have a fraction; the others count something. Below 1.1 the rungs would be closer than most steps. */
static bool set_number(struct prune_rule *rule, const char *name, size_t n, double value)
{
    bool whole = value == floor(value) && value >= 0 && value < 1e15;
    if (is_word(name, n, "warmup") && whole)
        rule->warmup = (int64_t)value;
    else if (is_word(name, n, "curves") && whole && value >= 1)
        rule->curves = (size_t)value;
    else if (is_word(name, n, "patience") && whole && value >= 1)
        rule->patience = (size_t)value;
    else if (is_word(name, n, "factor") && value >= 1.1 && value <= 1e6)
        rule->factor = value;
    else
        return false;
    return true;
}

bool prune_rule_parse(struct prune_rule *rule, const char *text, char *why, size_t size)
{
    struct prune_rule read = {PRUNE_NONE, -1, PRUNE_CURVES, PRUNE_PATIENCE, PRUNE_FACTOR};
    *rule = read;
    if (!text)
        return true;
    size_t n = strcspn(text, ",");
    if (!set_method(&read, text, n))
        return snprintf(why, size, "prune: '%.*s' is not a rule; use median, halving or none", (int)(n < 60 ? n : 60), text),
               false;
    for (const char *at = text + n; *at; at += n) {
        double value;
        n = strcspn(++at, ",");
        size_t name = strcspn(at, "=,");
        if (name + 1 >= n || !lineage_number_parse(&value, at + name + 1, n - name - 1) || !set_number(&read, at, name, value))
            return snprintf(why, size,
                            "prune: '%.*s' is not a setting; use warmup=STEPS, curves=N, patience=N (both from 1 on) or "
                            "factor=NUMBER (from 1.1 on)",
                            (int)(n < 60 ? n : 60), at),
                   false;
    }
    *rule = read;
    return true;
}
