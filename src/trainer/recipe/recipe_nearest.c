/* recipe_nearest.c: the known key that is nearest to an unknown one. */
#include "recipe/recipe_nearest.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/*
 * A key of another object has to match much better, because a wrong object is rarer than a typing error. With the
 * weights 2 for the same object and 6 plus 1 for others, a key of the same object wins unless a key elsewhere is at
 * least three times nearer. A complete path written as a key counts as the same object.
 */
static unsigned score(const struct recipe_field *field, bool same_object, const char *key)
{
    if (strcmp(key, field->path) == 0)
        return 0;
    unsigned distance = rl_name_distance(recipe_last_part(key), recipe_key(field));
    return same_object ? 2 * distance : 6 * distance + 1;
}

const char *recipe_last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

bool recipe_is_like(const char *known, const char *sought)
{
    const char *last = recipe_last_part(sought);
    return 3 * rl_name_distance(last, recipe_last_part(known)) <= strlen(last) ||
           3 * rl_name_distance(sought, known) <= strlen(sought);
}

void recipe_nearest(char path[128], const struct recipe_place *place, const char *key)
{
    const struct recipe_table *const tables[] = {&recipe_root, &recipe_task};
    unsigned best = UINT_MAX;
    for (size_t t = 0; t < 2; t++) {
        bool here = tables[t] == place->table;
        const char *prefix = here ? place->prefix : t == 1 ? "environments[0]." : "";
        for (size_t i = 0; i < tables[t]->n; i++) {
            const struct recipe_field *field = &tables[t]->fields[i];
            unsigned s = score(field, here && recipe_is_in(field, place->parent), key);
            if (s < best) {
                best = s;
                snprintf(path, 128, "%s%s", prefix, field->path);
            }
        }
    }
}
