#include "case_correction_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The thresholds may be a string, or a number for all options. The core takes text, because a
 * threshold may be a range ("0.5_2") and the text may list several. 17 digits reproduce the number.
 */
static const char *read_thresholds(struct case_call *call, const char *name)
{
    enum { DIGITS = 32 };
    const json_t *value = json_object_get(call->inputs, name);
    if (!json_is_number(value))
        return case_string_or(call, name, NULL);
    char *text = case_alloc(call, DIGITS, 1);
    if (text)
        snprintf(text, DIGITS, "%.17g", json_number_value(value));
    return text;
}

/* A cap, or the ends of IcePop's interval as text: "0.5_5". */
static void read_interval(struct case_call *call, struct rl_correction_options *o)
{
    const char *name = "rollout_is_threshold", *text = json_string_value(json_object_get(call->inputs, name));
    char *end = NULL;
    if (!text) {
        o->is_threshold = case_number(call, name);
        return;
    }
    o->is_threshold = strtod(text, &end);
    if (*end == '_') {
        o->is_lower = o->is_threshold;
        o->is_threshold = strtod(end + 1, &end);
    }
    if (!*text || *end || (strchr(text, '_') && !(o->is_lower > 0)))
        case_fail(call, "inputs.%s is '%.40s', not a number or LOWER_UPPER with LOWER above 0", name, text);
}

/*
 * A threshold is required only with a level, and has no default that would be right for both
 * levels.
 */
struct rl_correction_options case_correction_options(struct case_call *call)
{
    static const char *const levels[] = {"none", "token", "sequence", NULL};
    struct rl_correction_options o = {.is = RL_IS_NONE};
    if (case_present(call, "rollout_is"))
        o.is = (enum rl_is_level)case_choice(call, "rollout_is", levels);
    if (o.is != RL_IS_NONE)
        read_interval(call, &o);
    static const char *const measured[] = {"raw", "applied", NULL};
    o.is_applied = case_present(call, "rollout_is_metrics") && case_choice(call, "rollout_is_metrics", measured) == 1;
    o.is_batch_normalize = case_bool_or(call, "rollout_is_batch_normalize", false);
    o.rs = case_string_or(call, "rollout_rs", NULL);
    o.rs_threshold = read_thresholds(call, "rollout_rs_threshold");
    return o;
}
