/*
 * recipe_variants.h: copies of a recipe in which one setting has its default. The gradient trace
 * (run/gradient_trace.h) uses them to find settings on which nothing depends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <trainer/recipe.h>

struct recipe_field;

/* A setting whose use depends on the data: it is part of rewards, advantages, corrections or the loss. */
struct recipe_traced {
    const struct recipe_field *field;
    int32_t task; /* its environment, or -1 for a setting of the root */
};

enum { RECIPE_TRACED_MAX = 64 };

/* Writes the traced settings that are read and not at their defaults; returns their number. */
size_t recipe_traced(const struct trainer_recipe *recipe, struct recipe_traced traced[RECIPE_TRACED_MAX]);

/* Copies the recipe, and sets the setting to its default. */
void recipe_variant(struct trainer_recipe *variant, const struct trainer_recipe *recipe, const struct recipe_traced *traced);

/* Writes the setting's name in rows: "clip_high", "env1.alpha". */
void recipe_traced_name(char name[160], const struct recipe_traced *traced);
