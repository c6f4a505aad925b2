/* prime_advantage.c: `lineage core prime_advantage`: groups of traces, one advantage each. */
#include <rlcore/group_advantage.h>

#include "core_call.h"

#define MAX_AGENTS 256

enum algorithm { GRPO, MAX_RL, HIERARCHICAL, RAE };

struct advantage_case {
    enum algorithm algorithm;
    bool has_penalty;
    struct rl_length_weights penalty;
    const char *episode_agents[MAX_AGENTS];
    size_t n_episode_agents;
    double decay;
    struct rl_baseline baselines[MAX_AGENTS];
    size_t n_baselines;
};

static double member(struct core_call *call, const json_t *object, const char *name,
                     double fallback)
{
    const json_t *value = json_object_get(object, name);
    if (value && !json_is_null(value) && !json_is_number(value))
        core_fail(call, "%s is not a number", name);
    return json_is_number(value) ? json_number_value(value) : fallback;
}

static void read_settings(struct core_call *call, struct advantage_case *c)
{
    static const char *const names[] = {"grpo", "max_rl", "hierarchical_grpo", "rae", NULL};
    const json_t *penalty = json_object_get(call->inputs, "length_penalty");
    const json_t *agents = json_object_get(call->inputs, "episode_agents");
    c->algorithm = (enum algorithm)core_choice(call, "algorithm", names);
    c->has_penalty = json_is_object(penalty);
    c->penalty.output = member(call, penalty, "num_output_tokens_weight", 0);
    c->penalty.input = member(call, penalty, "num_input_tokens_weight", 0);
    c->penalty.turns = member(call, penalty, "num_turns_weight", 0);
    if (json_array_size(agents) > MAX_AGENTS)
        core_fail(call, "inputs.episode_agents has more than %d agents", MAX_AGENTS);
    for (size_t i = 0; !call->failed && i < json_array_size(agents); i++)
        c->episode_agents[c->n_episode_agents++] = json_string_value(json_array_get(agents, i));
    if (c->algorithm == RAE)
        c->decay = core_number(call, "decay");
}

static struct rl_trace read_trace(struct core_call *call, const json_t *object)
{
    struct rl_trace trace = {.agent = json_string_value(json_object_get(object, "agent")),
                             .episode = json_string_value(json_object_get(object, "episode")),
                             .has_error = json_is_true(json_object_get(object, "has_error")),
                             .not_trainable = json_is_false(json_object_get(object, "trainable"))};
    bool counts = !trace.has_error && !trace.not_trainable;
    if (!json_is_number(json_object_get(object, "reward")) && counts)
        core_fail(call, "a trace has no reward");
    trace.reward = json_number_value(json_object_get(object, "reward"));
    trace.n_output_tokens = member(call, object, "num_output_tokens", 0);
    trace.n_total_tokens = member(call, object, "num_total_tokens", trace.n_output_tokens);
    trace.n_turns = member(call, object, "num_turns", 0);
    return trace;
}

static enum rl_status run_one(struct core_call *call, struct advantage_case *c,
                              const struct rl_trace *traces, size_t n, double *advantages,
                              uint8_t *counted)
{
    switch (c->algorithm) {
    case GRPO:
        return rl_group_grpo(traces, n, c->has_penalty ? &c->penalty : NULL, advantages, counted,
                             &call->err);
    case MAX_RL: return rl_group_max_rl(traces, n, advantages, counted, &call->err);
    case HIERARCHICAL:
        return rl_group_hierarchical(traces, n, c->episode_agents, c->n_episode_agents, advantages,
                                     counted, &call->err);
    case RAE: break;
    }
    return rl_group_rae(traces, n, c->decay, c->baselines, &c->n_baselines, MAX_AGENTS, advantages,
                        counted, &call->err);
}

/* The group's list of advantages, null for a trace that does not count. */
static json_t *run_group(struct core_call *call, struct advantage_case *c, const json_t *group)
{
    size_t n = json_array_size(group);
    struct rl_trace *traces = core_alloc(call, n, sizeof *traces);
    double *advantages = core_alloc(call, n, sizeof *advantages);
    uint8_t *counted = core_alloc(call, n, sizeof *counted);
    json_t *list = json_array();
    for (size_t i = 0; !call->failed && i < n; i++)
        traces[i] = read_trace(call, json_array_get(group, i));
    if (!call->failed)
        core_again(call, run_one(call, c, traces, n, advantages, counted));
    for (size_t i = 0; !call->failed && i < n; i++)
        json_array_append_new(list, counted[i] ? json_real(advantages[i]) : json_null());
    return list;
}

static void put_baselines(struct core_call *call, const struct advantage_case *c)
{
    json_t *object = json_object();
    for (size_t i = 0; i < c->n_baselines; i++)
        json_object_set_new(object, c->baselines[i].agent ? c->baselines[i].agent : "",
                            json_real(c->baselines[i].value));
    core_put(call, "baselines_after", object);
}

static void run(struct core_call *call)
{
    struct advantage_case c = {0};
    const json_t *groups = json_object_get(call->inputs, "groups");
    json_t *lists = json_array();
    read_settings(call, &c);
    if (!json_is_array(groups))
        core_fail(call, "inputs.groups is missing or not a list");
    for (size_t i = 0; !call->failed && i < json_array_size(groups); i++)
        json_array_append_new(lists, run_group(call, &c, json_array_get(groups, i)));
    core_put(call, "advantages", lists);
    if (c.algorithm == RAE)
        put_baselines(call, &c);
}

const struct core_kernel core_prime_advantage = {
    .family = "prime_advantage",
    .summary = "prime-rl's advantages of whole rollouts: grpo, max_rl, hierarchical_grpo, rae",
    .inputs = "algorithm, groups (lists of {reward, agent?, episode?, trainable?, has_error?, "
              "num_output_tokens?, "
              "num_total_tokens?, num_turns?}), length_penalty?, episode_agents?, decay?",
    .run = run,
};
