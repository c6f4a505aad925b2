/* prune_curves.h: the curves of earlier trials, read from their telemetry, with which a running trial is compared. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lineage/store.h>

/* The newest trials whose curves are read, and the longest id that a reason shows. */
enum { PRUNE_CURVES_READ = 256, PRUNE_ID_MAX = 64 };

struct prune_point {
    int64_t step;
    double value;
};

struct prune_curve {
    char id[PRUNE_ID_MAX];
    bool finished; /* the trial has a score; a pruned one has not */
    struct prune_point *points; /* [n], n >= 1, by step */
    size_t n;
};

struct prune_curves {
    struct prune_curve *items; /* [n], the newest first */
    size_t n;
    size_t parent, best; /* index of the curve of the parent, and of the best trial; SIZE_MAX: it has none */
    bool higher;         /* a larger value is better */
};

/*
 * Reads the curves of the metric `key`: of the parent (NULL: none), of the best trial, and of the newest
 * PRUNE_CURVES_READ trials that are kept or discarded. A trial without telemetry, or whose telemetry lacks the metric,
 * has no curve. Returns false after printing the error.
 */
bool prune_curves_read(struct prune_curves *curves, struct lineage_store *store, const char *parent, const char *key);
void prune_curves_release(struct prune_curves *curves);

/* The curve's value at the step: that of the last point that is not behind it. Returns false if the curve begins later
 * or ends earlier. */
bool prune_curve_at(double *value, const struct prune_curve *curve, int64_t step);
