/* night_with_trainer.c: nights of recipes, in lineage-train. */
#include "commands/night_trainer.h"
#include "recipe_night/night_recipes.h"

const struct recipe_trials *const night_trainer = &night_recipes;
