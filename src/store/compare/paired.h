/* paired.h: the statistics of paired differences. */
#pragma once

#include <lineage/compare.h>

/*
 * Mean and standard deviation (n - 1) of values[0..n); the mean is absent for n = 0, the deviation for n < 2.
 */
void paired_moments(const double *values, size_t n, struct lineage_number *mean, struct lineage_number *std);

/* Sets the variant's difference, interval and p from differences[0..n); scale is the largest score that they were
 * computed from. */
void paired_test(struct lineage_variant *variant, const double *differences, size_t n, double scale, double confidence);

/* Sets the variant's difference to the baseline, interval and p from their means and deviations, which are those of
 * independent trials. */
void paired_welch(struct lineage_variant *variant, const struct lineage_variant *baseline, double scale, double confidence);

/* Computes intervals and p values that hold for all comparisons together; returns the number of comparisons that have a
 * p. */
size_t paired_adjust(struct lineage_variant *variants, size_t n, double confidence);
