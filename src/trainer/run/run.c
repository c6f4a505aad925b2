/*
 * run.c: a training run from recipe to checkpoint.
 *
 * What is large is allocated before the first step (run_open), within a bound that is told before
 * that (TRAINER_EVENT_START): a run that does not fit does not start. Who listens may stop the run
 * at any event, and nothing is left behind that run_close does not free. The checkpoint comes last:
 * a file that is there is whole, and of a run that ended well.
 */
#include "run/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/clock.h"
#include "rollout/difficulty.h"
#include "rollout/evaluate.h"
#include "run/aside.h"
#include "run/state.h"
#include "run/values.h"
#include "support/error.h"
#include "support/threads.h"
#include "learn/warm.h"

/* ---- memory ------------------------------------------------------------------------------- */

/*
 * The warm start and training are never at work at the same time, so one learner is made for the
 * wider of the two.
 */
static size_t largest_batch(const struct trainer_recipe *recipe)
{
    size_t rows = (size_t)recipe->training.minibatch;
    bool warm = !recipe->checkpoint[0] && recipe->warm_start.steps > 0;
    return warm && (size_t)recipe->warm_start.batch > rows ? (size_t)recipe->warm_start.batch
                                                           : rows;
}

/* Weights of a frozen model, beside the learner's: opd's reference, sft's source. */
static bool has_teacher(const struct trainer_recipe *recipe, int32_t task)
{
    return recipe_needs(recipe, task) & (RL_NEED_FROZEN_REFERENCE | RL_NEED_FROZEN_SOURCE);
}

/*
 * opsd's sequences are longer than the rollouts they come from and need room of their own; whoever
 * does not train by it pays nothing.
 */
static bool shows(const struct trainer_recipe *recipe)
{
    bool any = false;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        any = any || recipe_needs(recipe, i) & RL_NEED_POLICY_REFERENCE;
    return any;
}

/*
 * Whole sets of parameters beside the learner's own. Teachers, the start, and with an off-policy
 * sampler one set per iteration of staleness.
 */
static double spare_params(const struct trainer_recipe *recipe)
{
    double sets = recipe->loss.kl_coef > 0 ? 1 : 0;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        sets += has_teacher(recipe, i);
    if (run_is_off_policy(recipe))
        sets += recipe->sampler.staleness + 2;
    return sets * (double)trainer_model_parameters(&recipe->model) * sizeof(float);
}

/* What is kept for the questions of pools. */
static double pool_bytes(const struct trainer_recipe *recipe)
{
    double n = 0;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        n += recipe->tasks[i].pool * (double)sizeof(double) + allocation_bytes(&recipe->tasks[i]);
    return n;
}

/*
 * 128 bytes of header and 8 of digest (policy/checkpoint.c), floats in between: exact, so that a
 * budget of exactly that many bytes is met.
 */
double trainer_artifact_bytes(const struct trainer_recipe *recipe)
{
    return 128 + 4 * (double)trainer_model_parameters(&recipe->model) + 8;
}

/*
 * The program, its libraries, and what BLAS keeps for each thread. Generous: what a run uses must
 * stay below the bound, or a budget promises what does not hold.
 */
static double program_bytes(int threads)
{
    return 48e6 + 40e6 * threads;
}

/*
 * The artifact counts twice: on its way to disk it is encoded as a whole beside the parameters,
 * and a teacher that is read is in memory as bytes and as floats.
 */
double trainer_memory_bound(const struct trainer_recipe *recipe)
{
    int threads = threads_wanted(recipe->threads);
    size_t rows = run_rows(recipe), width = (size_t)recipe->model.max_tokens;
    size_t demos = recipe->checkpoint[0] ? 0 : (size_t)recipe->warm_start.batch;
    double tokens = (double)rows * (double)width;
    return program_bytes(threads) +
           learner_bytes(&recipe->model, largest_batch(recipe), &recipe->micro_batch) +
           sampler_bytes(recipe, threads) + (double)rollouts_bytes(rows, width) +
           (double)rollouts_bytes(evaluate_rows(recipe), width) +
           (double)minibatch_bytes((size_t)recipe->training.minibatch, width) +
           aside_bytes(recipe) + routing_bytes(recipe, rows) + values_bytes(recipe) +
           spare_params(recipe) + pool_bytes(recipe) + (shows(recipe) ? 13 * tokens : 0) +
           16 * (double)demos * (double)width + 64 * tokens + 2 * trainer_artifact_bytes(recipe);
}

