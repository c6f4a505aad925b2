/*
 * lineage/compare.h: variants against a baseline, over seeds.
 *
 * A night that runs every variant on the same seeds answers whether a variant differs from the baseline by the
 * differences seed by seed: what a seed does to all variants alike cancels out. Averages over seeds set side by
 * side do not answer it, because the spread between seeds is usually larger than the effect.
 *
 * Which trials count
 *   Trials labelled keep, discard or baseline, with a finite score and with the setting that pairs them (`seed`
 *   unless asked otherwise). A variant's trials with the same seed are averaged first, so that a seed that was
 *   run twice is no two seeds. Everything left out is counted: failures above all, because a variant that lost
 *   its bad seeds to crashes looks better than it is.
 *
 * What is computed
 *   For n common seeds with differences d (variant minus baseline): their mean, standard deviation s (n - 1), the
 *   interval mean -+ t s / sqrt(n) with Student's t of n - 1 degrees of freedom, and the two-sided p of no
 *   difference. Below two common seeds, or where all differences are equal (nothing says how much they vary), all
 *   but the mean are absent. Of m comparisons with one baseline one in twenty is off by chance, so each also gets
 *   the Bonferroni interval (level 1 - (1 - confidence) / m: all m hold together) and Holm's adjusted p (Holm
 *   1979, Scand. J. Statist. 6:65). m counts the comparisons that have a p.
 *
 * Variants are named by text:
 *     grpo                      trials of that specialist
 *     alpha=0.3                 trials whose parameter has that value
 *     optimizer=adam            trials whose parameter is that text
 *     turn-group-v1d,alpha=0.9  both; any number of NAME=VALUE
 *     003                       one trial, if no specialist is called so
 *     003,007,011               several trials
 */
#ifndef LINEAGE_COMPARE_H
#define LINEAGE_COMPARE_H

#include <lineage/query.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LINEAGE_COMPARE_MAX_VARIANTS 256
#define LINEAGE_COMPARE_MAX_OVER 4

/* Zeroed options compare all specialists over `seed`, the first in the file being the baseline. */
struct lineage_compare_options {
    const char *const *variants; /* texts as above; the first is the baseline unless `baseline` names another */
    size_t n_variants;           /* 0: every value of `by` is a variant */
    const char *by;              /* "specialist" (NULL), or a parameter */
    const char *baseline;        /* NULL: the first. Of `by`: its value; else one of the variants */
    const char *over;            /* parameters that pair trials, comma-separated; NULL: "seed" */
    const struct lineage_condition *conditions; /* trials of all variants, as in a query */
    size_t n_conditions;
    double confidence; /* of the intervals; 0: 0.95 */
};

/* A parameter of a variant's trials: in how many it is set, and between which values. */
struct lineage_variant_setting {
    const char *name;
    size_t n;
    double low, high; /* of those that are numbers; inf and -inf if none is */
    const char *text; /* the first value that is text, NULL if none is */
    bool mixed;       /* there are other texts than that, or numbers beside it */
};

struct lineage_variant {
    const char *name;
    size_t n_trials;                 /* that count */
    size_t n_seeds;                  /* different values of `over` among them */
    struct lineage_number mean, std; /* of the score over its seeds; std is absent below two */

    size_t failed;       /* left out: a label of failure, or no finite score */
    size_t aborted;      /* left out: harness_abort */
    size_t without_seed; /* left out: a score, but no `over` */

    /* Against the baseline; of the baseline itself, absent and 0. */
    size_t n_pairs;  /* common seeds */
    size_t unpaired; /* seeds of one side only */
    struct lineage_number difference, difference_std;
    struct lineage_number low, high;               /* interval of this comparison */
    struct lineage_number family_low, family_high; /* all comparisons together */
    struct lineage_number p, p_holm;

    const struct lineage_variant_setting *settings; /* sorted by name; of the trials that count */
    size_t n_settings;
};

struct lineage_comparison {
    struct lineage_variant *variants; /* the baseline first, the others as given or in file order */
    size_t n_variants;
    size_t n_tests;                /* m: comparisons that have a p */
    double confidence;             /* of the intervals, 0.95 for 95 % */
    const char *const *confounded; /* parameters, other than those compared and paired by, in which the trials of
                                      these variants differ: a difference may be theirs */
    size_t n_confounded;
    void *memory; /* owner of the above */
};

/*
 * LINEAGE_EINVAL, with what is known in the text: a variant that names no trial, fewer than two variants, a
 * parameter that no trial has, no trial with `over`, a confidence outside 0..1. Release the comparison.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_compare(struct lineage_store *store, const struct lineage_compare_options *options,
                struct lineage_comparison *comparison, struct lineage_error *err);
LINEAGE_API void lineage_comparison_release(struct lineage_comparison *comparison);

#ifdef __cplusplus
}
#endif

#endif
