/*
 * rlcore/group_advantage.h: one advantage per finished rollout (trace) of a group, which prime-rl's
 * algorithms grpo, max_rl, hierarchical_grpo and rae assign to all sampled tokens of the trace.
 *
 * A trace that ended in an error or is not trainable does not count in any statistic; it gets
 * advantage 0 and counted 0. A group in which no trace counts is allowed; it trains nothing. The
 * cost is at most O(n^2) in the traces of a group. RL_EVALUE, with the index of the trace, for a
 * value that is not finite and for rewards so large that an advantage would overflow.
 *
 * Source: prime-rl, src/prime_rl/orchestrator/algo; definitions in fixtures/golden/README.md,
 * "prime_advantage".
 */
#ifndef RLCORE_GROUP_ADVANTAGE_H
#define RLCORE_GROUP_ADVANTAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rlcore/status.h>

struct rl_trace {
    double reward;
    const char *agent;   /* "" or NULL in a run with a single agent */
    const char *episode; /* NULL: the trace is an episode of its own */
    bool has_error, not_trainable;
    double n_output_tokens, n_total_tokens, n_turns; /* only the length penalty reads these */
};

/*
 * prime-rl's linear length penalty: weights of the output tokens, the input tokens (total - output)
 * and the turns.
 */
struct rl_length_weights {
    double output, input, turns;
};

/*
 * prime-rl's linear length penalty alone: rewards [n] receives r lowered by
 *   mean(r) (output out/max(out) + input in/max(in) + turns t/max(t)), each maximum at least 1,
 * and 0 for traces that do not count. in is the number of tokens that the policy did not write.
 * counted [n].
 */
RL_API RL_NODISCARD enum rl_status rl_group_penalise(const struct rl_trace *traces, size_t n,
                                                     const struct rl_length_weights *penalty, double *rewards, uint8_t *counted,
                                                     struct rl_error *err);

/*
 * grpo: r - mean(r). With a penalty, r is first lowered as by rl_group_penalise.
 * advantages [n], counted [n].
 */
RL_API RL_NODISCARD enum rl_status rl_group_grpo(const struct rl_trace *traces, size_t n, const struct rl_length_weights *penalty,
                                                 double *advantages, uint8_t *counted, struct rl_error *err);

/* max_rl: (r - mean) / mean; all 0 if the mean is not above 0. */
RL_API RL_NODISCARD enum rl_status rl_group_max_rl(const struct rl_trace *traces, size_t n, double *advantages, uint8_t *counted,
                                                   struct rl_error *err);

/*
 * hierarchical_grpo: r - mean over the traces of the same agent, and of the same episode too for
 * the agents in episode_agents [n_episode_agents].
 */
RL_API RL_NODISCARD enum rl_status rl_group_hierarchical(const struct rl_trace *traces, size_t n,
                                                         const char *const *episode_agents, size_t n_episode_agents,
                                                         double *advantages, uint8_t *counted, struct rl_error *err);

/* The moving baseline of one agent. */
struct rl_baseline {
    const char *agent; /* borrowed from the first trace of that agent */
    double value;
};

/*
 * rae: advantage = r - b with one moving baseline b per agent, which starts at 0; then b = decay b
 * + (1 - decay) r. Episodes are processed in the order in which they first appear in traces,
 * including traces that do not count. The caller keeps baselines [*n_baselines of capacity] from
 * group to group. RL_EINVAL if decay is not in 0..1 or another agent would exceed the capacity.
 */
RL_API RL_NODISCARD enum rl_status rl_group_rae(const struct rl_trace *traces, size_t n, double decay,
                                                struct rl_baseline *baselines, size_t *n_baselines, size_t capacity,
                                                double *advantages, uint8_t *counted, struct rl_error *err);

#endif