/*
 * Before anything is allocated or trained: a budget that cannot be met is the recipe's fault, and
 * its row says size_blocked instead of crash.
 */
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

/*
 * Weights from a file: rank 0 reads it, the others need not be able to. One that cannot be read is
 * rank 0's failure, which the others meet in the broadcast.
 */
static enum trainer_status load_weights(struct run *run, const char *path, float *params,
                                        struct trainer_error *err)
{
    enum trainer_status status = TRAINER_OK;
    if (ranks_mine(&run->ranks) == 0)
        status = trainer_checkpoint_load_as(path, &run->recipe->model, params, NULL, err);
    return status == TRAINER_OK ? ranks_broadcast(&run->ranks, 0, params,
                                                  run->learner.n_params * sizeof *params, err)
                                : status;
}

/*
 * A history only off-policy, and only as deep as the staleness: with fresh weights of full
 * precision the sampler reads the learner's own. Teachers are read here and not at their first
 * use, so that a checkpoint of another shape is found before an hour is spent.
 */
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
            status = load_weights(run, recipe->tasks[i].algorithm.teacher, run->teacher[i], err);
    }
    return whole ? status : trainer_no_memory(err, bytes);
}

/*
 * All ranks compute what is not shared, so that nothing but rollouts, log-probs and gradients has to
 * travel: that must come out alike, and on processors with other kernels it would not. Recipes are
 * compared by what decides their numbers; threads may differ.
 */
static enum trainer_status compare_ranks(struct run *run, struct trainer_error *err)
{
    char kernels[TRAINER_KERNELS_MAX], digest[32] = "";
    if (ranks_count(&run->ranks) == 1)
        return TRAINER_OK;
    trainer_kernels(kernels);
    snprintf(digest, sizeof digest, "%016" PRIx64, state_digest(run->recipe));
    enum trainer_status status = ranks_compare(&run->ranks, "the ranks compute with", kernels, err);
    return status == TRAINER_OK ? ranks_compare(&run->ranks, "recipe", digest, err) : status;
}

/* NaN: a question that was not asked yet has no anchor. */
static bool open_anchors(struct run *run)
{
    bool whole = true;
    for (int32_t task = 0; task < run->recipe->n_tasks && whole; task++) {
        const struct trainer_task *settings = &run->recipe->tasks[task];
        if (settings->pool == 0 || settings->algorithm.length_penalty != TRAINER_LENGTH_ANCHOR)
            continue;
        double *anchor = malloc((size_t)settings->pool * sizeof *anchor);
        for (int32_t i = 0; anchor && i < settings->pool; i++)
            anchor[i] = NAN;
        run->memory.anchor[task] = anchor;
        whole = anchor != NULL;
    }
    return whole;
}

/*
 * Evaluations have rows of their own, as their number is another. What opsd shows is allocated for
 * all rows although tasks may differ: one size fits every task.
 */
