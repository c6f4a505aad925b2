/*
 * metric_lines.h: metrics in what a program prints, for programs that write no events.
 *
 *     METRIC loss=0.25                       any name; `METRIC step=20 loss=0.25 acc=0.9` says several of one step
 *     val_bpb:          0.997900             a name that was asked for, at the beginning of a line
 *
 * Steps are counted where none are said: a name that comes again begins the next one. A carriage return begins a line
 * anew, as it does on a terminal.
 */
#ifndef CLI_METRIC_LINES_H
#define CLI_METRIC_LINES_H

#include "trial/trial_wire.h"

enum { METRIC_NAMES_MAX = 64, METRIC_NAME_BYTES = 64 };

struct metric_lines {
    const char *const *asked; /* borrowed */
    size_t n_asked;
    const char *score; /* the metric that is the score */
    json_t *line;      /* of the event that was read last */
    struct {
        char name[METRIC_NAME_BYTES];
        int64_t step; /* at which it came last */
    } seen[METRIC_NAMES_MAX];
    size_t n_seen;
    int64_t step;
    char lost[METRIC_NAME_BYTES]; /* what event.not_finite points to */
};

/* score NULL: "score". */
void metric_lines_init(struct metric_lines *lines, const char *const *asked, size_t n_asked, const char *score);
void metric_lines_release(struct metric_lines *lines);

/* Whether there may be a metric in these lines; false spares reading them one by one. */
bool metric_lines_may_be_in(const struct metric_lines *lines, const char *text, size_t length);

/* Read one line. True if it says a metric; *event is then valid until the next call. */
bool metric_lines_read(struct metric_lines *lines, struct trial_event *event, const char *text, size_t length);

#endif
