/* dispatch.h: finds the command that a command line names, and runs it; called by the main function of both programs. */
#pragma once

#include "command_entry.h"

/*
 * Run the command that argv names. Options before the command's name (`-C DIR`) are moved after it. An entry without a
 * command is handed to elsewhere, with argv[0] the command's name and a NULL after the last argument. Returns the
 * exit status, which is CLI_SYSTEM if the result could not be written to standard output.
 */
int cli_dispatch(const struct cli_entry *entries, int (*elsewhere)(int argc, const char **argv), int argc, char **argv);
