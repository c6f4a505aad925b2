/*
 * trial_record.h: what is known of a trial from its events, and the row that it becomes. Events of any
 * command come in, a struct lineage_trial goes out; this is the one place where both meet.
 *
 * Label of the row, by evidence
 *   finished                                            keep or discard by the score, or baseline
 *   artifact too large, or failed for want of size      size_blocked
 *   failed by what it was given, before the first step  preflight_crash
 *   the check before it failed                          preflight_crash
 *   signal, memory, silence, a value that is no number, any other failure   crash
 *   wall budgets                                        train_budget_overrun, eval_budget_overrun
 *   a protected file changed                            disqualified
 *   interrupted by the user                             harness_abort
 * core_metric is the last score of a trial that finished, and nothing else: what was measured on the way
 * stands in notes.
 */
#ifndef CLI_TRIAL_RECORD_H
#define CLI_TRIAL_RECORD_H

#include <lineage/notes.h>
#include <lineage/store.h>

#include "trial/trial_watch.h"

enum { TRIAL_PARAMS_MAX = 96, TRIAL_TURNS_MAX = 64, TRIAL_PHASE_MAX = 32, TRIAL_NOTES_MAX = 4096, TRIAL_KERNELS_MAX = 128 };

/* What is known of a trial before it runs. Everything is borrowed; texts may be NULL. */
struct trial_plan {
    const char *specialist, *domain, *hypothesis, *expected_delta;
    const char *parent;             /* exp_id */
    const char *night;      /* the piece of notes that links it to its night, or NULL */
    const char *notes;      /* pieces of notes that come before what happened */
    const char *score_key;   /* of the score in telemetry; NULL: "score" */
    const char *score_label; /* for a person, in notes and progress; NULL: "score" */
    bool baseline;          /* a finished trial is a baseline, not to be compared */
    const struct lineage_param *params;
    size_t n_params;
    double train_seconds, eval_seconds, memory_bytes; /* the budgets, for the reason .. */
    double silence_seconds;
    size_t max_steps; /* of a phase in telemetry: of more every second one is dropped, again and again; 0: all stay */
};

struct trial_record {
    const struct trial_plan *plan;
    bool started; /* it said something that is not a failure */
    bool begun;   /* a step, a score or a phase came */
    char phase[TRIAL_PHASE_MAX];
    int64_t step, steps;
    struct lineage_number score; /* the latest of the best channel that gave one; absent if that was not finite */
    bool lost_score;             /* it was not */
    bool unreadable_score;       /* the latest was printed in a form that cannot be read */
    enum trial_channel score_channel;
    int64_t score_step;
    uint64_t n_steps, stride; /* steps of this phase so far; of so many one is kept */
    size_t run;               /* of a trial of several, from 1; 0 of a trial of one */
    bool skipped;             /* the latest event is of a step that is not kept, and says nothing else */
    char kernels[TRIAL_KERNELS_MAX]; /* telemetry; "" if it does not say */
    double train_s, eval_s; /* by its own clock, below 0 if it has none */
    json_t *phases; /* telemetry: {PHASE: [{"step": n, METRIC: number, ..}]} */
    json_t *final;  /* telemetry: the metrics of phase "done", or NULL */

    /* What a struct lineage_trial made of it borrows. */
    struct lineage_param params[TRIAL_PARAMS_MAX];
    char names[TRIAL_PARAMS_MAX][LINEAGE_NAME_MAX];
    size_t n_params;
    struct lineage_number clip_scale_mean, clip_scale_std;
    struct lineage_turn_stat turns[TRIAL_TURNS_MAX];
    size_t n_turns;
    char notes[TRIAL_NOTES_MAX];
    char *telemetry;
};

void trial_record_init(struct trial_record *record, const struct trial_plan *plan);
void trial_record_release(struct trial_record *record);

/* The next of several runs begins: the first is 1. Its steps are of their own, its score is still to come. */
void trial_record_next_run(struct trial_record *record, size_t run);

/* Take one event. */
void trial_record_event(struct trial_record *record, const struct trial_event *event);

/* A metric of phase "done" by name; false if there was none. */
bool trial_record_final(double *value, const struct trial_record *record, const char *name);

/*
 * The trial and how to append it (telemetry, auto_status); both borrow from the record. remark (NULL: none)
 * is a last piece of notes. Sets outcome->reason. False when out of memory.
 */
bool trial_record_finish(struct trial_record *record, struct trial_outcome *outcome, const char *remark,
                         struct lineage_trial *trial, struct lineage_append_options *options);

#endif
