/*
 * variants.h: which trials belong to each variant of a comparison, with one score per seed.
 *
 * Reads the store through its public queries only, so that it does not depend on the mirror.
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
    double value;                   /* value of `by`, if that is a parameter */
    const char *text;               /* the same if it is text; the value is then nan */
    struct observation *seen;       /* sorted by seed, one for each, after collecting */
    size_t n_seen, capacity, settings_capacity;
};

struct comparing {
    struct lineage_store *store;
    const struct lineage_compare_options *options;
    struct arena *arena; /* for everything that lives as long as the comparison */
    const char *over[LINEAGE_COMPARE_MAX_OVER];
    size_t n_over;
    const char **named; /* parameters that distinguish the variants: not listed as confounded */
    size_t n_named;
    struct group *groups; /* [LINEAGE_COMPARE_MAX_VARIANTS], the baseline first */
    size_t n;
};

/* Fills groups from the options; variants_release frees the arrays `seen`. */
enum lineage_status variants_collect(struct comparing *c, struct lineage_error *err);
void variants_release(struct comparing *c);

/* Order of two seeds, as for qsort. */
int variants_order(const struct observation *a, const struct observation *b);

#endif
