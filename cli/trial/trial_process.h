/* trial_process.h: starts, checks and ends the child process of a trial, with or without a guardian. */
#pragma once

#include "trial/guardian.h"
#include "trial/trial_cgroup.h"
#include "trial/trial_job.h"

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
