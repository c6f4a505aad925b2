/*
 * algorithm_values.c: the functions that give one advantage per finished rollout of a group. Trees
 * and rows share them; both spread the values over their tokens.
 *
 * They only adapt the functions of rlcore/group_advantage.h to one signature, so that a row of the
 * table can hold any of them.
 */
#include "algorithm/algorithm_code.h"

#include "support/fail.h"

enum rl_status rl_values_grpo(const struct rl_trace *traces, size_t n, const struct rl_algorithm_options *options, double *values,
                              uint8_t *counted, struct rl_error *err)
{
    return rl_group_grpo(traces, n, options->length_penalty, values, counted, err);
}

enum rl_status rl_values_max_rl(const struct rl_trace *traces, size_t n, const struct rl_algorithm_options *options,
                                double *values, uint8_t *counted, struct rl_error *err)
{
    (void)options;
    return rl_group_max_rl(traces, n, values, counted, err);
}

enum rl_status rl_values_hierarchical(const struct rl_trace *traces, size_t n, const struct rl_algorithm_options *options,
                                      double *values, uint8_t *counted, struct rl_error *err)
{
    return rl_group_hierarchical(traces, n, options->episode_agents, options->n_episode_agents, values, counted, err);
}

/*
 * The caller owns the baselines: they are the only state of an algorithm, and a run must be able to
 * save and drop them.
 */
enum rl_status rl_values_rae(const struct rl_trace *traces, size_t n, const struct rl_algorithm_options *options, double *values,
                             uint8_t *counted, struct rl_error *err)
{
    if (!options->baselines || !options->n_baselines)
        return rl_fail(err, RL_EINVAL, "rae needs baselines in its options");
    return rl_group_rae(traces, n, options->decay, options->baselines, options->n_baselines, options->max_baselines, values,
                        counted, err);
}

/* Without a baseline the reward enters the gradient directly, so it must be finite. */
enum rl_status rl_values_reward(const struct rl_trace *traces, size_t n, const struct rl_algorithm_options *options,
                                double *values, uint8_t *counted, struct rl_error *err)
{
    (void)options;
    for (size_t i = 0; i < n; i++) {
        counted[i] = !traces[i].has_error && !traces[i].not_trainable;
        values[i] = counted[i] ? traces[i].reward : 0;
        if (!isfinite(values[i]))
            return rl_fail(err, RL_EVALUE, "reward of trace %zu is %g, not a finite number", i, traces[i].reward);
    }
    return RL_OK;
}

/*
 * The function is looked up in the table, so that adapters of other languages need no list of
 * algorithms.
 */
enum rl_status rl_algorithm_group(const struct rl_algorithm *algorithm, const struct rl_trace *traces, size_t n,
                                  const struct rl_algorithm_options *options, double *advantages, uint8_t *counted,
                                  struct rl_error *err)
{
    if (!algorithm->code->values)
        return rl_fail(err, RL_EINVAL, "%s has no advantage of whole rollouts", algorithm->name);
    return algorithm->code->values(traces, n, options, advantages, counted, err);
}
