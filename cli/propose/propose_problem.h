/* propose_problem.h: the input of a proposer: named ranges, and the trials that were run in them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PROPOSE_STEPS: number of grid points in a range that does not specify it. */
enum { PROPOSE_RANGES_MAX = 32, PROPOSE_STEPS = 4 };

enum propose_scale {
    PROPOSE_LINEAR,
    PROPOSE_LOG,         /* low > 0 */
    PROPOSE_INTEGER,     /* whole numbers, evenly */
    PROPOSE_LOG_INTEGER, /* whole numbers, evenly spaced in their logarithm; low >= 1 */
    PROPOSE_CHOICE       /* one of n_choices, which have no order */
};

/* A number, or a text if text is not NULL. */
struct propose_choice {
    double value;
    const char *text;
};

/*
 * When a range has a value. A trial has a value in the range only if range `of` is active and has one of `values` [n] (a
 * choice: indices) or, if n is 0, a value from low to high. Conditions form no circle.
 */
struct propose_condition {
    bool given; /* false: the range is always active */
    size_t of;
    const double *values;
    size_t n;
    double low, high;
};

/* Both ends belong to the range. Everything is borrowed. */
struct propose_range {
    const char *name;
    enum propose_scale scale;
    double low, high;                     /* for a choice: 0 and n_choices - 1 */
    size_t steps;                         /* grid points; 0: PROPOSE_STEPS. A choice has one grid point per value */
    const struct propose_choice *choices; /* [n_choices] */
    size_t n_choices;
    struct propose_condition condition;
};

/* PROPOSE_UNRELATED: the trial failed for a reason outside of its setting. The setting is not repeated, and nothing else. */
enum propose_end { PROPOSE_MEASURED, PROPOSE_FAILED, PROPOSE_RUNNING, PROPOSE_UNRELATED };

/*
 * A trial of the past. x[i] is its value in range i, or the index of a choice. Elements of inactive ranges are their lower
 * ends (propose_settle), and elements after the last range are 0.
 */
struct propose_trial {
    double x[PROPOSE_RANGES_MAX];
    enum propose_end end;
    double score;     /* finite; only set with PROPOSE_MEASURED */
    size_t seeds;     /* the score is the mean of this many seeds; 0 counts as 1 */
    double weight;    /* how much a failure says about the setting, in (0, 1]; 0 counts as 1 */
    size_t differs;   /* number of settings in force, outside of the ranges, that differ from those of the proposals */
    uint64_t context; /* equal for trials whose other settings are equal; 0 if differs is 0 */
};

struct propose_problem {
    const struct propose_range *ranges; /* [n_ranges], from 1 to PROPOSE_RANGES_MAX */
    size_t n_ranges;
    const struct propose_trial *past; /* [n_past], oldest first */
    size_t n_past;
    bool lower_is_better;
    double noise; /* standard deviation of the score of one seed; 0: unknown */
    uint64_t seed;
    size_t n_unread; /* trials that ran and are not in `past` */
    bool (*was_tried)(void *context, const double *x); /* whether one of those has setting x; NULL if there are none */
    void *context;
};

/* The numbers also separate the random streams of the methods. */
enum propose_method { PROPOSE_SOBOL, PROPOSE_TPE, PROPOSE_RANDOM, PROPOSE_GRID, PROPOSE_AUTO, PROPOSE_GP, PROPOSE_N_METHODS };

/* ---- sobol.c: Sobol's sequence in up to PROPOSE_RANGES_MAX dimensions ---- */

/* Coordinate `dimension` (from 0) of point `index` in Gray code order, as a fraction of 2^32. */
uint32_t sobol_point(uint32_t index, size_t dimension);

/*
 * Owen's nested scrambling (1995): whether a digit is flipped is decided by a draw that depends on the seed, the
 * dimension and all previous digits. The points are equally evenly spread for every seed.
 */
uint32_t sobol_scramble(uint32_t point, size_t dimension, uint64_t seed);

/* ---- tpe.c: the tree-structured Parzen estimator ---- */

enum { TPE_STARTUP = 10, TPE_CANDIDATES = 48, TPE_GOOD_MAX = 25 };

/* Whether there are enough trials to learn from: TPE_STARTUP have ended, and at least one was measured. */
bool tpe_is_ready(const struct propose_problem *problem);

/*
 * Writes candidates [TPE_CANDIDATES][n_ranges], sorted by the ratio of the density of good trials to the density of bad
 * trials, the highest ratio first. Returns false when out of memory.
 */
bool tpe_candidates(double (*candidates)[PROPOSE_RANGES_MAX], const struct propose_problem *problem);

/* ---- observed.c: what was measured at each setting ---- */

/* Trials with equal settings in the same context, such as seeds of one
 * setting, are one observation with the mean of their scores. */

struct observed {
    const struct propose_trial *trial; /* the first trial of the setting, borrowed from the past */
    double loss;                       /* lower is better; the mean, weighted by seeds */
    double seeds;                      /* the number of seeds in the mean */
};

/*
 * Writes the observations [*n] to list, which has room for n_past, ordered by context, within it by loss, and among equal
 * losses the earlier trial first.
 */
void observed_list(struct observed *list, size_t *n, const struct propose_problem *problem);
