/* variants.h: which trials belong to each variant of a comparison, with one score per seed.
 * The store is read through its public queries, so this code does not depend on the mirror.
 */
#pragma once

#include <lineage/compare.h>
#include <lineage/settings.h>

#include "../format/arena.h"

/* One score and its seed: the values of the pairing parameters. */
struct observation {
    double seed[LINEAGE_COMPARE_MAX_OVER];
    const char
        *text[LINEAGE_COMPARE_MAX_OVER]; /* of values that are texts, such as an integer of 2^53 or more; NULL: the number */
    double score; /* while trials are collected: the sum of n scores; then their mean */
    size_t n;
    size_t first; /* place of the first of them among the trials of the variant */
};

struct group {
    struct lineage_variant variant; /* n_trials, counts of trials left out, and settings; names are in the arena */
    double value;                   /* value of `by`, if `by` is a parameter */
    const char *text;               /* the value of `by` if it is text; `value` is then nan */
    struct observation *seen;       /* after collecting: sorted by seed, one per seed */
    size_t n_seen, capacity, settings_capacity;
};

struct comparing {
    struct lineage_store *store;
    const struct lineage_compare_options *options;
    struct arena *arena; /* for everything that lives as long as the comparison */
    const char *over[LINEAGE_COMPARE_MAX_OVER];
    size_t n_over;
    const char **named; /* parameters that distinguish the variants, so they are not listed as confounded */
    size_t n_named;
    struct lineage_settings beyond; /* values that trials have from parents or by their code; empty: rows show all */
    struct lineage_param *in_force; /* room for a trial's parameters and those */
    size_t room;
    struct group *groups; /* [LINEAGE_COMPARE_MAX_VARIANTS], the baseline first */
    size_t n;
};

/* Fills groups from the options; variants_release frees the arrays `seen`. */
enum lineage_status variants_collect(struct comparing *c, struct lineage_error *err);
void variants_release(struct comparing *c);

/* Order of two seeds, as for qsort. */
int variants_order(const struct observation *a, const struct observation *b);
