/* trial_process.h: starts, checks and ends the child process of a trial, with or without a guardian. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "trial/sandbox.h"
#include "trial/one_trial.h"

/* ---- guardian.c: a process between this process and a command, which ends everything that the command started ---- */

/*
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

/* The command to run. argv and environment are passed to execve. */
struct guardian_command {
    const char *program; /* file to execute; searched in PATH if it has no slash */
    char *const *argv, *const *environment;
    const char *dir; /* working directory; NULL: that of this process */
    int events;      /* descriptor that the command gets as TRIAL_EVENTS_FD */
    int printed;     /* the descriptor that the command gets as 1 and 2; -1: standard error of this process */
    int hold;        /* descriptor that stays open until the tree is gone; -1: none */
    int group;       /* control group (trial_cgroup.c) that the command enters; -1: none */
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

/* ---- trial_cgroup.c: a control group (cgroup v2) for one guarded trial, if this process is allowed to make a group ---- */

/*
 * With a group, the kernel enforces the memory limit, measures the peak and kills the whole group in one step,
 * however fast its processes fork. Without a group, the process tree is walked and its memory sampled (guardian.c).
 * Nothing in this file prints an error or fails a trial.
 *
 * The group is made inside the group of this process. The kernel only lets a group give its children the memory
 * controller if it has no processes of its own. If this process is alone in its group, it moves into a second child
 * group meanwhile: `systemd-run --user --scope -p Delegate=yes lineage run ...`. If a shell or another job is in the
 * same group, no group is made. If this process is killed, its empty groups stay until the enclosing group is removed,
 * which systemd does for a scope. See Documentation/admin-guide/cgroup-v2.rst of Linux.
 *
 * This code has not been run on a machine with a delegated memory controller. It is tested against a stand-in
 * directory. If the test may write to a real cgroup2 file system, entering, killing and removing are also tested there,
 * but not memory limits.
 */

struct trial_cgroup {
    int dir;        /* directory of the group; -1: none */
    int base;       /* directory of the enclosing group; -1: none */
    char name[48];  /* name of the group in base; "": it was not made */
    char aside[48]; /* name of the group in base into which this process moved; "": it did not move */
};

/* What the kernel measured. */
struct trial_cgroup_usage {
    double peak;    /* bytes, page cache included; 0: unknown (before Linux 5.19) */
    long oom_kills; /* processes that were killed for lack of memory */
};

/*
 * Writes the path of the group of this process. root is prepended to every path that is read: "" for this machine, a
 * directory in a test. Returns false without a cgroup2 mount.
 */
bool trial_cgroup_find(char path[PATH_MAX], const char *root);

/*
 * Makes a group; root has the same meaning as in trial_cgroup_find. If no group can be made, returns false and leaves
 * nothing behind.
 */
bool trial_cgroup_make(struct trial_cgroup *group, const char *root);

/* Limits the memory of the group, without swap. Returns false if the kernel refuses. */
bool trial_cgroup_limit(const struct trial_cgroup *group, double bytes);

/* Moves this process into the group, which its later children then inherit. Safe between fork and exec. */
bool trial_cgroup_enter(int dir);

/* Kills every process in the group; does nothing before Linux 5.14. */
void trial_cgroup_kill(int dir);

/* Bytes in use now, page cache included; 0: not known. */
double trial_cgroup_memory(const struct trial_cgroup *group);

/* Processor seconds of all its processes, ended ones included; 0: not known. */
double trial_cgroup_cpu(const struct trial_cgroup *group);

/*
 * Kills the remaining processes and waits at most two seconds until the group is empty. Returns the number of processes
 * that are still in it.
 */
int trial_cgroup_clear(const struct trial_cgroup *group);

void trial_cgroup_read(const struct trial_cgroup *group, struct trial_cgroup_usage *usage);

/* Removes the group, including groups that its processes made inside it, and moves this process back. */
void trial_cgroup_remove(struct trial_cgroup *group);

struct trial_process {
    const struct trial_job *job;
    pid_t pid;      /* child of this process: the command, or its guardian */
    int events;     /* pipe of the command's events; -1: read to the end */
    int printed;    /* the pipe of the command's standard output and error; -1: read to the end, or not read at all */
    int notice;     /* readable when the state may have changed; -1: poll at intervals */
    bool ended;     /* the command has ended */
    int state;      /* wait status of the ended command */
    bool gone;      /* no process that the command started is left */
    bool lost;      /* other code has reaped the child, so its wait status is unknown */
    int unseen;     /* see struct guardian */
    struct guardian guardian;
    struct trial_cgroup group; /* group of a guarded command, if it could be made */
};

/* Returns false after printing the error. */
bool trial_process_start(struct trial_process *process, const struct trial_job *job);

/* Updates ended and gone, without waiting. */
void trial_process_look(struct trial_process *process);

/*
 * Ends the remaining processes. For a guarded command it ends the tree, with TERM and the grace period unless at_once
 * is set. For any other command it kills the process group. trial_process_look then tells when they are gone.
 */
void trial_process_end(struct trial_process *process, bool at_once);

/* Whether the command is in a control group, which measures and limits its memory. */
bool trial_process_is_grouped(const struct trial_process *process);

void trial_process_release(struct trial_process *process);
