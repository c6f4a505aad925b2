/* credit.c: advantages of rollouts, given to their sampled tokens. */
#include <math.h>

#include "algorithm/algorithm.h"

enum rl_status rl_credit_grpo(struct rl_algorithm_job *job)
{
    enum rl_status status =
        rl_group_grpo(job->rollouts->traces, job->rollouts->n, job->options->length_penalty,
                      job->values, job->counted, job->err);
    if (status == RL_OK)
        rl_credit_spread(job);
    return status;
}

void rl_credit_spread(struct rl_algorithm_job *job)
{
    for (size_t i = 0; i < job->rollouts->n; i++)
        for (size_t k = job->start[i]; job->counted[i] && k < job->start[i + 1]; k++)
            job->credit[k] = job->values[i];
}

enum rl_status rl_credit_check(const struct rl_algorithm_job *job)
{
    for (size_t i = 0; i < job->rollouts->n; i++)
        for (size_t k = job->start[i]; k < job->start[i + 1]; k++)
            if (!isfinite(job->given[k]))
                return rl_fail(job->err, RL_EVALUE,
                               "advantage of rollout %zu is %g at sampled token %zu", i,
                               job->given[k], k - job->start[i]);
    return RL_OK;
}
