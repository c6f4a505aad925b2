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
