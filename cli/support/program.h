/*
 * program.h: where the programs of this command are: the one that runs, and `lineage-train`, which
 * `lineage` becomes for trainer and kernels.
 */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/*
 * A path under which the running program can be started again. With /proc it names the very file that
 * runs, even if another version has been installed in its place since: a night that began with one
 * version ends with it. False after printing why there is none.
 */
bool program_self(char path[PATH_MAX]);

/* The path of a file in the directory of the running program, behind all links. False after printing why not. */
bool program_beside(char path[PATH_MAX], const char *name);

/*
 * Replace this process by `lineage-train` with the same arguments; argv[0] is the command's name. It is
 * looked for beside this program and in the libexec directory of the same installation. Returns only to
 * say why that was not possible, an exit status.
 */
int program_become_trainer(int argc, const char **argv);

#endif
