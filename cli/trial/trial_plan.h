/*
 * trial_plan.h: what is known about a trial before it runs: its identity, its settings and its parameters.
 *
 * Every struct about a trial embeds these, so that a new member reaches the command, the process that watches it, and
 * the row. Everything is borrowed; zero is the default of each member.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <lineage/store.h>

#include "metrics/metric_scan.h"
#include "metrics/metric_values.h"

enum { TRIAL_PARAMS_MAX = 192 };

/* The identity of a trial: everything that its row contains besides results. Texts may be NULL. */
struct trial_identity {
    const char *specialist, *domain, *hypothesis, *expected_delta;
    const char *parent;   /* exp_id */
    const char *night;    /* the piece of notes that links the row to its night */
    const char *code;     /* the piece of notes that names the code (lineage/code.h); may be written by `prepare` */
    const char *notes;    /* pieces of notes to write before the reason */
    const char *proposer; /* recorded as a parameter of the row, but not passed to the command */
    bool repeats_measured; /* the trial repeats one that was measured, so a failure says nothing about its setting */
    bool baseline;        /* label a finished trial baseline instead of keep or discard */
    bool baseline_if_first; /* the same if the store has no kept trial when the row is appended */
    const char *name;     /* for progress */
    /* Called with the finished row before it is appended; it may change the row and the options. NULL: none */
    void (*settle)(void *context, struct lineage_trial *row, struct lineage_append_options *options);
    void *settle_context;
};

/* Limits, and where the score comes from. A limit of 0 means no limit. */
struct trial_settings {
    double train_seconds, eval_seconds; /* time limit of the training, and of the evaluation */
    double train_cpu_seconds, eval_cpu_seconds; /* the same in processor seconds of all processes of the trial */
    double silence_seconds;             /* longest time in which the trial prints and reports nothing */
    double score_minutes;               /* warn if no value of the score was read in this time; 0: never */
    double memory_bytes;                /* resident bytes of all processes of the trial together */
    double grace_seconds;               /* seconds between TERM and KILL */
    bool stop_on_nan;                   /* a metric that is not finite ends the trial */
    struct metric_query metrics;        /* what to look for in the output (metric_lines.h) */
    const struct metric_rule *takes;    /* [n_takes] which of a metric's values counts (metric_values.h) */
    size_t n_takes;
    const char *const *require; /* requirements (lineage/require.h), valid, ended by NULL; NULL: none */
    const char *prune;          /* when a hopeless trial is ended (prune_rule.h), valid; NULL: never */
    const char *held_out; /* metric that is kept from all who plan (metrics/held_out.h); NULL: none */
    const char *score; /* name of the metric that is the score, on every channel; NULL: `score` */
};

struct trial_plan {
    struct trial_identity identity;
    struct trial_settings settings;
    const struct lineage_param *params;
    size_t n_params;
    const char *score_key;   /* name of the score in telemetry; NULL: score */
    const char *score_label; /* name of the score in notes and progress; NULL: score */
    bool record_metrics;     /* the row gets every metric that the trial reported, and not only the score */
    /*
     * Metrics of phase "done" that the row gets, ended by NULL; a name that ends with * lists all that begin so. NULL:
     * none. Not used together with record_metrics
     */
    const char *const *final_metrics;
    size_t max_steps;        /* per phase in telemetry; beyond it, every second step is dropped; 0: no limit */
};
