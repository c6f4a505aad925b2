/*
 * guardian.h: a process between this one and a command, which ends everything that the command started.
 *
 * The guardian is the subreaper of the command: a process that double-forks, makes a session of its own or is run by
 * `timeout` becomes the guardian's child when its parent exits, so a guardian without children proves that nothing is
 * left. If the process that made it is killed, the guardian outlives it and kills the tree. It keeps the descriptor
 * `hold` open until the tree is gone, so that a lock on it tells whether a process of the trial may still run.
 *
 * Only descendants are signalled, by process id; a control group of the trial is killed as a whole. Without /proc,
 * processes outside of the command's process group cannot be found: the guardian reports them as unseen and leaves
 * them.
 */
#ifndef CLI_GUARDIAN_H
#define CLI_GUARDIAN_H

#include <stdbool.h>
#include <sys/types.h>

/* The command to run; the strings are those of execve. */
struct guardian_command {
    const char *program; /* file to execute; looked for in PATH if it has no slash */
    char *const *argv, *const *environment;
    const char *dir; /* working directory; NULL: that of this process */
    int events;      /* descriptor that the command gets as TRIAL_EVENTS_FD */
    int printed[2];  /* descriptors that it gets as 1 and 2; -1: standard error of this process */
    int hold;        /* descriptor that stays open until the tree is gone; -1: none */
    int group;       /* control group (trial_cgroup.h) that the command enters; -1: none */
    double grace;    /* seconds between TERM and KILL */
};

struct guardian {
    pid_t pid;
    int control;  /* pipe to it */
    int report;   /* pipe from it; readable when there is a report, and when the guardian has exited */
    bool ended;   /* the command has ended, with the wait status state */
    int state;
    bool gone;    /* the tree is gone, as far as the guardian can see */
    bool silent;  /* the guardian was killed: its reports ended early */
    bool outside; /* the command did not get into its control group */
    int unseen;   /* number of processes that could not be ended; without /proc -1 if there may be some */
};

/* Starts the guardian and the command. Returns 0, or the errno with which the command failed to start; no guardian is
 * left then. */
int guardian_start(struct guardian *guardian, const struct guardian_command *command);

/* Asks it to end the tree: with TERM, the grace period and KILL; or with KILL at once. */
void guardian_end(const struct guardian *guardian, bool at_once);

/* Continues a guardian that was stopped by a signal, so that it can obey. */
void guardian_wake(const struct guardian *guardian);

/* Reads its reports, without waiting. */
void guardian_listen(struct guardian *guardian);

/* Waits for the guardian, once it is gone or silent, and closes its descriptors. */
void guardian_release(struct guardian *guardian);

#endif
