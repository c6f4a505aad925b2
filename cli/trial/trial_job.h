/* trial_job.h: one command to run and watch (trial_watch.h). Zero is the default of every member except hold. */
#pragma once

#include "metrics/event_lines.h"
#include "metrics/held_out.h"
#include "trial/interrupts.h"
#include "trial/sandbox.h"
#include "trial/trial_plan.h"

/*
 * The descriptor on which a child writes events. The variable LINEAGE_EVENTS in the child's environment names the
 * descriptor, or the path of a named pipe.
 */
enum { TRIAL_EVENTS_FD = 3 };

/* A file that the command has to write. */
struct trial_artifact {
    const char *path;
    double max_bytes; /* 0: no limit */
};

struct trial_job {
    const char *program;            /* file to execute; NULL: argv[0], searched in PATH */
    const char *const *argv;        /* ended by NULL */
    const char *const *environment; /* NAME=VALUE, overrides this process's environment, ended by NULL; NULL: none */
    struct trial_settings settings; /* memory is sampled over the process group or the guarded tree; a control
                                       group counts it exactly */
    const struct trial_artifact *artifacts; /* [n_artifacts] */
    size_t n_artifacts;
    const struct interrupts *interrupts;

    struct held_out *held; /* what is taken out of its output and events; NULL: nothing */
    void (*event)(void *context, const struct trial_event *event); /* NULL: not called */
    /*
     * Called after event. Returns true, with the reason in why[size], if the trial is to be ended because its result would
     * not count. NULL: not called.
     */
    bool (*hopeless)(void *context, const struct trial_event *event, char *why, size_t size);
    /*
     * Called with the output of the command, both streams in order of arrival. If NULL, the command prints to the standard error of this process.
     */
    void (*output)(void *context, const char *bytes, size_t n);
    /*
     * Called with each whole line that the command prints, before the events of the line. Returns false if nothing more is needed, and
     * the command is ended. NULL: not called, and lines without a metric are skipped at once.
     */
    bool (*line)(void *context, const char *text, size_t length);
    void (*turn)(void *context); /* called between events; NULL: not called */
    double turn_seconds;         /* longest time between two calls of turn; 0: only called when something happens */
    void *context;

    bool guarded;            /* end everything that the command starts (guardian.h); only one guarded job at a time */
    int hold;                /* guarded: descriptor that stays open until no process of the trial is left; -1: none */
    const char *events_path; /* guarded: path of a named pipe for events, for descendants that inherit no descriptors;
                                NULL: only TRIAL_EVENTS_FD */
    const struct sandbox *sandbox; /* guarded: that the command enters; NULL: none */
    const char *dir;         /* guarded: working directory of the command; NULL: that of this process */
};
