/* max_rl.c: a rollout's reward against the mean of its group, in units of the mean. */
#include "algorithm/algorithm.h"

static enum rl_status credit(struct rl_algorithm_job *job)
{
    enum rl_status status = rl_group_max_rl(job->rollouts->traces, job->rollouts->n, job->values,
                                            job->counted, job->err);
    if (status == RL_OK)
        rl_credit_spread(job);
    return status;
}

const struct rl_algorithm rl_algorithm_max_rl = {
    .name = "max_rl",
    .summary = "reward minus group mean, divided by the mean",
    .action = RL_SAMPLE_RL,
    .group_relative = true,
    .credit = credit,
};
