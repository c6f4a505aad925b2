/* case_correction_options.c: options and metrics of the off-policy kernels. */
#include "case_correction_options.h"

#include <stdio.h>

/* A string, or a number for a threshold that all options share. The core takes text, as one
 * threshold may be a range ("0.5_2") and several may stand in a list. 17 digits, so that a
 * number comes through unchanged. */
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

/* A threshold is asked for only with a level: a case without importance weights has none, and
 * there is no default that would be right for both levels. */
struct rl_correction_options case_correction_options(struct case_call *call)
{
    static const char *const levels[] = {"none", "token", "sequence", NULL};
    struct rl_correction_options o = {.is = RL_IS_NONE};
    if (case_present(call, "rollout_is"))
        o.is = (enum rl_is_level)case_choice(call, "rollout_is", levels);
    if (o.is != RL_IS_NONE)
        o.is_threshold = case_number(call, "rollout_is_threshold");
    o.is_batch_normalize = case_bool_or(call, "rollout_is_batch_normalize", false);
    o.rs = case_string_or(call, "rollout_rs", NULL);
    o.rs_threshold = read_thresholds(call, "rollout_rs_threshold");
    return o;
}
