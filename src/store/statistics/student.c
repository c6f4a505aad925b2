/*
 * student.c: P(|T| >= t) = I_x(df / 2, 1 / 2) with x = df / (df + t^2), I the regularised incomplete beta function
 * (Abramowitz and Stegun 26.7.1; DLMF 8.17).
 *
 * Implemented here because the libraries that provide it are unsuitable: GSL and R's mathlib are under the GPL, which
 * this library's users may not want to link, and both are many times the size of the store. Relative accuracy is about
 * 1e-13 up to a thousand degrees of freedom; the tests compare it with closed forms.
 */
#include "student.h"

#include <float.h>
#include <math.h>

enum { MAX_TERMS = 20000 };

/* A denominator of Lentz's method that vanishes is moved away from zero; the next factor compensates. */
static double off_zero(double value)
{
    return fabs(value) < DBL_MIN ? DBL_MIN : value;
}

/* The continued fraction of DLMF 8.17.22 by the modified Lentz method (Thompson and Barnett 1986): even and odd
 * coefficients in turn until a factor is 1. Converges fast for x < (a + 1) / (a + b + 2). */
static double fraction(double a, double b, double x)
{
    double c = 1, d = 1 / off_zero(1 - (a + b) * x / (a + 1)), value = d;
    for (int m = 1; m <= MAX_TERMS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / off_zero(1 + even * d);
        c = off_zero(1 + even / c);
        value *= d * c;
        d = 1 / off_zero(1 + odd * d);
        c = off_zero(1 + odd / c);
        value *= d * c;
        if (fabs(d * c - 1) <= DBL_EPSILON)
            break;
    }
    return value;
}

/* This function is thread-safe, because two threads may run comparisons at the same time. */
static double log_gamma(double x)
{
    int sign; /* lgamma would write the sign to a global */
    return lgamma_r(x, &sign);
}

/* rest is an argument, because near x = 1 the subtraction 1 - x would lose all digits. */
double incomplete_beta(double a, double b, double x, double rest)
{
    if (x <= 0 || rest <= 0)
        return x <= 0 ? 0 : 1;
    double front = exp(a * log(x) + b * log(rest) + log_gamma(a + b) - log_gamma(a) - log_gamma(b));
    if (x < (a + 1) / (a + b + 2))
        return front * fraction(a, b, x) / a;
    return 1 - front * fraction(b, a, rest) / b;
}

double student_two_sided(double t, double df)
{
    double square = t * t;
    if (isinf(square))
        return 0;
    return incomplete_beta(df / 2, 0.5, df / (df + square), square / (df + square));
}

double falling_root(double (*tail_at)(double x, double df), double tail, double df)
{
    double low = 0, high = 1;
    while (tail_at(high, df) > tail && high < DBL_MAX / 4) {
        low = high;
        high *= 2;
    }
    for (;;) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            return middle;
        if (tail_at(middle, df) > tail)
            low = middle;
        else
            high = middle;
    }
}

double student_quantile(double alpha, double df)
{
    return falling_root(student_two_sided, alpha, df);
}
