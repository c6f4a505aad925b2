/* shared_warm_start.c: see shared_warm_start.h. */
#include "sweep/shared_warm_start.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/*
 * Every setting that does not affect the warm start is set to its default, so that trials which differ only in such
 * settings share a warm start. The run must end with an evaluation, but its score is not used, so one question is
 * enough. clip_norm is kept because it also clips the updates of the warm start.
 */
void warm_start_recipe(struct trainer_recipe *warm, const struct trainer_recipe *recipe)
{
    trainer_recipe_init(warm);
    snprintf(warm->name, sizeof warm->name, "warm start, seed %" PRIu64, recipe->seed);
    warm->seed = recipe->seed;
    warm->world = recipe->world;
    warm->model = recipe->model;
    warm->warm_start = recipe->warm_start;
    warm->n_tasks = recipe->n_tasks;
    for (int32_t i = 0; i < recipe->n_tasks; i++) {
        warm->tasks[i] = warm->tasks[0];
        warm->tasks[i].env = recipe->tasks[i].env;
    }
    warm->training.iterations = 0;
    warm->training.clip_norm = recipe->training.clip_norm;
    warm->evaluation.questions = 1;
    warm->evaluation.seeds = 1;
    warm->evaluation.every = 0;
}

/*
 * Hashes the text of the recipe instead of the struct, because the struct's padding is undefined and a later night must
 * compute the same digest.
 */
static uint64_t digest(const struct trainer_recipe *recipe)
{
    struct trainer_recipe warm;
    warm_start_recipe(&warm, recipe);
    char *text = trainer_recipe_text(&warm);
    uint64_t hash = text ? XXH64(text, strlen(text), 0) : 0;
    free(text);
    return hash;
}

void warm_start_checkpoint(char out[TRAINER_PATH_MAX], const struct trial_list *list, const struct trainer_recipe *recipe)
{
    snprintf(out, TRAINER_PATH_MAX, "%s/warm-%016" PRIx64 ".ckpt", list->checkpoints, digest(recipe));
}

/* A trial that starts from a checkpoint or a parent runs no warm start. */
static bool has_warm_start(const struct night_trial *trial)
{
    return trial->parent == TRAINER_PARENT_BASE && trial->recipe && !trial->recipe->checkpoint[0] &&
           trial->recipe->warm_start.steps > 0;
}

/*
 * Compares with every other trial, which is fast enough: a sweep has at most a few thousand trials, and this is called
 * once for each.
 */
bool warm_start_is_shared(const struct trial_list *list, size_t i)
{
    const struct night_trial *trial = &list->trials[i];
    if (!has_warm_start(trial))
        return false;
    uint64_t own = digest(trial->recipe);
    for (size_t j = 0; j < list->n; j++) {
        const struct night_trial *other = &list->trials[j];
        if (j != i && has_warm_start(other) && digest(other->recipe) == own)
            return true;
    }
    return false;
}

bool warm_start_exists(const struct trial_list *list, size_t i)
{
    char checkpoint[TRAINER_PATH_MAX];
    if (!warm_start_is_shared(list, i))
        return false;
    warm_start_checkpoint(checkpoint, list, list->trials[i].recipe);
    return access(checkpoint, R_OK) == 0;
}
