/* command_from_provenance.h: reads the settings of a command's trial from its run.json, to run the trial again. */
#pragma once

#include "run/command_trial.h"

/*
 * Reads run.json, from which the trial borrows. dir, an absolute path, is the directory in which the trial's commands
 * will work; relative file names are relative to dir. A variable whose value was not recorded is taken from the
 * environment of this process, if set. Returns false after printing the error; call command_trial_release in either
 * case.
 */
bool command_from_provenance(struct command_trial *trial, const json_t *run, const char *dir);
