/* correction_tree.c: `lineage core correction_tree` and `routing_replay`. */
#include <rlcore/correction_plan.h>

#include "core_real.h"
#include "core_routes.h"

static struct rl_setting read_setting(struct core_call *call)
{
    static const char *const engines[] = {"same", "different", NULL};
    static const char *const synchronies[] = {"synchronous", "asynchronous", NULL};
    static const char *const models[] = {"dense", "moe", NULL};
    static const char *const trajectories[] = {"single", "agentic", NULL};
    return (struct rl_setting){.other_engine = core_choice(call, "engine", engines) == 1,
                               .asynchronous = core_choice(call, "synchrony", synchronies) == 1,
                               .mixture = core_choice(call, "model", models) == 1,
                               .agentic = core_choice(call, "trajectory", trajectories) == 1,
                               .global_batch = core_number(call, "global_batch"),
                               .mini_batch = core_number(call, "mini_batch")};
}

static void put_plan(struct core_call *call, const struct rl_correction_plan *plan)
{
    json_t *needed = json_array(), *reasons = json_object();
    for (int i = 0; i < RL_CORRECTIONS; i++) {
        const char *name = rl_correction_name((enum rl_correction)i);
        if (plan->advice[i].needed)
            json_array_append_new(needed, json_string(name));
        json_object_set_new(reasons, name, json_string(plan->advice[i].reason));
    }
    core_put(call, "needed", needed);
    core_put(call, "reasons", reasons);
    core_put_number(call, "off_policiness", plan->off_policiness);
    core_put(call, "replay", json_string(rl_replay_name(plan->replay)));
    const double caps[] = {plan->cap_low, plan->cap_high, plan->cap_loose};
    core_put_numbers(call, "usual_caps", caps, 3);
}

static void run_tree(struct core_call *call)
{
    struct rl_setting setting = read_setting(call);
    struct rl_correction_plan plan;
    if (call->failed || core_again(call, rl_correction_plan(&setting, &plan, &call->err)))
        return;
    if (!call->failed)
        put_plan(call, &plan);
}

static void put_replay(struct core_call *call)
{
    enum rl_replay replay;
    double n, global = core_number(call, "global_batch"), mini = core_number(call, "mini_batch");
    if (call->failed || core_again(call, rl_replay_choose(global, mini, &replay, &n, &call->err)))
        return;
    core_put_number(call, "off_policiness", n);
    core_put(call, "replay", json_string(rl_replay_name(replay)));
}

static void compare(struct core_call *call, const struct rl_batch *batch, const struct rl_routes *a,
                    const struct rl_routes *b)
{
    double *per_layer = core_alloc(call, a->n_layers, sizeof *per_layer);
    double *per_token = core_alloc(call, batch->n_rows * batch->n_tokens, sizeof *per_token);
    struct rl_route_agreement out;
    enum rl_status status;
    if (call->failed)
        return;
    do
        status = rl_routes_compare(batch, a, b, per_layer, per_token, &out, &call->ws, &call->err);
    while (core_again(call, status));
    if (call->failed)
        return;
    core_put_number(call, "agreement", out.share);
    core_put_number(call, "exact", out.exact);
    core_put_numbers(call, "agreement_per_layer", per_layer, a->n_layers);
    core_put_reals(call, "agreement_per_token", per_token, batch->n_rows, batch->n_tokens);
}

static void run_replay(struct core_call *call)
{
    struct core_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = core_mask(call, "response_mask", &b, &t)};
    batch.n_rows = b.n;
    batch.n_tokens = t.n;
    struct rl_routes sampler = core_routes(call, "sampler_routes", b.n, t.n);
    struct rl_routes used = core_routes(call, "used_routes", b.n, t.n);
    if (!call->failed)
        compare(call, &batch, &sampler, &used);
    if (core_present(call, "global_batch"))
        put_replay(call);
    if (!call->failed && core_bool_or(call, "check_replayed", false))
        core_again(call, rl_routes_replayed(&batch, &used, &sampler, &call->err));
}

const struct core_kernel core_correction_tree = {
    .family = "correction_tree",
    .summary = "which off-policy corrections a setting needs, and why",
    .inputs = "engine (same|different), synchrony (synchronous|asynchronous), model (dense|moe), "
              "trajectory (single|agentic), global_batch, mini_batch",
    .run = run_tree,
};

const struct core_kernel core_routing_replay = {
    .family = "routing_replay",
    .summary = "agreement of two passes' expert routes, and which routes to replay",
    .inputs =
        "response_mask [B][T], sampler_routes, used_routes [B][T][layers][experts], n_experts, "
        "check_replayed?, global_batch?, mini_batch?",
    .run = run_replay,
};
