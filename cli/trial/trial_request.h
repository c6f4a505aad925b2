/* trial_request.h: one trial to run and to append as a row (run_and_append.h). */
#ifndef CLI_TRIAL_REQUEST_H
#define CLI_TRIAL_REQUEST_H

#include "trial/trial_job.h"
#include "trial/trial_outcome.h"
#include "trial/trial_results.h"
#include "trial/workdir.h"

enum { TRIAL_REMARK_MAX = 2048 };

/* Callbacks by which a trial keeps its claim (share/lease.h). All may be NULL. */
struct trial_alive {
    /* Called at the beginning and then every `every` seconds, with a JSON object: name, params, phase, step, steps,
     * score, running (seconds), and trial, the name of its work directory. */
    void (*tell)(void *context, const char *about);
    /* Called with true when the trial has ended and its files are about to be kept and sent, with false once it has
     * its row. */
    void (*hold)(void *context, bool on);
    void *context;
    double every; /* seconds */
};

struct trial_request {
    struct trial_plan plan;
    const char *refused; /* why the trial cannot run; its row says so. NULL: run it */

    /*
     * Puts what the command needs into the work directory, and the command, its environment and its artifacts into *job,
     * which has the settings of the plan. Returns false after printing the error.
     */
    bool (*prepare)(void *context, const struct workdir *dir, struct trial_job *job);

    /*
     * Runs the job to its end, by as many commands as it takes; NULL: trial_watch. It may change job and results. Returns
     * false after printing why nothing could be started or watched.
     */
    bool (*watch)(void *context, struct trial_outcome *outcome, struct trial_job *job, struct trial_results *results);

    /* Called with what the command prints, which is also shown and searched for metrics. NULL: its output is not read. */
    void (*output)(void *context, const char *bytes, size_t n);

    /* Writes a last piece of notes about a trial that has ended, at most TRIAL_REMARK_MAX bytes; NULL: none. */
    void (*remark)(void *context, const struct trial_results *results, const struct trial_outcome *outcome, char *out);

    void (*beside)(void *context, const char *exp_id); /* see struct lineage_append_options; NULL: none */
    void *context;                                     /* of the callbacks above */

    struct trial_alive alive;
    unsigned noise_seeds;      /* seeds that the score is the mean of; 0: as the store is configured */
    const char *snapshot;      /* the part of the work directory that becomes the snapshot; NULL: all of it */
    const char *keep_artifact; /* a file in the work directory that is kept .. */
    const char *keep_as;       /* .. under this path if the trial finishes; NULL: none */
    void (*kept)(void *context, const char *keep_as); /* called then, before the row, with alive's context; NULL: none */
    bool quiet; /* show no progress, and nothing that the command prints */
    const struct interrupts *interrupts;
};

#endif
