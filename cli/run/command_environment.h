/* command_environment.h: makes the arguments and the environment of a command for one run. */
#pragma once

#include <stdbool.h>

#include "run/placeholders.h"

struct command_environment {
    const char **argv, **environment; /* ended by NULL */
    char **owned;                     /* [n_owned] all texts of the two lists */
    size_t n_owned;
};

/*
 * Replaces the placeholders in words, and makes the environment variables listed in command_trial.h, followed by `more`
 * (NULL: none). params is the path of the JSON file with the parameters, parent the parent's snapshot or NULL. Returns
 * false when out of memory; call command_environment_release in either case.
 */
bool command_environment_make(struct command_environment *made, const char *const *words, const char *const *more,
                              const struct command_values *values, const char *params, const char *parent);
void command_environment_release(struct command_environment *made);
