/* sweep_command.h: turns a trial of a sweep of commands, given as JSON, into the command to run. */
#pragma once

#include <jansson.h>

#include "run/command_trial.h"

/*
 * Reads the settings of a trial, from which *trial borrows. environment: further NAME=VALUE, ended by NULL, or NULL.
 * Returns false when out of memory; call command_trial_release in either case.
 */
bool sweep_command_read(struct command_trial *trial, const json_t *spec, const char *const *environment);
