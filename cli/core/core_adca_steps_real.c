/* core_adca_steps_real.c: `lineage core prm_steps`. */
#include <rlcore/adca.h>

#include "core_ragged.h"
#include "core_real.h"

/* The two halves of the definition one after the other, so that a case shows at which of them
 * an implementation departs. */
static void run(struct core_call *call)
{
    struct core_dim b = {0}, t = {0};
    const int32_t *step_id = core_ids(call, "step_ids", &b, &t);
    struct core_ragged rewards = core_ragged_read(call, "step_rewards", &b);
    if (call->failed)
        return;
    double *sums = core_alloc(call, rewards.start[b.n], sizeof *sums);
    real *advantages = core_alloc(call, b.n * t.n, sizeof *advantages);
    if (call->failed)
        return;
    enum rl_status status =
        rl_adca_suffix_sums(b.n, rewards.start, rewards.values, sums, &call->err);
    if (status == RL_OK)
        status = rl_adca_spread(b.n, t.n, step_id, rewards.start, sums, advantages, &call->err);
    if (core_again(call, status) || call->failed)
        return;
    core_ragged_put(call, "step_advantages", sums, rewards.start, b.n);
    core_put_reals(call, "advantages", advantages, b.n, t.n);
}

const struct core_kernel core_adca_steps = {
    .family = "prm_steps",
    .summary = "suffix sums of step rewards, at the tokens of each step",
    .inputs = "step_rewards (ragged), step_ids [B][T]",
    .run = run,
};
