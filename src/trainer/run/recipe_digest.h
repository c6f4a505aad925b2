/* recipe_digest.h: a digest that shows whether two recipes give the same results. */
#pragma once

#include <trainer/recipe.h>

/*
 * Returns the XXH64 of all fields that affect a recipe's results, or 0 when out of memory. Threads, budgets, the memory
 * for activations, and texts for people are left out.
 */
uint64_t recipe_digest(const struct trainer_recipe *recipe);
