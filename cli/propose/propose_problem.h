/* propose_problem.h: the input of a proposer: named ranges, and the trials that were run in them. */
#ifndef CLI_PROPOSE_PROBLEM_H
#define CLI_PROPOSE_PROBLEM_H

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

/* Both ends belong to the range. Everything is borrowed. */
struct propose_range {
    const char *name;
    enum propose_scale scale;
    double low, high;                     /* for a choice: 0 and n_choices - 1 */
    size_t steps;                         /* grid points; 0: PROPOSE_STEPS. A choice has one grid point per value */
    const struct propose_choice *choices; /* [n_choices] */
    size_t n_choices;
};

enum propose_end { PROPOSE_MEASURED, PROPOSE_FAILED, PROPOSE_RUNNING };

/* A trial of the past. x[i] is its value in range i, or the index of a choice. Elements after the last range are 0. */
struct propose_trial {
    double x[PROPOSE_RANGES_MAX];
    enum propose_end end;
    double score; /* finite; only set with PROPOSE_MEASURED */
};

struct propose_problem {
    const struct propose_range *ranges; /* [n_ranges], from 1 to PROPOSE_RANGES_MAX */
    size_t n_ranges;
    const struct propose_trial *past; /* [n_past], oldest first */
    size_t n_past;
    bool lower_is_better;
    uint64_t seed;
};

/* The numbers also separate the random streams of the methods. */
enum propose_method { PROPOSE_SOBOL, PROPOSE_TPE, PROPOSE_RANDOM, PROPOSE_GRID, PROPOSE_N_METHODS };

#endif
