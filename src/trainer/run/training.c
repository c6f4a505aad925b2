/*
 * training.c: a training run from recipe to checkpoint (trainer_run).
 *
 * Everything large is allocated before the first step (run_open), within a bound that is reported before the allocation
 * (TRAINER_EVENT_START): a run that does not fit does not start. The caller may stop the run at any event, and
 * run_close frees everything. The checkpoint is written last, so an existing checkpoint is complete and comes from a
 * run that succeeded.
 */

#include "learn/warm_start.h"
#include "recipe/recipe_needs.h"
#include "references/reference_policies.h"
#include "rollout/rollouts.h"
#include "rollout/evaluate.h"
#include "run/gradient_trace.h"
#include "run/memory_bound.h"
#include "run/resume_state.h"
#include "support/clock.h"
#include "support/error.h"

/* Calls the caller's event callback, if there is one, with the times so far. The times are those of the run, so that a
 * caller that enforces budgets compares the time spent on training and not the time at which the event arrived. The
 * clock of training stops when training ends. Returns TRAINER_ESTOPPED if the callback returns false. */
static enum trainer_status run_report(struct run *run, struct trainer_event *event, struct trainer_error *err)
{
    const struct run_clock *clock = &run->clock;
    event->train_s = clock->train_s > 0 ? clock->train_s : clock_now() - clock->began;
    event->eval_s = clock->eval_s;
    if (run->options.event && !run->options.event(run->options.context, event))
        return trainer_fail(err, TRAINER_ESTOPPED, "stopped at step %d of %d", event->step, event->steps);
    return TRAINER_OK;
}

/* ---- the end of a run: final evaluation, checkpoint and last event ---- */

/*
 * Trials are compared by the mean over sampling seeds, and the noise floor is computed from the spread over these
 * seeds. The score of greedy decoding is also reported, because many papers report it. Without evaluations during
 * training the area equals the score, because sorting by area must not put such trials last. Adds to correct
 * [questions].
 */
static enum trainer_status score(struct run *run, struct trainer_event *event, int64_t *correct, struct trainer_error *err)
{
    const struct trainer_evaluation *evaluation = &run->recipe->evaluation;
    const float *params = run->learner.params;
    double sum = 0, square = 0, n = evaluation->seeds, x = 0;
    enum trainer_status status = TRAINER_OK;
    for (int32_t s = 0; s < evaluation->seeds && status == TRAINER_OK; s++) {
        status =
            evaluate_once(&run->sampler, run->evaluation, params, 11 + (uint64_t)s, evaluation->temperature, &x, correct, err);
        if (status == TRAINER_OK)
            difficulty_add(event->end_of_mix, run->evaluation, run->recipe);
        sum += x;
        square += x * x;
    }
    event->score = sum / n;
    event->score_std = trainer_std(n, sum, square);
    event->area = run->totals.n_scores > 0 ? run->totals.score_sum / run->totals.n_scores : event->score;
    return status == TRAINER_OK ? evaluate_once(&run->sampler, run->evaluation, params, 1, 0, &event->score_greedy, NULL, err)
                                : status;
}

/*
 * Computes pass@k from k samples: the unbiased estimate for a question is whether at least one of its answers is right.
 */
static enum trainer_status score_questions(struct run *run, struct trainer_event *event, struct trainer_error *err)
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

/* Evaluates the trained policy, writes the checkpoint if options.checkpoint is set, and reports TRAINER_EVENT_DONE.
 * The clock of training stops before the final evaluation, which has its own budget. The checkpoint is written after
 * the evaluation, so that an existing file always comes from a run that succeeded, and before the last event, so that a
 * caller that receives this event finds the file. */
static enum trainer_status run_finish(struct run *run, struct trainer_error *err)
{
    int32_t iterations = run->recipe->training.iterations;
    struct trainer_event event = {.kind = TRAINER_EVENT_EVALUATING, .step = iterations, .steps = iterations};
    struct trainer_checkpoint checkpoint = {run->recipe->model, (uint64_t)run->learner.adam.steps};
    run->clock.train_s = clock_now() - run->clock.began;
    enum trainer_status status = run_report(run, &event, err);
    if (status != TRAINER_OK)
        return status;
    double begin_s = clock_now();
    status = score_questions(run, &event, err);
    event.row = run->recipe->row;
    run_totals_report(&run->totals, iterations, &event);
    gradient_trace_report(run, &event);
    event.n_envs = run->recipe->n_tasks > 1 && iterations > 0 ? run->recipe->n_tasks : 0;
    memcpy(event.env, run->last, sizeof event.env);
    run->clock.eval_s = clock_now() - begin_s;
    if (status == TRAINER_OK && run->options.checkpoint)
        status = trainer_checkpoint_save(run->options.checkpoint, &checkpoint, run->learner.params, err);
    event.kind = TRAINER_EVENT_DONE;
    return status == TRAINER_OK ? run_report(run, &event, err) : status;
}

