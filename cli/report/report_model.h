/*
 * report_model.h: a store as the pictures of a report need it: every trial, with its place in the tree, in time and
 * among the parameters, in one piece of memory. Read through the public headers alone.
 */
#ifndef REPORT_MODEL_H
#define REPORT_MODEL_H

#include <lineage/compare.h>
#include <lineage/report.h>

#define MODEL_NONE ((size_t)-1)

enum {
    MODEL_AXES = 12, /* parameters that pictures show */
};

/* Texts are the cells as written: they go through html_escape.h, never straight into a page. */
struct model_trial {
    const char *id, *specialist, *parent_exp, *hypothesis, *expected, *timestamp, *notes, *snapshot;
    enum lineage_label label;
    struct lineage_number score, delta, train_s, total_s; /* absent if not finite */
    struct lineage_number before; /* the best score when it was appended */
    uint64_t seq; /* in the store */
    size_t parent;                /* index, MODEL_NONE for a root */
    bool parent_missing;
    bool on_chain; /* of the best trial: kept ancestors and itself */
    bool measured; /* keep, discard or baseline, with a score */
    bool dated;
    int64_t time; /* seconds since 1970, if dated */
    const struct lineage_param *params;
    size_t n_params;
    const struct lineage_turn_stat *turns;
    size_t n_turns;
};

/* A parameter with more than one value. */
struct model_axis {
    const char *name;
    size_t n; /* trials that have it */
    double low, high;
    bool log;         /* spread over decades: drawn on a logarithmic scale */
    double *distinct; /* [n_distinct] ascending; of all values */
    size_t n_distinct;
    double *value; /* [model.n], NAN where a trial has none */
    const char **words; /* of a parameter that is text: values are indices into it; else NULL */
};

struct model {
    const char *name; /* of the store, for people: its directory's last part */
    char *dir;
    const char *metric;
    enum lineage_direction direction;
    double needed; /* an improvement larger than this is kept */
    double noise_std;
    unsigned noise_seeds;

    struct model_trial *trials; /* [n], file order */
    size_t n;
    size_t best; /* index, MODEL_NONE if no trial ranks */
    struct model_axis axes[MODEL_AXES];
    size_t n_axes;
    size_t more_axes; /* that vary, but are not among them */

    size_t night; /* the last night: trials[night..n) */

    struct lineage_report *summary; /* failures, calibration */
    struct lineage_comparison comparison;
    bool compared;
    char why_not[LINEAGE_ERROR_TEXT_MAX]; /* if not compared */

    struct lineage_store *store; /* borrowed, for what is read trial by trial: telemetry, snapshots */
    void *memory;
};

/* Everything of the store; it must stay open as long as the model is printed. Release in any case. */
LINEAGE_NODISCARD enum lineage_status model_load(struct model *model, struct lineage_store *store,
                                                 struct lineage_error *err);
void model_release(struct model *model);

/* > 0 if a is the better score. */
double model_gain(const struct model *model, double a, double b);

#endif
