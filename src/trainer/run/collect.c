/*
 * collect.c: rollouts of an iteration, by whoever samples, and credit for them.
 *
 * Order: weights of the sampler, rollouts with gains, log-probs of references, credit. Gains are
 * read from the keys and values that the rollouts left, so they come before anything else uses the
 * caches.
 */
#include <math.h>
#include <string.h>

#include <rlcore/offpolicy.h>

#include "rollout/difficulty.h"
#include "support/clock.h"
#include "support/error.h"
#include "support/rng.h"
#include "run/aside.h"
#include "run/run.h"
#include "run/values.h"

/*
 * Lower precision counts as another policy: that its log-probs differ is what train-inference
 * mismatch is about.
 */
bool run_is_off_policy(const struct trainer_recipe *recipe)
{
    return recipe->sampler.precision != TRAINER_FLOAT || recipe->sampler.staleness > 0;
}

/* Tasks stand one behind another: a task's rows are a range, and its groups stay together. */
static size_t rows_of_task(const struct trainer_recipe *recipe, int32_t task)
{
    return (size_t)recipe->tasks[task].questions * (size_t)recipe->training.group_size;
}

size_t run_rows(const struct trainer_recipe *recipe)
{
    size_t rows = 0;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        rows += rows_of_task(recipe, i);
    return rows;
}

/* ---- who samples -------------------------------------------------------------------------- */

/*
 * The sampler works ahead: it would fill batch `iteration` with the weights of staleness
 * iterations ago. If admission refuses that, it waits for newer ones. In the first iterations
 * there are no weights that old: then the oldest there are. Age 0 is always trained on, or the run
 * would stand still.
 */
static enum trainer_status admitted_staleness(const struct run *run, int32_t iteration,
                                              int32_t *age, struct trainer_error *err)
{
    const struct trainer_sampler *sampler = &run->recipe->sampler;
    int64_t rows = (int64_t)run_rows(run->recipe);
    struct rl_error core;
    *age = sampler->staleness < iteration ? sampler->staleness : iteration;
    while (sampler->max_staleness >= 0) {
        bool admit = false;
        enum rl_status status =
            rl_staleness_admit((iteration + (int64_t)1) * rows, rows, iteration - *age,
                               sampler->max_staleness, &admit, &core);
        if (status != RL_OK)
            return trainer_core_failed(err, "staleness admission", status, &core);
        if (admit || *age == 0)
            return TRAINER_OK;
        --*age;
    }
    return TRAINER_OK;
}

/*
 * A ring of staleness + 1 sets: slot (i mod kept) is overwritten just when nobody can ask for it
 * any more. Lowered from the set in the ring and not from the learner, or staleness and precision
 * could not be studied together.
 */
static enum trainer_status sampler_weights(struct run *run, int32_t iteration,
                                           const float **weights, double *staleness,
                                           struct trainer_error *err)
{
    const struct trainer_recipe *recipe = run->recipe;
    size_t n = run->learner.n_params, kept = (size_t)recipe->sampler.staleness + 1;
    int32_t age = 0;
    *weights = run->learner.params;
    run->behaviour = NULL;
    if (!run_is_off_policy(recipe))
        return TRAINER_OK;
    memcpy(run->history + (size_t)iteration % kept * n, run->learner.params, n * sizeof(float));
    enum trainer_status status = admitted_staleness(run, iteration, &age, err);
    const float *source = run->history + (size_t)(iteration - age) % kept * n;
    trainer_policy_lower(&recipe->model, recipe->sampler.precision, source, run->lowered);
    *weights = run->lowered;
    run->behaviour = age > 0 ? source : NULL;
    *staleness = age;
    return status;
}

/* ---- an iteration's rollouts -------------------------------------------------------------- */

/*
 * Questions and chances come from (seed, iteration) and never from a generator that runs on:
 * trials that differ in one setting meet the same questions in the same iterations. Those of a
 * pool come from the seed alone, and iterations go round it.
 */
static struct rollouts_plan plan_for(const struct trainer_recipe *recipe, int32_t task,
                                     int32_t iteration)
{
    size_t pool = (size_t)recipe->tasks[task].pool;
    return (struct rollouts_plan){
        .env = &recipe->tasks[task].env,
        .task = task,
        .questions = (size_t)recipe->tasks[task].questions,
        .group_size = (size_t)recipe->training.group_size,
        .question_seed = pool > 0 ? trainer_seed(recipe->seed, 'o', 0)
                                  : trainer_seed(recipe->seed, 'i', (uint64_t)iteration),
        .first = (size_t)iteration * (size_t)recipe->tasks[task].questions,
        .pool = pool,
        .noise_seed = trainer_seed(recipe->seed, 'j', (uint64_t)iteration)};
}

/* In turn and as many rollouts of each, unless the recipe wants more of the hard ones. */
static enum trainer_status draw_questions(struct run *run, struct rollouts_plan *plan,
                                          int32_t iteration, struct trainer_iteration *metrics,
                                          struct trainer_error *err)
{
    struct allocation *allocation = &run->allocation[plan->task];
    uint64_t seed = trainer_seed(run->recipe->seed, 'h', (uint64_t)iteration);
    const struct allocation_plan wanted = {trainer_seed(seed, 't', (uint64_t)plan->task),
                                           plan->first, plan->group_size};
    if (allocation->pool == 0)
        return TRAINER_OK;
    plan->numbers = allocation->chosen;
    plan->sizes = allocation->sizes;
    return allocation_draw(allocation, &run->recipe->tasks[plan->task], &wanted,
                           &metrics->allocation, err);
}