static enum trainer_status open_rows(struct run *run, struct trainer_error *err)
{
    const struct trainer_recipe *recipe = run->recipe;
    size_t rows = run_rows(recipe), width = (size_t)recipe->model.max_tokens, tokens = rows * width;
    run->rollouts = rollouts_new(rows, width);
    run->evaluation = rollouts_new(evaluate_rows(recipe), width);
    run->minibatch = minibatch_new((size_t)recipe->training.minibatch, width);
    run->order = malloc(rows * sizeof *run->order);
    bool whole =
        run->rollouts && run->evaluation && run->minibatch && run->order && open_anchors(run);
    whole = whole && values_open(run);
    if (aside_rows(recipe) > 0)
        whole = whole && (run->aside = rollouts_new(aside_rows(recipe), width));
    if (shows(recipe)) {
        run->shown = malloc(tokens * sizeof *run->shown);
        run->shown_wanted = malloc(tokens);
        run->shown_log_prob = malloc(tokens * sizeof *run->shown_log_prob);
        run->shown_length = malloc(rows * sizeof *run->shown_length);
        whole =
            whole && run->shown && run->shown_wanted && run->shown_log_prob && run->shown_length;
    }
    enum trainer_status status = whole ? routing_open(&run->routing, recipe, run->rollouts, err)
                                       : trainer_no_memory(err, 2 * rollouts_bytes(rows, width));
    for (int32_t task = 0; task < recipe->n_tasks && status == TRAINER_OK; task++)
        status = allocation_open(&run->allocation[task], &recipe->tasks[task], err);
    return status;
}

/*
 * On failure the caller closes what there is: run_close takes a run that is half open. Threads are
 * limited before anything can start one.
 */
enum trainer_status run_open(struct run *run, struct trainer_error *err)
{
    run->threads = threads_wanted(run->recipe->threads);
    run->threads_before = threads_limit(run->threads);
    enum trainer_status status = learner_open(&run->learner, &run->recipe->model,
                                              largest_batch(run->recipe),
                                              &run->recipe->micro_batch, run->threads, err);
    if (status == TRAINER_OK)
        status = sampler_open(&run->sampler, run->recipe, run->threads, err);
    run->learner.ranks = run->sampler.ranks = &run->ranks;
    run->learner.balance = run->recipe->balance;
    if (status == TRAINER_OK)
        status = compare_ranks(run, err);
    if (status == TRAINER_OK)
        status = open_weights(run, err);
    return status == TRAINER_OK ? open_rows(run, err) : status;
}

/*
 * Threads of the caller's process are given back: a program that links the trainer has a BLAS of
 * its own use.
 */
void run_close(struct run *run)
{
    (void)threads_limit(run->threads_before);
    learner_close(&run->learner);
    sampler_close(&run->sampler);
    workspace_free(&run->workspace);
    routing_close(&run->routing);
    for (int32_t i = 0; i < TRAINER_ENVS_MAX; i++) {
        free(run->teacher[i]);
        free(run->memory.anchor[i]);
        allocation_close(&run->allocation[i]);
    }
    void *const blocks[] = {run->history,      run->lowered,        run->start,       run->rollouts,
                            run->evaluation,   run->minibatch,      run->order,       run->shown,
                            run->shown_wanted, run->shown_log_prob, run->shown_length, run->aside,
                            run->values};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        free(blocks[i]);
}

/* ---- events ------------------------------------------------------------------------------- */

/*
 * Every event carries the times, so that whoever keeps the budgets compares with what was really
 * trained and not with when the line arrived; once training is over its clock stands still
 * (finish).
 */
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

/*
 * A warm start does not know the run's errors: the stop is reported by warm_start itself, which
 * says at which step.
 */
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
    int32_t behind = 0;
    if (!run->process.state || trainer_state_read(run->process.state, run->recipe, &behind, NULL) != TRAINER_OK)
        behind = 0;
    struct trainer_event event = {.kind = TRAINER_EVENT_START,
                                  .step = behind,
                                  .steps = run->recipe->training.iterations,
                                  .parameters = trainer_model_parameters(&run->recipe->model),
                                  .memory_bound = trainer_memory_bound(run->recipe)};
    return tell(run, &event, err);
}

/* ---- training ----------------------------------------------------------------------------- */

/*
 * The optimizer starts anew after the warm start: moments of supervised gradients say nothing of
 * those of rewards, and a run from the warm start's checkpoint, which has none, is the same run.
 */
