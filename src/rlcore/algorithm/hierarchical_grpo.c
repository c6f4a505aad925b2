/* hierarchical_grpo.c: a rollout's reward against the rollouts of the same agent. */
#include "algorithm/algorithm.h"

static enum rl_status credit(struct rl_algorithm_job *job)
{
    const struct rl_algorithm_options *o = job->options;
    enum rl_status status =
        rl_group_hierarchical(job->rollouts->traces, job->rollouts->n, o->episode_agents,
                              o->n_episode_agents, job->values, job->counted, job->err);
    if (status == RL_OK)
        rl_credit_spread(job);
    return status;
}

const struct rl_algorithm rl_algorithm_hierarchical_grpo = {
    .name = "hierarchical_grpo",
    .summary = "reward minus the mean of the same agent, for listed agents of the same episode too",
    .action = RL_SAMPLE_RL,
    .group_relative = true,
    .credit = credit,
};
