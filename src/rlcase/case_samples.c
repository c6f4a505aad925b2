/* case_samples.c: `lineage core prime_streams`: one rollout with its advantages becomes samples. */
#include <rlcore/samples.h>

#include "case_call.h"

/* A case is one rollout, because mistakes are made in its branches and shared nodes. */
struct streams_case {
    struct case_call *call;
    struct rl_tree tree;
    struct rl_trace trace;
    struct rl_rollouts rollouts;
    struct rl_samples_size size;
    struct rl_samples samples;
};

/* Refuses a negative index, because it would become a huge size in C. */
static json_int_t whole(struct case_call *call, const json_t *value, const char *what, size_t index)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        case_fail(call, "inputs.%s, entry %zu: not a whole number >= 0", what, index);
    return json_integer_value(value);
}

/* A list of n flags, as booleans or as 0 and 1, because programs print masks in both ways. */
static uint8_t *flags(struct case_call *call, const json_t *list, size_t n, const char *what, size_t index)
{
    if (!json_is_array(list) || json_array_size(list) != n) {
        case_fail(call, "inputs.%s[%zu] is not a list of %zu flags", what, index, n);
        return NULL;
    }
    uint8_t *out = case_alloc(call, n, sizeof *out);
    for (size_t t = 0; out && t < n; t++) {
        const json_t *item = json_array_get(list, t);
        double bit = json_is_boolean(item) ? json_is_true(item) : json_number_value(item);
        if ((!json_is_number(item) && !json_is_boolean(item)) || (bit != 0 && bit != 1))
            case_fail(call, "inputs.%s[%zu][%zu] is not true or false", what, index, t);
        out[t] = bit == 1;
    }
    return out;
}

/* An empty is_content means that every token is content. */
static struct rl_node read_node(struct case_call *call, const json_t *object, size_t index)
{
    const json_t *content = json_object_get(object, "is_content");
    char where[64];
    snprintf(where, sizeof where, "nodes[%zu]", index);
    case_check_members(call, "nodes", where, object);
    struct rl_node node = {.role = json_string_value(json_object_get(object, "role")),
                           .sampled = json_is_true(json_object_get(object, "sampled"))};
    if (!node.role || !json_is_boolean(json_object_get(object, "sampled")))
        case_fail(call, "inputs.nodes[%zu] has no role, or sampled is not true or false", index);
    json_int_t tokens = whole(call, json_object_get(object, "tokens"), "nodes: tokens", index);
    if (call->failed)
        return node;
    node.n_tokens = (size_t)tokens;
    node.mask = flags(call, json_object_get(object, "mask"), node.n_tokens, "nodes.mask", index);
    if (!call->failed && json_array_size(content) > 0)
        node.is_content = flags(call, content, node.n_tokens, "nodes.is_content", index);
    else if (content && !json_is_null(content) && !json_is_array(content))
        case_fail(call, "inputs.nodes[%zu].is_content is not a list", index);
    return node;
}

static struct rl_branch read_branch(struct case_call *call, const json_t *list, size_t index)
{
    size_t n = json_array_size(list), *nodes = case_alloc(call, n, sizeof *nodes);
    if (!json_is_array(list))
        case_fail(call, "inputs.branches[%zu] is not a list", index);
    for (size_t k = 0; nodes && k < n; k++)
        nodes[k] = (size_t)whole(call, json_array_get(list, k), "branches", index);
    return (struct rl_branch){nodes, n};
}

static const json_t *list_of(struct case_call *call, const char *name)
{
    const json_t *list = case_input(call, name);
    if (!json_is_array(list))
        case_fail(call, "inputs.%s is missing or not a list", name);
    return list;
}

