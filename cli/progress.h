/*
 * progress.h: how far a run is, for a person. On a terminal one line that is written over;
 * otherwise a line at the start, at every tenth of the way and at every evaluation. Always on
 * stderr.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <trainer/train.h>

struct progress {
    char name[80];
    bool quiet, terminal;
    bool warm;       /* during the warm start */
    double began;    /* of this phase, on its own clock */
    bool evaluates;  /* an evaluation came during training */
    double score;    /* latest EM, below 0 before the first */
    double tokens_s; /* of the latest iteration */
    int32_t tenths;  /* of the way that were told */
};

void progress_begin(struct progress *progress, const char *name, bool quiet);
void progress_event(struct progress *progress, const struct trainer_event *event);

/* Leave an empty line behind on a terminal. */
void progress_end(struct progress *progress);

#endif
