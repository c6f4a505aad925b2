/*
 * trial_watch.h: a trial as a child process with wall budgets.
 *
 * The child is this program as `run-trial` in a process group of its own. It is killed when a
 * budget is overrun or the user interrupts; its own clock decides too, so that a label does not
 * depend on how soon this process got to look.
 */
#ifndef CLI_TRIAL_WATCH_H
#define CLI_TRIAL_WATCH_H

#include <trainer/train.h>

#include "interrupts.h"

enum trial_end {
    TRIAL_FINISHED,
    TRIAL_FAILED,        /* it said why, or left without a word: error */
    TRIAL_SIGNALLED,     /* killed by somebody else: signal */
    TRIAL_TRAIN_OVERRUN, /* training took longer than allowed */
    TRIAL_EVAL_OVERRUN,
    TRIAL_INTERRUPTED /* SIGINT, SIGTERM or SIGHUP came to this process */
};

struct trial_outcome {
    enum trial_end end;
    struct trainer_error error;
    int signal;
    double total_s;                           /* wall time of the child */
    char reason[TRAINER_ERROR_TEXT_MAX + 96]; /* why it did not finish, once its row was made */
};

struct trial_job {
    const char *recipe;                 /* file */
    const char *checkpoint;             /* file to be written */
    double train_seconds, eval_seconds; /* 0 = no limit */
    const struct interrupts *interrupts;
    void (*event)(void *context, const struct trainer_event *event);
    void *context;
};

/* Run the job to its end. False after printing why it could not be started or watched. */
bool trial_watch(struct trial_outcome *outcome, const struct trial_job *job);

#endif
