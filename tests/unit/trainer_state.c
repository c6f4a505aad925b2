/*
 * trainer_state.c: tests that a stopped run resumes from its state and ends as if it had never stopped, and which
 * states are refused.
 */
#include "support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/files.h"
#include "support/forked_run.h"
#include "support/small_recipe.h"
#include "support/warm_place.h"

static struct trainer_recipe warm_recipe(const struct warm_place *place)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    strcpy(recipe.checkpoint, place->warm);
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_TURN_GROUP_V1D;
    recipe.training.iterations = 6;
    recipe.evaluation.every = 2;
    check_recipe(&recipe);
    return recipe;
}

/* ---- going on ---- */

static const char *behind_first_line(const char *text)
{
    const char *end = strchr(text, '\n');
    assert_non_null(end);
    return end + 1;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return m > 0 && m <= n && strcmp(text + n - m, end) == 0;
}

/*
 * Runs the recipe, stops it in iteration `at`, and resumes it. The results
 * must be those of a run that was not stopped.
 */
static void assert_goes_on(const struct warm_place *place, const struct trainer_recipe *recipe, int32_t at, const char *what)
{
    struct run_plan plan = {0};
    struct run_outcome whole = run_forked(recipe, &plan);
    if (whole.status != TRAINER_OK)
        fail_msg("%s: %s", what, whole.error);
    unlink(place->state);
    plan = (struct run_plan){.state = place->state, .stop_at = at};
    struct run_outcome stopped = run_forked(recipe, &plan);
    assert_int_equal(stopped.status, TRAINER_ESTOPPED);
    assert_null(stopped.checkpoint);
    plan = (struct run_plan){.state = place->state};
    struct run_outcome rest = run_forked(recipe, &plan);
    if (rest.status != TRAINER_OK)
        fail_msg("%s: %s", what, rest.error);
    if (!ends_with(whole.story, behind_first_line(rest.story)) || strlen(rest.story) >= strlen(whole.story))
        fail_msg("%s: another story:\n%s\n%s", what, whole.story, rest.story);
    if (rest.checkpoint_size != whole.checkpoint_size || memcmp(rest.checkpoint, whole.checkpoint, whole.checkpoint_size) != 0)
        fail_msg("%s: another checkpoint", what);
    run_outcome_release(&whole);
    run_outcome_release(&stopped);
    run_outcome_release(&rest);
}

static void a_run_resumes_wherever_it_stopped(void **state)
{
    struct trainer_recipe recipe = warm_recipe(*state);
    for (int32_t at = 1; at <= recipe.training.iterations; at++)
        assert_goes_on(*state, &recipe, at, "alone");
}

static void a_moving_reference_is_resumed(void **state)
{
    struct trainer_recipe recipe = warm_recipe(*state);
    recipe.loss.kl_coef = 0.1;
    recipe.reference = (struct trainer_reference){TRAINER_REFERENCE_EMA, 1, 0.5};
    recipe.training.minibatch = 16;
    assert_goes_on(*state, &recipe, 3, "reference");
}

static void a_warm_start_is_not_made_again(void **state)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    recipe.warm_start.steps = 5;
    recipe.training.weight_decay = 0.1;
    recipe.training.warmup = 4;
    recipe.training.final_rate = 0.1;
    assert_goes_on(*state, &recipe, 1, "warm start");
}

/* The resumed run must also have the state of its side rollouts, and what a value head has learned. */
static void side_rollouts_and_values_are_resumed(void **state)
{
    const struct warm_place *place = *state;
    const enum rl_algorithm_name names[] = {RL_ALGORITHM_PPO, RL_ALGORITHM_REMAX, RL_ALGORITHM_HIERARCHICAL_GRPO};
    for (size_t i = 0; i < 3; i++) {
        struct trainer_recipe recipe = warm_recipe(place);
        recipe.tasks[0].algorithm.name = names[i];
        check_recipe(&recipe);
        assert_goes_on(place, &recipe, 4, rl_algorithm_at(names[i])->name);
    }
}

static void the_memory_of_an_algorithm_is_resumed(void **state)
{
    const struct warm_place *place = *state;
    struct trainer_recipe recipe = warm_recipe(place);
    recipe.sampler.precision = TRAINER_BF16;
    recipe.sampler.staleness = 2;
    recipe.correction.name = TRAINER_CORRECTION_TIS;
    assert_goes_on(place, &recipe, 4, "stale weights");
    recipe = warm_recipe(place);
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_RAE;
    recipe.loss.kl_coef = 0.1;
    assert_goes_on(place, &recipe, 4, "a moving baseline");
    recipe = warm_recipe(place);
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_ADCA;
    recipe.tasks[0].algorithm.prm_steps = 4;
    recipe.judge.wrong = 0.2;
    recipe.training.iterations = 25; /* the last tenth of the run begins before the stop */
    recipe.evaluation.every = 0;
    assert_goes_on(place, &recipe, 24, "judged, and late gains");
    recipe = warm_recipe(place);
    recipe.tasks[0].pool = 6;
    recipe.tasks[0].hardness = 3;
    check_recipe(&recipe);
    assert_goes_on(place, &recipe, 4, "pass rates of a pool");
    recipe.tasks[0].hardness = 0;
    recipe.tasks[0].sizes = TRAINER_GROUPS_MIXED;
    check_recipe(&recipe);
    assert_goes_on(place, &recipe, 4, "groups by pass rates");
    recipe = warm_recipe(place);
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_TURN_GROUP_V1D;
    recipe.tasks[0].algorithm.schedule.kind = TRAINER_ADAPTIVE;
    check_recipe(&recipe);
    assert_goes_on(place, &recipe, 4, "an alpha that was adaptive");
    recipe = warm_recipe(place);
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_PPO;
    recipe.training.iterations = 25;
    recipe.evaluation.every = 0;
    check_recipe(&recipe);
    assert_goes_on(place, &recipe, 24, "late values");
    recipe = small_recipe(TRAINER_HOPWORLD); /* a policy that is sometimes right, with chains of different lengths */
    recipe.world = (struct trainer_world){.regions = 2, .region_size = 2, .relations = 2};
    recipe.warm_start.steps = 300;
    recipe.warm_start.demo = (struct trainer_demo_options){.p_needless = 0.4};
    recipe.tasks[0].env.k_max = recipe.warm_start.k_max = 1;
    recipe.tasks[0].env.p_fail = 0;
    recipe.tasks[0].questions = recipe.tasks[0].pool = 4;
    recipe.tasks[0].algorithm.length_penalty = TRAINER_LENGTH_ANCHOR;
    recipe.tasks[0].algorithm.length_coef = 1;
    recipe.training.iterations = 6;
    recipe.training.group_size = 4;
    recipe.training.learning_rate = 0.01;
    check_recipe(&recipe);
    assert_goes_on(place, &recipe, 4, "anchors of a pool");
}

