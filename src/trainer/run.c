/* run.c: a training run from recipe to checkpoint. */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "evaluate.h"
#include "internal.h"
#include "threads.h"
#include "warm.h"

/* ---- memory ------------------------------------------------------------------------------- */

static size_t largest_batch(const struct trainer_recipe *recipe)
{
    size_t rows = (size_t)recipe->training.minibatch;
    bool warm = !recipe->checkpoint[0] && recipe->warm_start.steps > 0;
    return warm && (size_t)recipe->warm_start.batch > rows ? (size_t)recipe->warm_start.batch
                                                           : rows;
}

static bool has_teacher(const struct trainer_recipe *recipe, int32_t task)
{
    enum trainer_algorithm_name name = recipe->tasks[task].algorithm.name;
    return name == TRAINER_OPD || name == TRAINER_SFT;
}

static bool shows(const struct trainer_recipe *recipe)
{
    bool any = false;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        any = any || recipe->tasks[i].algorithm.name == TRAINER_OPSD;
    return any;
}

/* Whole sets of parameters beside the learner's own. */
static double spare_params(const struct trainer_recipe *recipe)
{
    double sets = recipe->loss.kl_coef > 0 ? 1 : 0;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        sets += has_teacher(recipe, i);
    if (run_is_off_policy(recipe))
        sets += recipe->sampler.staleness + 2;
    return sets * (double)trainer_model_parameters(&recipe->model) * sizeof(float);
}

double trainer_artifact_bytes(const struct trainer_recipe *recipe)
{
    return 128 + 4 * (double)trainer_model_parameters(&recipe->model) + 8;
}

/* The program, its libraries, and what BLAS keeps for each thread. */
static double program_bytes(int threads)
{
    return 48e6 + 40e6 * threads;
}

double trainer_memory_bound(const struct trainer_recipe *recipe)
{
    int threads = threads_wanted(recipe->threads);
    size_t rows = run_rows(recipe), width = (size_t)recipe->model.max_tokens;
    size_t demos = recipe->checkpoint[0] ? 0 : (size_t)recipe->warm_start.batch;
    double tokens = (double)rows * (double)width;
    return program_bytes(threads) + learner_bytes(&recipe->model, largest_batch(recipe)) +
           sampler_bytes(recipe, threads) + (double)rollouts_bytes(rows, width) +
           (double)rollouts_bytes(evaluate_rows(recipe), width) +
           (double)minibatch_bytes((size_t)recipe->training.minibatch, width) +
           spare_params(recipe) + (shows(recipe) ? 13 * tokens : 0) +
           16 * (double)demos * (double)width + 64 * tokens + 2 * trainer_artifact_bytes(recipe);
}

static enum trainer_status check_budget(const struct trainer_recipe *recipe,
                                        struct trainer_error *err)
{
    const struct trainer_budget *budget = &recipe->budget;
    double memory = trainer_memory_bound(recipe), artifact = trainer_artifact_bytes(recipe);
    if (budget->memory_bytes > 0 && memory > budget->memory_bytes)
        return trainer_fail(err, TRAINER_ESIZE,
                            "the run needs up to %.0f bytes of memory, budget.memory_bytes is %.0f",
                            memory, budget->memory_bytes);
    if (budget->artifact_bytes > 0 && artifact > budget->artifact_bytes)
        return trainer_fail(err, TRAINER_ESIZE,
                            "the checkpoint has %.0f bytes, budget.artifact_bytes is %.0f",
                            artifact, budget->artifact_bytes);
    return TRAINER_OK;
}

/* ---- opening ------------------------------------------------------------------------------ */

