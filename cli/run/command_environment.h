/* command_environment.h: words and environment of a command, made for one run of it. */
#ifndef CLI_COMMAND_ENVIRONMENT_H
#define CLI_COMMAND_ENVIRONMENT_H

#include "run/command_trial.h"

struct command_environment {
    const char **argv, **environment; /* ended by NULL */
    char **owned;                     /* all their texts */
    size_t n_owned;
};

/*
 * words with their {NAME}s replaced; environment: more (NULL: none) behind what command_trial.h promises. params is the
 * path of the JSON file, parent the parent's snapshot or NULL. False when out of memory; release it in any case.
 */
bool command_environment_make(struct command_environment *made, const char *const *words, const char *const *more,
                              const struct command_values *values, const char *params, const char *parent);
void command_environment_release(struct command_environment *made);

#endif
