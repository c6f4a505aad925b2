/* recipe_schema.h: the text of schema/recipe.schema.json, made from the table of fields. */
#pragma once

/* Returns the text (free), or NULL when out of memory. */
char *recipe_schema(void);
