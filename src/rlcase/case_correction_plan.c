/* case_correction_plan.c: `lineage core correction_tree`. */
#include <rlcore/correction_plan.h>
#include <rlcore/offpolicy.h>

#include "case_call.h"

/* A case contains several questions, so that it can show both sides of the limit. */
void case_staleness_admission(struct case_call *call)
{
    struct case_dim n = {0};
    int64_t *generated = case_integers(call, "generated", &n), *batch_size = case_integers(call, "batch_size", &n);
    int64_t *version = case_integers(call, "policy_version", &n), *staleness = case_integers(call, "max_staleness", &n);
    json_t *list = json_array();
    for (size_t i = 0; !call->failed && i < n.n; i++) {
        bool admit;
        CASE_RUN(call, rl_staleness_admit(generated[i], batch_size[i], version[i], staleness[i], &admit, &call->err));
        if (!call->failed)
            json_array_append_new(list, json_boolean(admit));
    }
    case_put(call, "admit", list);
}

/*
 * Cases are read by people, so settings are words instead of booleans: "asynchronous" is clearer
 * than true.
 */
static struct rl_setting read_setting(struct case_call *call)
{
    static const char *const engines[] = {"same", "different", NULL};
    static const char *const synchronies[] = {"synchronous", "asynchronous", NULL};
    static const char *const models[] = {"dense", "moe", NULL};
    static const char *const trajectories[] = {"single", "agentic", NULL};
    static const char *const ratios[] = {"token", "sequence", NULL};
    return (struct rl_setting){.other_engine = case_choice(call, "engine", engines) == 1,
                               .asynchronous = case_choice(call, "synchrony", synchronies) == 1,
                               .mixture = case_choice(call, "model", models) == 1,
                               .agentic = case_choice(call, "trajectory", trajectories) == 1,
                               .sequence_ratios =
                                   case_present(call, "ratio_level") && case_choice(call, "ratio_level", ratios) == 1,
                               .epochs = case_number_or(call, "epochs", 1),
                               .global_batch = case_number(call, "global_batch"),
                               .mini_batch = case_number(call, "mini_batch")};
}

/*
 * Every correction has a reason, including corrections that are not needed, because "why not?" is
 * asked as often.
 */
static void put_plan(struct case_call *call, const struct rl_correction_plan *plan)
{
    json_t *needed = json_array(), *reasons = json_object();
    for (int i = 0; i < RL_CORRECTIONS; i++) {
        const char *name = rl_correction_name((enum rl_correction)i);
        if (plan->advice[i].needed)
            json_array_append_new(needed, json_string(name));
        json_object_set_new(reasons, name, json_string(plan->advice[i].reason));
    }
    case_put(call, "needed", needed);
    case_put(call, "reasons", reasons);
    case_put_number(call, "off_policiness", plan->off_policiness);
    case_put(call, "replay", json_string(rl_replay_name(plan->replay)));
    const double caps[] = {plan->cap_low, plan->cap_high, plan->cap_loose};
    case_put_numbers(call, "usual_caps", caps, 3);
}

void case_correction_plan(struct case_call *call)
{
    struct rl_setting setting = read_setting(call);
    struct rl_correction_plan plan;
    if (!(setting.epochs >= 1))
        case_fail(call, "inputs.epochs is %g, less than 1", setting.epochs);
    CASE_RUN(call, rl_correction_plan(&setting, &plan, &call->err));
    if (!call->failed)
        put_plan(call, &plan);
}
