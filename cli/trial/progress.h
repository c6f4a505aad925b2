/*
 * progress.h: how far a trial is, for a person. On a terminal one line that is written over; otherwise a
 * line at the start, at every tenth of the way and at every score. Always on stderr.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "metrics/event_lines.h"

struct progress {
    char name[80];
    const char *score_label;
    bool quiet, terminal;
    char phase[32];
    double began, told; /* seconds of cli_now: of this phase; the latest line about a trial without a known end */
    int64_t first;         /* step of this phase that was seen first */
    bool has_score, scores_on_the_way;
    double score; /* the latest */
    int tenths;   /* of the way that were told */
    bool rapid;   /* it may say a thousand steps a second: on a terminal ten of them are drawn */
    bool drawn;   /* a line stands that can be written over */
    bool in_line; /* what the trial printed last did not end its line */
    size_t unshown; /* bytes that the terminal did not take */
};

/* score_label NULL: "score". */
void progress_begin(struct progress *progress, const char *name, const char *score_label, bool quiet);
void progress_event(struct progress *progress, const struct trial_event *event);

/*
 * Show what the trial printed, as it is. A terminal that takes nothing (a person stopped it) must not hold up who keeps
 * the time: what it does not take is left out, and said at the end.
 */
void progress_output(struct progress *progress, const char *bytes, size_t n);

/* Leave an empty line behind on a terminal. */
void progress_end(struct progress *progress);

#endif
