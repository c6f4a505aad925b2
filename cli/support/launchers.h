/*
 * launchers.h: programs that start a training and do not pass TERM on to it (the table in cli/man/nights.md), and programs that start
 * this process as one of several.
 */
#pragma once

enum { LAUNCHER_WORDS_MAX = 32 };

/*
 * In a job of a scheduler (Slurm, PBS, LSF, Kubernetes), prints a warning if the command, ended by NULL, is such a launcher: where it
 * ends this process before that has ended the trial, the training runs on. Scripts are looked for in dir.
 */
void launchers_warn(const char *const *words, const char *dir);

/*
 * For a command that is meant to be one process: returns CLI_USAGE after an error if MPI started this process as one of several, else
 * CLI_GO_ON. The first of several that srun started without MPI prints a warning.
 */
int launchers_check_copies(void);
