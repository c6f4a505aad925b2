/*
 * trial_events.h: from what a trial said to the row it becomes. The trainer knows nothing of the
 * store; this is the one place where both meet.
 *
 * Label of the row
 *   finished                                            keep or discard by the score, or baseline
 *   budget.memory_bytes or artifact_bytes too small     size_blocked
 *   recipe or checkpoint at fault before training       preflight_crash
 *   signal, out of memory, loss not finite, any other   crash
 *   wall budgets                                        train_budget_overrun, eval_budget_overrun
 *   interrupted by the user                             harness_abort
 * core_metric is the final score and nothing else: what was measured on the way stands in notes.
 */
#ifndef CLI_TRIAL_EVENTS_H
#define CLI_TRIAL_EVENTS_H

#include <jansson.h>

#include <lineage/store.h>
#include <trainer/train.h>

#include "trial_watch.h"

#define TRIAL_PARAMS_MAX 64
#define TRIAL_NOTES_MAX 4096

/* What is known of a trial while it runs. Zero it with trial_record_init. */
struct trial_record {
    const struct trainer_recipe *recipe; /* NULL if there is none to be read */
    bool started, begun, done;           /* START, a first step or evaluation, DONE came */
    struct trainer_event last;           /* the latest event; iteration is NULL */
    struct trainer_event final;          /* DONE */
    struct lineage_number score;         /* of the latest evaluation */
    int32_t score_step;
    double clip_scale_mean, clip_scale_std; /* sums over iterations */
    int32_t n_iterations;
    struct trainer_turn_gain gain[TRAINER_TURNS_MAX]; /* of the latest iteration */
    int32_t n_gain;
    json_t *warm_start, *steps; /* telemetry */

    /* What a struct lineage_trial made of it borrows. */
    struct lineage_param params[TRIAL_PARAMS_MAX];
    char names[TRIAL_PARAMS_MAX][LINEAGE_NAME_MAX];
    size_t n_params;
    struct lineage_turn_stat turns[TRAINER_TURNS_MAX];
    char notes[TRIAL_NOTES_MAX];
    char *telemetry;
};

void trial_record_init(struct trial_record *record, const struct trainer_recipe *recipe);
void trial_record_release(struct trial_record *record);

/* Take one event. */
void trial_record_event(struct trial_record *record, const struct trainer_event *event);

/* What the row says beyond events. */
struct trial_context {
    const char *parent; /* exp_id, or "" */
    const char *remark; /* a piece of notes, or "" */
    bool baseline;      /* a finished trial is a baseline, not to be compared */

    const char *specialist, *hypothesis,
        *expected_delta; /* for want of a recipe that can be read */
};

/*
 * The trial and how to append it (telemetry, auto_status); both borrow from record and context.
 * False when out of memory.
 */
bool trial_record_finish(struct trial_record *record, struct trial_outcome *outcome,
                         const struct trial_context *context, struct lineage_trial *trial,
                         struct lineage_append_options *options);

#endif
