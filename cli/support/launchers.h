/* launchers.h: programs that start a training and do not pass TERM on to it (the table in cli/man/nights.md). */
#pragma once

enum { LAUNCHER_WORDS_MAX = 32 };

/*
 * In a job of a scheduler (Slurm, PBS, LSF, Kubernetes), prints a warning if the command, ended by NULL, is such a launcher: where it
 * ends this process before that has ended the trial, the training runs on. Scripts are looked for in dir.
 */
void launchers_warn(const char *const *words, const char *dir);

/* Returns CLI_GO_ON, or CLI_USAGE after an error if mpirun started this process as one of several, each of which would do all. */
int launchers_refuse(void);

/* Prints a warning in the first of several processes that srun started without PMI. */
void launchers_warn_of_copies(void);
