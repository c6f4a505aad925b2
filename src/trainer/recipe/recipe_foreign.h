/* recipe_foreign.h: names that other trainers have for settings, so that a message can name ours. */
#ifndef TRAINER_RECIPE_FOREIGN_H
#define TRAINER_RECIPE_FOREIGN_H

#include <stddef.h>

struct recipe_foreign {
    const char *name, *of; /* the name, and the program or paper that uses it */
    const char *path;      /* ours: of the root table, "env." and a path of an environment, or "algorithm.*" */
};

/* Returns the row of a name, of which only the part behind the last dot counts; NULL for an unknown name. */
const struct recipe_foreign *recipe_foreign_find(const char *name);

/* Returns row i of the table, or NULL behind its end. */
const struct recipe_foreign *recipe_foreign_at(size_t i);

#endif
