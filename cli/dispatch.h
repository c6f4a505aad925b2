/* dispatch.h: finds the command that a command line names, and runs it; called by the main function of both programs. */
#pragma once

#include "cli.h"

/* ---- command entry ---- */

/* A line of commands.def, for the dispatcher and for the texts about all commands. */

/* The groups of commands in `lineage --help`, in its order; dispatch.c has their titles. */
enum cli_group {
    CLI_GROUP_record,
    CLI_GROUP_ask,
    CLI_GROUP_plan,
    CLI_GROUP_people,
    CLI_GROUP_repair,
    CLI_GROUP_train,
    N_CLI_GROUPS
};

/* A line of commands.def, as one of the two programs sees it. */
struct cli_entry {
    enum cli_group group;
    const char *name, *summary;
    const struct cli_command *command; /* NULL: the command is in the other program */
    bool hidden;                       /* not listed in `lineage --help` */
};

/*
 * Run the command that argv names. Options before the command's name (`-C DIR`) are moved after it. An entry without a
 * command is handed to elsewhere, with argv[0] the command's name and a NULL after the last argument. Returns the
 * exit status, which is CLI_SYSTEM if the result could not be written to standard output.
 */
int cli_dispatch(const struct cli_entry *entries, int (*elsewhere)(int argc, const char **argv), int argc, char **argv);
