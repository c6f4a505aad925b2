/* recipe_nearest.h: suggestions for unknown keys. */
#pragma once

#include "recipe/recipe_fields.h"

/* The place of an object in the recipe. */
struct recipe_place {
    const struct recipe_table *table;
    const char *prefix; /* "" or "environments[0]." */
    const char *parent; /* path of the object within the table, "" at its top */
};

/*
 * Writes the known path nearest to an unknown key at this place: a key of the same object, or a key with nearly the
 * same name elsewhere in the recipe.
 */
void recipe_nearest(char path[128], const struct recipe_place *place, const char *key);