static enum trainer_status open_weights(struct run *run, struct trainer_error *err)
{
    const struct trainer_recipe *recipe = run->recipe;
    size_t n = run->learner.n_params, bytes = n * sizeof(float);
    enum trainer_status status = TRAINER_OK;
    bool whole = true;
    if (run_is_off_policy(recipe)) {
        run->history = malloc(((size_t)recipe->sampler.staleness + 1) * bytes);
        run->lowered = malloc(bytes);
        whole = run->history && run->lowered;
    }
    if (recipe->loss.kl_coef > 0)
        whole = whole && (run->start = malloc(bytes));
    for (int32_t i = 0; i < recipe->n_tasks && whole && status == TRAINER_OK; i++) {
        if (!has_teacher(recipe, i))
            continue;
        whole = (run->teacher[i] = malloc(bytes)) != NULL;
        if (whole)
            status = trainer_checkpoint_load_as(recipe->tasks[i].algorithm.teacher, &recipe->model,
                                                run->teacher[i], NULL, err);
    }
    return whole ? status : trainer_no_memory(err, bytes);
}

static enum trainer_status open_rows(struct run *run, struct trainer_error *err)
{
    const struct trainer_recipe *recipe = run->recipe;
    size_t rows = run_rows(recipe), width = (size_t)recipe->model.max_tokens, tokens = rows * width;
    run->rollouts = rollouts_new(rows, width);
    run->evaluation = rollouts_new(evaluate_rows(recipe), width);
    run->minibatch = minibatch_new((size_t)recipe->training.minibatch, width);
    run->order = malloc(rows * sizeof *run->order);
    bool whole = run->rollouts && run->evaluation && run->minibatch && run->order;
    if (shows(recipe)) {
        run->shown = malloc(tokens * sizeof *run->shown);
        run->shown_wanted = malloc(tokens);
        run->shown_log_prob = malloc(tokens * sizeof *run->shown_log_prob);
        run->shown_length = malloc(rows * sizeof *run->shown_length);
        whole =
            whole && run->shown && run->shown_wanted && run->shown_log_prob && run->shown_length;
    }
    return whole ? TRAINER_OK : trainer_no_memory(err, 2 * rollouts_bytes(rows, width));
}

enum trainer_status run_open(struct run *run, struct trainer_error *err)
{
    run->threads = threads_wanted(run->recipe->threads);
    run->threads_before = threads_limit(run->threads);
    enum trainer_status status = learner_open(&run->learner, &run->recipe->model,
                                              largest_batch(run->recipe), run->threads, err);
    if (status == TRAINER_OK)
        status = sampler_open(&run->sampler, run->recipe, run->threads, err);
    if (status == TRAINER_OK)
        status = open_weights(run, err);
    return status == TRAINER_OK ? open_rows(run, err) : status;
}

void run_close(struct run *run)
{
    (void)threads_limit(run->threads_before);
    learner_close(&run->learner);
    sampler_close(&run->sampler);
    workspace_free(&run->workspace);
    for (int32_t i = 0; i < TRAINER_ENVS_MAX; i++)
        free(run->teacher[i]);
    void *const blocks[] = {run->history,      run->lowered,        run->start,       run->rollouts,
                            run->evaluation,   run->minibatch,      run->order,       run->shown,
                            run->shown_wanted, run->shown_log_prob, run->shown_length};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        free(blocks[i]);
}

/* ---- events ------------------------------------------------------------------------------- */

static enum trainer_status tell(struct run *run, struct trainer_event *event,
                                struct trainer_error *err)
{
    event->train_s = run->train_s > 0 ? run->train_s : clock_now() - run->began;
    event->eval_s = run->eval_s;
    if (run->options.event && !run->options.event(run->options.context, event))
        return trainer_fail(err, TRAINER_ESTOPPED, "stopped at step %d of %d", event->step,
                            event->steps);
    return TRAINER_OK;
}

static bool tell_warm_step(void *context, int32_t step, double loss)
{
    struct run *run = context;
    struct trainer_event event = {.kind = TRAINER_EVENT_WARM,
                                  .step = step,
                                  .steps = run->recipe->warm_start.steps,
                                  .loss = loss};
    return tell(run, &event, NULL) == TRAINER_OK;
}

static enum trainer_status tell_start(struct run *run, struct trainer_error *err)
{
    struct trainer_event event = {.kind = TRAINER_EVENT_START,
                                  .steps = run->recipe->training.iterations,
                                  .parameters = trainer_model_parameters(&run->recipe->model),
                                  .memory_bound = trainer_memory_bound(run->recipe)};
    return tell(run, &event, err);
}

