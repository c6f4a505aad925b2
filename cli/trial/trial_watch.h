/*
 * trial_watch.h: any command as a child process within budgets, listened to.
 *
 * The child leads a process group of its own, which is killed whole when a budget is overrun or the user
 * interrupts; a guarded one is ended with everything that descends from it (guardian.h). It says what happens on a descriptor (trial_wire.h) if it knows how; one that says nothing
 * is judged by its exit status. Where it tells its own time, that decides beside this process's clock, so
 * that a label does not depend on how soon anybody got to look.
 */
#ifndef CLI_TRIAL_WATCH_H
#define CLI_TRIAL_WATCH_H

#include "trial/interrupts.h"
#include "trial/metric_scan.h"
#include "trial/trial_wire.h"

#define TRIAL_TEXT_MAX 512

/* The descriptor on which a child writes events; LINEAGE_EVENTS in its environment names it, or a pipe that is the same. */
enum { TRIAL_EVENTS_FD = 3 };

/* A file that the command shall leave behind. */
struct trial_artifact {
    const char *path;
    double max_bytes; /* 0 = no limit */
};

struct trial_job {
    const char *program;            /* file to execute; NULL: argv[0], looked for in PATH */
    const char *const *argv;        /* ended by NULL */
    const char *const *environment; /* NAME=VALUE over this process's own, ended by NULL; NULL: none */
    double train_seconds, eval_seconds; /* wall of a phase; 0 = no limit */
    double memory_bytes; /* resident in the whole group or guarded tree, sampled; or, where it is guarded and has a control
                            group, what the kernel counts there. 0 = no limit */
    const struct trial_artifact *artifacts;
    size_t n_artifacts;
    const struct interrupts *interrupts;
    void (*event)(void *context, const struct trial_event *event); /* NULL: nobody listens */
    void *context;

    /* Of commands that know nothing of the wire; all may be zero. */
    bool guarded;          /* contain it: see guardian.h. One such trial at a time in a process */
    double grace_seconds;  /* of a guarded one: between TERM and KILL */
    int hold;              /* descriptor that a guardian keeps open until nothing of the trial is left; guarded only */
    const char *events_path; /* LINEAGE_EVENTS: a pipe to make there, which descendants can open that do not inherit
                                descriptors; NULL: descriptor TRIAL_EVENTS_FD alone */
    const char *dir;       /* where a guarded one works; NULL: where this process does */
    /* Called with what it prints, both streams in about the order in which it printed them; lines of one stream stay in
     * order. NULL: it prints to this process's standard error. */
    void (*output)(void *context, const char *bytes, size_t n);
    void (*turn)(void *context); /* now and then, between events; NULL */
    double turn_seconds;         /* .. and at least so often; 0: when something happens */
    struct metric_query metrics; /* what to look for in the lines that it prints: metric_scan.h */
    const char *score_name;      /* the metric that is the score, by whatever channel it comes; NULL: "score" alone */
    double silence_seconds;      /* longest time without a byte printed or said; 0 = no limit */
    bool stop_on_nan;            /* a metric that is not finite ends it */
};

enum trial_end {
    TRIAL_FINISHED,
    TRIAL_FAILED,           /* it said why, or left without a word: text */
    TRIAL_SIGNALLED,        /* killed by somebody else: signal */
    TRIAL_TRAIN_OVERRUN,    /* a phase took longer than allowed */
    TRIAL_EVAL_OVERRUN,
    TRIAL_MEMORY_OVERRUN,
    TRIAL_ARTIFACT_OVERRUN, /* a file is larger than allowed: text */
    TRIAL_INTERRUPTED,      /* SIGINT, SIGTERM or SIGHUP came to this process */
    TRIAL_SILENT,           /* it said nothing for too long */
    TRIAL_NOT_FINITE,       /* a metric was not a finite number: text */
    TRIAL_PREFLIGHT_FAILED, /* the check before it did: text */
    TRIAL_ABANDONED,        /* the process that watched it is gone */
    TRIAL_DISQUALIFIED      /* what it may not change has changed: text */
};

/* Evidence of how it ended. */
struct trial_outcome {
    enum trial_end end;
    enum trial_failure failure; /* of TRIAL_FAILED */
    char text[TRIAL_TEXT_MAX];
    int signal, exit_status;
    double total_s;    /* wall time of the child */
    double peak_bytes; /* largest sample of memory, or what a control group counted; 0 if there is neither */
    bool late;          /* another process ran the same trial of its night and came first: it has no row */
    bool out_of_memory; /* of TRIAL_MEMORY_OVERRUN: the kernel ended it: text */
    int unseen;        /* processes that could not be ended: their number, -1 if it is not known, 0 = none */
    char looked[TRIAL_TEXT_MAX]; /* of a trial that printed no score: what was looked for, and what was read instead */
    char reason[TRIAL_TEXT_MAX + 96]; /* why it did not finish, "" if it did; once its row was made */
};

/* Run the job to its end. False after printing why it could not be started or watched. */
bool trial_watch(struct trial_outcome *outcome, const struct trial_job *job);

#endif
