/* recipe_needs.h: what a recipe requires of a run: rows, and policies in addition to the trained policy. */
#pragma once

#include <rlcore/algorithm.h>
#include <trainer/recipe.h>

/* A set of enum rl_need: the inputs that the algorithm of a task and its teacher require. */
unsigned recipe_needs(const struct trainer_recipe *recipe, int32_t task);

/* Whether a task reads the weights of a frozen model: opd's reference, or the source that sft imitates. */
bool recipe_has_teacher(const struct trainer_recipe *recipe, int32_t task);

/* Whether a task's frozen reference is behind an endpoint. */
bool recipe_has_remote_teacher(const struct trainer_recipe *recipe, int32_t task);

/* Whether any task's teacher is the policy itself with a hint (opsd). */
bool recipe_has_hints(const struct trainer_recipe *recipe);

/* Whether a task scales the clip ranges of its turns: turn-group-v1d with a beta above 0. */
bool recipe_task_scales_clips(const struct trainer_task *task);
bool recipe_scales_clips(const struct trainer_recipe *recipe);

/* Whether a loss has a clip range, which the clip scale of turns can widen or narrow. */
bool recipe_loss_clips(enum trainer_loss_name loss);

/* Number of rollouts in one iteration: of one task, and of all tasks. */
size_t recipe_task_rows(const struct trainer_recipe *recipe, int32_t task);
size_t recipe_rows(const struct trainer_recipe *recipe);

/*
 * Whether the sampler's weights differ from the learner's. Lower precision counts as another policy, because the
 * difference in log-probs is the mismatch between training and inference that corrections are for.
 */
/* The component of the loss that a task's own tokens train. */
enum rl_component recipe_component(const struct trainer_recipe *recipe, int32_t task);

/* The settings of the correction bypass, or NULL if the recipe has another one. */
const struct trainer_correction *recipe_bypass(const struct trainer_recipe *recipe);

bool recipe_is_off_policy(const struct trainer_recipe *recipe);
