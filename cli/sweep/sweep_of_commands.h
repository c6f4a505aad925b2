/*
 * sweep_of_commands.h: sweeps whose trials are runs of a command (schema/sweep.schema.json, `command`): both listed
 * trials and proposed trials.
 *
 * A trial is one JSON object with all its settings: those of the file, overridden by the trial's own, and its parameters.
 * Its key is a digest of that object without the settings that do not change the result (name, hypothesis, expectation,
 * time limits), so a trial is recognized even if other parts of the file change.
 */
#pragma once

#include "sweep/night_sweep.h"

/* Settings that are true or false become the texts "true" and "false", as rows and imports have them. */
void night_spell_booleans(json_t *root);

/* Checks sweep->root and fills sweep->list. Returns CLI_GO_ON or an exit status. */
int night_command_read(struct night_sweep *sweep);

/* night_sweep_make (sweep_file.h) for a sweep of commands. */
bool night_command_make(struct night_trial *trial, const struct night_sweep *sweep, const json_t *proposal,
                        char why[NIGHT_WHY_MAX]);
