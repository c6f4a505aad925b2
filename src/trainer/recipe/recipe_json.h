/* recipe_json.h: reads recipes and sweeps from JSON: files, syntax errors, keys. */
#pragma once

#include <jansson.h>

#include <trainer/recipe.h>

/* Puts "name: " in front of the message of err (may be NULL); returns status. */
enum trainer_status recipe_blame(struct trainer_error *err, const char *name, enum trainer_status status);

/* Parses text as a JSON object; returns NULL if text is not a JSON object. name is used in the message. */
json_t *recipe_object_parse(const char *name, const char *text, size_t length, struct trainer_error *err);

/* Reads a whole file of at most 16 MiB into *text (free). */
enum trainer_status recipe_file_read(char **text, size_t *length, const char *path, struct trainer_error *err);

/* Sets the defaults, reads a JSON object and checks the recipe; accepts settings that nothing reads. */
enum trainer_status recipe_from_recorded_json(struct trainer_recipe *recipe, json_t *object, struct trainer_error *err);
