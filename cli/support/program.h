/*
 * program.h: where the programs are: the running one, and `lineage-train`, which `lineage` becomes for the trainer and
 * the kernels.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * Writes a path under which the running program can be started again. With /proc it names exactly the running file,
 * even if another version has been installed since: a night keeps the version with which it began. Prints a message and
 * returns false if there is no such path.
 */
bool program_self(char path[PATH_MAX]);

/* Writes the path of `lineage`: the running program, or the one that belongs to this `lineage-train`. Prints a message and
 * returns false if it is not found. */
bool program_command(char path[PATH_MAX]);

/*
 * Replaces this process by `lineage-train` with the same arguments; argv[0] is the command's name. Looks for it beside
 * this program and in the libexec directory of the same installation. Returns only on failure: prints why and returns
 * an exit status.
 */
int program_become_trainer(int argc, const char **argv);

/* ---- words of a command line, so that a shell reads them back ---- */

/* Prints a blank and the word, quoted if necessary. */
void shell_word_write(FILE *out, const char *word);
