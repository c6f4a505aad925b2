/* credit_rollouts.c: the second step of an iteration: from rollouts to advantages; see run_credit in run.h. */

#include <math.h>

#include "recipe/recipe_needs.h"
#include "rollout/rollouts.h"
#include "run/side_rollouts.h"
#include "run/value_arrays.h"
#include "support/clock.h"

/*
 * Assigns credit task by task, because groups must never be compared across environments whose rewards mean different
 * things. The statistics of the clip scale are merged with tokens as weights, so a task with short answers counts less.
 */
static enum trainer_status assign_credit(struct run *run, int32_t iteration, struct rl_turn_stat *scale,
                                         struct trainer_iteration *metrics, struct trainer_error *err)
{
    double began = clock_now();
    enum trainer_status status = reference_policies_score_start(&run->references, &run->learner, run->rollouts, err);
    size_t first = 0;
    metrics->scoring_s += clock_now() - began;
    *scale = (struct rl_turn_stat){.mean = 1};
    for (int32_t task = 0; task < run->recipe->n_tasks && status == TRAINER_OK; task++) {
        size_t n = recipe_task_rows(run->recipe, task);
        struct credit_task at = {run->recipe, task, first, n, iteration};
        struct rl_a2tgpo_stats stats = {1, 0};
        began = clock_now();
        status = reference_policies_score_task(&run->references, &run->learner, run->recipe, run->rollouts, task, iteration,
                                               first, n, err);
        metrics->scoring_s += clock_now() - began;
        if (status == TRAINER_OK)
            status = credit_assign(run->rollouts, &at, &run->memory, &run->workspace, &stats, err);
        struct rl_turn_stat part = {rollouts_tokens(run->rollouts, first, n), stats.ig_clip_scale_mean, stats.ig_clip_scale_std};
        rl_turn_stat_merge(scale, &part);
        allocation_learn(&run->allocation[task], run->rollouts, first, n);
        first += n;
    }
    return status;
}

/*
 * Returns the share of groups with both right and wrong answers. If an algorithm compares the answers of a group, only
 * these groups teach anything.
 */
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
 * Measures the clip scale over the turns with a gain, each of which counts once. The last turn of a rollout has no gain
 * and keeps the loss's clip range, so it is left out. The scale is the same at all tokens of a turn.
 */
static void measure_turn_scales(const struct trainer_rollouts *r, const struct trainer_recipe *recipe,
                                struct trainer_iteration *metrics)
{
    double n = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (!recipe_task_scales_clips(&recipe->tasks[r->task[i]]))
            continue;
        int32_t turn = -1;
        for (size_t at = i * r->width; at < (i + 1) * r->width; at++) {
            if (!r->mask[at] || r->turn[at] == turn || r->turn[at] >= r->n_turns[i])
                continue;
            double off = (double)r->clip_scale[at] - 1; /* around 1, so that the squares keep their digits */
            turn = r->turn[at];
            sum += off;
            squares += off * off;
            n++;
        }
    }
    metrics->clip_scaled = recipe_scales_clips(recipe);
    metrics->clip_scale_turn_mean = 1 + sum / fmax(1, n);
    metrics->clip_scale_turn_std = n > 1 ? sqrt(fmax(0, squares - sum * sum / n) / (n - 1)) : 0;
}

/* The rewards of each environment of a mixed run; its loss follows with the updates. */
static void measure_environments(const struct trainer_rollouts *r, const struct trainer_recipe *recipe,
                                 struct trainer_iteration *metrics)
{
    metrics->n_envs = recipe->n_tasks > 1 ? recipe->n_tasks : 0;
    for (size_t i = 0; i < r->n && metrics->n_envs > 0; i++)
        metrics->env[r->task[i]].reward += r->reward[i] / (double)recipe_task_rows(recipe, r->task[i]);
}

/* algorithm.filter.zero_advantage and algorithm.hooks.weights take rollouts out of all components. */
static bool is_left_out(const struct trainer_rollouts *r, size_t row)
{
    bool any = false;
    for (size_t i = row * r->width; i < (row + 1) * r->width; i++)
        any = any || rollouts_trains(r, i);
    return !any;
}

/*
 * Malformed rollouts are counted separately from wrong ones, because a policy that forgets the grammar needs another
 * remedy than a policy that does not find the answer.
 */
static enum trainer_status measure(const struct trainer_rollouts *r, const struct trainer_recipe *recipe,
                                   struct trainer_iteration *metrics, struct trainer_error *err)
{
    double n = (double)r->n;
    for (size_t i = 0; i < r->n; i++) {
        metrics->reward += r->reward[i] / n;
        metrics->turns += r->episode[i].turn / n;
        metrics->malformed += r->malformed[i] / n;
        metrics->truncated += r->episode[i].truncated / n;
        metrics->left_out += is_left_out(r, i) / n;
    }
    measure_environments(r, recipe, metrics);
    metrics->response_tokens = (double)rollouts_tokens(r, 0, r->n) / n;
    metrics->allocation.mixed = mixed_groups(r);
    difficulty_add(metrics->end_of_mix, r, recipe);
    measure_turn_scales(r, recipe, metrics);
    shared_beginnings_measure(r, metrics);
    value_arrays_measure(r, metrics);
    return r->has_values ? credit_measure_gains(r, metrics->gain, &metrics->n_gain, err) : TRAINER_OK;
}

enum trainer_status run_credit(struct run *run, int32_t iteration, struct trainer_iteration *metrics, struct trainer_error *err)
{
    struct credit_memory *memory = &run->memory;
    struct rl_turn_stat scale;
    memory->judging.counts = (struct trainer_judge_counts){.rows = {0}};
    memory->kl_reward = 0;
    memory->distillation = (struct trainer_distillation){.groups = 0};
    memory->alpha = memory->n_alpha = memory->n_adca = 0;
    enum trainer_status status = assign_credit(run, iteration, &scale, metrics, err);
    metrics->judge = memory->judging.counts;
    metrics->offpolicy.kl_reward = memory->kl_reward / (double)run->rollouts->n;
    metrics->distillation = memory->distillation;
    metrics->adca = memory->n_adca > 0 ? &memory->adca : NULL;
    metrics->n_alpha = memory->n_alpha;
    metrics->alpha_used = memory->alpha / fmax(1, memory->n_alpha);
    metrics->clip_scale_mean = scale.mean;
    metrics->clip_scale_std = scale.std;
    return status == TRAINER_OK ? measure(run->rollouts, run->recipe, metrics, err) : status;
}
