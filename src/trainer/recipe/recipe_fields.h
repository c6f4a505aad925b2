/*
 * recipe_fields.h: the table of all settings of a recipe. Defaults, parsing, range checks, text, settings and
 * schema/recipe.schema.json all come from it.
 *
 * A field is found by its path: "training.epochs" in the recipe, "algorithm.alpha" in an environment. In the table,
 * an object comes before its members, and the members of one object are adjacent.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <rlcore/algorithm.h>
#include <trainer/recipe.h>

enum recipe_kind {
    RECIPE_OBJECT, /* has members and no value of its own */
    RECIPE_TASKS,  /* the list of environments */
    RECIPE_BOOL,
    RECIPE_INT,  /* int32_t */
    RECIPE_SEED, /* uint64_t, at most 2^53 - 1 so that every JSON reader can hold it */
    RECIPE_REAL,
    RECIPE_CHOICE,    /* an enum or bool, by name */
    RECIPE_ALGORITHM, /* an algorithm of the core's table, by name */
    RECIPE_TEXT       /* char [size], one line of UTF-8 */
};

/* The condition on which a setting is read (recipe_conditions.def). A setting that nothing reads is refused. */
enum recipe_when {
    RECIPE_WHEN_ALWAYS,
#define RECIPE_CONDITION(name, ...) RECIPE_WHEN_##name,
#define TASK_CONDITION(name, ...) RECIPE_WHEN_##name,
#include "recipe/recipe_conditions.def"
    RECIPE_N_WHENS
};

/*
 * Added to the condition of a setting that rewards, advantages, corrections or the loss read: whether it has an effect
 * depends on the data, so the gradient trace looks at it (run/gradient_trace.h).
 */
#define RECIPE_TRACED 0x100u

struct recipe_bound {
    double value;
    bool open; /* the interval is open: the bound itself is not allowed */
};

struct recipe_field {
    const char *path;
    enum recipe_kind kind;
    size_t offset, size; /* position and size of the member */
    double initial;      /* for a choice: its index */
    struct recipe_bound low, high;
    const char *const *choices; /* for a choice: its words, ended by NULL */
    const char *text;           /* initial value of a text */
    const char *help;
    unsigned when; /* enum recipe_when, perhaps with RECIPE_TRACED */
};

struct recipe_table {
    const struct recipe_field *fields;
    size_t n;
};

/* The settings of struct trainer_recipe and of struct trainer_task. */
extern const struct recipe_table recipe_root, recipe_task;

/* Returns the field with this path, or NULL if no field has it. */
const struct recipe_field *recipe_find(const struct recipe_table *table, const char *path);

/* Returns word i of a choice or of an algorithm; NULL after the last word. */
const char *recipe_choice(const struct recipe_field *field, size_t i);

/* Returns the last part of the field's path. */
const char *recipe_key(const struct recipe_field *field);

/* Whether the field is a direct member of the object with path `parent`, "" for the top. */
bool recipe_is_in(const struct recipe_field *field, const char *parent);

/* Returns the number of objects that enclose the field. */
size_t recipe_depth(const struct recipe_field *field);

static inline bool recipe_is_choice(const struct recipe_field *field)
{
    return field->kind == RECIPE_CHOICE || field->kind == RECIPE_ALGORITHM;
}

static inline bool recipe_is_number(const struct recipe_field *field)
{
    return field->kind == RECIPE_INT || field->kind == RECIPE_SEED || field->kind == RECIPE_REAL;
}
