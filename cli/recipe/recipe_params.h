/* recipe_params.h: the settings of a recipe as parameters of a trial, by the names that queries use. */
#pragma once

#include <lineage/store.h>
#include <trainer/recipe.h>

enum { RECIPE_PARAMS_MAX = 160, RECIPE_PARAM_NAME_MAX = LINEAGE_NAME_MAX };

struct recipe_params {
    struct lineage_param at[RECIPE_PARAMS_MAX]; /* names point into names, texts into the recipe */
    char names[RECIPE_PARAMS_MAX][RECIPE_PARAM_NAME_MAX];
    size_t n, dropped; /* dropped: how many settings did not fit */
};

/*
 * Fills in the settings that every row has (seed, algorithm, lr, ..), those that the algorithm uses (alpha, beta,
 * gamma, ..), and all others that are not at their defaults. threads is left out, since it changes no result, and so
 * is start.* for a trial with a parent. A setting that nothing reads is left out. Settings of the second environment are
 * named "env1.alpha".
 */
void recipe_params_fill(struct recipe_params *params, const struct trainer_recipe *recipe, bool has_parent);
