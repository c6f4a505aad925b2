/* repeated_failures.h: ends a night whose trials keep failing in the same way. */
#ifndef CLI_REPEATED_FAILURES_H
#define CLI_REPEATED_FAILURES_H

#include "trial/trial_watch.h"

#include <lineage/store.h>

/* How a trial of a night ended. */
struct night_ending {
    enum lineage_label label;
    enum trial_end end;
    int exit_status, signal;
    bool late; /* another worker's row counts for this trial; the other members are not set */
};

/* Default of --stop-after. */
enum { REPEATED_FAILURES = 5 };

struct repeated_failures {
    size_t stop_after; /* consecutive failures; 0: never stop */
    size_t n;          /* consecutive failures so far */
    struct night_ending last; /* how the latest of them ended */
};

/* Whether the trial was measured. The duration of a failed trial says nothing about other trials. */
bool night_ending_is_measured(const struct night_ending *ending);

/* Counts a trial that has ended. Returns CLI_GO_ON, or an exit status after printing why the night stops. */
int repeated_failures_count(struct repeated_failures *failures, const struct night_ending *ending);

#endif