/* ---- a training run from recipe to checkpoint (trainer_run) ---- */

static enum trainer_status report_start(struct run *run, struct trainer_error *err)
{
    const char *state = run->process.state;
    int32_t done = 0;
    if (!state || trainer_state_read(state, run->recipe, &done, NULL) != TRAINER_OK)
        done = 0;
    struct trainer_event event = {.kind = TRAINER_EVENT_START,
                                  .step = done,
                                  .steps = run->recipe->training.iterations,
                                  .parameters = trainer_model_parameters(&run->recipe->model),
                                  .memory_bound = trainer_memory_bound(run->recipe)};
    return run_report(run, &event, err);
}

/* Called by warm_start, which itself reports a stop, with the step. */
static bool report_warm_step(void *context, int32_t step, double loss)
{
    struct run *run = context;
    struct trainer_event event = {.kind = TRAINER_EVENT_WARM, .step = step, .steps = run->recipe->warm_start.steps, .loss = loss};
    return run_report(run, &event, NULL) == TRAINER_OK;
}

static void restart_optimizer(struct run *run)
{
    const struct trainer_training *training = &run->recipe->training;
    learner_restart(&run->learner, training->adam_beta1, training->adam_beta2, training->weight_decay);
}

/*
 * Makes the first weights: from a checkpoint, or random and then warm-started. The optimizer restarts after the warm
 * start, because moments of supervised gradients say nothing about gradients of rewards. Therefore a run that starts
 * from the warm start's checkpoint, which has no moments, is the same run.
 */
static enum trainer_status make_first_weights(struct run *run, struct trainer_error *err)
{
    const struct trainer_recipe *recipe = run->recipe;
    struct learner *learner = &run->learner;
    enum trainer_status status = TRAINER_OK;
    trainer_policy_initf(&recipe->model, recipe->seed, learner->params);
    if (recipe->checkpoint[0])
        status = trainer_checkpoint_load_as(recipe->checkpoint, &recipe->model, learner->params, NULL, err);
    else if (recipe->warm_start.steps > 0)
        status = warm_start(learner, recipe, report_warm_step, run, err);
    restart_optimizer(run);
    if (run->references.start)
        memcpy(run->references.start, learner->params, learner->n_params * sizeof(float));
    return status;
}

/*
 * An evaluation during training. All evaluations have the same questions and the same sampling seed, so that the curve
 * changes only because the policy changes. The seeds of the final score begin at 11 and do not include this seed.
 */
static enum trainer_status evaluate(struct run *run, int32_t iteration, struct trainer_error *err)
{
    struct trainer_event event = {.kind = TRAINER_EVENT_EVALUATION, .step = iteration, .steps = run->recipe->training.iterations};
    TRY(evaluate_once(&run->sampler, run->evaluation, run->learner.params, 1, run->recipe->evaluation.temperature, &event.score,
                      NULL, err));
    run->totals.score_sum += event.score;
    run->totals.n_scores++;
    return run_report(run, &event, err);
}

/* A run that cannot save its state ends, because its user relies on the state. */
static enum trainer_status save_state(struct run *run, int32_t iterations, struct trainer_error *err)
{
    const struct trainer_process *process = &run->process;
    bool due = process->state && process->state_every > 0 && iterations % process->state_every == 0;
    return due ? resume_state_save(run, process->state, iterations, err) : TRAINER_OK;
}

/*
 * Resumes from a saved state, or starts: makes the first weights, and evaluates before the first iteration, for
 * comparison with the result of training. The warm start may take most of a run, so the state is saved immediately
 * after it. *first receives the iteration with which to continue.
 */
static enum trainer_status resume_or_begin(struct run *run, int32_t *first, struct trainer_error *err)
{
    restart_optimizer(run);
    enum trainer_status status = resume_state_load(run, run->process.state, first, err);
    if (status != TRAINER_OK || *first >= 0)
        return status;
    *first = 0;
    status = make_first_weights(run, err);
    if (status == TRAINER_OK && run->recipe->evaluation.every > 0)
        status = evaluate(run, 0, err);
    return status == TRAINER_OK ? save_state(run, 0, err) : status;
}

