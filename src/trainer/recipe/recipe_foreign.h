/* recipe_foreign.h: names that other trainers have for settings, so that a message can name ours. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct recipe_foreign {
    /* our setting: a path of the root table, "env." and a path of an environment, or "algorithm.*"; "": it has no equal; NULL: see words */
    const char *path;
    const char *words; /* the reason why it has no equal; if path is NULL, the settings that do the same */
    const char *names; /* programs or papers, each with a colon and its names: "verl: clip_grad TRL: max_grad_norm" */
};

enum { RECIPE_FOREIGN_SIZE = 320 };

/* Writes what is known about a name, or about its last parts, separated by dots, as a clause. Returns out, or NULL for an unknown name. */
const char *recipe_foreign_say(char out[RECIPE_FOREIGN_SIZE], const char *sought);

/*
 * Returns a clause about another program's setting that has the name of ours and means something else: "" or
 * " (TRL's beta is loss.kl_coef)". The setting is in one of the forms of recipe_put.
 */
const char *recipe_foreign_namesake(const char *setting);

/*
 * Returns what our setting means if its value is usual for another program's setting of that name and not for ours, else
 * NULL. path: "algorithm.epsilon".
 */
const char *recipe_foreign_mistaken(const char *path, double value);

/* A name in a row, of n bytes, and the program of of_n bytes that uses it. */
struct recipe_foreign_name {
    const struct recipe_foreign *row;
    const char *text, *of;
    size_t n, of_n;
};

/* Goes to the next name, from one with row NULL on. Returns false behind the last one. */
bool recipe_foreign_next(struct recipe_foreign_name *name);
