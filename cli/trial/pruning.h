/* pruning.h: decides whether a running trial is hopeless, by a rule and the curves of earlier trials. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lineage/store.h>

/* ---- the setting `prune`, which says when a trial is ended because its curve is hopeless ---- */

/*
 * RULE is a method, then settings: `median`, `halving,factor=3`, `median,warmup=100,curves=6,patience=3`, or `none`.
 *
 *   median    the trial is worse than the median of the earlier trials at the same step. This is the median stopping rule
 *             of Google Vizier (Golovin et al., KDD 2017, section 3.2.2) as Optuna's MedianPruner applies it: the best
 *             value of the trial so far, against the values that finished trials had at that step.
 *   halving   at the steps first, first * factor, first * factor^2, .. the trial is not among the best 1/factor of all
 *             trials that came that far. This is asynchronous successive halving (Li et al., MLSys 2020, algorithm 2) as
 *             in Optuna's SuccessiveHalvingPruner.
 *
 * Either way a trial goes on if it is at least as good as its parent, or as the best trial, was at that step: only those
 * two decide in the end whether it is kept.
 */

enum prune_method { PRUNE_NONE, PRUNE_MEDIAN, PRUNE_HALVING };

struct prune_rule {
    enum prune_method method;
    int64_t warmup;  /* no trial is pruned before this step; -1: a tenth of the longest curve */
    size_t curves;   /* fewer curves that came that far prune nothing */
    size_t patience; /* median: steps in a row at which the trial must be worse */
    double factor;   /* halving: share of trials that goes on, and how far the rungs are apart */
};

/* Defaults, which the help of --prune names. */
enum { PRUNE_CURVES = 4, PRUNE_PATIENCE = 3 };
#define PRUNE_FACTOR 3.0

/* Reads RULE; NULL is none. Returns false with a message in why[size]. */
bool prune_rule_parse(struct prune_rule *rule, const char *text, char *why, size_t size);

/* ---- the curves of earlier trials, read from their telemetry, with which a running trial is compared ---- */

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

struct pruning {
    struct prune_rule rule;
    struct prune_curves curves; /* owned */
    int64_t last;   /* last step of the longest curve */
    int64_t warmup; /* of the rule, or a tenth of `last` */
    int64_t judged; /* the latest step that was judged; -1: none */
    bool any;       /* the trial has a value */
    double best;    /* its best value so far */
    size_t worse;   /* median: steps in a row at which it was worse */
};

/* Takes over the curves. */
void pruning_init(struct pruning *pruning, const struct prune_rule *rule, struct prune_curves *curves);
void pruning_release(struct pruning *pruning);

/* The trial goes on from an earlier step, so what it reached since then does not count. */
void pruning_go_back(struct pruning *pruning, int64_t step);

/*
 * Takes a value of the running trial. Returns true if the rule prunes it; why[size] then names the step, the value and
 * what it was compared with: "pruned at step 40: 0.9 is worse than the median 0.7 of 6 trials, parent 003 (0.65) and
 * best 007 (0.6)". A value that is not finite, a step that is not later than the previous one, and the last step of
 * the longest curve, where nothing would be saved, prune nothing.
 */
bool pruning_judge(struct pruning *pruning, int64_t step, double value, char *why, size_t size);
