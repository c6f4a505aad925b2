/* case_routing.c: `lineage core routing_replay` and `routes_carry`. */
#include <rlcore/routing.h>

#include "case_real.h"
#include "case_options.h"

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

static void compare(struct case_call *call, const struct rl_batch *batch, const struct rl_routes *a, const struct rl_routes *b)
{
    double *per_layer = case_alloc(call, a->n_layers, sizeof *per_layer);
    double *per_token = case_alloc(call, batch->n_rows * batch->n_tokens, sizeof *per_token);
    struct rl_route_agreement out = {0};
    CASE_RUN(call, rl_routes_compare(batch, a, b, per_layer, per_token, &out, &call->ws, &call->err));
    case_put_number(call, "agreement", out.share);
    case_put_number(call, "exact", out.exact);
    case_put_numbers(call, "agreement_per_layer", per_layer, a->n_layers);
    case_put_reals(call, "agreement_per_token", per_token, batch->n_rows, batch->n_tokens);
}

/* Chooses a replay only if the case has the inputs for it, and checks a replay likewise. */
void case_routing_replay(struct case_call *call)
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

/* A [L][E] place of a carried token, with -1 where there is no expert. */
static json_t *carried_token(const uint16_t *experts, const struct rl_routes *shape)
{
    json_t *token = json_array();
    for (size_t l = 0; l < shape->n_layers; l++) {
        json_t *layer = json_array();
        for (size_t k = 0; k < shape->top_k; k++, experts++)
            json_array_append_new(layer, json_integer(*experts == RL_NO_EXPERT ? -1 : *experts));
        json_array_append_new(token, layer);
    }
    return token;
}

void case_routes_carry(struct case_call *call)
{
    struct case_dim b = {0}, t = {0}, n = {0};
    case_mask(call, "response_mask", &b, &t);
    const int64_t *given = case_integers(call, "source", &n);
    struct rl_routes routes = case_routes(call, "routes", b.n, t.n);
    size_t *source = case_alloc(call, n.n, sizeof *source), size = routes.n_layers * routes.top_k;
    uint16_t *out = case_alloc(call, n.n, size * sizeof *out);
    json_t *list = json_array();
    for (size_t i = 0; !call->failed && i < n.n; i++)
        source[i] = given[i] == -1 ? SIZE_MAX : (size_t)given[i];
    CASE_RUN(call, rl_routes_carry(&routes, b.n * t.n, source, n.n, out, &call->err));
    for (size_t i = 0; !call->failed && i < n.n; i++)
        json_array_append_new(list, carried_token(out + i * size, &routes));
    case_put(call, "routes", list);
}
