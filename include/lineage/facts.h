/*
 * lineage/facts.h: what a log that is described in words shows about its search: how far it has come, which kept trials
 * lie beside the best, which trials a limit stopped, what was tried again and again, and how large the noise is.
 *
 * The block of lineage/render.h prints these facts, and a planner gets them as JSON. Both read the newest
 * LINEAGE_FACTS_TRIALS trials, so that their cost has a bound. A store whose hypotheses state no change has none.
 */
#ifndef LINEAGE_FACTS_H
#define LINEAGE_FACTS_H

#include <lineage/knobs.h>
#include <lineage/measured.h>
#include <lineage/report.h>

/* How many trials are read at most, and how many of the newest count as recent. */
#define LINEAGE_FACTS_TRIALS 1000
#define LINEAGE_FACTS_RECENT 50

/* A trial that scored better than the best but was stopped by a limit, and the extra column in which it is larger than
 * every kept trial. */
struct lineage_blocked {
    size_t trial;
    char *column; /* NULL: none */
    double value, largest_kept;
};

enum { LINEAGE_AGAIN_LISTED = 12 };

/* A setting that three trials or more changed, none of which was kept. */
struct lineage_again {
    size_t knob;   /* index in knobs */
    size_t trials; /* each counts once, however many values it gave the setting */
    size_t listed[LINEAGE_AGAIN_LISTED]; /* the first of them, in the order of the knob's tries */
    size_t failed; /* trials that did not run to their end */
    struct lineage_number low, high; /* delta_vs_best of the others; absent if there are none */
};

/* Facts about the trials that were read. Indices of trials refer to `ideas`. */
struct lineage_facts {
    struct lineage_ideas *ideas; /* NULL: the store is not described in words; the other members are then empty */
    struct lineage_knobs knobs;
    size_t stated;               /* trials whose hypothesis or program shows a change; 0: there are no facts */
    uint64_t unread;             /* older trials that were not read */
    size_t best;                 /* SIZE_MAX if the best trial is not among those that were read */
    size_t *line, n_line;        /* the best trial and its kept ancestors, best first */
    size_t last_kept;            /* SIZE_MAX: none */
    double noise;                /* standard deviation of the score between equal trials; 0: unknown */
    bool noise_estimated;        /* from n_replicas trials (lineage/replicas.h), because the store has no setting for it */
    size_t n_replicas, freedom;  /* freedom: degrees of freedom of the estimate */
    size_t gains, large_gains;   /* trials of the line with a difference, and those whose difference exceeds 2·√2 noise */
    size_t *beside, n_beside;    /* kept trials that are not on the line, largest gain first */
    struct lineage_blocked *blocked; /* [n_blocked], in the order of the log */
    size_t n_blocked;
    struct lineage_again *again; /* [n_again], in the order of the knobs */
    size_t n_again;
    struct lineage_measured code; /* the best trial's code compared with that of the first trial of the line that has a snapshot
                                   * or kept files; against is "" if no two trials have */
};

/* Loads the facts of the store of a report. Release them also after a failure, before the store is closed. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_facts_load(struct lineage_facts *facts, struct lineage_store *store,
                                                                     const struct lineage_report *report,
                                                                     struct lineage_error *err);
LINEAGE_API void lineage_facts_release(struct lineage_facts *facts);

/* Numbers of trials and of those with the label keep, among all that were read and among the recent ones. */
struct lineage_rate {
    size_t trials, kept, recent, recent_kept;
};

/* Counts the trials of a specialist; NULL: of all. */
LINEAGE_API void lineage_facts_rate(struct lineage_rate *rate, const struct lineage_facts *facts, const char *specialist);

#endif
