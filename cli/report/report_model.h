/*
 * report_model.h: a store as the pictures of a report need it: every trial with its place in the tree, in time and
 * among the parameters, in one arena. report_load.c fills it.
 */
#pragma once

#include <stdio.h>

#include <lineage/compare.h>
#include <lineage/knobs.h>
#include <lineage/report.h>

#define MODEL_NONE ((size_t)-1)
#define MODEL_IDEAS 10000 /* trials, the newest ones, whose changes and citations are loaded */

enum {
    MODEL_AXES = 12, /* most parameters that pictures show */
    MODEL_COLUMNS = 64, /* most parameters that the table shows */
    MODEL_COLUMNS_LARGE = 24, /* likewise, in a store with more than MODEL_LARGE trials */
    MODEL_LARGE = 20000,
    MODEL_VOID = LINEAGE_N_LABELS, /* label of a void trial, which does not count */
    MODEL_LABELS
};

/* Texts are the cells as written; they must pass through html_escape.h before they are printed. */
struct model_trial {
    const char *id, *specialist, *parent_exp, *hypothesis, *expected, *timestamp, *notes, *snapshot;
    enum lineage_label label;
    struct lineage_number score, train_s, total_s; /* absent if not finite */
    const char *odd;              /* the score as text if it is not finite: "inf", "-inf", "nan"; else "" */
    struct lineage_number margin; /* half of the score's 95 % interval; absent if the noise is unknown */
    struct lineage_hypothesis prediction;
    struct lineage_number before; /* the best score when it was appended */
    uint64_t seq; /* row number in the store */
    size_t idea;  /* index in model.ideas; MODEL_NONE if the row is older, or was not there when they were loaded */
    size_t parent;                /* index; MODEL_NONE for a root */
    bool parent_missing;
    bool on_chain; /* of the best trial: this is the trial or one of its kept ancestors */
    bool is_void;  /* and its label is MODEL_VOID */
    bool measured; /* status keep, discard or baseline, with a score */
    bool dated;
    int64_t time; /* seconds since 1970, if the row has a date */
    const struct lineage_param *params;
    size_t n_params;
    const struct lineage_turn_stat *turns;
    size_t n_turns;
    const struct lineage_param *metrics;
    size_t n_metrics;
};

/*
 * How much of the score's variance one parameter explains: epsilon squared of a one-way analysis of variance over at
 * most 5 bins, 1 - (n-1)/(n-k) * SSW/SST (Kelley 1935, PNAS 21:554). It is about 0 if score and parameter are
 * unrelated, whatever the number of bins. chance is the 95th percentile over random orders of the scores: over 200 of
 * them, drawn with a fixed seed, or that of their limit, chi-squared, where no score and no bin has much weight.
 */
struct axis_importance {
    size_t n; /* measured trials that have the parameter */
    size_t classes;
    struct lineage_number share; /* absent if there are too few trials to compute it */
    double chance;
};

/* A parameter. */
struct model_axis {
    const char *name;
    size_t n; /* number of trials that have it */
    double low, high;
    bool log;         /* spread over decades: drawn on a logarithmic scale */
    double *distinct; /* [n_distinct], ascending */
    size_t n_distinct;
    double *value; /* [model.n]; NAN if a trial lacks it */
    bool seed;          /* of a run: no setting */
    struct axis_importance importance; /* if pictures show it and it is a setting */
    const char **words; /* for a text parameter: values are indices into it; else NULL */
};

struct model {
    const char *name; /* name of the store for people: the last part of its directory */
    char *dir;
    const char *metric;
    enum lineage_direction direction;
    double needed; /* a larger improvement is kept */
    double noise_std;
    unsigned noise_seeds;

    struct model_trial *trials; /* [n], in file order */
    size_t n;
    size_t best; /* index; MODEL_NONE if no trial has a score */
    struct model_axis axes[MODEL_COLUMNS]; /* those that pictures show come first */
    size_t n_axes;    /* pictures show axes[0 .. n_axes - 1], which vary */
    size_t n_columns; /* the table shows axes[0 .. n_columns - 1] */

    size_t night; /* the last night, or what is new since `since`, is trials[night .. n - 1] */
    const char *since; /* the trial or the time after which trials are new to the reader; NULL: the last night */

    struct lineage_ideas *ideas; /* what each trial changed and cites */
    struct lineage_knobs knobs;  /* of ideas */
    size_t *of_idea;             /* [count of ideas]: index in trials; MODEL_NONE if the row was appended meanwhile */

    struct lineage_report *summary; /* failures, calibration */
    double margin; /* of a score of one run; NAN if the noise is unknown */
    struct lineage_comparison comparison;
    bool compared;
    char why_not[LINEAGE_ERROR_TEXT_MAX]; /* if not compared: why */

    struct lineage_store *store; /* borrowed, to read telemetry and snapshots trial by trial */
    void *memory;
};

/* Returns how much better score a is than b; negative if it is worse. The only place that knows the direction. */
static inline double model_gain(const struct model *model, double a, double b)
{
    return model->direction == LINEAGE_HIGHER ? a - b : b - a;
}

/* ---- report load ---- */

/* Loads everything that a report shows of one store. */

/* Loads the model. The store must stay open as long as the model is used. Release the model even after a failure. */
LINEAGE_NODISCARD enum lineage_status model_load(struct model *model, struct lineage_store *store, struct lineage_error *err);

/*
 * Makes the trials after a trial or a time those that are new to the reader, instead of the last night. `since` is an id, with or
 * without exp_, or a date in any form of lineage/time.h; it is borrowed. Returns LINEAGE_ENOTFOUND if it is neither.
 */
LINEAGE_NODISCARD enum lineage_status model_set_since(struct model *model, const char *since, struct lineage_error *err);
void model_release(struct model *model);
