#include "run/side_rows.h"

#include "recipe/recipe_needs.h"
#include "rollout/rollouts.h"

size_t side_episodes(const struct trainer_recipe *recipe, int32_t task)
{
    return (size_t)(recipe->training.group_size / recipe->tasks[task].algorithm.hierarchy.branches);
}

bool side_continues(const struct trainer_recipe *recipe, int32_t task)
{
    return recipe->tasks[task].algorithm.prefix.value == TRAINER_PREFIX_CONTINUATIONS;
}

/* Continuations are played in rounds; a round has as many rows as an iteration. */
size_t side_rows(const struct trainer_recipe *recipe)
{
    size_t most = 0;
    for (int32_t task = 0; task < recipe->n_tasks; task++) {
        unsigned needs = recipe_needs(recipe, task);
        if (side_continues(recipe, task))
            most = recipe_rows(recipe) > most ? recipe_rows(recipe) : most;
        size_t each = needs & RL_NEED_AGENTS ? side_episodes(recipe, task) : needs & RL_NEED_GREEDY ? 1 : 0;
        size_t rows = each * (size_t)recipe->tasks[task].questions;
        most = rows > most ? rows : most;
    }
    return most;
}

double side_bytes(const struct trainer_recipe *recipe)
{
    size_t rows = side_rows(recipe);
    return rows > 0 ? (double)rollouts_bytes(rows, (size_t)recipe->model.max_tokens) : 0;
}
