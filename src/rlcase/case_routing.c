/* case_routing.c: `lineage core routing_replay`. */
#include <rlcore/routing.h>

#include "case_real.h"
#include "case_routes.h"

static void put_replay(struct case_call *call)
{
    enum rl_replay replay;
    double n, global = case_number(call, "global_batch"), mini = case_number(call, "mini_batch");
    CASE_RUN(call, rl_replay_choose(global, mini, &replay, &n, &call->err));
    if (call->failed)
        return;
    case_put_number(call, "off_policiness", n);
    case_put(call, "replay", json_string(rl_replay_name(replay)));
}

static void compare(struct case_call *call, const struct rl_batch *batch, const struct rl_routes *a,
                    const struct rl_routes *b)
{
    double *per_layer = case_alloc(call, a->n_layers, sizeof *per_layer);
    double *per_token = case_alloc(call, batch->n_rows * batch->n_tokens, sizeof *per_token);
    struct rl_route_agreement out;
    CASE_RUN(call,
             rl_routes_compare(batch, a, b, per_layer, per_token, &out, &call->ws, &call->err));
    if (call->failed)
        return;
    case_put_number(call, "agreement", out.share);
    case_put_number(call, "exact", out.exact);
    case_put_numbers(call, "agreement_per_layer", per_layer, a->n_layers);
    case_put_reals(call, "agreement_per_token", per_token, batch->n_rows, batch->n_tokens);
}

/* Chooses a replay only if the case has the inputs for it, and checks a replay likewise. */
static void run_replay(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    batch.n_rows = b.n;
    batch.n_tokens = t.n;
    struct rl_routes sampler = case_routes(call, "sampler_routes", b.n, t.n);
    struct rl_routes used = case_routes(call, "used_routes", b.n, t.n);
    if (!call->failed)
        compare(call, &batch, &sampler, &used);
    if (case_present(call, "global_batch"))
        put_replay(call);
    if (!call->failed && case_bool_or(call, "check_replayed", false))
        CASE_RUN(call, rl_routes_replayed(&batch, &used, &sampler, &call->err));
}

const struct case_kernel case_routing_replay = {
    .family = "routing_replay",
    .summary = "agreement of two passes' expert routes, and which routes to replay",
    .inputs =
        "response_mask, sampler_routes, used_routes, n_experts, check_replayed?, "
        "global_batch?, mini_batch?",
    .outputs =
        "agreement, exact, agreement_per_layer [L], agreement_per_token [B][T], "
        "off_policiness, replay",
    .run = run_replay,
};
