/*
 * held_out.h: the metric that nobody who plans may see (`--held-out NAME`): its values are taken out of what a trial prints and
 * reports before anything else reads, shows or keeps it.
 *
 * In a line that a program prints, the digits of each value of the metric become 'x'; the score in the same line is still read. What is
 * shown and kept has an 'x', too, for the digits of every other number that is one of these values, the same, as a percentage or
 * rounded, if it has three digits or more. In an event the member is removed.
 */
#pragma once

#include "metrics/metric_lines.h"

enum { HELD_OUT_SEEN = 256 };

struct held_out {
    const char *name; /* borrowed; NULL: no metric is held out, and the functions do nothing */
    struct metric_lines lines;
    struct metric_value value;   /* of this run */
    double sum;                  /* of the runs that have ended and had one */
    size_t runs;
    double seen[HELD_OUT_SEEN];  /* a ring buffer of the latest values */
    size_t n_seen;
};

void held_out_init(struct held_out *held, const char *name, const struct metric_rule *rule);
void held_out_release(struct held_out *held);

/* Whether the name is that of the metric, as metric_scan.h compares names. */
bool held_out_is(const char *held, const char *name);

/* Takes the values from whole lines, and hides them in the lines. */
void held_out_take_lines(struct held_out *held, char *bytes, size_t length);

/* Hides in a text every number that is one of the values. */
void held_out_hide(const struct held_out *held, char *text, size_t length);

/* Takes the value from an event, removes the member and hides the value in its texts. line is the object that the event borrows. */
void held_out_take_event(struct held_out *held, json_t *line, struct trial_event *event);

/* Removes the numbers of an event that are one of the values, but for the score and the metrics that were asked for. */
void held_out_hide_members(const struct held_out *held, json_t *object, const struct trial_event *event,
                           const struct metric_query *asked, const char *score);

/* Ends a run of several; the value of the trial is the mean over the runs. */
void held_out_end_run(struct held_out *held);
