/* recipe_nearest.h: suggestions for unknown keys. */
#pragma once

#include "recipe/recipe_fields.h"

/* The place of an object in the recipe. */
struct recipe_place {
    const struct recipe_table *table;
    const char *prefix; /* "" or "environments[0]." */
    const char *parent; /* path of the object within the table, "" at its top */
};

/* What is behind the last dot of a name. */
const char *recipe_last_part(const char *name);

/* Whether a known name is so like one that was sought that it is worth naming: at most a third of the letters differ. */
bool recipe_is_like(const char *known, const char *sought);

/* What a message says about a name that is like none. */
#define RECIPE_UNLIKE "no setting has a name like it (cli/man/training.md, schema/recipe.schema.json)"

/*
 * Writes the known path nearest to an unknown key at this place: a key of the same object, or a key with nearly the
 * same name elsewhere in the recipe.
 */
void recipe_nearest(char path[128], const struct recipe_place *place, const char *key);
