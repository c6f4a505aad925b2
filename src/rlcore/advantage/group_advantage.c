/*
 * group_advantage.c: advantages of whole rollouts within their group.
 *
 * As in prime-rl, a trace gets no advantage and does not count in the mean of the others if it
 * ended in an error or its environment excludes it from training. The reward of such a trace says
 * more about the harness than about the policy.
 */
#include <rlcore/group_advantage.h>

#include "support/scratch.h"

/* A missing name equals the empty name, so that environments with one agent need not name it. */
static bool same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static enum rl_status begin(const struct rl_trace *traces, size_t n, double *advantages, uint8_t *counted, struct rl_error *err)
{
    if (n && RL_NEED(err, {"traces", traces}, {"advantages", advantages}, {"counted", counted}) != RL_OK)
        return RL_EINVAL;
    for (size_t i = 0; i < n; i++) {
        counted[i] = !traces[i].has_error && !traces[i].not_trainable;
        advantages[i] = 0;
        if (counted[i] && !isfinite(traces[i].reward))
            return rl_fail(err, RL_EVALUE, "reward of trace %zu is %g, not a finite number", i, traces[i].reward);
    }
    return RL_OK;
}

/* Finite rewards near the limit of double can give advantages that are not finite. */
static enum rl_status finish(const double *advantages, size_t n, struct rl_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(advantages[i]))
            return rl_fail(err, RL_EVALUE, "advantage of trace %zu is %g, not a finite number", i, advantages[i]);
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

static void take_rewards(const struct rl_trace *traces, const uint8_t *counted, size_t n, double *values)
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
            return rl_fail(err, RL_EVALUE, "trace %zu: a count is %g, negative or not finite", i, counts[j]);
    if (trace->n_output_tokens > trace->n_total_tokens)
        return rl_fail(err, RL_EVALUE, "trace %zu: %g output tokens of only %g in total", i, trace->n_output_tokens,
                       trace->n_total_tokens);
    return RL_OK;
}

/*
 * Subtract from each counted value its share of the mean reward. Shares are relative to the largest
 * count of the group and to the mean reward, so that a penalty has the same meaning for short and
 * long tasks. A group with a mean reward of 0 is not penalised, because length is not its problem.
 * The floor of 1 on each maximum avoids a division by 0, for example without turns.
 */
static enum rl_status penalise(const struct rl_trace *traces, const uint8_t *counted, size_t n, const struct rl_length_weights *w,
                               double *values, struct rl_error *err)
{
    double output = 1, input = 1, turns = 1, mean = mean_of(values, counted, n);
    if (!(fmin(w->output, fmin(w->input, w->turns)) >= 0) || !isfinite(w->output + w->input + w->turns))
        return rl_fail(err, RL_EINVAL, "weights of the length penalty are %g, %g, %g: one is negative or not finite", w->output,
                       w->input, w->turns);
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
            values[i] -= mean * (w->output * traces[i].n_output_tokens / output +
                                 w->input * (traces[i].n_total_tokens - traces[i].n_output_tokens) / input +
                                 w->turns * traces[i].n_turns / turns);
    return RL_OK;
}

enum rl_status rl_group_penalise(const struct rl_trace *traces, size_t n, const struct rl_length_weights *penalty,
                                 double *rewards, uint8_t *counted, struct rl_error *err)
{
    RL_TRY(begin(traces, n, rewards, counted, err));
    RL_TRY(RL_NEED(err, {"penalty", penalty}));
    take_rewards(traces, counted, n, rewards);
    return penalise(traces, counted, n, penalty, rewards, err);
}

/*
 * The advantage is not divided by the standard deviation, because that would give most weight to
 * prompts that are nearly solved or nearly hopeless (Dr. GRPO, arXiv 2503.20783). The mean is taken
 * after the penalty, so that the penalty does not lower a group of equally long answers as a whole.
 */
enum rl_status rl_group_grpo(const struct rl_trace *traces, size_t n, const struct rl_length_weights *penalty, double *advantages,
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
 * With the division by the mean reward, the gradient is that of ln(mean reward) instead of the mean
 * reward. This gives hard prompts more weight. With a mean of 0 that gradient does not exist.
 */
enum rl_status rl_group_max_rl(const struct rl_trace *traces, size_t n, double *advantages, uint8_t *counted,
                               struct rl_error *err)
{
    RL_TRY(begin(traces, n, advantages, counted, err));
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

/* A trace without an episode is an episode of its own. */
static bool same_episode(const struct rl_trace *a, const struct rl_trace *b)
{
    return a == b || (a->episode && b->episode && strcmp(a->episode, b->episode) == 0);
}

/*
 * One baseline per agent, because the agents of an episode have different jobs. Agents in
 * episode_agents are compared only within their episode, where several of them saw the same
 * situation. The cost is quadratic in the group, which has tens of traces.
 */
enum rl_status rl_group_hierarchical(const struct rl_trace *traces, size_t n, const char *const *episode_agents,
                                     size_t n_episode_agents, double *advantages, uint8_t *counted, struct rl_error *err)
{
    RL_TRY(begin(traces, n, advantages, counted, err));
    if (n_episode_agents)
        RL_TRY(RL_NEED(err, {"episode_agents", episode_agents}));
    for (size_t i = 0; i < n; i++) {
        bool narrow = by_episode(traces[i].agent, episode_agents, n_episode_agents);
        double sum = 0;
        size_t members = 0;
        if (!counted[i])
            continue;
        for (size_t j = 0; j < n; j++)
            if (counted[j] && same(traces[j].agent, traces[i].agent) && (!narrow || same_episode(&traces[i], &traces[j]))) {
                sum += traces[j].reward;
                members++;
            }
        advantages[i] = traces[i].reward - sum / (double)members;
    }
    return finish(advantages, n, err);
}

/*
 * The search is linear, because there are few agents. Their order is that of first appearance, and
 * the caller may store and restore it.
 */
static struct rl_baseline *baseline_of(struct rl_baseline *baselines, size_t *n, size_t capacity, const char *agent)
{
    for (size_t i = 0; i < *n; i++)
        if (same(baselines[i].agent, agent))
            return &baselines[i];
    if (*n == capacity)
        return NULL;
    baselines[*n] = (struct rl_baseline){agent, 0};
    return &baselines[(*n)++];
}

/*
 * Returns true if an earlier trace, counted or not, belongs to the same episode; that episode has
 * then been processed already.
 */
static bool is_continued(const struct rl_trace *traces, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (same_episode(&traces[j], &traces[i]))
            return true;
    return false;
}

/*
 * A trace is compared with the moving average before it updates the average; in the opposite order
 * every advantage would be scaled by the decay. Whole episodes are processed one after another,
 * because the averages depend on the order and the reference updates them episode by episode.
 */
enum rl_status rl_group_rae(const struct rl_trace *traces, size_t n, double decay, struct rl_baseline *baselines,
                            size_t *n_baselines, size_t capacity, double *advantages, uint8_t *counted, struct rl_error *err)
{
    RL_TRY(begin(traces, n, advantages, counted, err));
    RL_TRY(RL_NEED(err, {"baselines", baselines}, {"n_baselines", n_baselines}));
    if (!(decay >= 0 && decay <= 1))
        return rl_fail(err, RL_EINVAL, "decay is %g, not in 0..1", decay);
    for (size_t first = 0; first < n; first++) {
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
    return finish(advantages, n, err);
}
