#include "recipe/recipe_request.h"

#include <string.h>

#include <lineage/notes.h>

struct filling {
    struct recipe_params *params;
    bool has_parent;
};

/*
 * Whether a text fits into a row. Only the path of a checkpoint can be too long or contain a semicolon. Such a path is
 * left out rather than truncated, because two paths with the same beginning would look equal. The recipe in the
 * snapshot has the full path.
 */
static bool fits(const char *text)
{
    return !text || lineage_param_text_ok(text);
}

/* The trainer's table decides which settings a row names. A trial with a parent starts from the parent's checkpoint,
 * so the settings of a warm start are left out: no warm start ran, and its settings would look like a cause of the
 * result. */
static void take(void *context, const struct trainer_setting *setting)
{
    const struct filling *filling = context;
    struct recipe_params *params = filling->params;
    bool of_start = strncmp(setting->path, "start.", 6) == 0;
    if (!setting->named || (of_start && filling->has_parent) || !fits(setting->text))
        return;
    if (params->n == RECIPE_PARAMS_MAX || strlen(setting->name) >= RECIPE_PARAM_NAME_MAX) {
        params->dropped++;
        return;
    }
    char *own = strcpy(params->names[params->n], setting->name);
    params->at[params->n++] = (struct lineage_param){own, setting->value, setting->text};
}

void recipe_params_fill(struct recipe_params *params, const struct trainer_recipe *recipe, bool has_parent)
{
    struct filling filling = {params, has_parent};
    params->n = params->dropped = 0;
    trainer_recipe_settings(recipe, take, &filling);
}
