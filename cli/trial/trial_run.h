/* trial_run.h: one trial from what is to be run to its row, for whatever command it runs. */
#ifndef CLI_TRIAL_RUN_H
#define CLI_TRIAL_RUN_H

#include "cli.h"
#include "trial/trial_record.h"
#include "trial/workdir.h"

/* Exit status of a command that the user interrupted, as shells give it for SIGINT. */
#define CLI_INTERRUPTED 130

enum { TRIAL_REMARK_MAX = 2048 };

/* Who is told, while a trial is watched, that it is alive: a JSON object with its name, params, phase, step, steps, score,
 * the `trial` that its work directory is named after, and `running`, seconds. */
struct trial_alive {
    void (*tell)(void *context, const char *about); /* at the beginning and then .. ; NULL: nobody */
    void (*hold)(void *context, bool on); /* it is over, and its files are kept and sent, until there is its row; NULL: nothing */
    void *context;
    double every; /* .. so often, in seconds */
};

struct trial_request {
    struct trial_plan plan;
    const char *refused; /* why there is nothing to run, NULL: run it */
    /*
     * Put what the command needs into its work directory and say in *job what to run, with which
     * environment, budgets and artifacts. False after printing why not.
     */
    bool (*prepare)(void *context, const struct workdir *dir, struct trial_job *job);
    /* A last piece of notes about a trial that is over; NULL: none. Writes at most TRIAL_REMARK_MAX bytes. */
    void (*remark)(void *context, const struct trial_record *record, const struct trial_outcome *outcome,
                   char *out);
    /*
     * Run the job to its end by as many commands as it takes; NULL: trial_watch. It may change job and record. False
     * after printing why nothing could be started or watched.
     */
    bool (*watch)(void *context, struct trial_outcome *outcome, struct trial_job *job, struct trial_record *record);
    void (*output)(void *context, const char *bytes, size_t n); /* what it prints; it is shown and looked through for
                                                                   metrics too. NULL: it is not read at all */
    void (*beside)(void *context, const char *exp_id); /* see struct lineage_append_options; NULL: none */
    struct trial_alive alive;
    unsigned noise_seeds;      /* seeds that its score is the mean of; 0: as the store is configured */
    const char *snapshot;      /* the part of the work directory that becomes the snapshot; NULL: all of it */
    void *context;             /* of all of them */
    const char *keep_artifact; /* file in the work directory that is to be kept .. */
    const char *keep_as;       /* .. under this name when the trial finished; NULL: none .. */
    void (*kept)(void *context, const char *keep_as); /* .. and then, before the row; NULL: nothing. With alive's context */
    const char *name;          /* for progress */
    bool quiet;
    const struct interrupts *interrupts;
};

/*
 * Run the trial in a child and append its row; *row is the caller's to release. CLI_GO_ON, or the
 * exit status after printing why there is no row. A trial of a night that has a row by then gets no second one: that is
 * said, and outcome->late.
 */
int trial_run(struct lineage_store *store, const struct trial_request *request,
              struct trial_outcome *outcome, struct lineage_trial *row);

/* Run it and keep its artifact, without a row. False if that did not work out. */
bool trial_run_unrecorded(const struct trial_request *request, const char *dir, struct trial_outcome *outcome);

#endif
