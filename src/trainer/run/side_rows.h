/* side_rows.h: how many rows a recipe needs for the rollouts of side_rollouts.h. */
#pragma once

#include <trainer/recipe.h>

/* Number of episodes of one question from which its rollouts branch (hierarchical_grpo). */
size_t side_episodes(const struct trainer_recipe *recipe, int32_t task);

/* Whether the task measures values of prefixes by continuations. */
bool side_continues(const struct trainer_recipe *recipe, int32_t task);

/* Largest number of side rows that a task needs at a time; 0 if no task needs any. */
size_t side_rows(const struct trainer_recipe *recipe);

/* Returns the bytes of the side rows. */
double side_bytes(const struct trainer_recipe *recipe);
