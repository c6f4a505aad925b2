/*
 * recipe_conditions.h: on which condition a setting is read. Every field of the table has one. A setting that nothing
 * reads is refused, because the trial's row would claim that it was on.
 */
#pragma once

#include "recipe/recipe_fields.h"

/*
 * Whether the recipe reads a field: of the root table with a NULL task, or of the environments' table with a task of the
 * recipe. The recipe's other settings decide, not the field's value.
 */
bool recipe_is_read(const struct trainer_recipe *recipe, const struct trainer_task *task, const struct recipe_field *field);

/*
 * Writes the settings that the field needs in order to be read, as in "it needs ..": "opsm.unit rollout or turn". "" for
 * a field that is always read.
 */
void recipe_condition_text(char text[256], const struct recipe_field *field);

/*
 * Whether the field may be set although it is not read. One file often describes both a trial that is warm-started or
 * not trained and its children, which are trained from a checkpoint; the row of a trial leaves out what it does not read.
 */
bool recipe_condition_is_lenient(const struct recipe_field *field);

/* Sets the defaults of a recipe; those of an environment are the defaults of its algorithm. */
void recipe_defaults(struct trainer_recipe *initial, const struct trainer_recipe *recipe);

/* Whether the field has its default, which may depend on the task's algorithm. */
bool recipe_is_default(const struct recipe_field *field, const void *base, const void *initial);

/*
 * Refuses a recipe with settings that nothing reads; the message names them and what they need. Includes
 * recipe_check_clip_scale.
 */
enum trainer_status recipe_check_read(const struct trainer_recipe *recipe, struct trainer_error *err);

/* Refuses an adaptive clip range (turn-group-v1d with beta above 0) with a loss that has no clip range. */
enum trainer_status recipe_check_clip_scale(const struct trainer_recipe *recipe, struct trainer_error *err);
