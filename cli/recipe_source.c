/* recipe_source.c: a recipe's JSON, changed key by key before it is parsed. */
#include "recipe_source.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define KEY_MAX 256

bool recipe_source_open(struct recipe_source *source, const char *path)
{
    *source = (struct recipe_source){.name = path};
    source->text = cli_read_all(path, &source->length);
    if (!source->text)
        return false;
    source->root = json_loadb(source->text, source->length, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(source->root)) {
        json_decref(source->root);
        source->root = NULL;
    }
    return true;
}

void recipe_source_release(struct recipe_source *source)
{
    free(source->text);
    json_decref(source->root);
    *source = (struct recipe_source){0};
}

/* The environments; one that is all defaults if the recipe names none. */
static json_t *environments(json_t *root)
{
    json_t *list = json_object_get(root, "environments");
    if (list)
        return list;
    json_object_set_new(root, "environments", json_pack("[{}]"));
    return json_object_get(root, "environments");
}

static bool bad_path(const char *path)
{
    cli_error(CLI_USAGE, "--set '%s': no such place in the recipe", path);
    return false;
}

/* Set dotted keys below object, making objects on the way. */
static bool set_below(json_t *object, const char *keys, json_t *value)
{
    char key[KEY_MAX];
    for (size_t n; n = strcspn(keys, "."), keys[n]; keys += n + 1) {
        snprintf(key, sizeof key, "%.*s", (int)n, keys);
        if (!json_object_get(object, key))
            json_object_set_new(object, key, json_object());
        object = json_object_get(object, key);
    }
    return *keys && json_object_set(object, keys, value) == 0;
}

static bool set_in_all(json_t *root, const char *keys, json_t *value)
{
    json_t *list = environments(root);
    bool set = json_array_size(list) > 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        set = set && set_below(json_array_get(list, i), keys, value);
    return set;
}

static bool set_in_one(json_t *root, const char *index, json_t *value)
{
    char *end;
    unsigned long i = strtoul(index, &end, 10);
    if (end == index || strncmp(end, "].", 2) != 0)
        return false;
    return set_below(json_array_get(environments(root), i), end + 2, value);
}

static bool set_path(json_t *root, const char *path, json_t *value)
{
    if (strncmp(path, "environments[", 13) == 0)
        return set_in_one(root, path + 13, value);
    if (strncmp(path, "env.", 4) == 0)
        return set_in_all(root, path + 4, value);
    if (strncmp(path, "algorithm.", 10) == 0)
        return set_in_all(root, path, value);
    return set_below(root, path, value);
}

bool recipe_source_set(struct recipe_source *source, const char *path, json_t *value)
{
    bool set = !source->root || set_path(source->root, path, value) || bad_path(path);
    json_decref(value);
    return set;
}

bool recipe_source_assign(struct recipe_source *source, const char *assignment)
{
    char path[KEY_MAX];
    const char *text = strchr(assignment, '=');
    if (!text || text == assignment || text - assignment >= KEY_MAX) {
        cli_error(CLI_USAGE, "--set '%s' is not PATH=VALUE", assignment);
        return false;
    }
    memcpy(path, assignment, (size_t)(text - assignment));
    path[text - assignment] = '\0';
    json_t *value = json_loads(text + 1, JSON_DECODE_ANY, NULL);
    return recipe_source_set(source, path, value ? value : cli_json_text(text + 1));
}

enum trainer_status recipe_source_parse(const struct recipe_source *source,
                                        struct trainer_recipe *recipe, struct trainer_error *err)
{
    if (!source->root)
        return trainer_recipe_parse(recipe, source->name, source->text, source->length, err);
    char *text = json_dumps(source->root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    if (!text) {
        *err = (struct trainer_error){TRAINER_ENOMEM, "out of memory"};
        return TRAINER_ENOMEM;
    }
    enum trainer_status status =
        trainer_recipe_parse(recipe, source->name, text, strlen(text), err);
    free(text);
    return status;
}
