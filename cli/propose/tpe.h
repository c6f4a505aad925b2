/* tpe.h: the tree-structured Parzen estimator. */
#ifndef CLI_TPE_H
#define CLI_TPE_H

#include "propose/propose.h"

enum { TPE_STARTUP = 10, TPE_CANDIDATES = 24, TPE_GOOD_MAX = 25 };

/* Whether there are trials enough to learn from: TPE_STARTUP that are over, one of them measured. */
bool tpe_is_ready(const struct propose_problem *problem);

/*
 * Candidates [TPE_CANDIDATES][n_ranges], the most promising first: those that the density of the good trials makes
 * likelier than that of the bad ones. False when out of memory.
 */
bool tpe_candidates(double (*candidates)[PROPOSE_RANGES_MAX], const struct propose_problem *problem);

#endif
