/*
 * recipe_request.h: turns a recipe of the built-in trainer into a trial: the command is `lineage-train run-trial`, the
 * score is EM, and the parameters are the settings of the recipe.
 */
#pragma once

#include <trainer/recipe.h>

#include "recipe/recipe_params.h"
#include "support/blas_env.h"
#include "trial/checkpoint_origin.h"
#include "trial/run_and_append.h"

#define RECIPE_POLICY ORIGIN_CHECKPOINT
#define RECIPE_FILE "recipe.json"

/* The memory that the request of a recipe borrows from. */
struct recipe_request {
    const struct trainer_recipe *recipe;
    char self[PATH_MAX], file[PATH_MAX], policy[PATH_MAX], cache[PATH_MAX], teacher_cache[PATH_MAX];
    const char *argv[20];
    const char *state, *state_every; /* see struct trainer_process; set them after recipe_request_init; NULL: none */
    const char *rollouts; /* file for the token streams; set it after recipe_request_init; NULL: none */
    bool crowded; /* other trials run on this machine, too; set it after recipe_request_init */
    struct blas_env blas;
    const char *environment[BLAS_ENV_MAX + 1]; /* environment of the child, ended by NULL */
    struct trial_artifact artifact;
    struct recipe_params params;
    char *notes;
};

/*
 * Fills the parts of the request that follow from the recipe. The caller sets the parent before this call, because the
 * start settings are not parameters of a trial with a parent. The caller sets everything else after this call. Returns
 * false when out of memory.
 */
bool recipe_request_init(struct recipe_request *trial, struct trial_request *request, const struct trainer_recipe *recipe);
void recipe_request_release(struct recipe_request *trial);
