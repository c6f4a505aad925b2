/*
 * recipe_fields.h: the table of everything a recipe can say. Defaults, parsing, range checks, text,
 * settings and schema/recipe.schema.json all come from it.
 *
 * A field is found by its path: "training.epochs" in the recipe, "algorithm.alpha" in an
 * environment. Objects stand in the table before their members, and members of one object beside
 * each other.
 */
#ifndef TRAINER_RECIPE_FIELDS_H
#define TRAINER_RECIPE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include <rlcore/algorithm.h>
#include <trainer/recipe.h>

enum recipe_kind {
    RECIPE_OBJECT, /* no value of its own */
    RECIPE_TASKS,  /* the list of environments */
    RECIPE_BOOL,
    RECIPE_INT,  /* int32_t */
    RECIPE_SEED, /* uint64_t, at most 2^53 - 1 so that every JSON reader can hold it */
    RECIPE_REAL,
    RECIPE_CHOICE,    /* an enum or bool, by name */
    RECIPE_ALGORITHM, /* a place in the core's table, by name */
    RECIPE_TEXT       /* char [size], one line of UTF-8 */
};

struct recipe_bound {
    double value;
    bool open; /* the value itself is not allowed */
};

struct recipe_field {
    const char *path;
    enum recipe_kind kind;
    size_t offset, size; /* of the member */
    double initial;      /* of a choice: its index */
    struct recipe_bound low, high;
    const char *const *choices; /* ended by NULL */
    const char *text;           /* initial value of a text */
    const char *help;
};

struct recipe_table {
    const struct recipe_field *fields;
    size_t n;
};

/* Of struct trainer_recipe, and of struct trainer_task. */
extern const struct recipe_table recipe_root, recipe_task;

/* NULL if there is none of that path. */
const struct recipe_field *recipe_find(const struct recipe_table *table, const char *path);

/* Name i of a choice or of an algorithm, NULL behind the last. */
const char *recipe_choice(const struct recipe_field *field, size_t i);

/* Whether the trainer has what that algorithm needs: here are no callbacks. */
bool recipe_offers(const struct recipe_field *field, size_t i);

/* The path's last part. */
const char *recipe_key(const struct recipe_field *field);

/* Whether it is a direct member of the object of that path, "" for the top. */
bool recipe_is_in(const struct recipe_field *field, const char *parent);

/* Objects around it. */
size_t recipe_depth(const struct recipe_field *field);

static inline bool recipe_is_choice(const struct recipe_field *field)
{
    return field->kind == RECIPE_CHOICE || field->kind == RECIPE_ALGORITHM;
}

static inline bool recipe_is_number(const struct recipe_field *field)
{
    return field->kind == RECIPE_INT || field->kind == RECIPE_SEED || field->kind == RECIPE_REAL;
}

#endif
