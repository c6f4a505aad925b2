/* tpe.h: the tree-structured Parzen estimator. */
#pragma once

#include "propose/propose_problem.h"

enum { TPE_STARTUP = 10, TPE_CANDIDATES = 48, TPE_GOOD_MAX = 25 };

/* Whether there are enough trials to learn from: TPE_STARTUP have ended, and at least one was measured. */
bool tpe_is_ready(const struct propose_problem *problem);

/*
 * Writes candidates [TPE_CANDIDATES][n_ranges], sorted by the ratio of the density of good trials to the density of bad
 * trials, the highest ratio first. Returns false when out of memory.
 */
bool tpe_candidates(double (*candidates)[PROPOSE_RANGES_MAX], const struct propose_problem *problem);