static enum trainer_status begin(struct run *run, struct trainer_error *err)
{
    const struct trainer_recipe *recipe = run->recipe;
    struct learner *learner = &run->learner;
    enum trainer_status status = TRAINER_OK;
    trainer_policy_initf(&recipe->model, recipe->seed, learner->params);
    if (recipe->checkpoint[0])
        status = load_weights(run, recipe->checkpoint, learner->params, err);
    else if (recipe->warm_start.steps > 0)
        status = warm_start(learner, recipe, tell_warm_step, run, err);
    learner_restart(learner, recipe->training.adam_beta1, recipe->training.adam_beta2,
                    recipe->training.weight_decay);
    if (run->start)
        memcpy(run->start, learner->params, learner->n_params * sizeof(float));
    return status;
}

/*
 * Evaluations along the way share one sampling seed. Always the same questions and chances, so
 * that the curve moves because the policy does; seeds of the final score begin at 11 and are none
 * of these.
 */
static enum trainer_status look(struct run *run, int32_t iteration, struct trainer_error *err)
{
    const struct trainer_evaluation *evaluation = &run->recipe->evaluation;
    struct trainer_event event = {.kind = TRAINER_EVENT_EVALUATION,
                                  .step = iteration,
                                  .steps = run->recipe->training.iterations};
    enum trainer_status status = evaluate_once(&run->sampler, run->evaluation, run->learner.params,
                                               1, evaluation->temperature, &event.score, NULL, err);
    if (status != TRAINER_OK)
        return status;
    run->score_sum += event.score;
    run->n_scores++;
    return tell(run, &event, err);
}

static void add_values(struct run *run, const struct trainer_values *values)
{
    run->n_late_values++;
    run->late_values.loss += values->loss;
    run->late_values.clip_fraction += values->clip_fraction;
    run->late_values.explained_variance += values->explained_variance;
    run->late_values.mean += values->mean;
    run->late_values.returned += values->returned;
}

/*
 * Gains and values of the last tenth of the run stand in the row: those of the first iterations
 * describe the warm start. Means of means by count, and of variances within iterations: the drift
 * between iterations is not spread.
 */
static void remember(struct run *run, int32_t iteration, const struct trainer_iteration *metrics)
{
    run->scale_mean_sum += metrics->clip_scale_mean;
    run->scale_std_sum += metrics->clip_scale_std;
    run->entropy_sum += metrics->entropy;
    run->clip_fraction_sum += metrics->clip_fraction;
    run->alpha_sum += metrics->alpha_used;
    run->n_alpha += metrics->n_alpha > 0;
    judging_add(&run->judged, &metrics->judge);
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
    if (metrics->n_valued > 0)
        add_values(run, &metrics->values);
}

/*
 * Correction before the updates: afterwards the learner is no longer the policy that importance
 * weights compare the sampler with. mismatch_ess is 1 where nothing was measured: every rollout
 * counts in full.
 */
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

/* One rank has the file. A run that cannot keep its state ends: its user counts on it. */
static bool is_to_be_saved(const struct run *run, int32_t iterations)
{
    const struct trainer_process *process = &run->process;
    return process->state && process->state_every > 0 && ranks_mine(&run->ranks) == 0 &&
           iterations % process->state_every == 0;
}

/* The warm start may be most of a run: it is kept as soon as it is over. */
static enum trainer_status go_on_or_begin(struct run *run, int32_t *first, struct trainer_error *err)
{
    learner_restart(&run->learner, run->recipe->training.adam_beta1,
                    run->recipe->training.adam_beta2, run->recipe->training.weight_decay);
    enum trainer_status status = state_load(run, run->process.state, first, err);
    if (status != TRAINER_OK || *first >= 0)
        return status;
    *first = 0;
    status = begin(run, err);
    if (status == TRAINER_OK && run->recipe->evaluation.every > 0)
        status = look(run, 0, err);
    return status == TRAINER_OK && is_to_be_saved(run, 0)
               ? state_save(run, run->process.state, 0, err)
               : status;
}

/*
 * An evaluation before the first iteration: what training brought is the difference to it. A stop
 * is told as it is; what failed gets the iteration in front, since the same message from the
 * fortieth iteration means divergence and from the first a wrong recipe.
 */
