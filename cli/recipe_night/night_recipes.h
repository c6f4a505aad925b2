/* night_recipes.h: the recipes of the built-in trainer as trials of a night (sweep/night_sweep.h). */
#pragma once

#include "sweep/night_sweep.h"

extern const struct recipe_trials night_recipes;
