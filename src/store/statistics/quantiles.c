/*
 * The incomplete beta function of student.c gives Student's t and the ratio of variances (DLMF 8.17; Abramowitz and Stegun
 * 26.6.2), the incomplete gamma function below gives chi-square (DLMF 8.11.4 and 8.9.2). Quantiles are found by bisection,
 * because tails are monotonic and a few dozen steps cost less than a row.
 */
#include "quantiles.h"

#include <float.h>
#include <math.h>

#include "student.h"

enum { MAX_TERMS = 20000 };

/* Above this the t distribution equals the normal one in all digits that are shown, and its series lose digits. */
#define NORMAL_FROM 1e6

static double normal_tail_at(double z, double df)
{
    (void)df;
    return 0.5 * erfc(z / sqrt(2));
}

double quantile_t(double tail, double df)
{
    return df < NORMAL_FROM ? student_quantile(2 * tail, df) : falling_root(normal_tail_at, tail, df);
}

/* Q(a, x), the upper incomplete gamma function: by the series of the lower one for small x, else by Lentz's method. */
static double upper_gamma(double a, double x)
{
    int sign;
    if (x <= 0)
        return 1;
    double front = exp(a * log(x) - x - lgamma_r(a, &sign));
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (int n = 1; n <= MAX_TERMS && term > sum * DBL_EPSILON; n++) {
            term *= x / (a + n);
            sum += term;
        }
        return 1 - front * sum;
    }
    double b = x + 1 - a, c = 1 / DBL_MIN, d = 1 / b, value = d;
    for (int n = 1; n <= MAX_TERMS; n++) {
        double factor = -n * (n - a);
        b += 2;
        d = 1 / (factor * d + b);
        c = b + factor / c;
        value *= d * c;
        if (fabs(d * c - 1) <= DBL_EPSILON)
            break;
    }
    return front * value;
}

static double chi_square_tail(double x, double df)
{
    return upper_gamma(df / 2, x / 2);
}

double quantile_chi_square(double tail, double df)
{
    return falling_root(chi_square_tail, tail, df);
}

double tail_f(double f, double a, double b)
{
    return f <= 0 ? 1 : incomplete_beta(b / 2, a / 2, b / (b + a * f), a * f / (b + a * f));
}
