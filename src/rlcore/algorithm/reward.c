/* reward.c: the reward itself is the advantage. */
#include <math.h>

#include "algorithm/algorithm.h"

static enum rl_status credit(struct rl_algorithm_job *job)
{
    for (size_t i = 0; i < job->rollouts->n; i++) {
        const struct rl_trace *trace = &job->rollouts->traces[i];
        job->counted[i] = !trace->has_error && !trace->not_trainable;
        job->values[i] = trace->reward;
        if (job->counted[i] && !isfinite(trace->reward))
            return rl_fail(job->err, RL_EVALUE, "reward of trace %zu is %g, not a finite number", i,
                           trace->reward);
    }
    rl_credit_spread(job);
    return RL_OK;
}

const struct rl_algorithm rl_algorithm_reward = {
    .name = "reward",
    .summary = "the reward, without a baseline",
    .action = RL_SAMPLE_RL,
    .credit = credit,
};