/* ---- training ----------------------------------------------------------------------------- */

static enum trainer_status begin(struct run *run, struct trainer_error *err)
{
    const struct trainer_recipe *recipe = run->recipe;
    struct learner *learner = &run->learner;
    enum trainer_status status = TRAINER_OK;
    trainer_policy_initf(&recipe->model, recipe->seed, learner->params);
    if (recipe->checkpoint[0])
        status = trainer_checkpoint_load_as(recipe->checkpoint, &recipe->model, learner->params,
                                            NULL, err);
    else if (recipe->warm_start.steps > 0)
        status = warm_start(learner, recipe, tell_warm_step, run, err);
    learner_restart(learner, recipe->training.adam_beta1, recipe->training.adam_beta2,
                    recipe->training.weight_decay);
    if (run->start)
        memcpy(run->start, learner->params, learner->n_params * sizeof(float));
    return status;
}

/* Evaluations along the way share one sampling seed. */
static enum trainer_status look(struct run *run, int32_t iteration, struct trainer_error *err)
{
    const struct trainer_evaluation *evaluation = &run->recipe->evaluation;
    struct trainer_event event = {.kind = TRAINER_EVENT_EVALUATION,
                                  .step = iteration,
                                  .steps = run->recipe->training.iterations};
    event.score = evaluate_once(&run->sampler, run->evaluation, run->learner.params, 1,
                                evaluation->temperature, NULL);
    run->score_sum += event.score;
    run->n_scores++;
    return tell(run, &event, err);
}

static void remember(struct run *run, int32_t iteration, const struct trainer_iteration *metrics)
{
    run->scale_mean_sum += metrics->clip_scale_mean;
    run->scale_std_sum += metrics->clip_scale_std;
    int32_t iterations = run->recipe->training.iterations;
    if (iteration < iterations - (iterations + 9) / 10)
        return;
    for (int32_t k = 0; k < metrics->n_gain; k++) {
        double n = (double)metrics->gain[k].count;
        run->late[k].count += metrics->gain[k].count;
        run->late[k].mean += n * metrics->gain[k].mean;
        run->late[k].std += n * metrics->gain[k].std * metrics->gain[k].std;
    }
    run->n_late = metrics->n_gain > run->n_late ? metrics->n_gain : run->n_late;
}

static enum trainer_status iterate(struct run *run, int32_t iteration, struct trainer_error *err)
{
    struct trainer_iteration metrics = {.mismatch_ess = 1};
    struct trainer_event event = {.kind = TRAINER_EVENT_ITERATION,
                                  .step = iteration + 1,
                                  .steps = run->recipe->training.iterations,
                                  .iteration = &metrics};
    enum trainer_status status = run_collect(run, iteration, &metrics, err);
    if (status == TRAINER_OK)
        status = run_correct(run, &metrics, err);
    if (status == TRAINER_OK)
        status = run_update(run, iteration, &metrics, err);
    remember(run, iteration, &metrics);
    return status == TRAINER_OK ? tell(run, &event, err) : status;
}

static enum trainer_status train(struct run *run, struct trainer_error *err)
{
    int32_t iterations = run->recipe->training.iterations, every = run->recipe->evaluation.every;
    enum trainer_status status = begin(run, err);
    if (status == TRAINER_OK && every > 0)
        status = look(run, 0, err);
    for (int32_t i = 0; i < iterations && status == TRAINER_OK; i++) {
        status = iterate(run, i, err);
        if (status != TRAINER_OK && status != TRAINER_ESTOPPED)
            return trainer_blame(err, status, "iteration", i + 1);
        if (status == TRAINER_OK && every > 0 && ((i + 1) % every == 0 || i + 1 == iterations))
            status = look(run, i + 1, err);
    }
    return status;
}

/* ---- the end ------------------------------------------------------------------------------ */

