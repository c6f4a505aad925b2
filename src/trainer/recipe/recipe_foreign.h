/* recipe_foreign.h: names that other trainers have for settings, so that a message can name ours. */
#pragma once

#include <stddef.h>

struct recipe_foreign {
    const char *name, *of; /* the name, and the program or paper that uses it */
    /* ours: of the root table, "env." and a path of an environment, or "algorithm.*"; NULL: none */
    const char *path;
    const char *instead; /* NULL, or several settings that together do the same, in words; path is NULL then */
};

enum { RECIPE_FOREIGN_SIZE = 256 };

/* Writes what the row says about its name, as a clause. Returns out. */
const char *recipe_foreign_say(char out[RECIPE_FOREIGN_SIZE], const struct recipe_foreign *foreign);

/* Returns the row of a name or of its last parts, separated by dots; NULL for an unknown name. */
const struct recipe_foreign *recipe_foreign_find(const char *name);

/* Returns row i of the table, or NULL behind its end. */
const struct recipe_foreign *recipe_foreign_at(size_t i);
