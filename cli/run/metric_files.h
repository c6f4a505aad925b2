/*
 * metric_files.h: metrics in the files that a training leaves behind.
 *
 * `--metric-file NAME=PATH` names the file of a metric, and PATH#KEY the name that the metric has in it. Programs print few digits and
 * sometimes nothing, so the score is also looked for in files of usual names that were written meanwhile in the directory in which the
 * command works and in the work directory of the trial. Such a file gives a score that was not printed, or the other digits of
 * one that was. If it contradicts the printed score, the printed one counts, and both are reported.
 */
#pragma once

#include "run/command_trial.h"

struct metric_files {
    const struct trial_plan *plan;
    const char *const *given; /* NAME=PATH[#KEY], ended by NULL; NULL: none */
    const char *dir;          /* where the command works; NULL: where this process works */
    const char *store;        /* directory of the store, in which other trials work; NULL: none */
    double since, until;      /* only files written in this time count, in seconds since 1970; until 0: now */
    void (*event)(void *context, const struct trial_event *event); /* gets each value */
    void *context;
};

/* Checks NAME=PATH. Returns false with a message in why[size]. */
bool metric_files_check(const char *given, char *why, size_t size);

/* Copies the name of the metric of NAME=PATH. */
void metric_files_name(char name[METRIC_NAME_BYTES], const char *given);

/* Now, as `since`. */
double metric_files_now(void);

/*
 * Reads the files that the caller named; their values replace printed ones. Returns false with the reason in why[size] if
 * the score was to come from a file that cannot be read; other metrics are left out with a warning.
 */
bool metric_files_read(const struct metric_files *files, const struct command_values *values, char *why, size_t size);

/*
 * Looks for the score in files of usual names, below dir and values->workdir. printed: the score so far. Prints what it took. If
 * it took nothing although there are such files, and none was printed, the reason is in why[size], which is otherwise unchanged.
 */
void metric_files_discover(const struct metric_files *files, const struct command_values *values,
                           const struct lineage_number *printed, char *why, size_t size);