static void score(struct run *run, struct trainer_event *event)
{
    const struct trainer_evaluation *evaluation = &run->recipe->evaluation;
    const float *params = run->learner.params;
    double sum = 0, square = 0, n = evaluation->seeds;
    for (int32_t s = 0; s < evaluation->seeds; s++) {
        double x = evaluate_once(&run->sampler, run->evaluation, params, 11 + (uint64_t)s,
                                 evaluation->temperature, NULL);
        sum += x;
        square += x * x;
    }
    event->score = sum / n;
    event->score_std = trainer_std(n, sum, square);
    event->score_greedy = evaluate_once(&run->sampler, run->evaluation, params, 1, 0, NULL);
    event->area = run->n_scores > 0 ? run->score_sum / run->n_scores : event->score;
}

static void sum_up(struct run *run, struct trainer_event *event)
{
    double iterations = run->recipe->training.iterations;
    event->clip_scale_mean = iterations > 0 ? run->scale_mean_sum / iterations : 1;
    event->clip_scale_std = iterations > 0 ? run->scale_std_sum / iterations : 0;
    event->n_gain = run->n_late;
    for (int32_t k = 0; k < run->n_late; k++) {
        double n = fmax(1, (double)run->late[k].count);
        event->gain[k] = (struct trainer_turn_gain){run->late[k].mean / n,
                                                    sqrt(run->late[k].std / n), run->late[k].count};
    }
}

static enum trainer_status finish(struct run *run, struct trainer_error *err)
{
    int32_t iterations = run->recipe->training.iterations;
    struct trainer_event event = {
        .kind = TRAINER_EVENT_EVALUATING, .step = iterations, .steps = iterations};
    struct trainer_checkpoint checkpoint = {run->recipe->model, (uint64_t)run->learner.adam.steps};
    run->train_s = clock_now() - run->began;
    enum trainer_status status = tell(run, &event, err);
    if (status != TRAINER_OK)
        return status;
    double begin_s = clock_now();
    score(run, &event);
    sum_up(run, &event);
    run->eval_s = clock_now() - begin_s;
    if (run->options.checkpoint)
        status =
            trainer_checkpoint_save(run->options.checkpoint, &checkpoint, run->learner.params, err);
    event.kind = TRAINER_EVENT_DONE;
    return status == TRAINER_OK ? tell(run, &event, err) : status;
}

enum trainer_status trainer_run(const struct trainer_recipe *recipe,
                                const struct trainer_run_options *options,
                                struct trainer_error *err)
{
    struct run run = {.recipe = recipe, .began = clock_now()};
    if (options)
        run.options = *options;
    enum trainer_status status = check_budget(recipe, err);
    if (status == TRAINER_OK)
        status = tell_start(&run, err);
    if (status == TRAINER_OK) {
        status = run_open(&run, err);
        if (status == TRAINER_OK)
            status = train(&run, err);
        if (status == TRAINER_OK)
            status = finish(&run, err);
        run_close(&run);
    }
    return status;
}

/* ---- looking at a policy ------------------------------------------------------------------ */

enum trainer_status trainer_sample(struct trainer_rollouts **rollouts,
                                   const struct trainer_recipe *recipe, const float *params,
                                   int32_t n_questions, uint64_t seed, struct trainer_error *err)
{
    struct trainer_recipe few = *recipe;
    struct trainer_iteration metrics = {0};
    few.seed = seed;
    few.loss.kl_coef = 0;
    few.sampler.staleness = 0;
    for (int32_t i = 0; i < few.n_tasks; i++)
        few.tasks[i].questions = n_questions;
    struct run run = {.recipe = &few};
    enum trainer_status status = run_open(&run, err);
    *rollouts = NULL;
    if (status == TRAINER_OK) {
        memcpy(run.learner.params, params, run.learner.n_params * sizeof *params);
        status = run_collect(&run, 0, &metrics, err);
    }
    if (status == TRAINER_OK) {
        *rollouts = run.rollouts;
        run.rollouts = NULL;
    }
    run_close(&run);
    return status;
}
