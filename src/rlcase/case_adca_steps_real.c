/* case_adca_steps_real.c: `lineage core prm_steps`. */
#include <rlcore/adca.h>

#include "case_ragged.h"
#include "case_real.h"

/*
 * Runs the two halves of the definition separately, so that a case shows in which half an
 * implementation differs.
 */
static void run(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    const int32_t *step_id = case_ids(call, "step_ids", &b, &t);
    struct case_ragged rewards = case_ragged_read(call, "step_rewards", &b);
    if (call->failed)
        return;
    double *sums = case_alloc(call, rewards.start[b.n], sizeof *sums);
    real *advantages = case_alloc(call, b.n * t.n, sizeof *advantages);
    CASE_RUN(call, rl_adca_suffix_sums(b.n, rewards.start, rewards.values, sums, &call->err));
    CASE_RUN(call, rl_adca_spread(b.n, t.n, step_id, rewards.start, sums, advantages, &call->err));
    if (call->failed)
        return;
    case_ragged_put(call, "step_advantages", sums, rewards.start, b.n);
    case_put_reals(call, "advantages", advantages, b.n, t.n);
}

const struct case_kernel case_adca_steps = {
    .family = "prm_steps",
    .summary = "suffix sums of step rewards, at the tokens of each step",
    .inputs = "step_rewards, step_ids",
    .outputs = "step_advantages (ragged), advantages [B][T]",
    .run = run,
};
