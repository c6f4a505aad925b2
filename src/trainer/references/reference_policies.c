#include "references/reference_policies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recipe/recipe_needs.h"
#include "references/shared_weights.h"
#include "support/error.h"

double reference_policies_sets(const struct trainer_recipe *recipe)
{
    double sets = recipe->loss.kl_coef > 0 ? 1 : 0;
    for (int32_t task = 0; task < recipe->n_tasks; task++)
        sets += recipe_has_teacher(recipe, task);
    return sets;
}

double reference_policies_bytes(const struct trainer_recipe *recipe)
{
    return hinted_rows_bytes(recipe);
}

enum trainer_status reference_policies_open(struct reference_policies *policies, const struct trainer_recipe *recipe,
                                            struct ranks *ranks, struct trainer_error *err)
{
    size_t bytes = trainer_model_parameters(&recipe->model) * sizeof(float);
    if (recipe->loss.kl_coef > 0 && !(policies->start = malloc(bytes)))
        return trainer_no_memory(err, bytes);
    for (int32_t task = 0; task < recipe->n_tasks; task++) {
        if (!recipe_has_teacher(recipe, task))
            continue;
        if (!(policies->teacher[task] = malloc(bytes)))
            return trainer_no_memory(err, bytes);
        enum trainer_status status =
            shared_weights_load(ranks, &recipe->model, recipe->tasks[task].algorithm.teacher, policies->teacher[task], err);
        if (status != TRAINER_OK)
            return status;
    }
    return hinted_rows_open(&policies->hinted, recipe) ? TRAINER_OK : trainer_no_memory(err, (size_t)hinted_rows_bytes(recipe));
}

void reference_policies_close(struct reference_policies *policies)
{
    free(policies->start);
    for (int32_t task = 0; task < TRAINER_ENVS_MAX; task++)
        free(policies->teacher[task]);
    hinted_rows_close(&policies->hinted);
}

/* Returns rows [first, first+n) in the form that the learner takes; the policy's own tokens are wanted. */
static struct learner_rows rows_of(const struct trainer_rollouts *r, size_t first, size_t n)
{
    size_t at = first * r->width;
    return (struct learner_rows){n, r->width, r->tokens + at, r->length + first, r->mask + at};
}

/*
 * A server's rounding may put the log-prob of a certain token a little above 0, which is taken as 0; more than that is not
 * a log-prob.
 */
static enum trainer_status ask_remote(const struct remote_teacher *remote, const struct trainer_recipe *recipe,
                                      struct trainer_rollouts *r, int32_t task, int32_t iteration, size_t first, size_t n,
                                      struct ranks *ranks, struct trainer_error *err)
{
    size_t cells = n * r->width;
    struct trainer_teacher_batch batch = {.recipe = recipe,
                                          .rollouts = r,
                                          .first = first,
                                          .n = n,
                                          .task = task,
                                          .iteration = iteration,
                                          .width = r->width,
                                          .log_prob = r->reference + first * r->width};
    enum trainer_status status = TRAINER_OK;
    memset(batch.log_prob, 0, cells * sizeof *batch.log_prob);
    if (ranks_mine(ranks) == 0)
        status = remote->ask(remote->context, &batch, err);
    for (size_t i = 0; i < cells && status == TRAINER_OK; i++) {
        float *log_prob = &batch.log_prob[i];
        if (!(isfinite(*log_prob) && *log_prob <= 1e-3f))
            return trainer_fail(err, TRAINER_ENUMERIC, "a log-prob of algorithm.endpoint is %g, not a number up to 0",
                                (double)*log_prob);
        *log_prob = r->mask[first * r->width + i] && *log_prob < 0 ? *log_prob : 0;
    }
    return status == TRAINER_OK ? ranks_broadcast(ranks, 0, batch.log_prob, cells * sizeof *batch.log_prob, err) : status;
}

/* sft needs no reference log-probs: its teacher has sampled the rollouts, and cross-entropy only needs the tokens. */
enum trainer_status reference_policies_score_task(struct reference_policies *policies, struct learner *learner,
                                                  const struct trainer_recipe *recipe, struct trainer_rollouts *r, int32_t task,
                                                  int32_t iteration, size_t first, size_t n, struct ranks *ranks,
                                                  struct trainer_error *err)
{
    struct learner_rows rows = rows_of(r, first, n);
    unsigned needs = recipe_needs(recipe, task);
    if (needs & RL_NEED_POLICY_REFERENCE)
        return hinted_teacher_score(&policies->hinted, learner, recipe, r, first, n, err);
    if (recipe_has_remote_teacher(recipe, task))
        return ask_remote(&policies->remote, recipe, r, task, iteration, first, n, ranks, err);
    if (needs & RL_NEED_FROZEN_REFERENCE)
        return learner_score(learner, policies->teacher[task], &rows, r->reference + first * r->width, err);
    return TRAINER_OK;
}

/* A lagged reference is the average with no weight on the old one. Every rank has the same weights and moves alike. */
void reference_policies_follow(struct reference_policies *policies, const struct trainer_recipe *recipe, const float *params,
                               int32_t iteration)
{
    const struct trainer_reference *reference = &recipe->reference;
    float kept = reference->kind == TRAINER_REFERENCE_EMA ? (float)reference->decay : 0;
    size_t n = trainer_model_parameters(&recipe->model);
    if (!policies->start || reference->kind == TRAINER_REFERENCE_START || (iteration + 1) % reference->every != 0)
        return;
    for (size_t i = 0; i < n; i++)
        policies->start[i] = kept * policies->start[i] + (1 - kept) * params[i];
}

enum trainer_status reference_policies_score_start(const struct reference_policies *policies, struct learner *learner,
                                                   struct trainer_rollouts *r, struct trainer_error *err)
{
    struct learner_rows rows = rows_of(r, 0, r->n);
    return policies->start ? learner_score(learner, policies->start, &rows, r->start, err) : TRAINER_OK;
}
