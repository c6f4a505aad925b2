/*
 * progress.h: shows the user how far a trial is, on standard error. On a terminal one line is overwritten; otherwise a
 * line is printed at the start, after every tenth of the steps and at every score.
 */
#pragma once

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
    int tenths;   /* tenths of the phase that have been printed */
    bool rapid;   /* steps may come a thousand times a second; a terminal shows ten of them */
    bool drawn;   /* the terminal shows a line that can be overwritten */
    bool in_line; /* the last output of the trial did not end with a line end */
    size_t unshown; /* bytes of output that the terminal did not accept */
};

/* Starts the display. If score_label is NULL, the score is called "score". */
void progress_begin(struct progress *progress, const char *name, const char *score_label, bool quiet);
void progress_event(struct progress *progress, const struct trial_event *event);

/*
 * Shows what the trial printed, unchanged. A terminal that accepts nothing, for example after ^S, must not block the
 * process that enforces the time limits. So bytes that the terminal does not accept are dropped, and progress_end
 * prints how many.
 */
void progress_output(struct progress *progress, const char *bytes, size_t n);

/* Clears the line on a terminal. */
void progress_end(struct progress *progress);