/* Rows of all tasks, started and with what has to be sampled beside them. */
static enum trainer_status begin_rows(struct run *run, int32_t iteration,
                                      const struct sampler_job *job,
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
        if (needs & RL_NEED_AGENTS) {
            status = aside_branch(run, &plan, first, job, metrics, err);
        } else {
            rollouts_add(run->rollouts, &plan, first);
            if (needs & RL_NEED_GREEDY)
                status = aside_greedy(run, &plan, first, job, metrics, err);
        }
        first = run->rollouts->n;
    }
    return status;
}

/*
 * Task by task, since groups are never compared across environments whose rewards mean different
 * things. Statistics are merged by tokens: a task of short answers has less to say.
 */
static enum trainer_status assign_credit(struct run *run, int32_t iteration,
                                         struct rl_turn_stat *scale, struct trainer_error *err)
{
    enum trainer_status status = run_refer_to_start(run, err);
    size_t first = 0;
    *scale = (struct rl_turn_stat){.mean = 1};
    for (int32_t task = 0; task < run->recipe->n_tasks && status == TRAINER_OK; task++) {
        size_t n = rows_of_task(run->recipe, task);
        struct credit_task at = {run->recipe, task, first, n, iteration};
        struct rl_a2tgpo_stats stats = {1, 0};
        status = run_refer(run, task, first, n, err);
        if (status == TRAINER_OK)
            status = credit_assign(run->rollouts, &at, &run->memory, &run->workspace, &stats, err);
        struct rl_turn_stat part = {credit_tokens(run->rollouts, first, n),
                                    stats.ig_clip_scale_mean, stats.ig_clip_scale_std};
        rl_turn_stat_merge(scale, &part);
        allocation_learn(&run->allocation[task], run->rollouts, first, n);
        first += n;
    }
    return status;
}

/* A group of one kind of answers teaches nothing where answers are compared. */
static double mixed_groups(const struct trainer_rollouts *r)
{
    double groups = 0, mixed = 0;
    for (size_t first = 0, end; first < r->n; first = end, groups++) {
        size_t right = 0;
        end = rollouts_group_end(r, first);
        for (size_t i = first; i < end; i++)
            right += r->reward[i] > 0;
        mixed += right > 0 && right < end - first;
    }
    return mixed / fmax(1, groups);
}

/*
 * Malformed rollouts are counted apart from wrong ones: a policy that forgets the grammar needs
 * another cure than one that does not find the answer.
 */
static enum trainer_status measure(const struct trainer_rollouts *r,
                                   const struct trainer_recipe *recipe,
                                   struct trainer_iteration *metrics, struct trainer_error *err)
{
    double n = (double)r->n;
    for (size_t i = 0; i < r->n; i++) {
        metrics->reward += r->reward[i] / n;
        metrics->turns += r->episode[i].turn / n;
        metrics->malformed += r->malformed[i] / n;
    }
    metrics->response_tokens = (double)credit_tokens(r, 0, r->n) / n;
    metrics->allocation.mixed = mixed_groups(r);
    difficulty_add(metrics->end_of_mix, r, recipe);
    aside_measure(r, metrics);
    values_measure(r, metrics);
    return r->has_values ? credit_measure_gains(r, metrics->gain, &metrics->n_gain, err)
                         : TRAINER_OK;
}

/*
 * Gains are measured in every trial, also where the algorithm does not read them: rows of
 * different algorithms are compared by them.
 */
enum trainer_status run_collect(struct run *run, int32_t iteration,
                                struct trainer_iteration *metrics, struct trainer_error *err)
{
    const struct trainer_recipe *recipe = run->recipe;
    struct sampler_job job = {
        .rollouts = run->rollouts, .temperature = recipe->training.temperature, .values = true};
    const float *weights;
    enum trainer_status status =
        sampler_weights(run, iteration, &weights, &metrics->staleness, err);
    for (int32_t task = 0; task < recipe->n_tasks; task++)
        job.params[task] =
            recipe_needs(recipe, task) & RL_NEED_FROZEN_SOURCE ? run->teacher[task] : weights;
    if (status != TRAINER_OK)
        return status;
    status = begin_rows(run, iteration, &job, metrics, err);
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
    status = aside_values(run, iteration, &job, metrics, err);
    if (status != TRAINER_OK)
        return status;
    struct rl_turn_stat scale;
    run->memory.judging.counts = (struct trainer_judge_counts){.rows = {0}};
    run->memory.kl_reward = 0;
    run->memory.distillation = (struct trainer_distillation){.groups = 0};
    run->memory.alpha = run->memory.n_alpha = run->memory.n_adca = 0;
    status = assign_credit(run, iteration, &scale, err);
    metrics->judge = run->memory.judging.counts;
    metrics->offpolicy.kl_reward = run->memory.kl_reward / (double)run->rollouts->n;
    metrics->distillation = run->memory.distillation;
    metrics->adca = run->memory.n_adca > 0 ? &run->memory.adca : NULL;
    metrics->n_alpha = run->memory.n_alpha;
    metrics->alpha_used = run->memory.alpha / fmax(1, run->memory.n_alpha);
    metrics->clip_scale_mean = scale.mean;
    metrics->clip_scale_std = scale.std;
    return status == TRAINER_OK ? measure(run->rollouts, recipe, metrics, err) : status;
}
