/* state_numbers.c: see state_numbers.h. The bounds are wide where a narrow bound would need the history of the run. */
#include "run/state_numbers.h"

#include <math.h>
#include <string.h>

#include "recipe/recipe_needs.h"

#define SECONDS_MOST 1e9 /* 30 years */
#define COUNT_MOST ((uint64_t)1 << 62)

/* A sum over the iterations of something that is at most `most` in each; the excess allows for rounding. */
static bool is_sum(double sum, double least, double most)
{
    return isfinite(sum) && sum >= least && sum <= most * (1 + 1e-9) + 1e-9;
}

/* ---- numbers ---- */

static const char *wrong_counts(const struct state_numbers *n, const struct trainer_recipe *recipe)
{
    const struct trainer_training *training = &recipe->training;
    int32_t every = recipe->evaluation.every;
    double rows = (double)recipe_rows(recipe), done = n->iterations;
    double updates = done * training->epochs * ceil(rows / training->minibatch);
    int32_t late = training->iterations - (training->iterations + 9) / 10; /* the first one that run_totals_add counts */
    if (n->iterations < 0 || n->iterations > training->iterations)
        return "iterations";
    /* one evaluation comes before the first iteration, and one after the last */
    if (n->n_scores < 0 || (every > 0 ? n->n_scores > n->iterations / every + 2 : n->n_scores > 0))
        return "scores";
    if (n->n_late < 0 || n->n_late > TRAINER_TURNS_MAX || (n->n_late > 0 && n->iterations <= late))
        return "n_late";
    if (n->n_alpha < 0 || n->n_alpha > n->iterations)
        return "n_alpha";
    if (n->n_late_values < 0 || n->n_late_values > (n->iterations > late ? n->iterations - late : 0))
        return "n_late_values";
    if (n->steps < 0 || (double)n->steps > updates)
        return "steps";
    for (size_t i = 0; i < TRAINER_ENVS_MAX; i++)
        if (n->n_baselines[i] > 1) /* each task has one agent (credit.c) */
            return "n_baselines";
    return NULL;
}

static const char *wrong_sums(const struct state_numbers *n)
{
    const struct trainer_values *v = &n->late_values;
    const double finite[] = {n->scale_mean_sum,     n->scale_std_sum, n->entropy_sum, n->alpha_sum,    v->loss,
                             v->explained_variance, v->mean,          v->returned,    v->clip_fraction};
    if (!is_sum(n->train_s, 0, SECONDS_MOST))
        return "train_s";
    if (!is_sum(n->score_sum, 0, n->n_scores)) /* shares of right answers */
        return "score_sum";
    if (!is_sum(n->clip_fraction_sum, 0, n->iterations))
        return "clip_fraction_sum";
    for (size_t i = 0; i < sizeof finite / sizeof *finite; i++)
        if (!isfinite(finite[i]))
            return "sums";
    for (size_t i = 0; i < TRAINER_ENVS_MAX; i++)
        if (!isfinite(n->baseline[i]))
            return "baseline";
    return NULL;
}

static const char *wrong_late(const struct state_numbers *n)
{
    for (int32_t k = 0; k < TRAINER_TURNS_MAX; k++) {
        const struct trainer_turn_gain *late = &n->late[k];
        if (!isfinite(late->mean) || !(late->std >= 0) || !isfinite(late->std) || late->count > COUNT_MOST ||
            (k >= n->n_late && late->count > 0))
            return "late";
    }
    return NULL;
}

static const char *wrong_judged(const struct trainer_judge_counts *judged)
{
    const uint64_t counts[] = {judged->good[0],  judged->good[1],       judged->bad[0],           judged->bad[1],
                               judged->compared, judged->prompt_tokens, judged->completion_tokens};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] > COUNT_MOST)
            return "judged";
    for (size_t i = 0; i < TRAINER_N_JUDGE_MARKS; i++)
        if (judged->rows[i] > COUNT_MOST)
            return "judged";
    return judged->agreed <= judged->compared && is_sum(judged->seconds, 0, SECONDS_MOST) ? NULL : "judged";
}

const char *state_numbers_wrong(const struct state_numbers *numbers, const struct trainer_recipe *recipe)
{
    const char *wrong = wrong_counts(numbers, recipe);
    if (!wrong)
        wrong = wrong_sums(numbers);
    if (!wrong)
        wrong = wrong_late(numbers);
    if (!wrong)
        wrong = wrong_judged(&numbers->judged);
    if (!wrong && (numbers->pad || !memchr(numbers->kernels, '\0', sizeof numbers->kernels)))
        wrong = "padding";
    return wrong;
}

/* ---- arrays ---- */

static bool are_finite(const float *values, size_t n)
{
    for (size_t i = 0; values && i < n; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

/* The optimizer takes the root of these. */
static bool are_squares(const float *values, size_t n)
{
    for (size_t i = 0; values && i < n; i++)
        if (!(values[i] >= 0) || !isfinite(values[i]))
            return false;
    return true;
}

/* An anchor is a length in tokens, and NaN until it is set. */
static bool are_anchors(const double *anchor, size_t n, double longest)
{
    for (size_t i = 0; anchor && i < n; i++)
        if (!isnan(anchor[i]) && !(anchor[i] >= 0 && anchor[i] <= longest))
            return false;
    return true;
}

static bool are_rates(const struct allocation *a, size_t rows)
{
    for (size_t i = 0; i < a->pool; i++)
        if (a->asked[i] < 0 || (uint64_t)a->asked[i] > rows || a->right[i] < 0 || a->right[i] > a->asked[i])
            return false;
    return true;
}

const char *state_arrays_wrong(const struct run *run)
{
    const struct learner *learner = &run->learner;
    size_t n = learner->n_params, kept = (size_t)run->recipe->sampler.staleness + 1;
    if (!are_finite(learner->params, n))
        return "weights";
    if (!are_finite(learner->adam.m, n) || !are_squares(learner->adam.v, n))
        return "moments";
    if (!are_finite(run->references.start, n))
        return "first weights";
    if (!are_finite(run->sampled_by.history, n * kept))
        return "earlier weights";
    for (int32_t task = 0; task < run->recipe->n_tasks; task++) {
        if (!are_anchors(run->memory.anchor[task], (size_t)run->recipe->tasks[task].pool, run->recipe->model.max_tokens))
            return "anchors";
        if (!are_rates(&run->allocation[task], recipe_rows(run->recipe)))
            return "pass rates";
    }
    return NULL;
}
