/* trial_process.h: the child process of a trial, with or without a guardian: start, ask, end. */
#ifndef CLI_TRIAL_PROCESS_H
#define CLI_TRIAL_PROCESS_H

#include "trial/guardian.h"
#include "trial/trial_cgroup.h"
#include "trial/trial_job.h"

struct trial_process {
    const struct trial_job *job;
    pid_t pid;      /* child of this process: the command, or its guardian */
    int events;     /* to read: what it says; -1: its end was read */
    int printed[2]; /* to read: its standard output and standard error; -1: its end was read, or nobody reads it */
    int notice;     /* readable when there may be news; -1: ask at intervals */
    bool ended;     /* the command has ended .. */
    int state;      /* .. with this wait status */
    bool gone;      /* and whatever it started */
    bool lost;      /* somebody else has waited for it: there is no evidence */
    int unseen;     /* see struct guardian */
    struct guardian guardian;
    struct trial_cgroup group; /* of a guarded one, where there can be one */
};

/* False after printing why. */
bool trial_process_start(struct trial_process *process, const struct trial_job *job);

/* Look whether it has ended, and whether all is gone, without waiting. */
void trial_process_look(struct trial_process *process);

/*
 * End what is left of it: of a guarded one the tree, with TERM and a grace unless at_once; of another one the group, by
 * KILL. Ask trial_process_look when all is gone.
 */
void trial_process_end(struct trial_process *process, bool at_once);

/* Whether it is in a control group of its own, which counts and limits its memory. */
bool trial_process_is_grouped(const struct trial_process *process);

void trial_process_release(struct trial_process *process);

#endif