/*
 * Texts, threads and budgets change no number, so a run may resume with others. A state of the last iteration leaves
 * only the final score to compute.
 */
static void what_decides_no_number_may_change(void **state)
{
    const struct warm_place *place = *state;
    struct trainer_recipe recipe = warm_recipe(place);
    struct run_plan plan = {.state = place->state};
    unlink(place->state);
    struct run_outcome first = run_forked(&recipe, &plan);
    strcpy(recipe.hypothesis, "on second thoughts");
    recipe.threads = 2;
    recipe.budget.train_seconds = 1000;
    struct run_outcome again = run_forked(&recipe, &plan);
    assert_int_equal(again.status, TRAINER_OK);
    assert_memory_equal(first.checkpoint, again.checkpoint, first.checkpoint_size);
    assert_true(ends_with(first.story, behind_first_line(again.story)));
    int32_t behind = 0;
    assert_int_equal(trainer_state_read(place->state, &recipe, &behind, NULL), TRAINER_OK);
    assert_int_equal(behind, recipe.training.iterations);
    run_outcome_release(&first);
    run_outcome_release(&again);
}

/* ---- refusing ---- */

static void assert_refused(const struct warm_place *place, const struct trainer_recipe *recipe, enum trainer_status expected,
                           const char *why)
{
    struct run_plan plan = {.state = place->state};
    struct run_outcome outcome = run_forked(recipe, &plan);
    assert_int_equal(outcome.status, expected);
    if (!strstr(outcome.error, why))
        fail_msg("'%s' does not say '%s'", outcome.error, why);
    assert_null(outcome.checkpoint);
    run_outcome_release(&outcome);
}

static void the_state_of_another_recipe_is_refused(void **state)
{
    const struct warm_place *place = *state;
    struct trainer_recipe recipe = warm_recipe(place);
    struct run_plan plan = {.state = place->state, .stop_at = 3};
    struct trainer_error err;
    int32_t behind;
    unlink(place->state);
    assert_int_equal(trainer_state_read(place->state, &recipe, &behind, &err), TRAINER_ENOTFOUND);
    struct run_outcome stopped = run_forked(&recipe, &plan);
    run_outcome_release(&stopped);
    assert_int_equal(trainer_state_read(place->state, &recipe, &behind, &err), TRAINER_OK);
    assert_int_equal(behind, 2);
    recipe.training.learning_rate *= 2;
    assert_int_equal(trainer_state_read(place->state, &recipe, &behind, &err), TRAINER_EINVAL);
    assert_refused(place, &recipe, TRAINER_EINVAL, "of another recipe, after iteration 2");
}

static void damage_is_refused(void **state)
{
    const struct warm_place *place = *state;
    struct trainer_recipe recipe = warm_recipe(place);
    struct run_plan plan = {.state = place->state, .stop_at = 2};
    unlink(place->state);
    struct run_outcome stopped = run_forked(&recipe, &plan);
    run_outcome_release(&stopped);
    size_t n;
    char *bytes = read_file(place->state, &n);
    const size_t at[] = {0, 9, n / 2, n - 1};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        bytes[at[i]] ^= 4;
        write_file(place->state, bytes, n);
        assert_refused(place, &recipe, TRAINER_ECORRUPT, place->state);
        bytes[at[i]] ^= 4;
    }
    const size_t lengths[] = {0, 100, n - 1};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        write_file(place->state, bytes, lengths[i]);
        assert_refused(place, &recipe, TRAINER_ECORRUPT, "length");
    }
    free(bytes);
}

static void a_state_that_cannot_be_written_ends_the_run(void **state)
{
    const struct warm_place *place = *state;
    struct trainer_recipe recipe = warm_recipe(place);
    struct warm_place nowhere = *place;
    nowhere.state = join(place->dir, "no/such/run.state");
    assert_refused(&nowhere, &recipe, TRAINER_EIO, "no/such/run.state");
    free(nowhere.state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_resumes_wherever_it_stopped),
        cmocka_unit_test(a_moving_reference_is_resumed),
        cmocka_unit_test(a_warm_start_is_not_made_again),
        cmocka_unit_test(the_memory_of_an_algorithm_is_resumed),
        cmocka_unit_test(side_rollouts_and_values_are_resumed),
        cmocka_unit_test(what_decides_no_number_may_change),
        cmocka_unit_test(the_state_of_another_recipe_is_refused),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(a_state_that_cannot_be_written_ends_the_run),
    };
    return cmocka_run_group_tests(tests, open_warm_place, close_warm_place);
}
