/*
 * case_group_advantage.c: `lineage core prime_advantage`: groups of traces, one advantage per
 * trace.
 *
 * Groups are in the order of training, because rae's baselines move from one group to the next.
 */
#include <rlcore/algorithm.h>

#include "case_call.h"

#define MAX_AGENTS 256

struct advantage_case {
    const struct rl_algorithm *algorithm;
    struct rl_algorithm_options options;
    struct rl_length_weights penalty;
    const char *episode_agents[MAX_AGENTS];
    struct rl_baseline baselines[MAX_AGENTS];
    size_t n_baselines;
};

static double member(struct case_call *call, const json_t *object, const char *name, double fallback)
{
    const json_t *value = json_object_get(object, name);
    if (value && !json_is_null(value) && !json_is_number(value))
        case_fail(call, "%s is not a number", name);
    return json_is_number(value) ? json_number_value(value) : fallback;
}

/* Anything else than true and false would be taken for one of them. */
static bool flag(struct case_call *call, const json_t *object, const char *where, const char *name, bool fallback)
{
    const json_t *value = json_object_get(object, name);
    if (value && !json_is_null(value) && !json_is_boolean(value))
        case_fail(call, "inputs.%s.%s is not true or false", where, name);
    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

static const char *text(struct case_call *call, const json_t *object, const char *where, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (value && !json_is_null(value) && !json_is_string(value))
        case_fail(call, "inputs.%s.%s is not a text", where, name);
    return json_string_value(value);
}

static bool keeps_baselines(const struct advantage_case *c)
{
    return c->algorithm && c->algorithm->needs & RL_NEED_MEMORY;
}

static void read_settings(struct case_call *call, struct advantage_case *c)
{
    struct rl_algorithm_options *o = &c->options;
    const char *name = case_string(call, "algorithm");
    const json_t *penalty = case_input(call, "length_penalty");
    const json_t *agents = case_input(call, "episode_agents");
    CASE_RUN(call, rl_algorithm_find(name, &c->algorithm, &call->err));
    if (case_present(call, "length_penalty"))
        case_check_members(call, "length_penalty", "length_penalty", penalty);
    if (case_present(call, "episode_agents") && !json_is_array(agents))
        case_fail(call, "inputs.episode_agents is not a list");
    for (size_t i = 0; i < json_array_size(agents); i++)
        if (!json_is_string(json_array_get(agents, i)))
            case_fail(call, "inputs.episode_agents[%zu] is not a text", i);
    if (call->failed)
        return;
    rl_algorithm_options_init(o, c->algorithm);
    o->length_penalty = json_is_object(penalty) ? &c->penalty : NULL;
    o->episode_agents = c->episode_agents;
    o->baselines = c->baselines;
    o->n_baselines = &c->n_baselines;
    o->max_baselines = MAX_AGENTS;
    c->penalty.output = member(call, penalty, "num_output_tokens_weight", 0);
    c->penalty.input = member(call, penalty, "num_input_tokens_weight", 0);
    c->penalty.turns = member(call, penalty, "num_turns_weight", 0);
    if (json_array_size(agents) > MAX_AGENTS)
        case_fail(call, "inputs.episode_agents has more than %d agents", MAX_AGENTS);
    for (size_t i = 0; !call->failed && i < json_array_size(agents); i++)
        c->episode_agents[o->n_episode_agents++] = json_string_value(json_array_get(agents, i));
    if (keeps_baselines(c))
        o->decay = case_number(call, "decay");
}

/* A trace that does not count may lack a reward, because a trace that failed never got one. */
static struct rl_trace read_trace(struct case_call *call, const json_t *object, size_t group, size_t index)
{
    char where[64];
    snprintf(where, sizeof where, "groups[%zu][%zu]", group, index);
    case_check_members(call, "groups", where, object);
    struct rl_trace trace = {.agent = text(call, object, where, "agent"),
                             .episode = text(call, object, where, "episode"),
                             .has_error = flag(call, object, where, "has_error", false),
                             .not_trainable = !flag(call, object, where, "trainable", true)};
    bool counts = !trace.has_error && !trace.not_trainable;
    if (!json_is_number(json_object_get(object, "reward")) && counts)
        case_fail(call, "a trace has no reward");
    trace.reward = json_number_value(json_object_get(object, "reward"));
    trace.n_output_tokens = member(call, object, "num_output_tokens", 0);
    trace.n_total_tokens = member(call, object, "num_total_tokens", trace.n_output_tokens);
    trace.n_turns = member(call, object, "num_turns", 0);
    return trace;
}

/*
 * Returns the advantages of a group as a list. A trace that does not count gets null, because an
 * advantage of 0 would mean that its reward is the mean.
 */
static json_t *run_group(struct case_call *call, struct advantage_case *c, const json_t *group, size_t index)
{
    size_t n = json_array_size(group);
    struct rl_trace *traces = case_alloc(call, n, sizeof *traces);
    double *advantages = case_alloc(call, n, sizeof *advantages);
    uint8_t *counted = case_alloc(call, n, sizeof *counted);
    json_t *list = json_array();
    if (!json_is_array(group))
        case_fail(call, "inputs.groups[%zu] is not a list", index);
    for (size_t i = 0; !call->failed && i < n; i++)
        traces[i] = read_trace(call, json_array_get(group, i), index, i);
    CASE_RUN(call, rl_algorithm_group(c->algorithm, traces, n, &c->options, advantages, counted, &call->err));
    for (size_t i = 0; !call->failed && i < n; i++)
        json_array_append_new(list, counted[i] ? json_real(advantages[i]) : json_null());
    return list;
}

/* Stores the baselines after the last group, so that a case can check them. */
static void put_baselines(struct case_call *call, const struct advantage_case *c)
{
    json_t *object = json_object();
    for (size_t i = 0; i < c->n_baselines; i++)
        json_object_set_new(object, c->baselines[i].agent ? c->baselines[i].agent : "", json_real(c->baselines[i].value));
    case_put(call, "baselines_after", object);
}

void case_group_advantage(struct case_call *call)
{
    struct advantage_case c = {0};
    const json_t *groups = case_input(call, "groups");
    json_t *lists = json_array();
    read_settings(call, &c);
    if (!json_is_array(groups))
        case_fail(call, "inputs.groups is missing or not a list");
    for (size_t i = 0; !call->failed && i < json_array_size(groups); i++)
        json_array_append_new(lists, run_group(call, &c, json_array_get(groups, i), i));
    case_put(call, "advantages", lists);
    if (keeps_baselines(&c))
        put_baselines(call, &c);
}
