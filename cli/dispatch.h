/* dispatch.h: from a command line to one command; what main of both programs calls. */
#ifndef CLI_DISPATCH_H
#define CLI_DISPATCH_H

#include "cli.h"

/* A line of commands.def as one program sees it. */
struct cli_entry {
    const char *name, *summary;
    const struct cli_command *command; /* NULL: it is in the other program */
    bool hidden;                       /* not in `lineage --help` */
};

/*
 * Run what argv asks for, with global options moved behind the name of the command. elsewhere is called
 * for an entry without a command, with argv ended by NULL and argv[0] the command's name. Returns the
 * exit status, CLI_SYSTEM if the result could not be written to standard output.
 */
int cli_dispatch(const struct cli_entry *entries, int (*elsewhere)(int argc, const char **argv), int argc,
                 char **argv);

#endif
