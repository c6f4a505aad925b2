/*
 * guardian.h: a process between this one and a command, which ends all that the command started.
 *
 * It is the subreaper of the command: whatever double-forks, makes a session of its own or is run by `timeout`
 * becomes the guardian's child when its parent goes, and a process without children is proof that nothing is left.
 * It outlives the process that made it, if that is killed, and then kills the tree. It keeps the descriptor `hold`
 * open until the tree is gone, so that a lock on it says whether anything of the trial may still run.
 *
 * Only descendants are ever signalled, by number; a control group of the trial's own is killed whole. Without /proc
 * those outside the command's process group cannot be found: the guardian says so (unseen) and leaves them.
 */
#ifndef CLI_GUARDIAN_H
#define CLI_GUARDIAN_H

#include <stdbool.h>
#include <sys/types.h>

/* What is to be run; the strings are those of execve. */
struct guardian_command {
    const char *program; /* file to execute, or looked for in PATH if it has no slash */
    char *const *argv, *const *environment;
    const char *dir;     /* working directory; NULL: that of this process */
    int events;     /* descriptor that the command gets as TRIAL_EVENTS_FD */
    int printed[2]; /* descriptors that it gets as 1 and 2; -1: standard error of this process */
    int hold;            /* kept open until all is gone; -1: none */
    int group;           /* control group (trial_cgroup.h) that the command goes into; -1: none */
    double grace;        /* seconds between TERM and KILL */
};

struct guardian {
    pid_t pid;
    int control;  /* to it */
    int report;   /* from it; readable when there is news, and at its end */
    bool ended;   /* the command has ended, its wait status in state */
    int state;
    bool gone;    /* everything has, as far as the guardian can see */
    bool silent;  /* its report ended without a word: it was killed */
    bool outside; /* the command did not get into its control group */
    int unseen;   /* processes that were not ended: with /proc a number, without it -1 if there are any */
};

/* Start it and the command. 0, or the error for which the command could not be started; no guardian is left then. */
int guardian_start(struct guardian *guardian, const struct guardian_command *command);

/* Ask it to end the tree: with TERM, a grace, KILL; or with KILL at once. */
void guardian_end(const struct guardian *guardian, bool at_once);

/* One that somebody stopped goes on, or it could not obey. */
void guardian_wake(const struct guardian *guardian);

/* Take what it reports, without waiting. */
void guardian_listen(struct guardian *guardian);

/* Wait for the process itself, once it is gone or silent, and close what belongs to it. */
void guardian_release(struct guardian *guardian);

#endif
