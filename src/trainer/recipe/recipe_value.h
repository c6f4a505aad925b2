/* recipe_value.h: the value of one field. base is what the field's offset counts from. */
#ifndef TRAINER_RECIPE_VALUE_H
#define TRAINER_RECIPE_VALUE_H

#include <jansson.h>
#include <stdio.h>

#include "recipe/recipe_fields.h"

/* Set every field of a table to its initial value. */
void recipe_value_init(const struct recipe_table *table, void *base);

/* Any kind but objects and texts: bools are 0 and 1, choices their index. */
double recipe_number(const struct recipe_field *field, const void *base);

/* Take a value from JSON; path stands in the message. */
enum trainer_status recipe_value_read(const struct recipe_field *field, const char *path,
                                      void *base, const json_t *value, struct trainer_error *err);

/* Whether a value that a program has set is allowed. */
enum trainer_status recipe_value_check(const struct recipe_field *field, const char *path,
                                       const void *base, struct trainer_error *err);

/* As JSON. */
void recipe_value_print(FILE *out, const struct recipe_field *field, const void *base);
void recipe_string_print(FILE *out, const char *text);

/* Close a stream of open_memstream: its text (free), or NULL if memory ran out. */
char *recipe_text_end(FILE *out, char **text);

/* The shortest decimal that reads back as the same number. */
void recipe_number_text(char text[32], double number);

/* A value as it stands in a message: JSON in ASCII, cut to fit. */
void recipe_shown(char text[64], const json_t *value);

#endif
