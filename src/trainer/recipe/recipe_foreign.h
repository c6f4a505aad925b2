/* recipe_foreign.h: names that other trainers have for settings, so that a message can name ours. */
#pragma once

#include <stddef.h>

struct recipe_foreign {
    const char *name, *of; /* the name, and the program or paper that uses it */
    /* our setting: a path of the root table, "env." and a path of an environment, or "algorithm.*"; "": it has no equal; NULL: see words */
    const char *path;
    const char *words; /* the reason why it has no equal; if path is NULL, the settings that do the same */
};

enum { RECIPE_FOREIGN_SIZE = 320 };

/* Writes what the row says about its name, as a clause. Returns out. */
const char *recipe_foreign_say(char out[RECIPE_FOREIGN_SIZE], const struct recipe_foreign *foreign);

/* Returns the row of a name or of its last parts, separated by dots; NULL for an unknown name. */
const struct recipe_foreign *recipe_foreign_find(const char *name);

/*
 * Returns a clause about another program's setting that has the name of ours and means something else: "" or
 * " (TRL's beta is loss.kl_coef)". The setting is in one of the forms of recipe_put.
 */
const char *recipe_foreign_namesake(const char *setting);

/*
 * Returns what our setting means if its value is usual for another program's setting of that name and not for ours, else
 * NULL. path: "algorithm.epsilon".
 */
const char *recipe_foreign_mistaken(const char *path, double value);

/* Returns row i of the table, or NULL behind its end. */
const struct recipe_foreign *recipe_foreign_at(size_t i);
