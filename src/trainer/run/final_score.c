/* final_score.c: see final_score.h. */
#include "run/final_score.h"

#include <stdlib.h>
#include <string.h>

#include "rollout/difficulty.h"
#include "rollout/evaluate.h"
#include "run/gradient_trace.h"
#include "run/run_events.h"
#include "support/clock.h"
#include "support/error.h"

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

/*
 * The clock of training stops before the final evaluation, which has its own budget. The checkpoint is written after
 * the evaluation, so that an existing file always comes from a run that succeeded, and before the last event, so that a
 * caller that receives this event finds the file.
 */
enum trainer_status run_finish(struct run *run, struct trainer_error *err)
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
