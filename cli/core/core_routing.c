/* core_routing.c: `lineage core routing_replay`. */
#include <rlcore/routing.h>

#include "core_real.h"
#include "core_routes.h"

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

/* Which replay fits a batch, and whether a replay was one, are asked only where a case has what
 * they need. */
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

const struct core_kernel core_routing_replay = {
    .family = "routing_replay",
    .summary = "agreement of two passes' expert routes, and which routes to replay",
    .inputs =
        "response_mask [B][T], sampler_routes, used_routes [B][T][layers][experts], n_experts, "
        "check_replayed?, global_batch?, mini_batch?",
    .run = run_replay,
};
