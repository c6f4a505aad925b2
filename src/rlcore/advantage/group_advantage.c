/*
 * group_advantage.c: advantages of whole rollouts within their group.
 *
 * prime-rl counts traces, not tensors: a trace that ended in an error, or that its environment
 * keeps from training, neither gets an advantage nor stands in the mean of the others, as its
 * reward says more about the harness than about the policy.
 */
#include <rlcore/group_advantage.h>

#include <math.h>
#include <string.h>

#include "support/scratch.h"

/* A missing name is the empty name: environments of one agent need not invent one. */
static bool same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static enum rl_status begin(const struct rl_trace *traces, size_t n, double *advantages,
                            uint8_t *counted, struct rl_error *err)
{
    if (n &&
        RL_NEED(err, {"traces", traces}, {"advantages", advantages}, {"counted", counted}) != RL_OK)
        return RL_EINVAL;
    for (size_t i = 0; i < n; i++) {
        counted[i] = !traces[i].has_error && !traces[i].not_trainable;
        advantages[i] = 0;
        if (counted[i] && !isfinite(traces[i].reward))
            return rl_fail(err, RL_EVALUE, "reward of trace %zu is %g, not a finite number", i,
                           traces[i].reward);
    }
    return RL_OK;
}

/* Rewards near the end of double's range can still give something else. */
static enum rl_status finish(const double *advantages, size_t n, struct rl_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(advantages[i]))
            return rl_fail(err, RL_EVALUE, "advantage of trace %zu is %g, not a finite number", i,
                           advantages[i]);
    return RL_OK;
}

static double mean_of(const double *values, const uint8_t *counted, size_t n)
{
    double sum = 0;
    size_t members = 0;
    for (size_t i = 0; i < n; i++)
        if (counted[i]) {
            sum += values[i];
            members++;
        }
    return members ? sum / (double)members : 0;
}

static void take_rewards(const struct rl_trace *traces, const uint8_t *counted, size_t n,
                         double *values)
{
    for (size_t i = 0; i < n; i++)
        if (counted[i])
            values[i] = traces[i].reward;
}

static enum rl_status check_counts(const struct rl_trace *trace, size_t i, struct rl_error *err)
{
    const double counts[] = {trace->n_output_tokens, trace->n_total_tokens, trace->n_turns};
    for (size_t j = 0; j < 3; j++)
        if (!isfinite(counts[j]) || counts[j] < 0)
            return rl_fail(err, RL_EVALUE, "trace %zu: a count is %g, not a number from 0 on", i,
                           counts[j]);
    if (trace->n_output_tokens > trace->n_total_tokens)
        return rl_fail(err, RL_EVALUE, "trace %zu: %g output tokens of %g in all", i,
                       trace->n_output_tokens, trace->n_total_tokens);
    return RL_OK;
}

/*
 * Lowers each counted value by its share of the mean reward. Shares are of the largest count in the
 * group and of the mean reward, so that a penalty means the same for short and long tasks, and none
 * is taken from a group that earns nothing: there, being brief is not what is missing. The floor of
 * 1 on each maximum keeps a group without turns from dividing by 0.
 */
static enum rl_status penalise(const struct rl_trace *traces, const uint8_t *counted, size_t n,
                               const struct rl_length_weights *w, double *values,
                               struct rl_error *err)
{
    double output = 1, input = 1, turns = 1, mean = mean_of(values, counted, n);
    for (size_t i = 0; i < n; i++) {
        if (!counted[i])
            continue;
        enum rl_status status = check_counts(&traces[i], i, err);
        if (status != RL_OK)
            return status;
        output = fmax(output, traces[i].n_output_tokens);
        input = fmax(input, traces[i].n_total_tokens - traces[i].n_output_tokens);
        turns = fmax(turns, traces[i].n_turns);
    }
    for (size_t i = 0; i < n; i++)
        if (counted[i])
            values[i] -=
                mean * (w->output * traces[i].n_output_tokens / output +
                        w->input * (traces[i].n_total_tokens - traces[i].n_output_tokens) / input +
                        w->turns * traces[i].n_turns / turns);
    return RL_OK;
}

/*
 * No division by the deviation: it would weigh prompts that are nearly solved or nearly hopeless
 * most (Dr. GRPO, arXiv 2503.20783). The mean is taken after the penalty, so that a group of
 * equally long answers is not lowered as a whole.
 */
enum rl_status rl_group_grpo(const struct rl_trace *traces, size_t n,
                             const struct rl_length_weights *penalty, double *advantages,
                             uint8_t *counted, struct rl_error *err)
{
    enum rl_status status = begin(traces, n, advantages, counted, err);
    if (status != RL_OK)
        return status;
    take_rewards(traces, counted, n, advantages);
    if (penalty && (status = penalise(traces, counted, n, penalty, advantages, err)) != RL_OK)
        return status;
    double mean = mean_of(advantages, counted, n);
    for (size_t i = 0; i < n; i++)
        advantages[i] = counted[i] ? advantages[i] - mean : 0;
    return finish(advantages, n, err);
}

