/* idea_facts.h: what the native block says about ideas, read from the hypotheses of the newest trials. */
#ifndef RENDER_IDEA_FACTS_H
#define RENDER_IDEA_FACTS_H

#include <lineage/knobs.h>
#include <lineage/report.h>

#include "../internal.h"

/* A trial that scored better than the best but was stopped by a limit, and the extra column in which it is larger than
 * every kept trial. */
struct blocked_idea {
    size_t trial;
    char *column; /* NULL: none */
    double value, largest_kept;
};

struct idea_facts {
    struct lineage_store *store;
    struct lineage_ideas *ideas;
    struct lineage_knobs knobs;
    size_t best;           /* index of the best trial, SIZE_MAX if it is not among those that were read */
    size_t *line, n_line;  /* the best trial and its kept ancestors, best first */
    uint64_t unread;       /* older trials that were not read */
    size_t stated;         /* number of trials whose hypothesis states a change */
    struct blocked_idea *blocked; /* [n_blocked], best first */
    size_t n_blocked;
    double noise;          /* standard deviation of the score between equal trials, from n_pairs pairs; 0: unknown */
    size_t n_pairs;
};

/* Reads the newest trials of the store: at most IDEA_FACTS_TRIALS, so that the cost of a block has a bound. Release it
 * also after a failure. */
enum { IDEA_FACTS_TRIALS = 1000 };
enum lineage_status idea_facts_load(struct idea_facts *ideas, struct lineage_store *store,
                                      const struct lineage_report *report, struct lineage_error *err);
void idea_facts_release(struct idea_facts *ideas);

/* idea_is_kept: keep or baseline. The second function also accepts discard, that is, every trial that ran to its
 * end. */
bool idea_is_kept(enum lineage_label label);
bool idea_is_finished(enum lineage_label label);

/* Whether a is better than b; both are scores, or both are differences of scores. */
bool idea_is_better(const struct lineage_report *report, double a, double b);

#endif
