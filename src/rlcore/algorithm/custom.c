/* custom.c: advantages from a function of the caller. */
#include "algorithm/algorithm.h"

static enum rl_status credit(struct rl_algorithm_job *job)
{
    const struct rl_algorithm_options *o = job->options;
    if (!o->credit)
        return rl_fail(job->err, RL_EINVAL, "custom has no function for its advantages");
    int answer = o->credit(o->credit_context, job->rollouts, job->start, job->credit);
    if (answer != 0)
        return rl_fail(job->err, RL_ECALLBACK, "the function for custom's advantages returned %d",
                       answer);
    return RL_OK;
}

const struct rl_algorithm rl_algorithm_custom = {
    .name = "custom",
    .summary = "advantages per token from a function of the caller",
    .action = RL_SAMPLE_RL,
    .credit = credit,
};
