/*
 * small_recipe.h: recipes small enough for tests, and a policy that has seen a few demonstrations,
 * so that its rollouts are of many kinds: several turns, early answers, malformed turns. Any
 * failure ends the test.
 */
#ifndef SUPPORT_SMALL_RECIPE_H
#define SUPPORT_SMALL_RECIPE_H

#include <rlcore/algorithm.h>
#include <trainer/train.h>

/* Width 16, 2 layers; hopworld: 1 to 2 hops, 3 searches; reverse: 1 to 2 tokens. No warm start.
 * Checked. */
struct trainer_recipe small_recipe(enum trainer_env_kind kind);

/* Check again after a change. */
void check_recipe(struct trainer_recipe *recipe);

/* A second task, reverse, beside the first; what teaches either is that checkpoint. Checked. */
void add_reverse(struct trainer_recipe *recipe, enum rl_algorithm_name first,
                 enum rl_algorithm_name second, const char *teacher);

/* Parameters after so many steps of warm start (0: random ones); free. */
float *warm_policy(const struct trainer_recipe *recipe, int32_t steps);

/* The same in a checkpoint. */
void warm_checkpoint(const struct trainer_recipe *recipe, int32_t steps, const char *path);

/* trainer_sample that must succeed. */
struct trainer_rollouts *sample(const struct trainer_recipe *recipe, const float *params,
                                int32_t questions, uint64_t seed);

void assert_near(double a, double b, double tolerance);

#endif