static enum trainer_status train(struct run *run, struct trainer_error *err)
{
    int32_t iterations = run->recipe->training.iterations, every = run->recipe->evaluation.every;
    int32_t first = 0;
    enum trainer_status status = go_on_or_begin(run, &first, err);
    for (int32_t i = first; i < iterations && status == TRAINER_OK; i++) {
        status = iterate(run, i, err);
        if (status != TRAINER_OK && status != TRAINER_ESTOPPED && !ranks_are_apart(&run->ranks))
            return trainer_blame(err, status, "iteration", i + 1);
        if (status == TRAINER_OK && every > 0 && ((i + 1) % every == 0 || i + 1 == iterations))
            status = look(run, i + 1, err);
        if (status == TRAINER_OK && is_to_be_saved(run, i + 1))
            status = state_save(run, run->process.state, i + 1, err);
    }
    return status;
}

/* ---- the end ------------------------------------------------------------------------------ */

/*
 * The mean over seeds is what trials are compared by, and its spread what the noise floor is made
 * of; greedy decoding is shown beside it because many papers report that. Without evaluations on
 * the way the area is the score: sorting by it must not put such trials last.
 */
static enum trainer_status score(struct run *run, struct trainer_event *event, int64_t *correct,
                                 struct trainer_error *err)
{
    const struct trainer_evaluation *evaluation = &run->recipe->evaluation;
    const float *params = run->learner.params;
    double sum = 0, square = 0, n = evaluation->seeds, x = 0;
    enum trainer_status status = TRAINER_OK;
    for (int32_t s = 0; s < evaluation->seeds && status == TRAINER_OK; s++) {
        status = evaluate_once(&run->sampler, run->evaluation, params, 11 + (uint64_t)s,
                               evaluation->temperature, &x, correct, err);
        if (status == TRAINER_OK)
            difficulty_add(event->end_of_mix, run->evaluation, run->recipe);
        sum += x;
        square += x * x;
    }
    event->score = sum / n;
    event->score_std = trainer_std(n, sum, square);
    event->area = run->n_scores > 0 ? run->score_sum / run->n_scores : event->score;
    return status == TRAINER_OK ? evaluate_once(&run->sampler, run->evaluation, params, 1, 0,
                                                &event->score_greedy, NULL, err)
                                : status;
}

/*
 * How often each question is answered right, of as many answers as there are seeds: with k of k
 * samples the unbiased estimate of pass@k is whether one of them is.
 */
static enum trainer_status score_questions(struct run *run, struct trainer_event *event,
                                           struct trainer_error *err)
{
    size_t n = run->evaluation->capacity;
    int64_t *correct = calloc(n, sizeof *correct);
    if (!correct)
        return trainer_no_memory(err, n * sizeof *correct);
    enum trainer_status status = score(run, event, correct, err);
    event->k = run->recipe->evaluation.seeds;
    for (size_t i = 0; i < n; i++)
        event->passk += correct[i] > 0 ? 1.0 / (double)n : 0;
    free(correct);
    return status;
}

static struct trainer_values mean_values(const struct run *run)
{
    const struct trainer_values *sum = &run->late_values;
    double n = fmax(1, run->n_late_values);
    return (struct trainer_values){sum->loss / n, sum->clip_fraction / n,
                                   sum->explained_variance / n, sum->mean / n, sum->returned / n};
}

/*
 * The square root comes here, after the mean of variances. Without iterations nothing was scaled:
 * 1 and 0, which is what a clip scale that does nothing has.
 */
static void sum_up(struct run *run, struct trainer_event *event)
{
    double iterations = run->recipe->training.iterations;
    event->clip_scale_mean = iterations > 0 ? run->scale_mean_sum / iterations : 1;
    event->clip_scale_std = iterations > 0 ? run->scale_std_sum / iterations : 0;
    event->entropy = iterations > 0 ? run->entropy_sum / iterations : 0;
    event->clip_fraction = iterations > 0 ? run->clip_fraction_sum / iterations : 0;
    event->n_alpha = run->n_alpha;
    event->alpha_used = run->alpha_sum / fmax(1, run->n_alpha);
    event->n_valued = run->n_late_values;
    event->values = mean_values(run);
    event->n_gain = run->n_late;
    event->judge = run->judged;
    for (int32_t k = 0; k < run->n_late; k++) {
        double n = fmax(1, (double)run->late[k].count);
        event->gain[k] = (struct trainer_turn_gain){run->late[k].mean / n,
                                                    sqrt(run->late[k].std / n), run->late[k].count};
    }
}

