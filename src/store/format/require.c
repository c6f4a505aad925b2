/* require.c: walls on what a trial measured; see lineage/require.h. */
#include <lineage/require.h>

#include <math.h>

#include <lineage/text.h>

#include "../fail.h"

/* The two-character signs come first, because `<` is the beginning of `<=`. */
static const struct {
    const char *sign;
    enum lineage_relation relation;
} signs[] = {{"<=", LINEAGE_AT_MOST}, {">=", LINEAGE_AT_LEAST}, {"<", LINEAGE_LESS}, {">", LINEAGE_MORE}};

static const char *sign_of(enum lineage_relation relation)
{
    size_t i = 0;
    while (i + 1 < sizeof signs / sizeof *signs && signs[i].relation != relation)
        i++;
    return signs[i].sign;
}

static size_t trimmed(const char **text, size_t n)
{
    while (n && (*text)[n - 1] == ' ')
        n--;
    while (n && **text == ' ') {
        ++*text;
        n--;
    }
    return n;
}

enum lineage_status lineage_requirement_parse(struct lineage_requirement *requirement, const char *text,
                                              struct lineage_error *err)
{
    const char *at = strpbrk(text, "<>"), *name = text;
    size_t n = at ? trimmed(&name, (size_t)(at - text)) : 0, k = 0;
    struct lineage_requirement read = {.bound = 0};
    while (at && k < sizeof signs / sizeof *signs && strncmp(at, signs[k].sign, strlen(signs[k].sign)) != 0)
        k++;
    if (!at || !n || n >= sizeof read.name || strcspn(name, ";,=") < n)
        return store_fail(err, LINEAGE_EINVAL, "'%.100s' is not NAME<=NUMBER; use <=, >=, < or >, as in 'peak_vram_mb<=48000'",
                          text);
    memcpy(read.name, name, n);
    read.relation = signs[k].relation;
    const char *bound = at + strlen(signs[k].sign);
    if (!lineage_number_parse(&read.bound, bound, strlen(bound)) || !isfinite(read.bound))
        return store_fail(err, LINEAGE_EINVAL, "'%.100s': '%.40s' is not a finite number", text, bound);
    *requirement = read;
    return LINEAGE_OK;
}

const char *lineage_requirement_format(char out[LINEAGE_REQUIREMENT_TEXT_MAX], const struct lineage_requirement *requirement)
{
    snprintf(out, LINEAGE_REQUIREMENT_TEXT_MAX, "%s%s%.15g", requirement->name, sign_of(requirement->relation),
             requirement->bound);
    return out;
}

struct lineage_number lineage_requirement_value(const struct lineage_trial *trial, const char *name)
{
    double value;
    if (lineage_trial_metric(&value, trial, name))
        return (struct lineage_number){true, value};
    int i = lineage_column_find(name);
    const struct lineage_column *column = i < 0 ? NULL : lineage_column((size_t)i);
    if (column && column->kind == LINEAGE_COLUMN_NUMBER)
        return *(const struct lineage_number *)(const void *)((const char *)trial + column->offset);
    if (strcmp(name, "score") == 0)
        return trial->score.present ? trial->score : trial->core_metric;
    return (struct lineage_number){0};
}

static bool holds(const struct lineage_requirement *requirement, double value)
{
    switch (requirement->relation) {
    case LINEAGE_AT_MOST: return value <= requirement->bound;
    case LINEAGE_AT_LEAST: return value >= requirement->bound;
    case LINEAGE_LESS: return value < requirement->bound;
    case LINEAGE_MORE: return value > requirement->bound;
    }
    return false;
}

bool lineage_requirement_is_met(char why[LINEAGE_REQUIREMENT_WHY_MAX], const struct lineage_requirement *requirement,
                                struct lineage_number value)
{
    char text[LINEAGE_REQUIREMENT_TEXT_MAX], number[32];
    snprintf(number, sizeof number, "%.15g", value.value);
    if (value.present && holds(requirement, value.value))
        return true;
    if (why)
        snprintf(why, LINEAGE_REQUIREMENT_WHY_MAX, "requires %s, but it was %s", lineage_requirement_format(text, requirement),
                 value.present ? number : "never reported");
    return false;
}
