/*
 * command_trial.h: any command as a trial: what `lineage run` runs, and a night over commands.
 *
 * The command gets its parameters as {NAME} in its arguments, as LINEAGE_PARAM_NAME and in the JSON file named by
 * LINEAGE_PARAMS; its seed as {seed} and LINEAGE_SEED; a directory that becomes the snapshot of a kept trial as
 * {workdir} and LINEAGE_WORKDIR; its parent's snapshot as LINEAGE_PARENT_SNAPSHOT, if it has one; and, as every trial,
 * LINEAGE_EVENTS (schema/events.schema.json). What it starts is contained (trial/guardian.h).
 *
 * One at a time in a process: who runs several at once forks first, and opens the store in each child.
 */
#ifndef CLI_COMMAND_TRIAL_H
#define CLI_COMMAND_TRIAL_H

#include "cli.h"
#include "trial/trial_run.h"

/* Files that a finished trial must have left, each no larger than max_bytes (0: no limit; the sum of a directory). */
struct command_artifact {
    const char *glob;
    double max_bytes;
};

/* What to run, and what its row says. Everything is borrowed; zero is the default of each. */
struct command_trial {
    const char *const *argv; /* ended by NULL */
    const char *eval;        /* shell commands: an evaluation after the training .. */
    const char *preflight;   /* .. and a check before it; NULL: none */
    const char *const *metrics; /* names asked for in what it prints; the first is the score unless score says otherwise */
    size_t n_metrics;
    const char *score;       /* name of the score by every channel; NULL: metrics[0], else "score" */
    const struct lineage_param *params;
    size_t n_params;
    const char *const *environment;   /* NAME=VALUE besides; ended by NULL; NULL: none */
    const char *const *keep_environment; /* names of variables of this process to record; ended by NULL; NULL: none */
    const char *const *version_of;    /* shell commands whose output is recorded; ended by NULL; NULL: none */
    const struct command_artifact *artifacts;
    size_t n_artifacts;
    const char *const *protect;       /* files that must be the same afterwards; ended by NULL; NULL: none */
    double train_seconds, eval_seconds, silence_seconds, memory_bytes; /* 0: no limit */
    double grace_seconds;             /* between TERM and KILL */
    bool stop_on_nan;
    size_t seeds;                     /* runs, the score is their mean; 0 counts as 1 */
    bool has_seed;                    /* first_seed is part of the trial, and a parameter of its row if there is one run */
    uint64_t first_seed;              /* the runs have this one and those behind it; without has_seed from 1 */
    const char *parent_snapshot;      /* directory */
    const char *dir;                  /* where its commands work; NULL: where this process does */
    const char *rerun_of;             /* exp_id of the trial that this one is again: git is not asked; NULL: none */
    /* Put into the work directory (absolute) what the command needs; false after printing why not. NULL: nothing. */
    bool (*fill)(void *context, const char *workdir);
    void *fill_context;

    const char *specialist, *domain, *hypothesis, *expected_delta;
    const char *parent; /* exp_id */
    const char *night;  /* piece of notes that links the row to its night */
    const char *notes;
    const char *proposer; /* a parameter of its row that the command is not given; NULL: none */
    bool baseline;      /* label a finished one baseline instead of keep or discard by its score */

    struct trial_alive alive;
    const char *name;   /* for progress */
    bool quiet;
    const struct interrupts *interrupts;
};

/*
 * Run it and append its row; *row is the caller's to release. CLI_GO_ON, or the exit status after printing why there is
 * no row: a command that cannot be started is the caller's to mend, and has none.
 */
int command_trial_run(struct lineage_store *store, const struct command_trial *trial, struct trial_outcome *outcome,
                      struct lineage_trial *row);

/*
 * The text with {NAME} of each parameter, {seed} and {workdir} replaced (free); other braces stay as they are. NULL:
 * out of memory.
 */
struct command_values {
    const struct lineage_param *params;
    size_t n_params;
    uint64_t seed;
    const char *workdir;
};
char *command_expand(const char *text, const struct command_values *values);

/* A parameter's value as arguments and environment have it: whole numbers without a point. Returns out. */
#define COMMAND_VALUE_MAX 192
const char *command_value(char out[COMMAND_VALUE_MAX], const struct lineage_param *param);

#endif
