/*
 * propose_functions.h: the problems on which proposers are measured: functions with a known optimum, and measured tables.
 *
 * Sets: "first" has the eight functions that were used while the proposers were written, and "second" eight others that
 * were looked at only once, at the end. "table" has tables of fixtures/experiments, whose values between measured cells
 * are interpolated. "failing" has one function on which the best values fail.
 */
#pragma once

#include "propose/propose_problem.h"

enum { PROBLEM_RANGES_MAX = 8 };

struct bench_problem {
    const char *name, *set;
    size_t n_ranges;
    struct propose_range ranges[PROBLEM_RANGES_MAX];
    /* The value without noise, which is to be minimised. x has the index of a choice, as in propose_problem.h. */
    double (*value)(const double *x);
    bool (*fails)(const double *x); /* NULL: never */
    double noise;                   /* standard deviation that is added to each score */
    double optimum;
    const struct bench_table *table; /* NULL: a function */
};

/* What a trial returns. */
struct bench_result {
    double observed; /* with noise */
    double regret;   /* the value without noise, minus the optimum */
    bool failed;
};

/* All problems; reads the tables below `experiments`. Returns NULL after a message on standard error. */
const struct bench_problem *bench_problems(size_t *n, const char *experiments);

/* Noise depends on the seed and the number of the trial only, so all methods get the same. */
struct bench_result bench_evaluate(const struct bench_problem *problem, const double *x, uint64_t seed, size_t trial);

/*
 * The smallest difference between two regrets that counts: a ten-thousandth of the regret of the median of 1001 uniform
 * settings, and of a table at least the step of its scores, 1/2048.
 */
double bench_floor(const struct bench_problem *problem);
