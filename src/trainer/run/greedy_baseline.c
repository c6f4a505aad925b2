/* greedy_baseline.c: see greedy_baseline.h. */
#include "run/greedy_baseline.h"

#include "run/side_rollouts.h"
#include "support/rng.h"

/*
 * A greedy rollout has its own random stream for the tool, as in an evaluation, which differs from those of all rows of
 * the group.
 */
enum trainer_status greedy_baseline(struct run *run, const struct rollouts_plan *plan, size_t first,
                                    const struct sampler_job *job, struct trainer_iteration *metrics, struct trainer_error *err)
{
    struct trainer_rollouts *r = run->rollouts;
    struct rollouts_plan one = *plan;
    struct sampler_job greedy = *job;
    double before = metrics->greedy_reward * (double)metrics->n_greedy, sum = 0;
    one.group_size = 1;
    one.sizes = NULL;
    one.noise_seed = trainer_seed(plan->noise_seed, 'g', (uint64_t)plan->task);
    greedy.temperature = 0;
    enum trainer_status status = side_play(run, &one, greedy, metrics, err);
    if (status != TRAINER_OK)
        return status;
    for (size_t i = first; i < r->n; i++)
        r->baseline[i] = run->side->reward[rollouts_question(r, i)];
    for (size_t q = 0; q < run->side->n; q++)
        sum += run->side->reward[q];
    metrics->n_greedy += run->side->n;
    metrics->greedy_reward = (before + sum) / (double)metrics->n_greedy;
    return TRAINER_OK;
}
