/*
 * recipe_request.h: a recipe of the built-in trainer as a trial: `lineage-train run-trial` as its command,
 * EM as its score, its settings as parameters.
 */
#ifndef CLI_RECIPE_REQUEST_H
#define CLI_RECIPE_REQUEST_H

#include <trainer/recipe.h>

#include "recipe/recipe_params.h"
#include "support/blas_env.h"
#include "trial/run_and_append.h"

#define RECIPE_POLICY "policy.ckpt" /* in a snapshot */
#define RECIPE_FILE "recipe.json"

/* What a request made of a recipe borrows. */
struct recipe_request {
    const struct trainer_recipe *recipe;
    char self[PATH_MAX], file[PATH_MAX], policy[PATH_MAX], cache[PATH_MAX];
    const char *argv[14];
    const char *state, *state_every; /* of struct trainer_process, set after recipe_request_init; NULL: none */
    bool crowded;               /* others train on this machine too; set after recipe_request_init */
    struct blas_env blas;
    const char *environment[BLAS_ENV_MAX + 2]; /* of the child, ended by NULL */
    struct trial_artifact artifact;
    struct recipe_params params;
    char *notes;
};

/*
 * Fill the parts of request that follow from the recipe; the caller adds the parent first (whose
 * checkpoint is then no setting of the trial), and what else it knows. False when out of memory.
 */
bool recipe_request_init(struct recipe_request *trial, struct trial_request *request,
                       const struct trainer_recipe *recipe);
void recipe_request_release(struct recipe_request *trial);

#endif
