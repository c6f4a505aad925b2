/*
 * history_rows.h: makes trials of the runs of another tool (history.h).
 *
 * A run is labelled as `lineage run` would label it: one that finished with a score is kept or discarded by the store's rules, as
 * if it had been appended when it started; a score that is not finite is a crash, a finished run without a score a harness_abort,
 * and one that breaks a constraint disqualified. A failed run is a crash; a killed one says nothing about its setting
 * (harness_abort); a pruned one is a discard without a score; one that is still running is left out.
 *
 * job_name is TOOL:STUDY/KEY, so that a second import finds the runs that are there. A run that ended differently since then
 * replaces its row.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <lineage/store.h>

#include "histories/history.h"

struct history_mapping {
    const char *metric;                 /* name of the score; NULL: the only metric, or what the tool says */
    const char *take;                   /* which value of its curve: "last", "min" or "max"; NULL: last */
    const char *specialist;             /* NULL: the name of the tool */
    const char *const *harmless;        /* lineage_store_harmless_names */
    bool replace;                       /* rows that are there are replaced, whatever they say */
    /* Rows that are there, by job_name: {"id": .., "status": "keep", "score": 0.5, "take": "min", "void": true, "metrics": {"f1": 1}},
     * without score, take and void where the row has none or is not void. */
    const json_t *known;
};

struct history_rows {
    struct lineage_trial *trials; /* [n] */
    bool *by_score; /* [n]: keep or discard is decided on append */
    const json_t **runs; /* [n]: borrowed from the history */
    const char **replaces; /* [n]: exp_id of the row that this one replaces, from `known`, or NULL */
    size_t n, n_finished, n_scored, n_running, n_known, n_void, n_groups;
    const char *metric; /* the score as the tool names it */
    char score[LINEAGE_NAME_MAX]; /* and as rows name metrics */
    const char *take; /* "last", "min" or "max" */
    json_t *states; /* number of runs by state */
    json_t *metrics; /* number of finished runs that have the metric, by the tool's name */
    json_t *instead; /* metrics of the finished runs that have no score */
    json_t *left_out; /* names of settings that look like secrets */
    json_t *param_names, *metric_names; /* the names in rows, by the tool's names */
    json_t *texts; /* owns what the trials point to */
    void **arrays;
    size_t n_arrays, n_not_finite, n_cut;
};

/*
 * Returns false with the reason: the score is not known or is ambiguous, no finished run has it, or rows that are there have another
 * score. The counts and names that are known by then are filled in. Call history_rows_release in either case.
 */
bool history_rows_make(struct history_rows *rows, const json_t *history, const struct history_mapping *mapping,
                       char why[HISTORY_WHY_MAX]);
void history_rows_release(struct history_rows *rows);

/* Returns a copy of the text that the rows own; NULL if out of memory. */
const char *history_own_text(struct history_rows *rows, const char *text);

/* The piece of notes that says that a score is not the last value of its curve, with "min" or "max" behind it. */
#define HISTORY_TAKE_NOTE "score: of its curve the "

/* Returns the curves of the i-th row as the text of a telemetry file (free), thinned to at most 2,000 steps; NULL without curves. */
char *history_telemetry(const struct history_rows *rows, size_t i);

/* Writes the first names of an object to out, for a message, and returns out. */
enum { HISTORY_NAMES_MAX = HISTORY_WHY_MAX - 150 };
const char *history_names(char out[HISTORY_NAMES_MAX], const json_t *names);

/* Returns the job_name of the run with that key (free); NULL if out of memory. */
char *history_job(const json_t *history, const char *key);
