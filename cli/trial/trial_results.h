/*
 * trial_results.h: what a trial has reported so far: score, steps, parameters, times.
 *
 * Everything is collected as it arrives, so nothing is lost when a trial is cut off: the row of a crashed trial has its
 * last score and all steps until then.
 */
#pragma once

#include <lineage/notes.h>
#include <lineage/store.h>

#include "metrics/event_lines.h"
#include "metrics/metric_values.h"
#include "trial/process_tree.h"
#include "trial/trial_plan.h"

/* ---- notices when the steps of a metric do not go forward.
 *
 * A training that was restarted goes on from its checkpoint, so its steps go back; the values from there on are of an attempt that is
 * dead and count no more. Several processes that report one metric also look like that, with another value at the same step.
 */

enum { STEP_CURVES_MAX = 128, STEP_NOTE_BYTES = 256 };

struct step_order {
    struct {
        char name[METRIC_NAME_BYTES];
        uint32_t phase;
        int64_t first, last; /* steps */
        double value;        /* at the last step */
        size_t values;       /* since it went back last */
        bool went_back;
        bool several;        /* several processes report it, so going back means nothing */
    } curves[STEP_CURVES_MAX];
    size_t n;
    char note[STEP_NOTE_BYTES]; /* what was noticed first, for a row; "": nothing */
};

enum step_move {
    STEP_FORWARD,
    STEP_BACK,  /* the values of this step and of later ones are dead */
    STEP_ANEW   /* like STEP_BACK, to the first step or before it: the counter, or the training, has begun again */
};

/* Whether step_order_take needs the value that is known. */
bool step_order_goes_back(const struct step_order *order, const char *name, struct metric_place place);

/*
 * Takes a value of the metric. known: the value that it had at this step before; NULL: none is known. A value that is repeated is no
 * news. Metrics that do not fit into the table go forward.
 *
 * printed: a printed line has the step. A printed counter that begins again counts the steps of an epoch more often than it tells of a
 * restart, and two values that are printed for one step are often two states of a progress bar, so both count as forward.
 */
enum step_move step_order_take(struct step_order *order, const char *name, struct metric_place place, double value,
                               const double *known, bool printed);

enum { TRIAL_TURNS_MAX = 64, TRIAL_PHASE_MAX = 32, TRIAL_NOTES_MAX = 4096, TRIAL_KERNELS_MAX = 128, TRIAL_INERT_MAX = 512 };

/* Metrics that the watcher adds to those of the trial. */
enum { TRIAL_OWN_METRICS = 2 };

struct trial_results {
    const struct trial_plan *plan;
    bool started; /* the trial reported something other than a failure */
    bool begun;   /* the trial reported a step, a score or a phase */
    char phase[TRIAL_PHASE_MAX];
    int64_t step, steps;
    struct lineage_number score; /* of the most trusted channel, the value that counts; absent if not finite */
    bool lost_score;             /* that value was not finite */
    bool unreadable_score;       /* the latest score was printed in a form that cannot be read */
    enum trial_channel score_channel;
    char score_file[256];        /* the file that it comes from; "": none */
    bool score_decided; /* the latest event decided the score */
    int64_t score_step;
    char score_from[PROCESS_NAME_MAX]; /* the process that printed it after the command had ended; "": printed before that */
    uint64_t n_steps; /* steps of this phase so far */
    uint64_t stride;  /* every stride-th step is kept */
    size_t run;       /* number of the run, from 1, if the trial has several runs; else 0 */
    struct metric_value scored; /* the values of the score on its channel */
    struct metric_values values; /* of all metrics, the score's own name included; empty unless the plan records them */
    struct {
        char name[METRIC_NAME_BYTES];
        long double sum;
        size_t n; /* runs with a finite value */
    } totals[METRIC_VALUES_MAX]; /* of the metrics over the runs that have ended */
    size_t n_totals, n_runs;
    struct step_order order; /* of this run */
    bool went_back;   /* the latest event went back to an earlier step of the score */
    bool begun_anew;  /* the steps of a metric have begun again, so its curve cannot be compared with those of other trials */
    uint64_t n_late;  /* events with steps that came after phase "done" and do not count */
    bool skipped;     /* the latest event holds only values of a step that is not kept */
    char kernels[TRIAL_KERNELS_MAX]; /* for telemetry; "": not reported */
    char inert[TRIAL_INERT_MAX];     /* settings without an effect, separated by ", "; "": none */
    double train_s, eval_s; /* by the trial's own clock; below 0: not reported */
    json_t *phases; /* for telemetry: {PHASE: [{"step": n, METRIC: number, ..}]} */
    json_t *final;  /* for telemetry: the metrics of phase "done"; NULL: none */

    /* Memory from which the row borrows (trial_row.h). */
    struct lineage_param params[TRIAL_PARAMS_MAX];
    char names[TRIAL_PARAMS_MAX][LINEAGE_NAME_MAX];
    size_t n_params;
    struct lineage_param metrics[METRIC_VALUES_MAX + TRIAL_OWN_METRICS];
    char metric_names[METRIC_VALUES_MAX + TRIAL_OWN_METRICS][METRIC_NAME_BYTES];
    struct lineage_number clip_scale_mean, clip_scale_std;
    struct lineage_turn_stat turns[TRIAL_TURNS_MAX];
    size_t n_turns;
    char notes[TRIAL_NOTES_MAX];
    char *telemetry;
};

void trial_results_init(struct trial_results *results, const struct trial_plan *plan);
void trial_results_release(struct trial_results *results);

/* Begins the next of several runs; the first is 1. Its steps get a list of their own, and it has no score yet. */
void trial_results_next_run(struct trial_results *results, size_t run);

/* Adds the metrics of a run that has ended to the totals. Called for each run but the last by trial_results_next_run, and
 * for the last one when the row is made. */
void trial_results_end_run(struct trial_results *results);

/* Forgets the score so far, which the trial has reported itself, because only that of a sealed evaluation counts. */
void trial_results_forget_score(struct trial_results *results);

/* Takes one event. */
void trial_results_event(struct trial_results *results, const struct trial_event *event);

/* The name of the score: as the caller gave it, or the only name after METRIC. NULL: the trial only called it `score`. */
const char *trial_results_score_name(const struct trial_results *results);

/* Writes a metric of phase "done"; returns false if no metric of this name was reported. */
bool trial_results_final(double *value, const struct trial_results *results, const char *name);
