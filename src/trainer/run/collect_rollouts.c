/* collect_rollouts.c: see collect_rollouts.h. */
#include "run/collect_rollouts.h"

#include "recipe/recipe_needs.h"
#include "run/greedy_baseline.h"
#include "run/prefix_values.h"
#include "run/shared_beginnings.h"
#include "support/rng.h"

/*
 * Questions and noise are functions of (seed, iteration), never of a generator that keeps its state, so trials that
 * differ in one setting get the same questions in the same iterations. The questions of a pool depend on the seed
 * alone, and iterations cycle through it.
 */
static struct rollouts_plan plan_for(const struct trainer_recipe *recipe, int32_t task, int32_t iteration)
{
    size_t pool = (size_t)recipe->tasks[task].pool;
    return (struct rollouts_plan){.env = &recipe->tasks[task].env,
                                  .task = task,
                                  .questions = (size_t)recipe->tasks[task].questions,
                                  .group_size = (size_t)recipe->training.group_size,
                                  .question_seed = pool > 0 ? trainer_seed(recipe->seed, 'o', 0)
                                                            : trainer_seed(recipe->seed, 'i', (uint64_t)iteration),
                                  .first = (size_t)iteration * (size_t)recipe->tasks[task].questions,
                                  .pool = pool,
                                  .noise_seed = trainer_seed(recipe->seed, 'j', (uint64_t)iteration)};
}

/*
 * Takes questions in order, with group_size rollouts each, unless the recipe asks for more rollouts of hard questions.
 */
static enum trainer_status draw_questions(struct run *run, struct rollouts_plan *plan, int32_t iteration,
                                          struct trainer_iteration *metrics, struct trainer_error *err)
{
    struct allocation *allocation = &run->allocation[plan->task];
    uint64_t seed = trainer_seed(run->recipe->seed, 'h', (uint64_t)iteration);
    const struct allocation_plan wanted = {trainer_seed(seed, 't', (uint64_t)plan->task), plan->first, plan->group_size};
    if (allocation->pool == 0)
        return TRAINER_OK;
    plan->numbers = allocation->chosen;
    plan->sizes = allocation->sizes;
    return allocation_draw(allocation, &run->recipe->tasks[plan->task], &wanted, &metrics->allocation, err);
}

/* Starts the rows of all tasks, and plays the side rollouts that they need (side_rollouts.h). */
static enum trainer_status start_rows(struct run *run, int32_t iteration, const struct sampler_job *job,
                                      struct trainer_iteration *metrics, struct trainer_error *err)
{
    enum trainer_status status = TRAINER_OK;
    size_t first = 0;
    for (int32_t task = 0; task < run->recipe->n_tasks && status == TRAINER_OK; task++) {
        struct rollouts_plan plan = plan_for(run->recipe, task, iteration);
        unsigned needs = recipe_needs(run->recipe, task);
        status = draw_questions(run, &plan, iteration, metrics, err);
        if (status != TRAINER_OK)
            return status;
        if (run->data[task].rows) {
            data_set_add(&run->data[task], run->rollouts, &plan, first);
        } else if (needs & RL_NEED_AGENTS) {
            status = shared_beginnings_play(run, &plan, first, job, metrics, err);
        } else {
            rollouts_add(run->rollouts, &plan, first);
            if (needs & RL_NEED_GREEDY)
                status = greedy_baseline(run, &plan, first, job, metrics, err);
        }
        first = run->rollouts->n;
    }
    return status;
}

/* sft's rollouts are sampled by the frozen model that it imitates. */
enum trainer_status run_collect(struct run *run, int32_t iteration, struct trainer_iteration *metrics, struct trainer_error *err)
{
    const struct trainer_recipe *recipe = run->recipe;
    struct sampler_job job = {.rollouts = run->rollouts, .temperature = recipe->training.temperature, .values = true};
    const float *weights;
    enum trainer_status status =
        sampler_weights_choose(&run->sampled_by, recipe, run->learner.params, iteration, &weights, &metrics->staleness, err);
    for (int32_t task = 0; task < recipe->n_tasks; task++)
        job.params[task] =
            recipe_needs(recipe, task) & RL_NEED_FROZEN_SOURCE && !run->data[task].rows ? run->references.teacher[task] : weights;
    if (status == TRAINER_OK)
        status = start_rows(run, iteration, &job, metrics, err);
    if (status == TRAINER_OK)
        status = sampler_play(&run->sampler, &job, err);
    if (status != TRAINER_OK)
        return status;
    metrics->generation_s += job.generation_s;
    metrics->gain_s = job.gain_s;
    metrics->sampled_tokens += job.sampled;
    metrics->fed_tokens += job.fed;
    metrics->gain_tokens = job.gain_tokens;
    metrics->routing.load = routing_load(recipe, run->rollouts);
    return prefix_values(run, iteration, &job, metrics, err);
}
