/*
 * progress.h: how far a trial is, for a person. On a terminal one line that is written over; otherwise a
 * line at the start, at every tenth of the way and at every score. Always on stderr.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <time.h>

#include "trial/trial_wire.h"

struct progress {
    char name[80];
    const char *score_label;
    bool quiet, terminal;
    char phase[32];
    struct timespec began, told; /* of this phase; the latest line about a trial without a known end */
    int64_t first;         /* step of this phase that was seen first */
    bool has_score, scores_on_the_way;
    double score; /* the latest */
    int tenths;   /* of the way that were told */
};

/* score_label NULL: "score". */
void progress_begin(struct progress *progress, const char *name, const char *score_label, bool quiet);
void progress_event(struct progress *progress, const struct trial_event *event);

/* Leave an empty line behind on a terminal. */
void progress_end(struct progress *progress);

#endif
