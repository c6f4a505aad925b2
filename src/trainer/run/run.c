/* run.c: see run.h. Everything large is allocated here, before the first step. */
#include "run/run.h"

#include <inttypes.h>
#include <xxhash.h>

#include "recipe/recipe_needs.h"
#include "rollout/evaluate.h"
#include "run/memory_bound.h"
#include "run/side_rows.h"
#include "run/value_arrays.h"
#include "support/error.h"
#include "support/threads.h"
#include "credit/judging.h"

/* Averages the variances within iterations, so that the drift between iterations does not count as spread. */
void run_totals_add(struct run_totals *totals, int32_t iteration, int32_t n_iterations, const struct trainer_iteration *metrics)
{
    totals->scale_mean_sum += metrics->clip_scale_mean;
    totals->scale_std_sum += metrics->clip_scale_std;
    totals->entropy_sum += metrics->entropy;
    totals->clip_fraction_sum += metrics->clip_fraction;
    totals->alpha_sum += metrics->alpha_used;
    totals->n_alpha += metrics->n_alpha > 0;
    judging_add(&totals->judged, &metrics->judge);
    if (iteration < n_iterations - (n_iterations + 9) / 10)
        return;
    for (int32_t k = 0; k < metrics->n_gain; k++) {
        double n = (double)metrics->gain[k].count;
        totals->late[k].count += metrics->gain[k].count;
        totals->late[k].mean += n * metrics->gain[k].mean;
        totals->late[k].std += n * metrics->gain[k].std * metrics->gain[k].std;
    }
    totals->n_late = metrics->n_gain > totals->n_late ? metrics->n_gain : totals->n_late;
    if (metrics->n_valued > 0) {
        totals->n_late_values++;
        totals->late_values.loss += metrics->values.loss;
        totals->late_values.clip_fraction += metrics->values.clip_fraction;
        totals->late_values.explained_variance += metrics->values.explained_variance;
        totals->late_values.mean += metrics->values.mean;
        totals->late_values.returned += metrics->values.returned;
    }
}

/*
 * The square root is taken last, of the mean variance. If there were no iterations, nothing was scaled, which is
 * reported as a clip scale of mean 1 and deviation 0.
 */
void run_totals_report(const struct run_totals *totals, int32_t n_iterations, struct trainer_event *event)
{
    double iterations = n_iterations, n_values = fmax(1, totals->n_late_values);
    const struct trainer_values *values = &totals->late_values;
    event->clip_scale_mean = iterations > 0 ? totals->scale_mean_sum / iterations : 1;
    event->clip_scale_std = iterations > 0 ? totals->scale_std_sum / iterations : 0;
    event->entropy = iterations > 0 ? totals->entropy_sum / iterations : 0;
    event->clip_fraction = iterations > 0 ? totals->clip_fraction_sum / iterations : 0;
    event->n_alpha = totals->n_alpha;
    event->alpha_used = totals->alpha_sum / fmax(1, totals->n_alpha);
    event->n_valued = totals->n_late_values;
    event->values =
        (struct trainer_values){values->loss / n_values, values->clip_fraction / n_values, values->explained_variance / n_values,
                                values->mean / n_values, values->returned / n_values};
    event->n_gain = totals->n_late;
    event->judge = totals->judged;
    for (int32_t k = 0; k < totals->n_late; k++) {
        double n = fmax(1, (double)totals->late[k].count);
        event->gain[k] =
            (struct trainer_turn_gain){totals->late[k].mean / n, sqrt(totals->late[k].std / n), totals->late[k].count};
    }
}

uint64_t recipe_digest(const struct trainer_recipe *recipe)
{
    struct trainer_recipe plain = *recipe;
    plain.threads = 0;
    plain.budget = (struct trainer_budget){0};
    plain.micro_batch.activation_bytes = 0;
    strcpy(plain.name, "trial");
    plain.domain[0] = plain.hypothesis[0] = plain.expected_delta[0] = '\0';
    char *text = trainer_recipe_text(&plain);
    uint64_t digest = text ? XXH64(text, strlen(text), 0) : 0;
    free(text);
    return digest;
}

/* An anchor is a length with which later rollouts of a question are compared; NaN until the question is first asked. */
static bool open_anchors(struct run *run)
{
    for (int32_t task = 0; task < run->recipe->n_tasks; task++) {
        const struct trainer_task *settings = &run->recipe->tasks[task];
        if (settings->pool == 0 || settings->algorithm.length_penalty != TRAINER_LENGTH_ANCHOR)
            continue;
        double *anchor = malloc((size_t)settings->pool * sizeof *anchor);
        if (!anchor)
            return false;
        for (int32_t i = 0; i < settings->pool; i++)
            anchor[i] = NAN;
        run->memory.anchor[task] = anchor;
    }
    return true;
}

