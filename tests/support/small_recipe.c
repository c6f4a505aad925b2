/* small_recipe.c: see small_recipe.h. */
#include "support/small_recipe.h"

#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/warm_start.h"

void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.17g and %.17g differ by %g", a, b, fabs(a - b));
}

void check_recipe(struct trainer_recipe *recipe)
{
    struct trainer_error err;
    if (trainer_recipe_check(recipe, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
}

struct trainer_recipe small_recipe(enum trainer_env_kind kind)
{
    struct trainer_recipe r;
    trainer_recipe_init(&r);
    r.threads = 1;
    r.world = (struct trainer_world){.regions = 4, .region_size = 3, .relations = 6};
    r.model.width = 16;
    r.model.mlp = 32;
    trainer_env_init(&r.tasks[0].env, kind);
    r.tasks[0].env.k_min = 1;
    r.tasks[0].env.k_max = 2;
    r.tasks[0].env.max_turns = 3;
    r.tasks[0].questions = 4;
    r.warm_start.steps = 0;
    r.warm_start.batch = 32;
    r.warm_start.warmup = 5;
    r.warm_start.learning_rate = 1e-2;
    r.warm_start.matrix_rate = 0.02;
    r.warm_start.k_min = 1;
    r.warm_start.k_max = 2;
    r.training.iterations = 3;
    r.training.group_size = 4;
    r.training.minibatch = 8;
    r.training.learning_rate = 1e-3;
    r.evaluation.questions = 16;
    r.evaluation.every = 0;
    r.evaluation.seeds = 2;
    check_recipe(&r);
    return r;
}

void add_reverse(struct trainer_recipe *recipe, enum rl_algorithm_name first, enum rl_algorithm_name second, const char *teacher)
{
    recipe->n_tasks = 2;
    recipe->tasks[1] = recipe->tasks[0];
    recipe->tasks[1].env.kind = TRAINER_REVERSE;
    recipe->tasks[1].questions = 3;
    recipe->tasks[0].algorithm.name = first;
    recipe->tasks[1].algorithm.name = second;
    for (int32_t i = 0; i < 2; i++)
        strcpy(recipe->tasks[i].algorithm.teacher, teacher);
    check_recipe(recipe);
}

static bool go_on(void *context, int32_t step, double loss)
{
    (void)context;
    (void)step;
    return isfinite(loss);
}

float *warm_policy(const struct trainer_recipe *recipe, int32_t steps)
{
    struct trainer_recipe warm = *recipe;
    struct learner learner;
    struct trainer_error err;
    warm.warm_start.steps = steps;
    enum trainer_status status = learner_open(&learner, &warm.model, (size_t)warm.warm_start.batch, NULL, 1, &err);
    float *params = malloc(learner.n_params * sizeof *params);
    if (status == TRAINER_OK) {
        trainer_policy_initf(&warm.model, 1, learner.params);
        status = steps > 0 ? warm_start(&learner, &warm, go_on, NULL, &err) : TRAINER_OK;
    }
    if (status != TRAINER_OK || !params)
        fail_msg("%s", status != TRAINER_OK ? err.text : "out of memory");
    memcpy(params, learner.params, learner.n_params * sizeof *params);
    learner_close(&learner);
    return params;
}

void warm_checkpoint(const struct trainer_recipe *recipe, int32_t steps, const char *path)
{
    const struct trainer_checkpoint checkpoint = {recipe->model, (uint64_t)steps};
    float *params = warm_policy(recipe, steps);
    assert_int_equal(trainer_checkpoint_save(path, &checkpoint, params, NULL), TRAINER_OK);
    free(params);
}

struct trainer_rollouts *sample(const struct trainer_recipe *recipe, const float *params, int32_t questions, uint64_t seed)
{
    struct trainer_rollouts *rollouts;
    struct trainer_error err;
    if (trainer_sample(&rollouts, recipe, params, questions, seed, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    return rollouts;
}
