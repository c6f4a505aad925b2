/*
 * observed.h: what was measured at each setting. Trials with equal settings in the same context, such as seeds of one
 * setting, are one observation with the mean of their scores.
 */
#pragma once

#include "propose/propose_problem.h"

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
