/* trainer_faults.c: tests for every N that a run whose N-th allocation fails reports the failure and leaks nothing. */
#include "support/unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support/files.h"
#include "support/small_recipe.h"

/* ---- the N-th of these calls fails, by the linker's --wrap ----------------------------------- */

static int faults_left = -1; /* calls that succeed before one fails; -1: none fails */

static bool fault(void)
{
    if (faults_left < 0 || faults_left-- > 0)
        return false;
    faults_left = -1;
    return true;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return fault() ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
    return fault() ? NULL : __real_calloc(n, size);
}

int __real_posix_memalign(void **block, size_t alignment, size_t size);
int __wrap_posix_memalign(void **block, size_t alignment, size_t size);
int __wrap_posix_memalign(void **block, size_t alignment, size_t size)
{
    return fault() ? ENOMEM : __real_posix_memalign(block, alignment, size);
}

/* ---- runs ---- */

typedef enum trainer_status call_fn(const struct trainer_recipe *recipe, struct trainer_error *err);

/* Repeats a call until each of its allocations has failed once; the sanitizer reports leaks. */
static int count_failures(const struct trainer_recipe *recipe, call_fn *call)
{
    int failures = 0;
    for (int n = 0;; n++) {
        struct trainer_error err = {TRAINER_OK, ""};
        faults_left = n;
        enum trainer_status status = call(recipe, &err);
        bool injected = faults_left < 0;
        faults_left = -1;
        assert_true(status == (injected ? TRAINER_ENOMEM : TRAINER_OK) && err.status == status);
        assert_true(!injected || err.text[0]);
        failures += injected;
        if (!injected)
            return failures;
    }
}

static enum trainer_status run(const struct trainer_recipe *recipe, struct trainer_error *err)
{
    return trainer_run(recipe, NULL, err);
}

static struct trainer_recipe short_recipe(void)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    recipe.training.iterations = 1;
    recipe.training.epochs = 1;
    recipe.evaluation.questions = 4;
    recipe.evaluation.seeds = 1;
    return recipe;
}

static void a_run_without_memory_says_so(void **state)
{
    (void)state;
    struct trainer_recipe recipe = short_recipe();
    recipe.warm_start.steps = 1;
    recipe.sampler.precision = TRAINER_BF16;
    recipe.correction.name = TRAINER_CORRECTION_DECOUPLED;
    recipe.loss.kl_coef = 0.1;
    recipe.loss.name = TRAINER_LOSS_TURN;
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_TURN_GROUP_V1D;
    assert_true(count_failures(&recipe, run) > 15);
}

/* Packs micro-batches with the core's planner, then also limits the memory, so that only few passes fit. */
static void packed_micro_batches_without_memory_say_so(void **state)
{
    (void)state;
    struct trainer_recipe recipe = short_recipe();
    int plain = count_failures(&recipe, run);
    recipe.micro_batch.tokens = recipe.model.max_tokens;
    int packed = count_failures(&recipe, run);
    recipe.micro_batch.activation_bytes = 1e6;
    assert_true(packed > plain);
    assert_true(count_failures(&recipe, run) > 10);
}

static void each_algorithm_without_memory_says_so(void **state)
{
    (void)state;
    struct trainer_recipe recipe = short_recipe();
    const enum rl_algorithm_name names[] = {RL_ALGORITHM_ADCA, RL_ALGORITHM_PROCESS, RL_ALGORITHM_MAX_RL,
                                            RL_ALGORITHM_OPSD, RL_ALGORITHM_RAE,     RL_ALGORITHM_REINFORCE_PLUS_PLUS};
    recipe.training.iterations = 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        recipe.tasks[0].algorithm.name = names[i];
        recipe.tasks[0].algorithm.length_penalty = TRAINER_LENGTH_GROUP;
        assert_true(count_failures(&recipe, run) > 10);
    }
}

static float *policy;

static enum trainer_status sample_some(const struct trainer_recipe *recipe, struct trainer_error *err)
{
    struct trainer_rollouts *rollouts;
    enum trainer_status status = trainer_sample(&rollouts, recipe, policy, 2, 1, err);
    assert_true((status == TRAINER_OK) == (rollouts != NULL));
    trainer_rollouts_free(rollouts);
    return status;
}

static enum trainer_status evaluate_some(const struct trainer_recipe *recipe, struct trainer_error *err)
{
    int64_t correct[4];
    return trainer_evaluate(recipe, policy, 2, 1, 1, correct, err);
}

static void sampling_a_policy_without_memory_says_so(void **state)
{
    (void)state;
    struct trainer_recipe recipe = short_recipe();
    policy = warm_policy(&recipe, 0);
    assert_true(count_failures(&recipe, sample_some) > 8);
    assert_true(count_failures(&recipe, evaluate_some) >= 3);
    free(policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_without_memory_says_so),
        cmocka_unit_test(packed_micro_batches_without_memory_say_so),
        cmocka_unit_test(each_algorithm_without_memory_says_so),
        cmocka_unit_test(sampling_a_policy_without_memory_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