static struct rl_tree read_tree(struct case_call *call)
{
    const json_t *node_list = list_of(call, "nodes"), *branch_list = list_of(call, "branches");
    size_t n_nodes = json_array_size(node_list), n_branches = json_array_size(branch_list);
    struct rl_node *nodes = case_alloc(call, n_nodes, sizeof *nodes);
    struct rl_branch *branches = case_alloc(call, n_branches, sizeof *branches);
    for (size_t i = 0; !call->failed && i < n_nodes; i++)
        nodes[i] = read_node(call, json_array_get(node_list, i), i);
    for (size_t i = 0; !call->failed && i < n_branches; i++)
        branches[i] = read_branch(call, json_array_get(branch_list, i), i);
    return (struct rl_tree){nodes, n_nodes, branches, n_branches};
}

/* Allocates all streams; `streams` tells which of them the algorithm wrote. */
static void allocate(struct case_call *call, const struct rl_samples_size *size, struct rl_samples *s)
{
    double **streams[] = {&s->advantages, &s->rl_weights, &s->ce_weights, &s->ref_kl_weights, &s->ref_logprobs};
    for (size_t k = 0; k < sizeof streams / sizeof *streams; k++)
        *streams[k] = case_alloc(call, size->n_tokens, sizeof **streams[k]);
    s->mask = case_alloc(call, size->n_tokens, sizeof *s->mask);
    s->rollout = case_alloc(call, size->n_samples, sizeof *s->rollout);
    s->branch = case_alloc(call, size->n_samples, sizeof *s->branch);
    s->streams = case_alloc(call, size->n_samples, sizeof *s->streams);
    s->start = case_alloc(call, size->n_samples + 1, sizeof *s->start);
}

static void cut(struct streams_case *c)
{
    struct case_call *call = c->call;
    c->rollouts = (struct rl_rollouts){1, &c->trace, &c->tree};
    CASE_RUN(call, rl_samples_measure(&c->rollouts, &c->size, &call->err));
    if (call->failed)
        return;
    allocate(call, &c->size, &c->samples);
    CASE_RUN(call, rl_samples_cut(&c->rollouts, &c->samples, &call->ws, &call->err));
}

/*
 * Reads either one number for all sampled tokens, as algorithms over whole rollouts give it, or a
 * list with one number per token. Returns NULL for null.
 */
static double *read_credit(struct case_call *call, size_t n)
{
    const json_t *value = case_input(call, "advantage");
    if (!case_present(call, "advantage"))
        return NULL;
    double *credit = case_alloc(call, n, sizeof *credit);
    if (!json_is_number(value) && json_array_size(value) != n)
        case_fail(call, "inputs.advantage is not a number nor a list of %zu", n);
    for (size_t i = 0; !call->failed && i < n; i++) {
        const json_t *item = json_is_number(value) ? value : json_array_get(value, i);
        if (!json_is_number(item))
            case_fail(call, "inputs.advantage[%zu] is not a number", i);
        credit[i] = json_number_value(item);
    }
    return credit;
}

/*
 * The list of a sample. On failure returns NULL and marks the call as failed. Only trainable
 * branches have scores, because a sequence that is not trained is not scored.
 */
static const json_t *sample_list(struct streams_case *c, const char *name, size_t i)
{
    const json_t *lists = json_object_get(c->call->inputs, name), *list = json_array_get(lists, i);
    size_t length = c->samples.start[i + 1] - c->samples.start[i];
    if (json_array_size(lists) != c->samples.n)
        case_fail(c->call, "inputs.%s has %zu lists for %zu trainable branches", name, json_array_size(lists), c->samples.n);
    else if (!json_is_array(list) || json_array_size(list) != length)
        case_fail(c->call, "inputs.%s[%zu] is not a list of %zu entries", name, i, length);
    return c->call->failed ? NULL : list;
}

static double *read_reference(struct streams_case *c)
{
    size_t n = c->samples.start[c->samples.n];
    double *out = case_present(c->call, "ref_logprobs") ? case_alloc(c->call, n, sizeof *out) : NULL;
    for (size_t i = 0; out && !c->call->failed && i < c->samples.n; i++) {
        const json_t *list = sample_list(c, "ref_logprobs", i);
        for (size_t t = 0; list && t < json_array_size(list); t++) {
            const json_t *item = json_array_get(list, t);
            if (!json_is_number(item))
                case_fail(c->call, "inputs.ref_logprobs[%zu][%zu] is not a number", i, t);
            out[c->samples.start[i] + t] = json_number_value(item);
        }
    }
    return out;
}