/* mismatch_ess is 1 if it is not measured, because every rollout then counts in full. */
static enum trainer_status iterate(struct run *run, int32_t iteration, struct trainer_error *err)
{
    int32_t iterations = run->recipe->training.iterations;
    struct trainer_iteration metrics = {.mismatch_ess = 1};
    struct trainer_event event = {
        .kind = TRAINER_EVENT_ITERATION, .step = iteration + 1, .steps = iterations, .iteration = &metrics};
    enum trainer_status status = run_collect(run, iteration, &metrics, err);
    if (status == TRAINER_OK)
        status = run_credit(run, iteration, &metrics, err);
    if (status == TRAINER_OK)
        status = run_correct(run, &metrics, err);
    if (status == TRAINER_OK && run->options.rollouts)
        status = run->options.rollouts(run->options.rollouts_context, iteration, run->rollouts, err);
    if (status == TRAINER_OK)
        status = run_update(run, iteration, &metrics, err);
    if (status == TRAINER_OK)
        status = gradient_trace_look(run, iteration, err);
    if (status == TRAINER_OK)
        reference_policies_follow(&run->references, run->recipe, run->learner.params, iteration);
    run_totals_add(&run->totals, iteration, iterations, &metrics);
    return status == TRAINER_OK ? run_report(run, &event, err) : status;
}

/*
 * The message of a failure begins with the iteration, because the same message means divergence in the fortieth
 * iteration but a wrong recipe in the first. A stop by the caller keeps its own message.
 */
static enum trainer_status train(struct run *run, struct trainer_error *err)
{
    int32_t iterations = run->recipe->training.iterations, every = run->recipe->evaluation.every;
    int32_t first = 0;
    enum trainer_status status = resume_or_begin(run, &first, err);
    for (int32_t i = first; i < iterations && status == TRAINER_OK; i++) {
        status = iterate(run, i, err);
        if (status != TRAINER_OK && status != TRAINER_ESTOPPED)
            return trainer_blame(err, status, "iteration", i + 1);
        if (status == TRAINER_OK && every > 0 && ((i + 1) % every == 0 || i + 1 == iterations))
            status = evaluate(run, i + 1, err);
        if (status == TRAINER_OK)
            status = save_state(run, i + 1, err);
    }
    return status;
}

/* Without a callback the run would train on advantages, or on a teacher's log-probs, of 0. */
static enum trainer_status look_for_callbacks(const struct run *run, struct trainer_error *err)
{
    for (int32_t i = 0; i < run->recipe->n_tasks; i++) {
        const struct trainer_algorithm *a = &run->recipe->tasks[i].algorithm;
        const char *set = a->command[0]         ? "custom.command"
                          : a->hooks.score[0]   ? "hooks.score"
                          : a->hooks.weights[0] ? "hooks.weights"
                                                : NULL;
        if (set && !run->memory.given.ask)
            return trainer_fail(err, TRAINER_EINVAL, "algorithm.%s is set, but this program cannot run it", set);
        if (recipe_has_remote_teacher(run->recipe, i) && !run->references.remote.ask)
            return trainer_fail(err, TRAINER_EINVAL, "algorithm.endpoint.base_url is set, but this program cannot ask it");
    }
    return TRAINER_OK;
}

/*
 * The start is reported before memory is allocated: if the system kills the run for its memory, the caller knows how
 * much memory the run needed.
 */
enum trainer_status trainer_run_process(const struct trainer_recipe *recipe, const struct trainer_run_options *options,
                                        const struct trainer_process *process, struct trainer_error *err)
{
    struct run run = {.recipe = recipe, .clock.began = clock_now()};
    struct trainer_error local = {TRAINER_OK, ""};
    if (options)
        run.options = *options;
    run.process = *process;
    run.memory.judging = (struct judging){.ask = run.options.judge, .context = run.options.judge_context};
    run.memory.given = (struct given_credit){run.options.credit, run.options.credit_context};
    run.references.remote = (struct remote_teacher){run.options.teacher, run.options.teacher_context};
    enum trainer_status status = look_for_callbacks(&run, &local);
    if (status == TRAINER_OK)
        status = memory_bound_check(recipe, &local);
    if (status == TRAINER_OK)
        status = report_start(&run, &local);
    if (status == TRAINER_OK) {
        status = run_open(&run, &local);
        if (status == TRAINER_OK)
            status = train(&run, &local);
        if (status == TRAINER_OK)
            status = run_finish(&run, &local);
        run_close(&run);
    }
    if (status != TRAINER_OK && err)
        *err = local;
    return status;
}

enum trainer_status trainer_run(const struct trainer_recipe *recipe, const struct trainer_run_options *options,
                                struct trainer_error *err)
{
    const struct trainer_process alone = {0};
    return trainer_run_process(recipe, options, &alone, err);
}
