/* quantiles.h: quantiles and tails of the distributions behind the noise floor and its interval. */
#pragma once

/* The t with P(T > t) = tail for Student's t with df > 0 degrees of freedom, 0 < tail < 0.5; infinity is the normal
 * distribution. */
double quantile_t(double tail, double df);

/* The x with P(X > x) = tail for the chi-square distribution with df > 0 degrees of freedom, 0 < tail < 1. */
double quantile_chi_square(double tail, double df);

/* P(F > f) for a ratio of two variances with a and b degrees of freedom. */
double tail_f(double f, double a, double b);