/*
 * The clock of training stops before the final evaluation, which has a budget of its own. The
 * checkpoint is written after the evaluation, which nobody's training budget pays for, and before
 * the last event: who hears "done" finds the file.
 */
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
    status = score_questions(run, &event, err);
    event.row = run->recipe->row;
    sum_up(run, &event);
    run->eval_s = clock_now() - begin_s;
    if (status == TRAINER_OK && run->options.checkpoint)
        status =
            trainer_checkpoint_save(run->options.checkpoint, &checkpoint, run->learner.params, err);
    event.kind = TRAINER_EVENT_DONE;
    return status == TRAINER_OK ? tell(run, &event, err) : status;
}

static bool is_sound(const struct trainer_comm *comm)
{
    return !comm || (comm->size >= 1 && comm->size <= TRAINER_RANKS_MAX && comm->rank >= 0 &&
                     comm->rank < comm->size);
}

/*
 * The start is told before memory is taken: if the system kills the run for its memory, whoever
 * listened knows how much it wanted.
 */
enum trainer_status trainer_run_process(const struct trainer_recipe *recipe,
                                        const struct trainer_run_options *options,
                                        const struct trainer_process *process,
                                        struct trainer_error *err)
{
    const struct trainer_comm *comm = process->comm;
    struct run run = {.recipe = recipe, .began = clock_now()};
    struct trainer_error local = {TRAINER_OK, ""};
    if (options)
        run.options = *options;
    if (!is_sound(comm))
        return trainer_fail(err, TRAINER_EINVAL, "rank %d of %d; at most %d ranks are allowed",
                            comm->rank, comm->size, TRAINER_RANKS_MAX);
    run.process = *process;
    run.ranks.comm = comm;
    run.memory.judging = (struct judging){
        .ask = run.options.judge, .context = run.options.judge_context, .ranks = &run.ranks};
    enum trainer_status status = check_budget(recipe, &local);
    if (status == TRAINER_OK)
        status = tell_start(&run, &local);
    if (status == TRAINER_OK) {
        status = run_open(&run, &local);
        if (status == TRAINER_OK)
            status = train(&run, &local);
        if (status == TRAINER_OK)
            status = finish(&run, &local);
        run_close(&run);
    }
    status = ranks_leave(&run.ranks, status, &local);
    if (status != TRAINER_OK && err)
        *err = local;
    return status;
}

enum trainer_status trainer_run(const struct trainer_recipe *recipe,
                                const struct trainer_run_options *options,
                                struct trainer_error *err)
{
    const struct trainer_process alone = {0};
    return trainer_run_process(recipe, options, &alone, err);
}

/* ---- looking at a policy ------------------------------------------------------------------ */

/*
 * One iteration without its update: what a person sees is what training sees, credit included.
 * Without a penalty and without staleness, whose weights a loaded policy does not have. The rows
 * outlive the run: they are taken from it before it closes.
 */
enum trainer_status trainer_sample(struct trainer_rollouts **rollouts,
                                   const struct trainer_recipe *recipe, const float *params,
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
    }
    struct run run = {.recipe = &few};
    enum trainer_status status = run_open(&run, err);
    *rollouts = NULL;
    if (status == TRAINER_OK) {
        memcpy(run.learner.params, params, run.learner.n_params * sizeof *params);
        status = run_collect(&run, 0, &metrics, err);
    }
    if (status == TRAINER_OK) {
        *rollouts = run.rollouts;
        run.rollouts->routes = NULL; /* of the run */
        run.rollouts->expected = run.rollouts->returns = NULL; /* the run's */
        run.rollouts = NULL;
    }
    run_close(&run);
    return status;
}
