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

/* ---- the texts of --metric-regex and --metric-take, compiled ---- */

struct metric_rules {
    struct metric_pattern **patterns; /* [n_patterns] */
    size_t n_patterns;
    struct metric_rule *takes; /* [n_takes] */
    size_t n_takes;
};

/*
 * Compiles both lists, each ended by NULL or itself NULL. Returns false with a message in error[size], which names the
 * option, the text and, for a pattern, the position; *rules is then empty.
 */
bool metric_rules_make(struct metric_rules *rules, const char *const *regexes, const char *const *takes, char *error,
                       size_t size);
void metric_rules_release(struct metric_rules *rules);

/* As metric_rules_make, but only checks the texts. */
bool metric_rules_check(const char *const *regexes, const char *const *takes, char *error, size_t size);

/* ---- printed_object.c ---- */

/*
 * Finds numbers by the names of the objects around them, as JSON and Python's dictionaries are printed, in one line or over
 * several: `{"val": {"loss": 0.4}}` has val/loss.
 */

enum { OBJECT_DEPTH = 16, OBJECT_PATH_BYTES = 256 };

/* The objects that are open at the end of a line. An object of zero bytes ({0}) is valid: none is. */
struct printed_object {
    char path[OBJECT_PATH_BYTES]; /* their names, joined by '/'; "" if they have none */
    size_t ends[OBJECT_DEPTH];    /* the lengths of the path before each of them */
    size_t depth;
    bool lists; /* the last line ended with `[` or `,`, so that the next one may begin with a number */
};

/* Reports the numbers whose names, as asked for, begin with that of an object. Returns whether there were any. Call it once
 * for each line. */
bool printed_object_scan(struct printed_object *object, const struct metric_query *query, const char *line, size_t length,
                         metric_found_fn *found, void *context);

/* ---- printed_page.c ---- */

/*
 * Finds numbers with names in the lines that a program prints, where the name and the number are in different lines.
 *
 *     table          a line of names, then rows of numbers. Columns are separated by `|` or another vertical line, by
 *                    tabs, by `;` or `,`, by two or more blanks, or by single blanks. A line is a row if it has as many
 *                    cells as the line of names; a row with gaps is read by the positions of its cells. A line of names
 *                    may consist of two lines (`average` above `loss`).
 *     row            `RMSE  1.47  1.45  1.46  0.02`, a name in front of several numbers: the one below `value` or `mean` in a line of
 *                    names, and otherwise the first
 *     row of a task  `|arc_easy|1|none|0|acc|↑|0.5872|±|0.01|` of lm-eval and lighteval: of several tasks or filters the first row counts
 *     named row      `1 accuracy binary 0.91` below `.metric .estimator .estimate` of R, whatever is between the name and the value
 *     object         `"name": "BLEU"` and then `"score": 42.0` or `"value"`, in one JSON object
 *     objects        `"val": {` and then `"loss": 0.4`: val/loss (printed_object.c)
 *     section        `rollout/` or `rollout:` alone in its line, above indented lines: `rollout/ep_rew_mean`
 *     broken line    `loss =` at the end of a line and the number alone in the next one
 *
 * Rules against numbers that only look like the metric:
 *
 *     A table of two columns, or separated by commas, semicolons or single blanks, ends at the first line that is not a row.
 *     If rows below one line of names have different labels (`all`, `person`), only the first is read, and the others are reported;
 *     of labels that count up (`ep1`, `ep2`) the last counts.
 *     Source lines that Python quotes below a warning or in a traceback are not read; also of rich, loguru and typer.
 *
 * Within one line, metric_scan.h decides.
 */

enum { PAGE_NAMES_MAX = 65, PAGE_TEXT_BYTES = 512, PAGE_LABEL_BYTES = 48 };

/* What the previous lines say about the next one. A page of zero bytes ({0}) is valid. */
struct printed_page {
    enum { PAGE_PLAIN, PAGE_WARNING, PAGE_TRACEBACK, PAGE_BOXED_TRACEBACK } quotes;
    size_t quoted;                    /* lines since the warning */
    int separator;                    /* of the table's columns */
    size_t n_columns;                 /* 0: no table */
    size_t first_from;   /* the character at which the first of the names begins */
    bool has_corner;     /* an empty cell is in front of the first name */
    bool repeats;                     /* the first column is that of folds or seeds, so that a mean closes its numbers */
    bool closed;                      /* a mean did, and the rows behind it do not count */
    bool numbers_rows;                /* the first name is an empty text, as R's write.csv numbers its rows */
    bool joined;                      /* the names are in two lines */
    struct {
        int column;                   /* -1: not in the table; -2: two columns have this name */
        size_t from, to;              /* of the name, in characters of its line */
    } places[PAGE_NAMES_MAX];         /* of the names of the query */
    char label[PAGE_LABEL_BYTES];     /* of the row that was read since the line of names; "0": a number; "": none */
    char above[PAGE_TEXT_BYTES];      /* the previous line, if it may be the upper half of a line of names */
    size_t above_length;
    struct {
        int separator;
        size_t n, column;             /* of n names in a line; n 0: no line had it; column 0: the line has `min` and `max` */
        size_t name;                  /* 1 + the column of `.metric` or `measure`; 0: none */
    } values;                         /* where a line of names has `value` or `mean` */
    struct {
        size_t n, name, value;        /* its columns, and which of them are Metric and Value; n 0: no such table */
        char task[PAGE_TEXT_BYTES];   /* of the last row whose first cell was not empty */
    } tasks;                          /* the table of lm-eval and lighteval that the line is in */
    char object[PAGE_LABEL_BYTES];    /* the name that a JSON object has; "": none */
    struct printed_object objects;    /* that are open */
    char section[PAGE_LABEL_BYTES];   /* with its '/'; "": none */
    size_t indent;                    /* of the section's line */
    size_t broken;                    /* 1 + the index of the name whose number may be in the next line; 0: none */
    bool broken_by_cut;               /* the name itself was cut off */
    size_t broken_to;   /* the name is alone in its line and ends there, as R prints a vector; 0: it is not */
};

/* Whether the line is source code that Python quotes, or another line of a traceback. Call it once for each line. */
bool printed_page_is_source(struct printed_page *page, const char *line, size_t length);

/* As metric_scan_line, with what the previous lines say. The query's names are the same in each call. */
void printed_page_scan(struct printed_page *page, const struct metric_query *query, const char *line, size_t length,
                       metric_found_fn *found, void *context);

/* Whether the next line may hold a number, or needs to be seen, although it has none of the names. */
bool printed_page_expects(const struct printed_page *page);

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
