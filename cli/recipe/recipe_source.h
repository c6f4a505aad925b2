/* recipe_source.h: a recipe file whose settings may be changed before it is parsed. */
#pragma once

#include <stdbool.h>

#include <trainer/recipe.h>

struct recipe_source {
    const char *name; /* name of the file, for messages */
    char *text;
    size_t length;
    struct trainer_change *changes; /* [n], in the order in which they are made */
    size_t n;
    bool recorded; /* an earlier trial's recipe, which may have settings that nothing reads */
};

/* Reads the file. Returns false after printing the error. */
bool recipe_source_open(struct recipe_source *source, const char *path);
void recipe_source_release(struct recipe_source *source);

/*
 * Records a change of a setting, which is given by its name ("lr", "alpha") or its path. Whether the setting exists is
 * checked when the recipe is parsed. Returns false when out of memory, after printing the error.
 */
bool recipe_source_set(struct recipe_source *source, const char *setting, const char *value, bool is_text);

/*
 * Like recipe_source_set, but parses NAME=VALUE, where a VALUE that is not JSON is taken as a string. Returns false
 * after printing the error.
 */
bool recipe_source_assign(struct recipe_source *source, const char *assignment);

/* Parses the text with the changes, and checks the recipe. */
enum trainer_status recipe_source_parse(const struct recipe_source *source, struct trainer_recipe *recipe,
                                        struct trainer_error *err);
