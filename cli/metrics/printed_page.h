/*
 * printed_page.h: finds numbers with names in the lines that a program prints, where the name and the number are in
 * different lines.
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
 *     objects        `"val": {` and then `"loss": 0.4`: val/loss (printed_object.h)
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
#pragma once

#include "metrics/metric_scan.h"
#include "metrics/printed_object.h"

enum { PAGE_NAMES_MAX = 65, PAGE_TEXT_BYTES = 512, PAGE_LABEL_BYTES = 48 };

/* What the previous lines say about the next one. A page of zero bytes ({0}) is valid. */
struct printed_page {
    enum { PAGE_PLAIN, PAGE_WARNING, PAGE_TRACEBACK, PAGE_BOXED_TRACEBACK } quotes;
    size_t quoted;                    /* lines since the warning */
    int separator;                    /* of the table's columns */
    size_t n_columns;                 /* 0: no table */
    size_t first_from;   /* the character at which the first of the names begins */
    bool has_corner;     /* an empty cell is in front of the first name */
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
