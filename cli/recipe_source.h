/* recipe_source.h: a recipe file whose settings may be changed before it is parsed. */
#ifndef CLI_RECIPE_SOURCE_H
#define CLI_RECIPE_SOURCE_H

#include <stdbool.h>

#include <jansson.h>
#include <trainer/recipe.h>

struct recipe_source {
    const char *name; /* of the file, for messages */
    char *text;
    size_t length;
    json_t *root; /* NULL if text is no JSON object: parsing says why */
};

/* False after printing why the file cannot be read. */
bool recipe_source_open(struct recipe_source *source, const char *path);
void recipe_source_release(struct recipe_source *source);

/*
 * Set a key: as trainer_recipe_settings names it ("training.learning_rate"; "algorithm.alpha" and
 * "env.k_min" of every environment), or in full ("environments[1].algorithm.alpha"). Takes value
 * over. False after printing what is wrong with path.
 */
bool recipe_source_set(struct recipe_source *source, const char *path, json_t *value);

/* The same from PATH=VALUE, where VALUE is JSON or else a string. */
bool recipe_source_assign(struct recipe_source *source, const char *assignment);

/* The recipe, checked. */
enum trainer_status recipe_source_parse(const struct recipe_source *source,
                                        struct trainer_recipe *recipe, struct trainer_error *err);

#endif