/* Two forms of the KL penalty have a ratio to the policy that sampled, whatever the component of the tokens is. */
static unsigned data_needs(const struct trainer_recipe *recipe, int32_t task)
{
    const struct trainer_loss *loss = &recipe->loss;
    bool given = recipe_needs(recipe, task) & RL_NEED_CALLBACK;
    bool ratio = loss->kl_coef > 0 && (loss->kl_place == TRAINER_KL_UNBIASED || loss->kl_place == TRAINER_KL_WEIGHTED);
    return (ratio || recipe_component(recipe, task) == RL_COMPONENT_RL ? DATA_LOG_PROBS : 0) | (given ? DATA_ADVANTAGES : 0);
}

/* Evaluations have their own rows, because their number differs from the number of rollouts. */
static enum trainer_status open_rows(struct run *run, struct trainer_error *err)
{
    const struct trainer_recipe *recipe = run->recipe;
    size_t rows = recipe_rows(recipe), width = (size_t)recipe->model.max_tokens;
    run->rollouts = rollouts_new(rows, width);
    run->evaluation = rollouts_new(evaluate_rows(recipe), width);
    run->minibatch = minibatch_new((size_t)recipe->training.minibatch, width);
    run->order = malloc(rows * sizeof *run->order);
    if (!run->rollouts || !run->evaluation || !run->minibatch || !run->order)
        return trainer_no_memory(err, 2 * rollouts_bytes(rows, width));
    run->minibatch->clip_scaled = recipe_scales_clips(recipe);
    run->minibatch->bypass = recipe_bypass(recipe);
    run->minibatch->tasks = recipe->tasks;
    if (side_rows(recipe) > 0 && !(run->side = rollouts_new(side_rows(recipe), width)))
        return trainer_no_memory(err, rollouts_bytes(side_rows(recipe), width));
    if (environment_losses_open(&run->environment_losses, recipe, err) != TRAINER_OK)
        return TRAINER_ENOMEM;
    if (!open_anchors(run))
        return trainer_no_memory(err, sizeof(double));
    TRY(value_arrays_open(&run->value_arrays, recipe, run->rollouts, run->minibatch, err));
    TRY(routing_open(&run->routing, recipe, run->rollouts, err));
    for (int32_t task = 0; task < recipe->n_tasks; task++)
        TRY(allocation_open(&run->allocation[task], &recipe->tasks[task], err));
    for (int32_t task = 0; task < recipe->n_tasks; task++)
        if (recipe->tasks[task].data[0])
            TRY(data_set_open(&run->data[task], recipe, task, data_needs(recipe, task), err));
    return TRAINER_OK;
}

/* The number of threads is limited before any code can start a thread. */
enum trainer_status run_open(struct run *run, struct trainer_error *err)
{
    const struct trainer_recipe *recipe = run->recipe;
    run->threads = threads_wanted(recipe->threads);
    run->threads_before = threads_limit(run->threads);
    enum trainer_status status =
        learner_open(&run->learner, &recipe->model, memory_bound_largest_batch(recipe), &recipe->micro_batch, run->threads, err);
    if (status == TRAINER_OK)
        status = sampler_open(&run->sampler, recipe, run->threads, err);
    run->learner.balance = recipe->balance;
    if (status == TRAINER_OK && !sampler_weights_open(&run->sampled_by, recipe, run->learner.n_params))
        status = trainer_no_memory(err, run->learner.n_params * sizeof(float));
    if (status == TRAINER_OK)
        status = reference_policies_open(&run->references, recipe, err);
    if (status == TRAINER_OK)
        status = open_rows(run, err);
    return status == TRAINER_OK ? trace_arrays_open(&run->trace, recipe, err) : status;
}

/* The number of threads is restored, because a program that links the trainer may use BLAS itself. */
void run_close(struct run *run)
{
    (void)threads_limit(run->threads_before);
    learner_close(&run->learner);
    sampler_close(&run->sampler);
    workspace_free(&run->workspace);
    sampler_weights_close(&run->sampled_by);
    reference_policies_close(&run->references);
    routing_close(&run->routing);
    for (int32_t task = 0; task < TRAINER_ENVS_MAX; task++) {
        free(run->memory.anchor[task]);
        allocation_close(&run->allocation[task]);
        data_set_close(&run->data[task]);
    }
    free(run->rollouts);
    free(run->side);
    free(run->evaluation);
    free(run->minibatch);
    free(run->order);
    free(run->value_arrays);
    trace_arrays_close(run->trace);
    environment_losses_close(&run->environment_losses);
}
