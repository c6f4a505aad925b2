/*
 * recipe_names.h: what a setting is called, the same in rows, in --set, in the grid of a sweep and
 * at the top of a recipe. A setting without a name of its own goes by its path.
 */
#ifndef TRAINER_RECIPE_NAMES_H
#define TRAINER_RECIPE_NAMES_H

#include <jansson.h>

#include "recipe/recipe_fields.h"

/* When a row names a setting. */
enum recipe_shown {
    RECIPE_SHOWN_CHANGED, /* where it is not at its default */
    RECIPE_SHOWN_ALWAYS,
    RECIPE_SHOWN_READ,         /* always for an algorithm that reads it, else never */
    RECIPE_SHOWN_READ_CHANGED, /* where the algorithm reads it and it is not at its default */
    RECIPE_SHOWN_NEVER
};

/* Its name: short, or its path ("env.k_max", "model.heads"). */
const char *recipe_name(const struct recipe_table *table, const struct recipe_field *field,
                        char path[128]);
enum recipe_shown recipe_shown_when(const struct recipe_table *table,
                                    const struct recipe_field *field);

/* The short name, or NULL. */
const char *recipe_short_name(const struct recipe_table *table, const struct recipe_field *field);

/* An older key of the same object that is still read, or NULL. */
const char *recipe_alias(const struct recipe_field *field);

/*
 * Bring an object that may be a recipe, or a part of one, to the keys of the tables: older keys and
 * names at the top go where they belong. What is given twice is refused.
 */
enum trainer_status recipe_canonical(json_t *object, struct trainer_error *err);

/*
 * Set what goes by a name, a path ("training.lr"), "algorithm.alpha" or "env.k_min" (all
 * environments), or "environments[1].algorithm.alpha". object is in canonical form; objects on the
 * way are made. Refuses a name that is not known with the nearest that is.
 */
enum trainer_status recipe_put(json_t *object, const char *setting, json_t *value,
                               struct trainer_error *err);

/* What a setting given in any of these forms is called in the name of a trial. */
void recipe_called(char called[128], const char *setting);

#endif
