/*
 * guardian.h: a process between this process and a command, which ends everything that the command started.
 *
 * The guardian is the subreaper of the command: a process that double-forks, creates a session of its own or is run by
 * `timeout` becomes the guardian's child when its parent exits. So a guardian without children proves that nothing is
 * left. If the process that made the guardian is killed, the guardian survives and kills the tree. It keeps the
 * descriptor `hold` open until the tree is gone, so that a lock on it tells whether a process of the trial may still
 * run.
 *
 * Only descendants are signalled, by process id; a control group of the trial is killed as a whole. Without /proc,
 * processes outside of the command's process group cannot be found: the guardian reports them as unseen and leaves
 * them.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "trial/sandbox.h"

/* The command to run. argv and environment are passed to execve. */
struct guardian_command {
    const char *program; /* file to execute; searched in PATH if it has no slash */
    char *const *argv, *const *environment;
    const char *dir; /* working directory; NULL: that of this process */
    int events;      /* descriptor that the command gets as TRIAL_EVENTS_FD */
    int printed;     /* the descriptor that the command gets as 1 and 2; -1: standard error of this process */
    int hold;        /* descriptor that stays open until the tree is gone; -1: none */
    int group;       /* control group (trial_cgroup.h) that the command enters; -1: none */
    double grace;    /* seconds between TERM and KILL */
    const struct sandbox *sandbox; /* that the command enters; NULL: none */
};

struct guardian {
    pid_t pid;
    int control;  /* pipe to it */
    int report;   /* pipe from the guardian; readable when there is a report, and when the guardian has exited */
    bool ended;   /* the command has ended; its wait status is `state` */
    int state;
    bool gone;    /* the tree is gone, as far as the guardian can see */
    bool silent;  /* the guardian was killed: its reports ended early */
    bool outside; /* the command could not enter its control group */
    int unseen;   /* number of processes that could not be ended; -1: unknown (without /proc) */
};

/* What guardian_start returns if the sandbox could not be set up. */
enum { GUARDIAN_NO_SANDBOX = -2 };

/* Starts the guardian and the command. Returns 0, or the errno with which the command failed to start; no guardian is
 * left then. */
int guardian_start(struct guardian *guardian, const struct guardian_command *command);

/* Asks the guardian to end the tree: with TERM, the grace period and then KILL, or with KILL at once. */
void guardian_end(const struct guardian *guardian, bool at_once);

/* Continues a guardian that was stopped by a signal, so that it can act on guardian_end. */
void guardian_wake(const struct guardian *guardian);

/* Reads the guardian's reports, without waiting. */
void guardian_listen(struct guardian *guardian);

/* Waits for the guardian, once it is gone or silent, and closes its descriptors. */
void guardian_release(struct guardian *guardian);
