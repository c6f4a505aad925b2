/* recipe_source.h: a recipe file whose settings may be changed before it is parsed. */
#ifndef CLI_RECIPE_SOURCE_H
#define CLI_RECIPE_SOURCE_H

#include <stdbool.h>

#include <trainer/recipe.h>

struct recipe_source {
    const char *name; /* of the file, for messages */
    char *text;
    size_t length;
    struct trainer_change *changes; /* [n], in the order in which they are made */
    size_t n;
};

/* False after printing why the file cannot be read. */
bool recipe_source_open(struct recipe_source *source, const char *path);
void recipe_source_release(struct recipe_source *source);

/*
 * Note that a setting is to be changed, by its name ("lr", "alpha") or its path. Whether there is
 * one of that name, parsing says. False when out of memory, after saying so.
 */
bool recipe_source_set(struct recipe_source *source, const char *setting, const char *value,
                       bool is_text);

/* The same from NAME=VALUE, where VALUE is JSON or else a text. False after printing what is wrong. */
bool recipe_source_assign(struct recipe_source *source, const char *assignment);

/* The recipe, checked. */
enum trainer_status recipe_source_parse(const struct recipe_source *source,
                                        struct trainer_recipe *recipe, struct trainer_error *err);

#endif
