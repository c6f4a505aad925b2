/* rae.c: a rollout's reward against the moving baseline of its agent. */
#include "algorithm/algorithm.h"

static enum rl_status credit(struct rl_algorithm_job *job)
{
    const struct rl_algorithm_options *o = job->options;
    if (!o->baselines || !o->n_baselines)
        return rl_fail(job->err, RL_EINVAL, "rae has no baselines to keep");
    enum rl_status status =
        rl_group_rae(job->rollouts->traces, job->rollouts->n, o->decay, o->baselines,
                     o->n_baselines, o->max_baselines, job->values, job->counted, job->err);
    if (status == RL_OK)
        rl_credit_spread(job);
    return status;
}

const struct rl_algorithm rl_algorithm_rae = {
    .name = "rae",
    .summary = "reward minus a moving baseline per agent, kept from group to group",
    .action = RL_SAMPLE_RL,
    .credit = credit,
};
