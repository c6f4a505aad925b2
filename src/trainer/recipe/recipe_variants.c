#include "recipe/recipe_variants.h"

#include <stdio.h>
#include <string.h>

#include "recipe/recipe_conditions.h"
#include "recipe/recipe_names.h"

static const void *base_of(const struct trainer_recipe *recipe, int32_t task)
{
    return task < 0 ? (const void *)recipe : &recipe->tasks[task];
}

static bool is_worth_tracing(const struct trainer_recipe *recipe, const struct trainer_recipe *initial,
                             const struct recipe_traced *at)
{
    const struct trainer_task *task = at->task < 0 ? NULL : &recipe->tasks[at->task];
    return at->field->when & RECIPE_TRACED && recipe_is_read(recipe, task, at->field) &&
           !recipe_is_default(at->field, base_of(recipe, at->task), base_of(initial, at->task));
}

size_t recipe_traced(const struct trainer_recipe *recipe, struct recipe_traced traced[RECIPE_TRACED_MAX])
{
    struct trainer_recipe initial;
    size_t n = 0;
    recipe_defaults(&initial, recipe);
    for (int32_t task = -1; task < recipe->n_tasks; task++) {
        const struct recipe_table *table = task < 0 ? &recipe_root : &recipe_task;
        for (size_t i = 0; i < table->n && n < RECIPE_TRACED_MAX; i++) {
            traced[n] = (struct recipe_traced){&table->fields[i], task};
            n += is_worth_tracing(recipe, &initial, &traced[n]);
        }
    }
    return n;
}

void recipe_variant(struct trainer_recipe *variant, const struct trainer_recipe *recipe, const struct recipe_traced *traced)
{
    const struct recipe_field *field = traced->field;
    char *base = (char *)variant + ((const char *)base_of(recipe, traced->task) - (const char *)recipe);
    struct trainer_recipe initial;
    *variant = *recipe;
    recipe_defaults(&initial, recipe);
    memcpy(base + field->offset, (const char *)base_of(&initial, traced->task) + field->offset, field->size);
}

void recipe_traced_name(char name[160], const struct recipe_traced *traced)
{
    char path[128];
    const char *plain = recipe_name(traced->task < 0 ? &recipe_root : &recipe_task, traced->field, path);
    if (traced->task > 0)
        snprintf(name, 160, "env%d.%s", traced->task, strncmp(plain, "env.", 4) == 0 ? plain + 4 : plain);
    else
        snprintf(name, 160, "%s", plain);
}
