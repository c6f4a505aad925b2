/* trial_process.h: starts, looks at and ends the child process of a trial, with or without a guardian. */
#ifndef CLI_TRIAL_PROCESS_H
#define CLI_TRIAL_PROCESS_H

#include "trial/guardian.h"
#include "trial/trial_cgroup.h"
#include "trial/trial_job.h"

struct trial_process {
    const struct trial_job *job;
    pid_t pid;      /* child of this process: the command, or its guardian */
    int events;     /* pipe of its events; -1: read to the end */
    int printed[2]; /* pipes of its standard output and standard error; -1: read to the end, or not read at all */
    int notice;     /* readable when its state may have changed; -1: look at intervals */
    bool ended;     /* the command has ended .. */
    int state;      /* .. with this wait status */
    bool gone;      /* nothing that it started is left */
    bool lost;      /* other code has waited for it, so its wait status is not known */
    int unseen;     /* see struct guardian */
    struct guardian guardian;
    struct trial_cgroup group; /* of a guarded command, if one can be made */
};

/* Returns false after printing the error. */
bool trial_process_start(struct trial_process *process, const struct trial_job *job);

/* Updates ended and gone, without waiting. */
void trial_process_look(struct trial_process *process);

/*
 * Ends what is left of it: of a guarded command the tree, with TERM and the grace period unless at_once; of another
 * one the process group, by KILL. trial_process_look then tells when it is gone.
 */
void trial_process_end(struct trial_process *process, bool at_once);

/* Whether it is in a control group, which measures and limits its memory. */
bool trial_process_is_grouped(const struct trial_process *process);

void trial_process_release(struct trial_process *process);

#endif
