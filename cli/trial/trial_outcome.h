/* trial_outcome.h: the evidence of how a trial ended, from which its label is made (trial_label.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <lineage/notes.h>

#include "metrics/event_lines.h"

#define TRIAL_TEXT_MAX 512
enum { TRIAL_EVIDENCE_MAX = 320, TRIAL_OTHERS_MAX = 160 };

enum trial_end {
    TRIAL_FINISHED,
    TRIAL_FAILED,           /* it reported a failure or exited with a nonzero status; details in text */
    TRIAL_SIGNALLED,        /* another process killed it with `signal` */
    TRIAL_TRAIN_OVERRUN,    /* the training exceeded its time limit */
    TRIAL_EVAL_OVERRUN,     /* the evaluation exceeded its time limit */
    TRIAL_MEMORY_OVERRUN,
    TRIAL_ARTIFACT_OVERRUN, /* a file is larger than allowed; details in text */
    TRIAL_INTERRUPTED,      /* this process received SIGINT, SIGTERM or SIGHUP */
    TRIAL_SILENT,           /* it neither printed nor reported anything for too long */
    TRIAL_NOT_FINITE,       /* a metric was not a finite number; details in text */
    TRIAL_PREFLIGHT_FAILED, /* the preflight command failed; details in text */
    TRIAL_ABANDONED,        /* the process that watched it was killed */
    TRIAL_DISQUALIFIED,     /* a protected file changed, or a requirement is not met; details in text */
    TRIAL_PRUNED,           /* its curve was hopeless; details in text */
    TRIAL_NOT_STARTED       /* its files or its command were not there, which says nothing about it; details in text */
};

struct trial_outcome {
    enum trial_end end;
    enum trial_failure failure; /* of TRIAL_FAILED */
    char text[TRIAL_TEXT_MAX];
    int signal, exit_status;
    double total_s;     /* wall time of the child */
    double peak_bytes;  /* largest memory sample, or the control group's peak; 0: unknown */
    double peak_gpu_bytes; /* largest sample of GPU memory of all its processes; 0: none, or no GPU */
    bool late;          /* another process appended a row for the same trial of the night first; this run has no row */
    bool processor;     /* with an overrun of a time limit: the limit of processor seconds was exceeded */
    double used;        /* with an overrun of a time limit: seconds that were used; 0: only known to be more than the
                           limit */
    bool out_of_memory; /* with TRIAL_MEMORY_OVERRUN: the kernel killed it; details in text */
    int unseen;         /* number of processes that could not be ended; -1: unknown */
    char others[TRIAL_OTHERS_MAX]; /* which processes ran on after the command, or had been stopped by a signal; "": none */
    bool has_seed;      /* the trial ran with several seeds, and failed with this one */
    uint64_t seed;
    bool unexplained;   /* with TRIAL_FAILED: the trial did not report why, so text says only how it exited */
    bool begun;         /* it reported a step, a score or a phase; set when its row is made */
    enum lineage_cause cause;
    bool lacks;         /* the machine lacks something, such as a module: the failure says nothing about the settings */
    bool reports_error; /* the output has a traceback or a panic, evidence, anywhere */
    bool last_words;    /* the output ends with the report of an error, evidence; also if the command ended with status 0 */
    bool timed;         /* the command is `timeout`, whose status 124 is a time limit */
    char evidence[TRIAL_EVIDENCE_MAX]; /* error and place that a failed command printed (run/failure_evidence.h); "": none */
    char looked[TRIAL_TEXT_MAX]; /* for a trial that printed no score: what was looked for, and what was found */
    char unreadable[96]; /* "2 lines of events cannot be read, first at line 2"; "": all can be read */
    const char *doubt; /* how the row qualifies "score by a name that was asked for"; NULL or "": not at all */
    char reason[TRIAL_TEXT_MAX + 256 +
                TRIAL_EVIDENCE_MAX]; /* why it did not finish; "" if it finished. Set when its row is made */
};