/*
 * Divided by the mean reward: the gradient of ln(mean reward) instead of that of the mean, which
 * weighs hard prompts up. Where nothing was earned there is no such gradient.
 */
enum rl_status rl_group_max_rl(const struct rl_trace *traces, size_t n, double *advantages,
                               uint8_t *counted, struct rl_error *err)
{
    enum rl_status status = begin(traces, n, advantages, counted, err);
    if (status != RL_OK)
        return status;
    take_rewards(traces, counted, n, advantages);
    double mean = mean_of(advantages, counted, n);
    for (size_t i = 0; i < n; i++)
        advantages[i] = counted[i] && mean > 0 ? (advantages[i] - mean) / mean : 0;
    return finish(advantages, n, err);
}

static bool by_episode(const char *agent, const char *const *episode_agents, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (same(agent, episode_agents[i]))
            return true;
    return false;
}

/* A trace without an episode is alone in its own. */
static bool same_episode(const struct rl_trace *a, const struct rl_trace *b)
{
    return a == b || (a->episode && b->episode && strcmp(a->episode, b->episode) == 0);
}

/*
 * A baseline per agent, as the agents of one episode have different jobs; for agents named in
 * episode_agents only within their episode, since several of them saw the same situation there.
 * Quadratic in the group, which has tens of traces.
 */
enum rl_status rl_group_hierarchical(const struct rl_trace *traces, size_t n,
                                     const char *const *episode_agents, size_t n_episode_agents,
                                     double *advantages, uint8_t *counted, struct rl_error *err)
{
    enum rl_status status = begin(traces, n, advantages, counted, err);
    if (status == RL_OK && n_episode_agents)
        status = RL_NEED(err, {"episode_agents", episode_agents});
    for (size_t i = 0; status == RL_OK && i < n; i++) {
        bool narrow = by_episode(traces[i].agent, episode_agents, n_episode_agents);
        double sum = 0;
        size_t members = 0;
        if (!counted[i])
            continue;
        for (size_t j = 0; j < n; j++)
            if (counted[j] && same(traces[j].agent, traces[i].agent) &&
                (!narrow || same_episode(&traces[i], &traces[j]))) {
                sum += traces[j].reward;
                members++;
            }
        advantages[i] = traces[i].reward - sum / (double)members;
    }
    return status == RL_OK ? finish(advantages, n, err) : status;
}

/*
 * A list searched from its start: agents are few, and their order is that in which they were first
 * met, which the caller may store and give back.
 */
static struct rl_baseline *baseline_of(struct rl_baseline *baselines, size_t *n, size_t capacity,
                                       const char *agent)
{
    for (size_t i = 0; i < *n; i++)
        if (same(baselines[i].agent, agent))
            return &baselines[i];
    if (*n == capacity)
        return NULL;
    baselines[*n] = (struct rl_baseline){agent, 0};
    return &baselines[(*n)++];
}

/* Whether an earlier trace, counted or not, opened the same episode, which is then already dealt
 * with. */
static bool is_continued(const struct rl_trace *traces, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (same_episode(&traces[j], &traces[i]))
            return true;
    return false;
}

/*
 * A trace is compared with the average before itself, and moves it afterwards: the other way round
 * every advantage would be scaled by the decay. Whole episodes one after another, since the
 * averages depend on the order and the reference updates them episode by episode.
 */
enum rl_status rl_group_rae(const struct rl_trace *traces, size_t n, double decay,
                            struct rl_baseline *baselines, size_t *n_baselines, size_t capacity,
                            double *advantages, uint8_t *counted, struct rl_error *err)
{
    enum rl_status status = begin(traces, n, advantages, counted, err);
    if (status == RL_OK)
        status = RL_NEED(err, {"baselines", baselines}, {"n_baselines", n_baselines});
    if (status == RL_OK && !(decay >= 0 && decay <= 1))
        status = rl_fail(err, RL_EINVAL, "decay is %g, not in 0..1", decay);
    for (size_t first = 0; status == RL_OK && first < n; first++) {
        if (is_continued(traces, first))
            continue;
        for (size_t i = first; i < n; i++) {
            if (!counted[i] || !same_episode(&traces[first], &traces[i]))
                continue;
            struct rl_baseline *b = baseline_of(baselines, n_baselines, capacity, traces[i].agent);
            if (!b)
                return rl_fail(err, RL_EINVAL, "no room for the baseline of agent '%.60s'",
                               traces[i].agent ? traces[i].agent : "");
            advantages[i] = traces[i].reward - b->value;
            b->value = decay * b->value + (1 - decay) * traces[i].reward;
        }
    }
    return status == RL_OK ? finish(advantages, n, err) : status;
}
