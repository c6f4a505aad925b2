/*
 * recipe_names.h: the names of settings, which are the same in rows, in --set, in the grid of a sweep and at the top
 * level of a recipe. A setting without a name is referred to by its path.
 */
#pragma once

#include <jansson.h>

#include "recipe/recipe_fields.h"

/* When a trial's row names a setting. */
enum recipe_shown {
    RECIPE_SHOWN_CHANGED, /* if it is read and not at its default */
    RECIPE_SHOWN_ALWAYS,  /* also if the trial is not trained; but not if nothing in the recipe reads it */
    RECIPE_SHOWN_READ,    /* if it is read */
    RECIPE_SHOWN_NEVER
};

/* Returns the short name, or the path if there is none ("env.k_max", "model.heads"). */
const char *recipe_name(const struct recipe_table *table, const struct recipe_field *field, char path[128]);
enum recipe_shown recipe_shown_when(const struct recipe_table *table, const struct recipe_field *field);

/* Returns the short name, or NULL if there is none. */
const char *recipe_short_name(const struct recipe_table *table, const struct recipe_field *field);

/* Returns an older key of the same object that is still read, or NULL. */
const char *recipe_alias(const struct recipe_field *field);

/*
 * Converts a recipe, or a part of one, to the keys of the tables: older keys are renamed, and names at the top level
 * are moved into their objects. A setting that is given twice is refused.
 */
enum trainer_status recipe_canonical(json_t *object, struct trainer_error *err);

/*
 * Sets the value of a setting, given as a name, a path ("training.lr"), "algorithm.alpha" or "env.k_min" (in all
 * environments), "environments[1].algorithm.alpha", or "env1.alpha" as rows name it. object is in canonical form; missing objects are created. An
 * unknown name is refused, and the message names the nearest known one.
 */
enum trainer_status recipe_put(json_t *object, const char *setting, json_t *value, struct trainer_error *err);

/*
 * Whether something in the recipe reads a setting, which is given in one of these forms; a setting of all environments
 * counts as read if one of them reads it. Otherwise needs receives the settings that it needs. An unknown name counts as
 * read.
 */
bool recipe_setting_is_read(const struct trainer_recipe *recipe, const char *setting, char needs[256]);

/* Whether two settings, in any of these forms, are the same one or one of them is the other in all environments. */
bool recipe_same_setting(const char *a, const char *b);

/* Whether an object in canonical form has a value for a setting, which is given in one of these forms. */
bool recipe_gives(json_t *object, const char *setting);

/*
 * Writes the name of a setting for use in the name of a trial. `setting` has one of the forms that recipe_put accepts.
 */
void recipe_called(char called[128], const char *setting);

/*
 * Finds the settings whose names end with most of the last parts of a name that is sought, of which the last one must be equal.
 * Writes up to three, "a, b or c", and returns how many they are; 0 for none and for more than three.
 */
size_t recipe_same_key(char names[128], const char *sought);
