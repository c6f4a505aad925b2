/*
 * algorithm_values.c: one advantage per finished rollout of a group. What trees and rows share: an
 * algorithm that sees whole rollouts is written once, and both forms spread its values over their
 * tokens.
 *
 * The functions differ from those of rlcore/advantage.h in their arguments alone, so that a row of
 * the table can hold any of them; what is computed stands there, once.
 */
#include "algorithm/algorithm_code.h"

#include <math.h>

#include "support/fail.h"

enum rl_status rl_values_grpo(const struct rl_trace *traces, size_t n,
                              const struct rl_algorithm_options *options, double *values,
                              uint8_t *counted, struct rl_error *err)
{
    return rl_group_grpo(traces, n, options->length_penalty, values, counted, err);
}

enum rl_status rl_values_max_rl(const struct rl_trace *traces, size_t n,
                                const struct rl_algorithm_options *options, double *values,
                                uint8_t *counted, struct rl_error *err)
{
    (void)options;
    return rl_group_max_rl(traces, n, values, counted, err);
}

enum rl_status rl_values_hierarchical(const struct rl_trace *traces, size_t n,
                                      const struct rl_algorithm_options *options, double *values,
                                      uint8_t *counted, struct rl_error *err)
{
    return rl_group_hierarchical(traces, n, options->episode_agents, options->n_episode_agents,
                                 values, counted, err);
}

/*
 * Baselines live with the caller: they are the only thing an algorithm remembers, and a run must
 * be able to save or drop them.
 */
enum rl_status rl_values_rae(const struct rl_trace *traces, size_t n,
                             const struct rl_algorithm_options *options, double *values,
                             uint8_t *counted, struct rl_error *err)
{
    if (!options->baselines || !options->n_baselines)
        return rl_fail(err, RL_EINVAL, "rae has no baselines to keep");
    return rl_group_rae(traces, n, options->decay, options->baselines, options->n_baselines,
                        options->max_baselines, values, counted, err);
}

/*
 * Without a baseline a reward that is not finite would go straight into the gradient.
 */
enum rl_status rl_values_reward(const struct rl_trace *traces, size_t n,
                                const struct rl_algorithm_options *options, double *values,
                                uint8_t *counted, struct rl_error *err)
{
    (void)options;
    for (size_t i = 0; i < n; i++) {
        counted[i] = !traces[i].has_error && !traces[i].not_trainable;
        values[i] = counted[i] ? traces[i].reward : 0;
        if (!isfinite(values[i]))
            return rl_fail(err, RL_EVALUE, "reward of trace %zu is %g, not a finite number", i,
                           traces[i].reward);
    }
    return RL_OK;
}

/* A function of the table, so that adapters of other languages need no list of algorithms. */
enum rl_status rl_algorithm_group(const struct rl_algorithm *algorithm,
                                  const struct rl_trace *traces, size_t n,
                                  const struct rl_algorithm_options *options, double *advantages,
                                  uint8_t *counted, struct rl_error *err)
{
    if (!algorithm->code->values)
        return rl_fail(err, RL_EINVAL, "%s has no advantage of whole rollouts", algorithm->name);
    return algorithm->code->values(traces, n, options, advantages, counted, err);
}
