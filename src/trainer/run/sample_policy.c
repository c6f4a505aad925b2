/* sample_policy.c: plays rollouts of a policy for people to read (trainer_sample). */
#include <string.h>

#include <rlcore/algorithm.h>

#include "run/run.h"

/*
 * A person wants to see what the policy writes, not the rows of a data set. Algorithms that get rollouts, advantages or a
 * teacher's log-probs from outside have none here, and grpo's are shown.
 */
static void sample_itself(struct trainer_task *task)
{
    const struct rl_algorithm *row = rl_algorithm_at(task->algorithm.name);
    bool sourced = row->needs & RL_NEED_FROZEN_SOURCE && task->data[0];
    bool remote = row->needs & RL_NEED_FROZEN_REFERENCE && task->algorithm.endpoint.base_url[0];
    if (sourced || remote || row->needs & RL_NEED_CALLBACK)
        trainer_algorithm_init(&task->algorithm, RL_ALGORITHM_GRPO);
    if (task->algorithm.endpoint.base_url[0])
        task->algorithm.distill.how = TRAINER_DISTILL_NONE;
    task->data[0] = '\0';
}

/*
 * Runs one iteration without its updates, so that a person sees the same data as training, credit included. The KL
 * penalty and staleness are off, because a loaded policy has no earlier weights. The rollouts outlive the run: they are
 * taken from the run before it closes, without the arrays whose memory belongs to the run.
 */
enum trainer_status trainer_sample(struct trainer_rollouts **rollouts, const struct trainer_recipe *recipe, const float *params,
                                   int32_t n_questions, uint64_t seed, struct trainer_error *err)
{
    struct trainer_recipe few = *recipe;
    struct trainer_iteration metrics = {0};
    few.seed = seed;
    few.loss.kl_coef = 0;
    few.sampler.staleness = 0;
    few.judge.endpoint[0] = 0;
    for (int32_t i = 0; i < few.n_tasks; i++) {
        few.tasks[i].questions = n_questions;
        few.tasks[i].hardness = 0;
        few.tasks[i].sizes = TRAINER_GROUPS_EQUAL;
        sample_itself(&few.tasks[i]);
    }
    struct run run = {.recipe = &few};
    *rollouts = NULL;
    enum trainer_status status = run_open(&run, err);
    if (status != TRAINER_OK)
        goto done;
    memcpy(run.learner.params, params, run.learner.n_params * sizeof *params);
    status = run_collect(&run, 0, &metrics, err);
    if (status == TRAINER_OK)
        status = run_credit(&run, 0, &metrics, err);
    if (status != TRAINER_OK)
        goto done;
    *rollouts = run.rollouts;
    run.rollouts->routes = NULL;
    run.rollouts->expected = run.rollouts->returns = NULL;
    run.rollouts = NULL;
done:
    run_close(&run);
    return status;
}
