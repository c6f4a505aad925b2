/*
 * rlcore/group_advantage.h: one advantage per finished rollout (trace) of a group, as prime-rl's
 * algorithms grpo, max_rl, hierarchical_grpo and rae assign it to all sampled tokens of the trace.
 *
 * A trace that ended in an error, or is not trainable, counts in no statistic; it gets advantage 0
 * and counted 0. A group none of whose traces count is fine: there is nothing to train on. All
 * functions are O(n^2) in the traces of a group at most, and refuse values that are not finite, and
 * rewards so large that an advantage would not be, by index (RL_EVALUE).
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

#ifdef __cplusplus
extern "C" {
#endif

struct rl_trace {
    double reward;
    const char *agent;   /* "" or NULL: the one agent */
    const char *episode; /* NULL: an episode of its own */
    bool has_error, not_trainable;
    double n_output_tokens, n_total_tokens, n_turns; /* read by the length penalty only */
};

/* prime-rl's linear length penalty: weights of output, input (total - output) tokens and turns. */
struct rl_length_weights {
    double output, input, turns;
};

/*
 * grpo: r - mean(r). With a penalty, r is first lowered by
 *   mean(r) (output out/max(out) + input in/max(in) + turns t/max(t)), each maximum at least 1.
 * advantages [n], counted [n].
 */
RL_API RL_NODISCARD enum rl_status rl_group_grpo(const struct rl_trace *traces, size_t n,
                                                 const struct rl_length_weights *penalty,
                                                 double *advantages, uint8_t *counted,
                                                 struct rl_error *err);

/* max_rl: (r - mean) / mean; all 0 if the mean is not above 0. */
RL_API RL_NODISCARD enum rl_status rl_group_max_rl(const struct rl_trace *traces, size_t n,
                                                   double *advantages, uint8_t *counted,
                                                   struct rl_error *err);

/*
 * hierarchical_grpo: r - mean over the traces of the same agent, and of the same episode too for
 * the agents in episode_agents [n_episode_agents].
 */
RL_API RL_NODISCARD enum rl_status rl_group_hierarchical(const struct rl_trace *traces, size_t n,
                                                         const char *const *episode_agents,
                                                         size_t n_episode_agents,
                                                         double *advantages, uint8_t *counted,
                                                         struct rl_error *err);

/* The moving baseline of one agent. */
struct rl_baseline {
    const char *agent; /* borrowed from the trace that came first */
    double value;
};

/*
 * rae: r - b with one baseline b per agent, 0 at first, then b = decay b + (1 - decay) r; traces
 * are taken episode by episode, in the order in which episodes first appear, traces that do not
 * count included. baselines [*n_baselines of capacity] are kept from group to group by the caller.
 * RL_EINVAL if decay is not in 0..1 or there is no room for another agent.
 */
RL_API RL_NODISCARD enum rl_status rl_group_rae(const struct rl_trace *traces, size_t n,
                                                double decay, struct rl_baseline *baselines,
                                                size_t *n_baselines, size_t capacity,
                                                double *advantages, uint8_t *counted,
                                                struct rl_error *err);

#ifdef __cplusplus
}
#endif

#endif
