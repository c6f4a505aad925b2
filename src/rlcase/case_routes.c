/*
 * The first token sets the shape, and every other token must agree with it. -1 means "no expert";
 * routers that may drop a token write -1.
 */
#include "case_routes.h"

/* Element i of a list of n entries. */
static const json_t *entry(struct case_call *call, const char *name, const json_t *list, size_t i, size_t n)
{
    if (!json_is_array(list) || json_array_size(list) != n) {
        case_fail(call, "inputs.%s: a list is missing or does not have %zu entries", name, n);
        return NULL;
    }
    return json_array_get(list, i);
}

/* The type of an id is checked here; the core compares it with n_experts. */
static void read_place(struct case_call *call, const char *name, const json_t *place, const struct rl_routes *shape,
                       uint16_t *out)
{
    for (size_t k = 0; !call->failed && k < shape->top_k; k++) {
        const json_t *item = entry(call, name, place, k, shape->top_k);
        json_int_t id = json_integer_value(item);
        if (!json_is_integer(item) || id < -1 || id > RL_NO_EXPERT)
            case_fail(call, "inputs.%s has an element that is not an expert id", name);
        out[k] = id < 0 ? RL_NO_EXPERT : (uint16_t)id;
    }
}

static void read_token(struct case_call *call, const char *name, const json_t *token, const struct rl_routes *shape,
                       uint16_t *out)
{
    for (size_t l = 0; !call->failed && l < shape->n_layers; l++)
        read_place(call, name, entry(call, name, token, l, shape->n_layers), shape, out + l * shape->top_k);
}

/* Reads routes from memory, by the same rules as routes in JSON. */
static uint16_t *routes_of(struct case_call *call, const struct rl_case_array *array, size_t b, size_t t, struct rl_routes *shape)
{
    struct case_dim dims[] = {{b, true}, {t, true}, {0}, {0}};
    const int32_t *ids =
        case_array_as(call, array, RL_CASE_INT32, 4, (struct case_dim *const[]){&dims[0], &dims[1], &dims[2], &dims[3]});
    size_t n = b * t * dims[2].n * dims[3].n;
    uint16_t *experts = ids ? case_alloc(call, n, sizeof *experts) : NULL;
    shape->n_layers = dims[2].n;
    shape->top_k = dims[3].n;
    for (size_t i = 0; experts && i < n; i++) {
        if (ids[i] < -1 || ids[i] > RL_NO_EXPERT)
            case_fail(call, "inputs.%s has an element that is not an expert id", array->name);
        experts[i] = ids[i] < 0 ? RL_NO_EXPERT : (uint16_t)ids[i];
    }
    return experts;
}

/* n_experts cannot be derived from the routes, because the largest id may not have been chosen. */
struct rl_routes case_routes(struct case_call *call, const char *name, size_t b, size_t t)
{
    const json_t *rows = json_object_get(call->inputs, name);
    const json_t *first = json_array_get(json_array_get(rows, 0), 0);
    int64_t n_experts = case_integer(call, "n_experts");
    struct rl_routes r = {.n_layers = json_array_size(first),
                          .top_k = json_array_size(json_array_get(first, 0)),
                          .n_experts = n_experts > 0 ? (size_t)n_experts : 0};
    const struct rl_case_array *given = case_array(call, name);
    if (given) {
        r.experts = routes_of(call, given, b, t, &r);
        return r;
    }
    size_t size = r.n_layers * r.top_k;
    uint16_t *experts = case_alloc(call, b * t * size, sizeof *experts);
    for (size_t i = 0; !call->failed && i < b; i++)
        for (size_t j = 0; !call->failed && j < t; j++)
            read_token(call, name, entry(call, name, entry(call, name, rows, i, b), j, t), &r, experts + (i * t + j) * size);
    r.experts = experts;
    return r;
}

enum rl_replay case_replay(struct case_call *call)
{
    static const char *const names[] = {"none", "R2", "R3", NULL};
    return case_present(call, "replay") ? (enum rl_replay)case_choice(call, "replay", names) : RL_REPLAY_NONE;
}
