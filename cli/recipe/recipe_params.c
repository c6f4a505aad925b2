/* recipe_params.c: which settings of a recipe a row names, and how it calls them. */
#include "recipe/recipe_params.h"

#include <string.h>

#include <lineage/notes.h>

struct filling {
    struct recipe_params *params;
    bool has_parent;
};

/* Only paths of checkpoints can be longer than a row's text or hold a semicolon. Such a one is left
 * out, not cut: two that share a beginning would look like one. The recipe in the snapshot has it. */
static bool fits(const char *text)
{
    return !text || lineage_param_text_ok(text);
}

/* Which settings a row names, and how it calls them, the trainer's tables say. A child's start
 * is its parent's checkpoint, named in parent_exp; as parameters the settings of a warm start
 * that was not run would look like a cause. */
static void take(void *context, const struct trainer_setting *setting)
{
    const struct filling *filling = context;
    struct recipe_params *params = filling->params;
    bool of_start = strncmp(setting->path, "start.", 6) == 0;
    if (!setting->named || (of_start && filling->has_parent) || params->n == RECIPE_PARAMS_MAX ||
        strlen(setting->name) >= RECIPE_PARAM_NAME_MAX || !fits(setting->text))
        return;
    char *own = strcpy(params->names[params->n], setting->name);
    params->at[params->n++] = (struct lineage_param){own, setting->value, setting->text};
}

void recipe_params_fill(struct recipe_params *params, const struct trainer_recipe *recipe, bool has_parent)
{
    struct filling filling = {params, has_parent};
    params->n = 0;
    trainer_recipe_settings(recipe, take, &filling);
}
