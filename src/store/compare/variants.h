/*
 * variants.h: which trials make up each variant of a comparison, one score per seed.
 *
 * Reads the store through its public queries only, so that whatever answers those (the mirror today) can change.
 */
#ifndef COMPARE_VARIANTS_H
#define COMPARE_VARIANTS_H

#include <lineage/compare.h>

#include "../format/arena.h"

/* Scores by seed: the values of the pairing parameters, and a score. */
struct observation {
    double seed[LINEAGE_COMPARE_MAX_OVER];
    double score;
};

struct group {
    struct lineage_variant variant; /* n_trials, what was left out, settings; names are in the arena */
    double value;                   /* of `by`, where that is a parameter */
    const char *text;               /* the same where it is text, and the value nan */
    struct observation *seen;       /* sorted by seed, one for each, once collected */
    size_t n_seen, capacity, settings_capacity;
};

struct comparing {
    struct lineage_store *store;
    const struct lineage_compare_options *options;
    struct arena *arena; /* what lives as long as the comparison */
    const char *over[LINEAGE_COMPARE_MAX_OVER];
    size_t n_over;
    const char **named; /* parameters that tell variants apart: no surprise if they differ */
    size_t n_named;
    struct group *groups; /* [LINEAGE_COMPARE_MAX_VARIANTS], the baseline first */
    size_t n;
};

/* Fill groups from the options; the arrays `seen` are freed by variants_release. */
enum lineage_status variants_collect(struct comparing *c, struct lineage_error *err);
void variants_release(struct comparing *c);

/* Order of two seeds, as for qsort. */
int variants_order(const struct observation *a, const struct observation *b);

#endif
