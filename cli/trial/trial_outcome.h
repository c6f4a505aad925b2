/* trial_outcome.h: the evidence of how a trial ended, from which its label is made (trial_label.h). */
#ifndef CLI_TRIAL_OUTCOME_H
#define CLI_TRIAL_OUTCOME_H

#include "metrics/event_lines.h"

#define TRIAL_TEXT_MAX 512

enum trial_end {
    TRIAL_FINISHED,
    TRIAL_FAILED,           /* it reported a failure or exited with a status other than 0: text */
    TRIAL_SIGNALLED,        /* somebody else killed it: signal */
    TRIAL_TRAIN_OVERRUN,    /* the training exceeded its time limit */
    TRIAL_EVAL_OVERRUN,     /* the evaluation exceeded its time limit */
    TRIAL_MEMORY_OVERRUN,
    TRIAL_ARTIFACT_OVERRUN, /* a file is larger than allowed: text */
    TRIAL_INTERRUPTED,      /* SIGINT, SIGTERM or SIGHUP came to this process */
    TRIAL_SILENT,           /* it printed and reported nothing for too long */
    TRIAL_NOT_FINITE,       /* a metric was not a finite number: text */
    TRIAL_PREFLIGHT_FAILED, /* the check before it failed: text */
    TRIAL_ABANDONED,        /* the process that watched it was killed */
    TRIAL_DISQUALIFIED      /* a protected file changed: text */
};

struct trial_outcome {
    enum trial_end end;
    enum trial_failure failure; /* of TRIAL_FAILED */
    char text[TRIAL_TEXT_MAX];
    int signal, exit_status;
    double total_s;     /* wall time of the child */
    double peak_bytes;  /* largest sample of memory, or what a control group counted; 0 if neither is known */
    bool late;          /* another process ran the same trial of its night and was first; this run has no row */
    bool out_of_memory; /* of TRIAL_MEMORY_OVERRUN: the kernel killed it: text */
    int unseen;         /* number of processes that could not be ended; -1: there may be some */
    char looked[TRIAL_TEXT_MAX]; /* of a trial that printed no score: what was looked for, and what was read instead */
    char reason[TRIAL_TEXT_MAX + 96]; /* why it did not finish, "" if it did; set when its row is made */
};

#endif
