/* shrunk_means.h: the value that each trial is expected to have, drawn to the middle of all. */
#pragma once

#include <lineage/evidence.h>

#include "surface.h"

/* Sets expected and doubt of each trial, best, answer, second and sure. surface: NULL if neighbours say nothing. Returns false when out of
 * memory. */
bool evidence_expect(struct lineage_evidence *evidence, const struct surface *surface);

/* Whether the best of the kept trials ran once, far outside of all others, so that nothing is proven by being better. */
bool evidence_best_is_stray(const struct lineage_evidence *evidence);

/* Middle and spread of values, of which half are better: the median, and the root mean square of the distances of the better
 * half from it. values is reordered. */
void better_half(double *middle, double *spread, double *values, size_t n, bool higher);

/* For qsort. */
int compare_numbers(const void *a, const void *b);

/* A score is far outside if it is worse than the middle by this many spreads. */
#define FAR_OUTSIDE 7.0
