/*
 * small_recipe.h: recipes that are small enough for tests, and a policy trained on a few demonstrations, so that its
 * rollouts vary: several turns, early answers, malformed turns. Any failure ends the test.
 */
#pragma once

#include <rlcore/algorithm.h>
#include <trainer/train.h>

/*
 * Returns a checked recipe: width 16, 2 layers, no warm start. Questions are of hopworld with 1 to 2 hops and 3
 * searches, or of reverse with 1 to 2 tokens.
 */
struct trainer_recipe small_recipe(enum trainer_env_kind kind);

/* Checks a recipe again after the test has changed it. */
void check_recipe(struct trainer_recipe *recipe);

/* Adds a second task, reverse, and checks the recipe. The checkpoint `teacher` is the teacher of both tasks. */
void add_reverse(struct trainer_recipe *recipe, enum rl_algorithm_name first, enum rl_algorithm_name second, const char *teacher);

/* Returns the parameters after N steps of warm start (0: random parameters); the caller frees them. */
float *warm_policy(const struct trainer_recipe *recipe, int32_t steps);

/* Writes the parameters after N steps of warm start to a checkpoint. */
void warm_checkpoint(const struct trainer_recipe *recipe, int32_t steps, const char *path);

/* Calls trainer_sample, which must succeed. */
struct trainer_rollouts *sample(const struct trainer_recipe *recipe, const float *params, int32_t questions, uint64_t seed);

void assert_near(double a, double b, double tolerance);
