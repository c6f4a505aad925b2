/* recipe_params.c: which settings of a recipe a row names, and how it calls them. */
#include "recipe/recipe_params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#define PATH_LENGTH 96

struct filling {
    struct recipe_params *params;
    bool has_parent;
};

/* Which settings a row names, and how it calls them, the trainer's tables say. A child's start
 * is its parent's checkpoint, named in parent_exp; as parameters the settings of a warm start
 * that was not run would look like a cause. */
static void take(void *context, const struct trainer_setting *setting)
{
    const struct filling *filling = context;
    struct recipe_params *params = filling->params;
    bool of_start = strncmp(setting->path, "start.", 6) == 0;
    if (!setting->named || (of_start && filling->has_parent) || params->n == RECIPE_PARAMS_MAX ||
        strlen(setting->name) >= RECIPE_PARAM_NAME_MAX)
        return;
    char *own = strcpy(params->names[params->n], setting->name);
    params->at[params->n++] = (struct lineage_param){own, setting->value, NULL};
}

void recipe_params_fill(struct recipe_params *params, const struct trainer_recipe *recipe, bool has_parent)
{
    struct filling filling = {params, has_parent};
    params->n = 0;
    trainer_recipe_settings(recipe, take, &filling);
}

/* ---- words ---- */

/* Compared with the defaults on JSON, since that is where names are. As prose in the notes:
 * parameters of the trainer's rows are numbers. */
static void print_words(FILE *out, const char *path, const json_t *value, const json_t *plain)
{
    const char *key;
    json_t *member;
    char below[PATH_LENGTH];
    if (json_is_string(value) && !json_equal(value, plain))
        fprintf(out, "%s%s %s", ftell(out) > 0 ? ", " : "", path, json_string_value(value));
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        snprintf(below, sizeof below, "%s%s%s", path, *path ? "." : "", key);
        if (strcmp(key, "name") != 0 || strcmp(path, "algorithm") != 0)
            print_words(out, below, member, json_object_get(plain, key));
    }
}

/* Algorithms are named beside their environments; hypothesis and the like have columns of their own. */
static void print_recipe_words(FILE *out, json_t *root, json_t *plain)
{
    static const char *const parts[] = {"loss", "sampler", "correction"};
    const json_t *defaults = json_array_get(json_object_get(plain, "environments"), 0);
    const json_t *environments = json_object_get(root, "environments");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        print_words(out, parts[i], json_object_get(root, parts[i]),
                    json_object_get(plain, parts[i]));
    for (size_t i = 0; i < json_array_size(environments); i++)
        print_words(out, "algorithm", json_object_get(json_array_get(environments, i), "algorithm"),
                    json_object_get(defaults, "algorithm"));
}

static json_t *recipe_json(const struct trainer_recipe *recipe)
{
    char *text = trainer_recipe_text(recipe);
    json_t *root = text ? json_loads(text, 0, NULL) : NULL;
    free(text);
    return root;
}

/* Through the recipe's own text, so that there is no second list of its choices that could fall
 * behind. */
char *recipe_params_words(const struct trainer_recipe *recipe)
{
    struct trainer_recipe plain;
    char *words = NULL;
    size_t length;
    trainer_recipe_init(&plain);
    json_t *root = recipe_json(recipe), *defaults = recipe_json(&plain);
    FILE *out = open_memstream(&words, &length);
    if (out) {
        print_recipe_words(out, root, defaults);
        fclose(out);
    }
    json_decref(root);
    json_decref(defaults);
    return words;
}