static uint8_t *read_filter(struct streams_case *c)
{
    size_t n = c->samples.start[c->samples.n];
    uint8_t *out = case_present(c->call, "filter") ? case_alloc(c->call, n, sizeof *out) : NULL;
    for (size_t i = 0; out && !c->call->failed && i < c->samples.n; i++) {
        const json_t *list = sample_list(c, "filter", i);
        uint8_t *keep = list ? flags(c->call, list, json_array_size(list), "filter", i) : NULL;
        for (size_t t = 0; keep && t < json_array_size(list); t++)
            out[c->samples.start[i] + t] = keep[t];
    }
    return out;
}

/*
 * Without role_weights the default table is used. role_weights is an object instead of a list, so
 * that a role cannot occur twice.
 */
static void read_roles(struct case_call *call, struct rl_algorithm_options *options)
{
    json_t *object = case_input(call, "role_weights"), *value;
    const char *role;
    if (!case_present(call, "role_weights"))
        return;
    struct rl_role_weight *roles = case_alloc(call, json_object_size(object), sizeof *roles);
    options->roles = roles;
    options->n_roles = 0;
    if (!json_is_object(object))
        case_fail(call, "inputs.role_weights is not an object");
    json_object_foreach(object, role, value) {
        if (!json_is_number(value))
            case_fail(call, "inputs.role_weights.%.40s is not a number", role);
        if (!call->failed)
            roles[options->n_roles++] = (struct rl_role_weight){role, json_number_value(value)};
    }
}

/* Returns null for an absent stream, because a list of zeros would be a stream. */
static json_t *reals(const double *values, size_t n)
{
    json_t *list = values ? json_array() : json_null();
    for (size_t t = 0; values && t < n; t++)
        json_array_append_new(list, case_real_value(values[t]));
    return list;
}

static json_t *sample_json(const struct rl_samples *samples, size_t i)
{
    struct rl_pack_sample s;
    json_t *mask = json_array();
    rl_samples_view(samples, i, &s);
    for (size_t t = 0; t < s.n_tokens; t++)
        json_array_append_new(mask, json_boolean(s.mask[t]));
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "length", (json_int_t)s.n_tokens, "mask", mask, "advantages",
                     reals(s.advantages, s.n_tokens), "rl_weights", reals(s.rl_weights, s.n_tokens), "ce_weights",
                     reals(s.ce_weights, s.n_tokens), "ref_kl_weights", reals(s.ref_kl_weights, s.n_tokens), "ref_logprobs",
                     reals(s.ref_logprobs, s.n_tokens));
}

static void put_samples(struct case_call *call, const struct rl_samples *samples)
{
    json_t *list = json_array();
    for (size_t i = 0; i < samples->n; i++)
        json_array_append_new(list, sample_json(samples, i));
    case_put(call, "samples", list);
}

/* Scores are read after cutting, because the lengths of their lists are known only then. */
void case_samples(struct case_call *call)
{
    struct streams_case c = {.call = call};
    const struct rl_algorithm *algorithm;
    struct rl_algorithm_options options;
    const char *name = case_string(call, "algorithm");
    CASE_RUN(call, rl_algorithm_find(name, &algorithm, &call->err));
    if (call->failed)
        return;
    rl_algorithm_options_init(&options, algorithm);
    read_roles(call, &options);
    c.tree = read_tree(call);
    if (!call->failed)
        cut(&c);
    if (call->failed)
        return;
    struct rl_sample_scores scores = {read_reference(&c), read_filter(&c)};
    double *credit = read_credit(call, c.size.n_sampled);
    CASE_RUN(call, rl_algorithm_route(algorithm, &c.rollouts, &options, credit, &scores, &c.samples, &call->ws, &call->err));
    if (!call->failed)
        put_samples(call, &c.samples);
}
