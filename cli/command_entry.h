/* command_entry.h: a line of commands.def, for the dispatcher and for the texts about all commands. */
#pragma once

#include "cli.h"

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
