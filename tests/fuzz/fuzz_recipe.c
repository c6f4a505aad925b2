/*
 * fuzz_recipe.c: parses hostile recipes and sweeps. An accepted recipe must stay the same when it is written and
 * parsed again, and every trial of a sweep must be a recipe that is accepted on its own.
 */
#include <stdlib.h>
#include <string.h>

#include <trainer/sweep.h>

#include "fuzz.h"

static void come_round(const struct trainer_recipe *recipe)
{
    struct trainer_recipe again;
    char *text = trainer_recipe_text(recipe);
    fuzz_assert(text && trainer_recipe_parse(&again, "text", text, strlen(text), NULL) == TRAINER_OK);
    char *same = trainer_recipe_text(&again);
    fuzz_assert(same && strcmp(text, same) == 0);
    free(same);
    free(text);
}

static void read_recipe(const char *text, size_t size)
{
    struct trainer_recipe recipe;
    struct trainer_error err = {0};
    if (trainer_recipe_parse(&recipe, "recipe", text, size, &err) == TRAINER_OK)
        come_round(&recipe);
    else
        fuzz_assert(strncmp(err.text, "recipe:", 7) == 0 && !strchr(err.text, '\n'));
}

static void read_sweep(const char *text, size_t size)
{
    struct trainer_sweep *sweep;
    struct trainer_error err = {0};
    if (trainer_sweep_parse(&sweep, "sweep", text, size, "/nonexistent", &err) != TRAINER_OK) {
        fuzz_assert(!sweep && strncmp(err.text, "sweep:", 6) == 0 && !strchr(err.text, '\n'));
        return;
    }
    size_t n = trainer_sweep_count(sweep);
    fuzz_assert(n > 0);
    for (size_t i = 0; i < n && i < 8; i++) {
        const struct trainer_trial *trial = trainer_sweep_trial(sweep, i);
        fuzz_assert(trial->parent != TRAINER_PARENT_TRIAL || trial->parent_trial < i);
        come_round(&trial->recipe);
    }
    trainer_sweep_free(sweep);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_recipe((const char *)data, size);
    read_sweep((const char *)data, size);
    return 0;
}
