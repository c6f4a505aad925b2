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
 * The members of struct trial_event have a meaning. Every other number is a metric of that name, and everything else is
 * ignored, so that a line may hold more than its reader understands.
 */
#ifndef CLI_TRIAL_WIRE_H
#define CLI_TRIAL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* "eval" begins the evaluation and "done" ends it; phases of other names belong to the training. */
#define TRIAL_PHASE_TRAIN "train"
#define TRIAL_PHASE_EVAL "eval"
#define TRIAL_PHASE_DONE "done"

/* Why a trial failed, as it reports itself; the label depends on it. */
enum trial_failure {
    TRIAL_FAILURE_OTHER,
    TRIAL_FAILURE_INPUT, /* "input": its settings or files cannot be used */
    TRIAL_FAILURE_SIZE   /* "size": it would exceed its limit of memory or bytes */
};

/* Where a line came from, by rising trust: a score from a better channel is not changed by a worse one. */
enum trial_channel {
    TRIAL_CHANNEL_NONE,
    TRIAL_CHANNEL_ONLY,   /* `METRIC name=value` while no other name was printed, and none was asked for */
    TRIAL_CHANNEL_NAMED,  /* `name: value`, for a name that was asked for */
    TRIAL_CHANNEL_METRIC, /* `METRIC name=value` */
    TRIAL_CHANNEL_EVENTS  /* JSON on the descriptor */
};

/* One line. Its texts and lists belong to `line`. */
struct trial_event {
    const json_t *line;   /* the whole object, for its metrics */
    const char *phase;    /* NULL: unchanged */
    const char *text;     /* for a person; NULL */
    bool has_step;
    int64_t step, steps;  /* of the phase; steps is 0 if not reported */
    enum trial_channel channel;
    bool has_score;
    double score;
    bool lost_score;        /* it has a score that is not finite */
    bool unreadable;        /* it named the score, whose number has a comma inside or is not one */
    bool several;           /* it named a metric that is not the score, and nobody said which metric is */
    const char *not_finite; /* a metric whose value is not finite; NULL: none */
    double train_s, eval_s; /* so far, by the trial's own clock; below 0: not reported */
    const json_t *param;    /* {NAME: NUMBER}, or NULL */
    const json_t *turns;    /* [{"turn", "mean", "std", "n"}], or NULL: information gain by turn */
    const char *kernels;  /* the kernels on which the bits of its numbers depend; NULL: unchanged */
    const json_t *peers;  /* [{"name", "pid"}], or NULL: processes without which it cannot continue, see trial/peers.h */
    const char *failed;     /* why it failed; NULL: it continues */
    enum trial_failure failure;
};

/*
 * Reads one line of length bytes into *event. score_name is a metric that is the score if "score" is missing, or
 * NULL. NaN and Infinity are accepted, which are not JSON but what Python writes. Returns a new reference that *event
 * lives in, or NULL if the line is not a JSON object.
 */
json_t *event_line_read(struct trial_event *event, const char *line, size_t length, const char *score_name);

/* Whether the member is a metric: a number without a meaning of its own. */
bool event_is_metric(const char *name, const json_t *value);

/* The value of "kind" beside "failed". */
const char *trial_failure_name(enum trial_failure failure);

#endif
