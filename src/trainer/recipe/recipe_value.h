/* recipe_value.h: the value of one field. base is the struct that contains it. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "recipe/recipe_fields.h"

/* Sets every field of a table to its initial value. */
void recipe_value_init(const struct recipe_table *table, void *base);

/* Returns the value as a number, for every kind except objects and texts: bools are 0 and 1, choices their index. */
double recipe_number(const struct recipe_field *field, const void *base);

/* Reads the value from JSON; path is used in the error message. */
enum trainer_status recipe_value_read(const struct recipe_field *field, const char *path, void *base, const json_t *value,
                                      struct trainer_error *err);

/* Checks a value that a program has set. */
enum trainer_status recipe_value_check(const struct recipe_field *field, const char *path, const void *base,
                                       struct trainer_error *err);

/* Prints the value as JSON. */
void recipe_value_print(FILE *out, const struct recipe_field *field, const void *base);
void recipe_string_print(FILE *out, const char *text);

/* Closes a stream of open_memstream. Returns its text (free), or NULL when out of memory. */
char *recipe_text_end(FILE *out, char **text);

/* Writes the shortest decimal number that gives the same double when it is parsed. */
void recipe_number_text(char text[32], double number);

/* Writes a field's value in the form used in messages, which is that of --set. */
void recipe_value_words(char words[64], const struct recipe_field *field, const void *base);

/* Writes the value in the form used in messages: JSON in ASCII, shortened to fit. */
void recipe_shown(char text[64], const json_t *value);
