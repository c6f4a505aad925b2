/*
 * A score is the share of right answers over all tasks together. Each sampling seed answers each question once:
 * several samples of one question say less than one sample of several questions.
 */
#include "rollout/evaluate.h"

#include "support/error.h"
#include "support/rng.h"
#include "support/threads.h"

size_t evaluate_rows(const struct trainer_recipe *recipe)
{
    return (size_t)recipe->evaluation.questions * (size_t)recipe->n_tasks;
}

/*
 * The questions come from the recipe's question_seed and are the same for every trial and sampling seed, so that
 * differences in scores come from the policy and not from the questions. Sampling and the tool's random behaviour
 * depend on the sampling seed.
 */
static struct rollouts_plan plan_for(const struct trainer_recipe *recipe, int32_t task, uint64_t seed)
{
    return (struct rollouts_plan){.env = &recipe->tasks[task].env,
                                  .task = task,
                                  .questions = (size_t)recipe->evaluation.questions,
                                  .group_size = 1,
                                  .question_seed = recipe->evaluation.question_seed,
                                  .noise_seed = trainer_seed(seed, 'e', (uint64_t)task)};
}

static void ask(struct trainer_rollouts *rollouts, const struct trainer_recipe *recipe, uint64_t seed)
{
    size_t n = (size_t)recipe->evaluation.questions;
    for (int32_t task = 0; task < recipe->n_tasks; task++) {
        struct rollouts_plan plan = plan_for(recipe, task, seed);
        rollouts_add(rollouts, &plan, (size_t)task * n);
    }
}

/* All sampling seeds use the same rows. `correct` accumulates over several calls, because pass@k needs the sum. */
enum trainer_status evaluate_once(struct sampler *sampler, struct trainer_rollouts *rollouts, const float *params, uint64_t seed,
                                  double temperature, double *score, int64_t *correct, struct trainer_error *err)
{
    struct sampler_job job = {.rollouts = rollouts, .temperature = temperature};
    double right = 0;
    for (int32_t task = 0; task < TRAINER_ENVS_MAX; task++)
        job.params[task] = params;
    ask(rollouts, sampler->recipe, seed);
    TRY(sampler_play(sampler, &job, err));
    for (size_t i = 0; i < rollouts->n; i++) {
        right += rollouts->reward[i] > 0;
        if (correct)
            correct[i] += rollouts->reward[i] > 0;
    }
    *score = rollouts->n > 0 ? right / (double)rollouts->n : 0;
    return TRAINER_OK;
}

/*
 * Sample s has the sampling seed seed + s, so that a later call can ask for further samples instead of repeating
 * the first.
 */
enum trainer_status trainer_evaluate(const struct trainer_recipe *recipe, const float *params, int32_t samples, uint64_t seed,
                                     double temperature, int64_t *correct, struct trainer_error *err)
{
    struct sampler sampler = {0};
    size_t rows = evaluate_rows(recipe);
    struct trainer_rollouts *rollouts = rollouts_new(rows, (size_t)recipe->model.max_tokens);
    enum trainer_status status = TRAINER_OK;
    if (!rollouts)
        return trainer_no_memory(err, rollouts_bytes(rows, (size_t)recipe->model.max_tokens));
    status = sampler_open(&sampler, recipe, threads_wanted(recipe->threads), err);
    for (size_t i = 0; i < rows; i++)
        correct[i] = 0;
    for (int32_t s = 0; s < samples && status == TRAINER_OK; s++) {
        double score;
        status = evaluate_once(&sampler, rollouts, params, seed + (uint64_t)s, temperature, &score, correct, err);
    }
    sampler_close(&sampler);
    free(rollouts);
    return status;
}

/*
 * Indices must ascend, so that the rows of a task are adjacent and lanes are filled. An index that occurs twice is
 * refused, because it would be played twice with the same noise and counted as two samples.
 */
static enum trainer_status check_which(const struct trainer_recipe *recipe, size_t n, const size_t *which,
                                       struct trainer_error *err)
{
    size_t rows = evaluate_rows(recipe);
    for (size_t i = 0; i < n; i++)
        if (which[i] >= rows || (i > 0 && which[i] <= which[i - 1]))
            return trainer_fail(err, TRAINER_EINVAL, "which[%zu] is %zu: must ascend and be below %zu", i, which[i], rows);
    return TRAINER_OK;
}

/*
 * A row's noise depends on its index among all questions and not on its index in this selection, so that question 17 is
 * answered as in trainer_evaluate.
 */
static enum trainer_status play_some(struct sampler *sampler, struct sampler_job *job, const float *params, size_t n,
                                     const size_t *which, uint64_t seed, struct trainer_error *err)
{
    size_t questions = (size_t)sampler->recipe->evaluation.questions;
    for (int32_t task = 0; task < TRAINER_ENVS_MAX; task++)
        job->params[task] = params;
    for (size_t i = 0; i < n; i++) {
        struct rollouts_plan plan = plan_for(sampler->recipe, (int32_t)(which[i] / questions), seed);
        rollouts_add_one(job->rollouts, &plan, which[i] % questions, which[i]);
    }
    return sampler_play(sampler, job, err);
}

enum trainer_status trainer_evaluate_some(const struct trainer_recipe *recipe, const float *params, size_t n, const size_t *which,
                                          uint64_t seed, double temperature, uint8_t *right, struct trainer_error *err)
{
    struct sampler sampler = {0};
    size_t width = (size_t)recipe->model.max_tokens;
    enum trainer_status status = check_which(recipe, n, which, err);
    if (status != TRAINER_OK || n == 0)
        return status;
    struct sampler_job job = {.rollouts = rollouts_new(n, width), .temperature = temperature};
    if (!job.rollouts)
        return trainer_no_memory(err, rollouts_bytes(n, width));
    status = sampler_open(&sampler, recipe, threads_wanted(recipe->threads), err);
    if (status == TRAINER_OK)
        status = play_some(&sampler, &job, params, n, which, seed, err);
    for (size_t i = 0; i < n && status == TRAINER_OK; i++)
        right[i] = job.rollouts->reward[i] > 0;
    sampler_close(&sampler);
    free(job.rollouts);
    return status;
}
