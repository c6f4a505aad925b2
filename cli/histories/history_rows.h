/*
 * history_rows.h: makes trials of the runs of another tool (history.h).
 *
 * A run that finished with a score is kept or discarded by the store's rules, as if it had been appended when it started. One
 * that failed, or finished without a score, is a crash; one that was killed says nothing about its setting (harness_abort); one
 * that was pruned is a discard without a score; one that is still running is left out. job_name is TOOL:STUDY/KEY, so that a
 * second import finds the runs that are there already.
 */
#ifndef CLI_HISTORY_ROWS_H
#define CLI_HISTORY_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include <lineage/store.h>

#include "histories/history.h"

struct history_mapping {
    const char *metric;                 /* name of the score; NULL: the only metric, or what the tool says */
    const char *take;                   /* which value of its curve: "last", "min" or "max"; NULL: last */
    const char *specialist;             /* NULL: the name of the tool */
    const char *const *harmless;        /* lineage_store_harmless_names */
    const json_t *known;                /* an object whose names are job_names of rows that are there */
};

struct history_rows {
    struct lineage_trial *trials; /* [n] */
    bool *by_score;               /* [n]: keep or discard is decided on append */
    const json_t **runs;          /* [n]: borrowed from the history */
    size_t n, n_running, n_known, n_without_score;
    char score[LINEAGE_NAME_MAX]; /* name of the score, as metrics are named in rows */
    json_t *left_out;             /* names of settings that look like secrets; numbers that are not finite, as a count */
    json_t *texts;                /* owns what the trials point to */
    void **arrays;
    size_t n_arrays, n_not_finite, n_cut;
};

/* Returns false with the reason. Call history_rows_release in either case. */
bool history_rows_make(struct history_rows *rows, const json_t *history, const struct history_mapping *mapping, char why[HISTORY_WHY_MAX]);
void history_rows_release(struct history_rows *rows);

/* Returns the curves of a run as the text of a telemetry file (free), thinned to at most 2,000 steps; NULL if it has none. */
char *history_telemetry(const json_t *run);

#endif
