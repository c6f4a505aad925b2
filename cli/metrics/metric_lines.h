/*
 * metric_lines.h: turns lines that a program prints into events of its trial, for programs that write no events.
 *
 * metric_scan.h lists the forms in which a metric may be printed. The score is the metric that the caller names. If the
 * caller names none, the score is the metric `score`, or else the metric in lines with the word METRIC, provided that
 * these lines name only one metric.
 *
 * A metric with a pattern (`--metric-regex`) is read by its pattern alone: `loss=test loss: (\S+)` must not be
 * overwritten by the training loss in the same line. What an evaluation prints as the score counts in any form, because it is
 * another program than the training, for which the pattern was written.
 *
 * `Error` is not read from `Target Error` where the program prints `Error` alone, too.
 *
 * A line may say which step it belongs to (`step 20 loss 0.3`, `METRIC step=20 loss=0.3`). Otherwise steps are counted:
 * when a name occurs for the second time within a step, the next step begins.
 */
#pragma once

#include "metrics/event_lines.h"
#include "metrics/metric_scan.h"
#include "metrics/metric_values.h"
#include "metrics/printed_page.h"

enum {
    METRIC_NAMES_MAX = 64,
    METRIC_NEAREST_BYTES = 160,
    METRIC_REMARKS_MAX = 4,
    METRIC_BEFORE_BYTES = 24,
    METRIC_CONDITION_BYTES = 128
};

/* What the caller may not expect about how a metric was read. */
enum metric_doubt {
    METRIC_REFUSED,     /* a number was not read: its problem says why */
    METRIC_TWO_NUMBERS, /* a second number follows; the first counts */
    METRIC_TWO_PLACES,  /* the name is twice in a line; the last number counts */
    METRIC_OTHER_WORDS, /* a word is in front of the name that other lines do not have there; the last number counts */
    METRIC_LONGER_NAME, /* the number was not read, because other lines have the name alone, without the word in front */
    METRIC_FIRST_ROW,   /* rows with other labels, or lines with other conditions, follow; the first counts */
    METRIC_LATER_ROW,   /* rows whose labels count up, or lines with `loss(1)` and `loss(2)`; the last counts */
    METRIC_IN_SENTENCE, /* a sentence has another number, `loss is 0.5`, which does not count */
    METRIC_OTHER_PART,  /* lines about training, validation or test have the name; the last number counts */
    METRIC_CUT,         /* the program has cut the name off */
    METRIC_NUMBER_FIRST, /* the number is in front of the name: `0.5 = loss` */
    METRIC_OF_SOMETHING /* words behind the name may belong to it: `loss on test set: 0.5` */
};

enum metric_part { METRIC_PART_ANY = 1, METRIC_PART_TRAIN = 2, METRIC_PART_EVAL = 4, METRIC_PART_TEST = 8 };

struct metric_lines {
    struct metric_query query;                 /* the caller's names, and "step" */
    const char *names[METRIC_NAMES_MAX + 1];
    const char *score;                         /* NULL: the caller named no score */
    json_t *line;                              /* the object of the latest event; reused */
    struct {
        char name[METRIC_NAME_BYTES];
        int64_t step; /* the step at which the name was read last */
        bool by_keyword;
        const char *unit; /* of its first number; NULL: none was read */
        double value;     /* the last one that was read */
        char before[METRIC_BEFORE_BYTES]; /* the first word that was in front of the name; "": none */
        bool bare;        /* the name was read with no word in front of it */
        char condition[METRIC_CONDITION_BYTES]; /* of its first number, without blanks; "": none; "?": several */
        int sureness;     /* 2: it was read otherwise than from a sentence, 1: from a plain one */
        unsigned parts;   /* what the lines that had it were about: bits of enum metric_part */
    } seen[METRIC_NAMES_MAX];
    size_t n_seen;
    int64_t step;
    struct printed_page page;                  /* tables, sections and source lines */
    bool pattern_matched;                      /* the pattern of the score has matched a line */
    bool step_asked;                           /* the caller's names include "step", which is then a metric, too */
    bool footer;                               /* the line belongs to W&B or Comet, whose last lines sum up what was read */
    char lost[METRIC_NAME_BYTES];              /* event.not_finite points here */
    char *stripped;                            /* the line without its colour sequences */
    size_t capacity;
    char nearest[METRIC_NEAREST_BYTES];        /* the line that came closest to printing the score */
    int nearness;                              /* how close `nearest` came; see metric_lines_describe */
    enum metric_problem problem;               /* why the number in `nearest` could not be read; METRIC_READ: it has none */
    struct {
        enum metric_doubt doubt;
        enum metric_problem problem; /* of METRIC_REFUSED */
        char name[METRIC_NAME_BYTES], line[METRIC_NEAREST_BYTES]; /* the first such line .. */
        uint64_t lines;                                           /* .. and their number */
    } remarks[METRIC_REMARKS_MAX];
    size_t n_remarks;
};

/*
 * All names are borrowed. Names beyond METRIC_NAMES_MAX are ignored. If score is NULL, the rule at the top of this file
 * applies.
 */
void metric_lines_init(struct metric_lines *lines, const struct metric_query *query, const char *score);
void metric_lines_release(struct metric_lines *lines);

/* Whether these lines may hold a metric. If not, the caller need not read them one by one. */
bool metric_lines_may_be_in(struct metric_lines *lines, const char *text, size_t length);

/* Reads one line. Returns true if it holds a metric; *event is then valid until the next call. */
bool metric_lines_read(struct metric_lines *lines, struct trial_event *event, const char *text, size_t length);

/*
 * For a program that printed no score: describes what was looked for, which metrics were read, and which line came
 * nearest.
 */
void metric_lines_describe(const struct metric_lines *lines, char *text, size_t size);

/* Prints all of them on standard error. */
void metric_lines_say(const struct metric_lines *lines);

/* What the row says about how its score was read; "" if there is nothing to say. */
const char *metric_lines_doubt(const struct metric_lines *lines);
