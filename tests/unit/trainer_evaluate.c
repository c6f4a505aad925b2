/* trainer_evaluate.c: tests evaluations, which ask all of a fixed list of questions or some of them. */
#include "support/unit.h"

#include <stdlib.h>
#include <string.h>

#include "support/small_recipe.h"

enum { QUESTIONS = 200, ROWS = 2 * QUESTIONS };

/* Returns a recipe with questions of two environments. */
static struct trainer_recipe two_environments(void)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    struct trainer_recipe other = small_recipe(TRAINER_REVERSE);
    recipe.tasks[1] = other.tasks[0];
    recipe.n_tasks = 2;
    recipe.evaluation.questions = QUESTIONS;
    check_recipe(&recipe);
    return recipe;
}

static void evaluate(const struct trainer_recipe *recipe, const float *params, int32_t samples, uint64_t seed, int64_t *correct)
{
    struct trainer_error err;
    if (trainer_evaluate(recipe, params, samples, seed, 1, correct, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
}

static void samples_are_those_of_consecutive_seeds(void **state)
{
    struct trainer_recipe recipe = two_environments();
    float *params = warm_policy(&recipe, 40);
    int64_t both[ROWS], first[ROWS], second[ROWS], n_right = 0;
    (void)state;
    evaluate(&recipe, params, 2, 5, both);
    evaluate(&recipe, params, 1, 5, first);
    evaluate(&recipe, params, 1, 6, second);
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(both[i], first[i] + second[i]);
        n_right += both[i];
    }
    assert_true(n_right > 0 && n_right < 2 * ROWS);
    assert_int_not_equal(memcmp(first, second, sizeof first), 0);
    free(params);
}

static void some_questions_are_answered_as_among_all(void **state)
{
    struct trainer_recipe recipe = two_environments();
    float *params = warm_policy(&recipe, 40);
    int64_t all[ROWS];
    size_t which[ROWS], n = 0, n_right = 0;
    uint8_t right[ROWS];
    struct trainer_error err;
    (void)state;
    evaluate(&recipe, params, 1, 9, all);
    for (size_t i = 3; i < ROWS; i += 1 + i % 3)
        which[n++] = i;
    assert_int_equal(trainer_evaluate_some(&recipe, params, n, which, 9, 1, right, &err), TRAINER_OK);
    for (size_t k = 0; k < n; k++) {
        assert_int_equal(right[k], all[which[k]]);
        n_right += right[k];
    }
    assert_true(n_right > 0 && n_right < n);
    free(params);
}

/*
 * The weights are finite but the logits are not. A score of 0 would look like a measurement, so evaluating must fail.
 */
static void a_policy_that_overflows_has_no_score(void **state)
{
    struct trainer_recipe recipe = two_environments();
    float *params = warm_policy(&recipe, 0);
    size_t n = (size_t)trainer_model_parameters(&recipe.model);
    const size_t one[] = {0};
    int64_t correct[ROWS];
    uint8_t right[1];
    struct trainer_error err;
    (void)state;
    for (size_t i = 0; i < n; i++)
        /* Makes attention overflow. 1e30 would overflow before the norm, which can turn the result into 0. */
        params[i] = 1e18f;
    assert_int_equal(trainer_evaluate(&recipe, params, 1, 1, 1, correct, &err), TRAINER_ENUMERIC);
    assert_non_null(strstr(err.text, "the policy overflows"));
    assert_int_equal(trainer_evaluate_some(&recipe, params, 1, one, 1, 1, right, &err), TRAINER_ENUMERIC);
    free(params);
}

static void questions_that_do_not_ascend_are_refused(void **state)
{
    struct trainer_recipe recipe = two_environments();
    float *params = warm_policy(&recipe, 0);
    const size_t twice[] = {1, 1}, beyond[] = {0, ROWS};
    uint8_t right[2];
    struct trainer_error err;
    (void)state;
    assert_int_equal(trainer_evaluate_some(&recipe, params, 0, NULL, 1, 1, NULL, &err), TRAINER_OK);
    assert_int_equal(trainer_evaluate_some(&recipe, params, 2, twice, 1, 1, right, &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "which[1] is 1"));
    assert_int_equal(trainer_evaluate_some(&recipe, params, 2, beyond, 1, 1, right, &err), TRAINER_EINVAL);
    free(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_those_of_consecutive_seeds),
        cmocka_unit_test(some_questions_are_answered_as_among_all),
        cmocka_unit_test(a_policy_that_overflows_has_no_score),
        cmocka_unit_test(questions_that_do_not_ascend_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
