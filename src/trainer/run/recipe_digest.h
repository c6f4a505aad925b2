/* recipe_digest.h: whether two recipes give the same numbers. */
#ifndef TRAINER_RECIPE_DIGEST_H
#define TRAINER_RECIPE_DIGEST_H

#include <trainer/recipe.h>

/*
 * XXH64 of all fields that decide a recipe's numbers, or 0 when out of memory. Threads, budgets, the memory for
 * activations, and texts for people are left out.
 */
uint64_t recipe_digest(const struct trainer_recipe *recipe);

#endif
