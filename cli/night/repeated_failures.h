/* repeated_failures.h: ends a night whose trials keep failing in the same way. */
#pragma once

#include "sweep/trial_list.h"
#include "trial/trial_watch.h"

#include <lineage/store.h>

/* How a trial of a night ended. */
struct night_ending {
    enum lineage_label label;
    enum trial_end end;
    int exit_status, signal;
    bool late; /* another worker's row counts for this trial; the other members are not set */
    bool begun;
    enum lineage_cause cause;
    bool lacks;
    char evidence[TRIAL_EVIDENCE_MAX]; /* error and place that it printed; "": none */
};

/* Default of --stop-after, and how many trials in a row may lack the same thing on this machine. */
enum { REPEATED_FAILURES = 5, REPEATED_LACKS = 2, REPEATED_IDS_MAX = 256 };

struct repeated_failures {
    size_t stop_after; /* consecutive failures; 0: never stop */
    size_t n;          /* consecutive failures so far */
    struct night_ending last; /* how the latest of them ended */
    bool same; /* all of them printed the same error at the same place before they reported anything */
    json_t *shared;       /* {NAME: VALUE}: the settings that all of them have; NULL: none failed */
    bool suspect;         /* one of these settings explains the failures: trials that lack it have not failed */
    char *ids[REPEATED_IDS_MAX]; /* [n_ids] exp_ids of these, if `same` */
    size_t n_ids;
};

/* Whether the trial was measured. The duration of a failed trial says nothing about other trials. */
bool night_ending_is_measured(const struct night_ending *ending);

/*
 * Counts trial i of the list, which has ended and has a row. Returns CLI_GO_ON, or an exit status after printing why the night
 * stops. If all failures have the same evidence, their rows are voided: the settings are not to blame. Failures that share a
 * setting which other trials lack are evidence about that setting and do not end the night.
 */
int repeated_failures_count(struct repeated_failures *failures, const struct night_ending *ending, const struct trial_list *list,
                            size_t i);

/* Whether trial i has a setting that explains the latest failures. Such trials run after all others, which decide whether the
 * setting is to blame or the machine. */
bool repeated_failures_suspect(const struct repeated_failures *failures, const struct trial_list *list, size_t i);

void repeated_failures_release(struct repeated_failures *failures);
