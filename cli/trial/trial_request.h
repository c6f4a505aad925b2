/* trial_request.h: one trial to run and to append as a row (run_and_append.h). */
#pragma once

#include "trial/trial_job.h"
#include "trial/trial_outcome.h"
#include "trial/trial_results.h"
#include "trial/workdir.h"

enum { TRIAL_REMARK_MAX = 2048 };

/* Callbacks through which a running trial keeps its claim (night/night_turn.c). All may be NULL. */
struct trial_alive {
    /*
     * Called when the trial starts and then every `every` seconds, with a JSON object: name, params, phase, step,
     * steps, score, running (seconds), and trial, the name of its work directory.
     */
    void (*tell)(void *context, const char *about);
    /*
     * Called with true when the trial has ended and its files are about to be kept and sent; called with false once the
     * trial has its row.
     */
    void (*hold)(void *context, bool on);
    void *context;
    double every; /* seconds */
};

struct trial_request {
    struct trial_plan plan;
    const char *refused; /* reason for not running the trial, reported in its row; NULL: run it */
    const char *not_started; /* what `prepare` writes if the trial cannot start for a reason that is not the system's; it
                              * then has a row (harness_abort). "": it printed the error. NULL: never written */

    /*
     * Puts the files that the command needs into the work directory. Writes the command, its environment and its
     * artifacts to *job, which already has the settings of the plan. Returns false after printing the error.
     */
    bool (*prepare)(void *context, const struct workdir *dir, struct trial_job *job);

    /*
     * Runs the job to its end, which may take several commands; NULL: trial_watch. The callback may change job and
     * results. Returns false after printing why nothing could be started or watched.
     */
    bool (*watch)(void *context, struct trial_outcome *outcome, struct trial_job *job, struct trial_results *results);

    /*
     * Called with the output of the command, which is also shown and searched for metrics. NULL: the output is not
     * read.
     */
    void (*output)(void *context, const char *bytes, size_t n);

    /* Writes the last piece of notes about an ended trial, at most TRIAL_REMARK_MAX bytes; NULL: no such piece. */
    void (*remark)(void *context, const struct trial_results *results, const struct trial_outcome *outcome, char *out);

    /* Called before the row is appended, so that it does not get an id that only a ref has (git/trial_ref.h); NULL: none. */
    bool (*pass_ids)(struct lineage_store *store, const struct lineage_trial *trials, size_t n);
    void (*beside)(void *context, const char *exp_id); /* see struct lineage_append_options; NULL: none */
    /* Called when the row is in the log, before the work directory is removed; NULL: none. */
    void (*recorded)(void *context, const char *exp_id);
    void *context;                                     /* context of the callbacks above */

    struct trial_alive alive;
    unsigned noise_seeds;      /* number of seeds over which the score is a mean; 0: as configured in the store */
    const char *bar_against;   /* exp_id of the trial against which the bar below counts; NULL or "": as configured */
    const double *bar;         /* what an improvement must exceed; `watch` may set it and the text above */
    const char *snapshot;      /* the part of the work directory that becomes the snapshot; NULL: all of it */
    const char *keep_artifact; /* file in the work directory to keep if the trial finishes */
    const char *keep_as;       /* path under which keep_artifact is kept; NULL: nothing is kept */
    void (*kept)(void *context, const char *keep_as); /* called next with alive's context, before the row; NULL: none */
    bool quiet; /* show no progress, and nothing that the command prints */
    const struct interrupts *interrupts;
};
