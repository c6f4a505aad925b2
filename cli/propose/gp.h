/* gp.h: Bayesian optimisation by a Gaussian process (gaussian.h) and expected improvement. */
#pragma once

#include "propose/propose_problem.h"

/* GP_POINTS_MAX: of more measured trials, the process sees the best half of this many, and the latest. */
enum { GP_CANDIDATES = 16, GP_POINTS_MAX = 160 };

/* Whether enough trials have ended to learn from, and at least one was measured. */
bool gp_is_ready(const struct propose_problem *problem);

/*
 * Writes candidates [GP_CANDIDATES][n_ranges], those with the largest expected improvement first. Returns false when out of
 * memory.
 */
bool gp_candidates(double (*candidates)[PROPOSE_RANGES_MAX], const struct propose_problem *problem);

/* What further trials would improve: the best true score of a setting, in the unit of the score. */
struct gp_gain {
    double mean, variance;
    double noise; /* standard deviation of one seed that the process has learned */
};

/* The gain of the next n trials, each at the setting with the largest expected improvement, as if it had brought what is expected there.
 * Behind GP_STEPS of them it falls on as it fell before. Returns false when out of memory. */
enum { GP_STEPS = 12 };
bool gp_expect_gain(struct gp_gain *gain, size_t n, const struct propose_problem *problem);
