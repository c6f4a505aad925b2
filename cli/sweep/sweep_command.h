/* sweep_command.h: a trial of a sweep of commands, as JSON, turned into the command to run. */
#ifndef CLI_SWEEP_COMMAND_H
#define CLI_SWEEP_COMMAND_H

#include <jansson.h>

#include "run/command_trial.h"

/* The trial borrows from the JSON and from the other members. */
struct night_command {
    struct command_trial trial;
    const char **argv, **metrics, **protect;
    char **environment;
    struct command_artifact *artifacts;
    struct lineage_param params[TRIAL_PARAMS_MAX];
};

/*
 * Fills *command from the JSON of a trial. environment: further NAME=VALUE, ended by NULL, or NULL. Returns false when out
 * of memory; call night_command_release in either case.
 */
bool night_command_fill(struct night_command *command, const json_t *spec, const char *const *environment);
void night_command_release(struct night_command *command);

#endif
