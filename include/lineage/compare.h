/*
 * lineage/compare.h: compares variants with a baseline, over several seeds.
 *
 * When every variant is run on the same seeds, the differences seed by seed show whether a variant differs from the
 * baseline: an effect that a seed has on all variants alike cancels out. Comparing each variant's average over the
 * seeds is less sensitive, because the spread between seeds is usually larger than the effect.
 *
 * Which trials count
 *   Trials labelled keep, discard or baseline, with a finite score and with the parameter that pairs them (`seed` by
 *   default). A variant's trials with the same seed are averaged first, so that a seed that was run twice counts once.
 *   Trials that are left out, above all failures, are counted, because a variant that lost its bad seeds to crashes
 *   looks better than it is.
 *
 * What is computed
 *   For n common seeds with differences d (variant minus baseline): their mean, their standard deviation s (n - 1), the
 *   interval mean -+ t s / sqrt(n) with Student's t of n - 1 degrees of freedom, and the two-sided p-value of "no
 *   difference". With fewer than two common seeds, or if all differences are equal (their spread is then unknown),
 *   only the mean is present. When many variants are compared with one baseline, about one comparison in twenty is
 *   wrong by chance. Therefore each of m comparisons also gets the Bonferroni interval (level 1 - (1 - confidence) / m,
 *   so that all m hold together) and Holm's adjusted p (Holm 1979, Scand. J. Statist. 6:65). m counts the comparisons
 *   that have a p.
 *
 * Variants are named by text:
 *     grpo                      trials of that specialist
 *     alpha=0.3                 trials whose parameter has that value
 *     optimizer=adam            trials whose parameter is that text
 *     turn-group-v1d,alpha=0.9  both; any number of NAME=VALUE
 *     003                       one trial, if no specialist has that name
 *     003,007,011               several trials
 */
#ifndef LINEAGE_COMPARE_H
#define LINEAGE_COMPARE_H

#include <lineage/query.h>

#define LINEAGE_COMPARE_MAX_VARIANTS 256
#define LINEAGE_COMPARE_MAX_OVER 4

/* Zeroed options compare all specialists over `seed`; the first one in the log is the baseline. */
struct lineage_compare_options {
    const char *const *variants; /* texts as above; the first is the baseline unless `baseline` names another */
    size_t n_variants;           /* 0: every value of `by` is a variant */
    const char *by;              /* "specialist" (NULL), or a parameter */
    const char *baseline;        /* a value of `by`, or one of the variants; NULL: the first */
    const char *over;            /* parameters that pair trials, comma-separated; NULL: "seed" */
    const struct lineage_condition *conditions; /* condition on the trials of all variants, as in a query */
    size_t n_conditions;
    double confidence; /* level of the intervals; 0: 0.95 */
    /* For a caller that has loaded every trial of the store: returns the next one in the order of the log, false at the
     * end. It replaces the query, and is allowed only where specialists are compared without conditions. */
    bool (*next)(void *context, struct lineage_trial *trial);
    void *context;
};

/* A parameter of a variant's trials: how many trials set it, and to which values. */
struct lineage_variant_setting {
    const char *name;
    size_t n;
    double low, high; /* over the values that are numbers; inf and -inf if there are none */
    const char *text; /* the first value that is a text, NULL if there is none */
    bool mixed;       /* the trials also have other texts, or numbers besides the text */
};

struct lineage_variant {
    const char *name;
    size_t n_trials;                 /* trials that count */
    size_t n_seeds;                  /* number of different values of `over` among these trials */
    struct lineage_number mean, std; /* of the score over the seeds; std is absent with fewer than two seeds */

    size_t failed;       /* trials left out: they have a failure label or no finite score */
    size_t aborted;      /* trials left out: harness_abort */
    size_t without_seed; /* trials left out: they have a score, but not the parameter `over` */

    /* Comparison with the baseline; absent and 0 for the baseline itself. */
    size_t n_pairs;  /* common seeds */
    size_t unpaired; /* number of seeds that only the variant or only the baseline has */
    struct lineage_number difference, difference_std;
    struct lineage_number error, freedom;             /* standard error and degrees of freedom of the difference */
    struct lineage_number low, high;               /* interval of this comparison alone */
    struct lineage_number family_low, family_high; /* interval that holds for all comparisons together */
    struct lineage_number p, p_holm;

    const struct lineage_variant_setting *settings; /* settings of the trials that count, sorted by name */
    size_t n_settings;
};

struct lineage_comparison {
    struct lineage_variant *variants; /* the baseline first, then the others as given, or in the order of the log */
    size_t n_variants;
    size_t n_tests;                /* m: comparisons that have a p */
    double confidence;             /* level of the intervals, 0.95 for 95 % */
    const char *const *confounded; /* parameters, other than those compared and paired by, in which the trials of
                                      these variants differ: a difference may be theirs */
    size_t n_confounded;
    void *memory;     /* owner of the above */
};

/* Release the comparison after use. Returns LINEAGE_EINVAL, with the known names in the message, if a variant names no
 * trial, if there are fewer than two variants, if no trial has a parameter that the options name, or if the confidence
 * is outside 0..1. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_compare(struct lineage_store *store,
                                                                  const struct lineage_compare_options *options,
                                                                  struct lineage_comparison *comparison,
                                                                  struct lineage_error *err);
LINEAGE_API void lineage_comparison_release(struct lineage_comparison *comparison);

#endif
