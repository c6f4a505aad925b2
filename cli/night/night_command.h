/*
 * night_command.h: sweeps whose trials are runs of a command (schema/sweep.schema.json, `command`): the list in their
 * file, trials that are proposed, and how one is run.
 */
#ifndef CLI_NIGHT_COMMAND_H
#define CLI_NIGHT_COMMAND_H

#include "night/night_sweep.h"
#include "run/command_trial.h"

/* Read and check the file's root: options, and the list into sweep->list. CLI_GO_ON or an exit status. */
int night_command_read(struct night_sweep *sweep);

/* See night_sweep_make. */
bool night_command_make(struct night_trial *trial, const struct night_sweep *sweep, const json_t *proposal,
                        char why[NIGHT_WHY_MAX]);

/* A trial's JSON as what is to be run. Borrows from it; free with night_command_release. */
struct night_command {
    struct command_trial trial;
    const char **argv, **metrics, **protect;
    char **environment;
    struct command_artifact *artifacts;
    struct lineage_param params[TRIAL_PARAMS_MAX];
};

/* environment: NAME=VALUE besides, ended by NULL, or NULL. False when out of memory. */
bool night_command_fill(struct night_command *command, const json_t *spec, const char *const *environment);
void night_command_release(struct night_command *command);

#endif
