/*
 * Changes are kept as a list until the recipe is parsed, because an option may come before the recipe is known. A later
 * change of a setting overrides an earlier change, and the parser's messages name the setting as the user typed it.
 */
#include "recipe/recipe_source.h"

#include "cli.h"

bool recipe_source_open(struct recipe_source *source, const char *path)
{
    *source = (struct recipe_source){.name = path};
    source->text = cli_read_all(path, &source->length);
    return source->text != NULL;
}

void recipe_source_release(struct recipe_source *source)
{
    for (size_t i = 0; i < source->n; i++) {
        free((void *)(uintptr_t)source->changes[i].setting);
        free((void *)(uintptr_t)source->changes[i].value);
    }
    free(source->changes);
    free(source->text);
    *source = (struct recipe_source){0};
}

/* Copies the strings, because popt frees them with the command line. After a failed realloc the old list is still
 * valid. */
static bool add(struct recipe_source *source, char *setting, char *value, bool is_text)
{
    struct trainer_change *changes = setting && value ? realloc(source->changes, (source->n + 1) * sizeof *changes) : NULL;
    if (!changes) {
        free(setting);
        free(value);
        return cli_no_memory(), false;
    }
    source->changes = changes;
    changes[source->n++] = (struct trainer_change){setting, value, is_text};
    return true;
}

bool recipe_source_set(struct recipe_source *source, const char *setting, const char *value, bool is_text)
{
    return add(source, strdup(setting), strdup(value), is_text);
}

bool recipe_source_assign(struct recipe_source *source, const char *assignment)
{
    const char *equals = strchr(assignment, '=');
    if (!equals || equals == assignment)
        return cli_refuse("--set '%s' is not NAME=VALUE", assignment);
    return add(source, strndup(assignment, (size_t)(equals - assignment)), strdup(equals + 1), false);
}

enum trainer_status recipe_source_parse(const struct recipe_source *source, struct trainer_recipe *recipe,
                                        struct trainer_error *err)
{
    return (source->recorded ? trainer_recipe_parse_recorded : trainer_recipe_parse_changed)(
        recipe, source->name, source->text, source->length, source->changes, source->n, err);
}
