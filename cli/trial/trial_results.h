/*
 * trial_results.h: what a trial has reported so far: score, steps, parameters, times.
 *
 * Everything is collected as it comes, so that a trial that is cut off at any moment leaves what it measured until then:
 * the row of a crash has its last score and all its steps.
 */
#ifndef CLI_TRIAL_RESULTS_H
#define CLI_TRIAL_RESULTS_H

#include <lineage/notes.h>
#include <lineage/store.h>

#include "metrics/event_lines.h"
#include "trial/trial_plan.h"

enum { TRIAL_TURNS_MAX = 64, TRIAL_PHASE_MAX = 32, TRIAL_NOTES_MAX = 4096, TRIAL_KERNELS_MAX = 128 };

struct trial_results {
    const struct trial_plan *plan;
    bool started; /* it reported something other than a failure */
    bool begun;   /* it reported a step, a score or a phase */
    char phase[TRIAL_PHASE_MAX];
    int64_t step, steps;
    struct lineage_number score; /* the latest of the best channel that reported one; absent if that was not finite */
    bool lost_score;             /* the latest score was not finite */
    bool unreadable_score;       /* the latest score was printed in a form that cannot be read */
    enum trial_channel score_channel;
    int64_t score_step;
    uint64_t n_steps; /* steps of this phase so far .. */
    uint64_t stride;  /* .. every stride-th of which is kept */
    size_t run;       /* of a trial of several runs, from 1; 0 for a trial of one run */
    bool skipped;     /* the latest event only has a step that is not kept */
    char kernels[TRIAL_KERNELS_MAX]; /* for telemetry; "": not reported */
    double train_s, eval_s; /* by the trial's own clock; below 0: it has none */
    json_t *phases; /* for telemetry: {PHASE: [{"step": n, METRIC: number, ..}]} */
    json_t *final;  /* for telemetry: the metrics of phase "done"; NULL: none */

    /* What the row borrows (trial_row.h). */
    struct lineage_param params[TRIAL_PARAMS_MAX];
    char names[TRIAL_PARAMS_MAX][LINEAGE_NAME_MAX];
    size_t n_params;
    struct lineage_number clip_scale_mean, clip_scale_std;
    struct lineage_turn_stat turns[TRIAL_TURNS_MAX];
    size_t n_turns;
    char notes[TRIAL_NOTES_MAX];
    char *telemetry;
};

void trial_results_init(struct trial_results *results, const struct trial_plan *plan);
void trial_results_release(struct trial_results *results);

/* Begins the next of several runs; the first is 1. Its steps have a list of their own, and its score is still to come. */
void trial_results_next_run(struct trial_results *results, size_t run);

/* Takes one event. */
void trial_results_event(struct trial_results *results, const struct trial_event *event);

/* Writes a metric of phase "done"; returns false if there was none of this name. */
bool trial_results_final(double *value, const struct trial_results *results, const char *name);

#endif
