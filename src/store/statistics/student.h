/* student.h: Student's t distribution, for intervals and tests of paired differences. */
#pragma once

/* P(|T| >= t) with df > 0 degrees of freedom, t >= 0: the p value of a two-sided test. */
double student_two_sided(double t, double df);

/* The t >= 0 with P(|T| >= t) = alpha, 0 < alpha < 1: half the width of a confidence interval of level
 * 1 - alpha, in standard errors. */
double student_quantile(double alpha, double df);

/* The x >= 0 at which tail_at, which falls with x, has the value tail. Bisecting an interval that contains the answer cannot
 * fail; it takes a few dozen steps. */
double falling_root(double (*tail_at)(double x, double df), double tail, double df);

/* I_x(a, b), the regularised incomplete beta function; rest is 1 - x. */
double incomplete_beta(double a, double b, double x, double rest);
