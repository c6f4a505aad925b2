/*
 * progress.h: shows the user how far a trial is, on standard error. On a terminal one line is overwritten; otherwise
 * a line is printed at the start, at every tenth of the way and at every score.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "metrics/event_lines.h"

struct progress {
    char name[80];
    const char *score_label;
    bool quiet, terminal;
    char phase[32];
    double began; /* when this phase began */
    double told;  /* when the last line was printed */
    int64_t first; /* the first step of this phase */
    bool has_score, scores_on_the_way;
    double score; /* the latest */
    int tenths;   /* tenths of the way that have been printed */
    bool rapid;   /* there may be a thousand steps a second, of which a terminal shows ten */
    bool drawn;   /* the terminal shows a line that can be overwritten */
    bool in_line; /* the last output of the trial did not end with a line end */
    size_t unshown; /* bytes of output that the terminal did not accept */
};

/* score_label: NULL for "score". */
void progress_begin(struct progress *progress, const char *name, const char *score_label, bool quiet);
void progress_event(struct progress *progress, const struct trial_event *event);

/*
 * Shows what the trial printed, unchanged. A terminal that accepts nothing, for example after ^S, must not block the
 * process that keeps the time: what it does not accept is dropped, and progress_end says how much.
 */
void progress_output(struct progress *progress, const char *bytes, size_t n);

/* Clears the line on a terminal. */
void progress_end(struct progress *progress);

#endif
