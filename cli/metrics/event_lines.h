/*
 * event_lines.h: what a trial reports while it runs: lines of JSON on a descriptor, one object a line
 * (schema/events.schema.json).
 *
 *     {"text": "2576 parameters", "parameters": 2576}
 *     {"phase": "warm start", "step": 3, "steps": 450, "loss": 0.53}
 *     {"phase": "train", "step": 20, "steps": 120, "reward": 0.61, "score": 0.42, "train_s": 8.1}
 *     {"phase": "eval"}
 *     {"phase": "done", "score": 0.44, "score_std": 0.01}
 *     {"failed": "loss is nan in iteration 12"}
 *
 * The members that struct trial_event lists have a meaning. Every other number is a metric of that name. Everything
 * else is ignored, so a line may hold more than its reader understands.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "metrics/metric_scan.h"

/* "eval" begins the evaluation and "done" ends it; phases of other names belong to the training. */
#define TRIAL_PHASE_TRAIN "train"
#define TRIAL_PHASE_EVAL "eval"
#define TRIAL_PHASE_DONE "done"

/* The reason that a trial itself reports for its failure. It decides the trial's label. */
enum trial_failure {
    TRIAL_FAILURE_OTHER,
    TRIAL_FAILURE_INPUT, /* "input": its settings or files cannot be used */
    TRIAL_FAILURE_SIZE   /* "size": it would exceed its limit of memory or bytes */
};

/*
 * Where a line came from, in order of increasing trust: a score from one channel is not overwritten by a less trusted
 * channel.
 */
enum trial_channel {
    TRIAL_CHANNEL_NONE,
    TRIAL_CHANNEL_ONLY,   /* `METRIC name=value`, if no name was asked for and no other name was printed */
    TRIAL_CHANNEL_NAMED,  /* `name: value`, for a name that was asked for */
    TRIAL_CHANNEL_METRIC, /* `METRIC name=value` */
    TRIAL_CHANNEL_PATTERN, /* a pattern that the user gave */
    TRIAL_CHANNEL_EVENTS, /* JSON on the descriptor */
    TRIAL_CHANNEL_FILE    /* a file that the trial has written */
};

/* One line. Its texts and lists belong to `line`. */
struct trial_event {
    const json_t *line;   /* the whole object, for its metrics */
    const char *phase;    /* NULL: unchanged */
    const char *text;     /* for a person; NULL */
    bool has_step;
    bool names_step;      /* the line itself has the step; otherwise it was counted */
    int64_t step, steps;  /* progress within the phase; steps is 0 if not reported */
    enum trial_channel channel;
    bool has_score;
    double score;
    bool lost_score;        /* the line has a score that is not finite */
    bool unreadable;        /* the line names the score, but its value has a comma inside or is not a number */
    bool several;           /* the line names a metric other than `score`, and the caller named no score */
    const char *file;       /* the file that the values come from; NULL: a line */
    const char *not_finite; /* a metric whose value is not finite; NULL: none */
    double train_s, eval_s; /* seconds so far, by the trial's own clock; below 0: not reported */
    const json_t *param;    /* {NAME: NUMBER}, or NULL */
    const json_t *turns;    /* [{"turn", "mean", "std", "n"}], information gain by turn, or NULL */
    const char *kernels;  /* the kernels on which the bits of its numbers depend; NULL: unchanged */
    const json_t *inert;  /* names of settings that were given and had no effect, or NULL */
    const char *after_end;  /* the process that printed it after the command had ended; NULL: before that */
    const char *failed;     /* why the trial failed; NULL: it continues */
    enum trial_failure failure;
};

/*
 * Reads one line of length bytes into *event. score_name is the metric that is used as the score if "score" is missing,
 * or NULL. NaN and Infinity are accepted, because Python writes them although they are not JSON. Returns a new
 * reference, which must live as long as *event because *event points into it, or NULL if the line is not a JSON object.
 */
json_t *event_line_read(struct trial_event *event, const char *line, size_t length, const char *score_name);

/*
 * Whether the member is a metric: a number without a meaning of its own, or one that was asked for by name (NULL: none were).
 * In a printed line, only `step` and `score` have a meaning of their own.
 */
bool event_is_metric(const struct trial_event *event, const char *name, const json_t *value, const struct metric_query *asked);

/* Whether the value is a string such as "nan" or "-inf". The store writes such values as strings, and cli_json_quoted makes them of what
 * Python writes. */
bool event_says_not_finite(const json_t *value);

/* The whole number that the member is, in either form: 3 or 3.0. 0 if it is missing, negative or above 9e15. */
int64_t event_count(const json_t *line, const char *name);

/* The value of the member "kind" of a line with "failed". */
const char *trial_failure_name(enum trial_failure failure);
