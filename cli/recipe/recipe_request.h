/*
 * recipe_request.h: turns a recipe of the built-in trainer into a trial: the command is `lineage-train run-trial`, the
 * score is EM, and the parameters are the settings of the recipe.
 */
#pragma once

#include <trainer/train.h>

#include "support/blas_env.h"
#include "trial/checkpoint_origin.h"
#include "trial/one_trial.h"

/* ---- the settings of a recipe as parameters of a trial, by the names that queries use ---- */

enum { RECIPE_PARAMS_MAX = 160, RECIPE_PARAM_NAME_MAX = LINEAGE_NAME_MAX };

struct recipe_params {
    struct lineage_param at[RECIPE_PARAMS_MAX]; /* names point into names, texts into the recipe */
    char names[RECIPE_PARAMS_MAX][RECIPE_PARAM_NAME_MAX];
    size_t n, dropped; /* dropped: how many settings did not fit */
};

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

/* ---- recipe store ---- */

/* Creates and checks stores of trials whose score is EM, the share of questions that are answered
 * correctly. */

/* Makes a directory (NULL: the current one) a store in which higher is better, unless it is a store already. Returns
 * CLI_GO_ON or an exit status. */
int recipe_store_make(const char *dir);

#define RECIPE_SCORE "em"

/* Refuses a store in which lower is better, or whose score has another name. Returns CLI_GO_ON or an exit status. */
int recipe_store_check(struct lineage_store *store);

/* ---- recipe_events.c ---- */

/* Converts the trainer's events to event lines (metrics/event_lines.h), in the child process that
 * trains. */

/* Sums over events, from which some lines report means. Zero it before the first event. */
struct recipe_events {
    double clip_scale_mean, clip_scale_std;           /* sums over iterations in which the loss read clip scales */
    double clip_scale_turn_mean, clip_scale_turn_std; /* the same, over turns */
    double generation_s, gain_s, scoring_s, update_s; /* sums over all iterations */
    int32_t n_iterations, n_scaled;
};

/* Both functions return a new reference, or NULL when out of memory. */
json_t *recipe_events_event(struct recipe_events *wire, const struct trainer_event *event);
json_t *recipe_events_failure(const struct trainer_error *error);
