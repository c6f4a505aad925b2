/* night_recipes.h: the recipes of the built-in trainer as trials of a night (sweep/recipe_trials.h). */
#pragma once

#include "sweep/recipe_trials.h"

extern const struct recipe_trials night_recipes;
