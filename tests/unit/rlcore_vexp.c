/* rlcore_vexp.c: tests the accuracy of the vectorisable exp over its whole range, against libm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "support/random_batch.h"
#include "support/vexp.h"

enum { SAMPLES = 1000000 };

/* The error of `got` in units of the last place of the exact value. */
static double ulps(double got, long double exact)
{
    int exponent;
    frexpl(exact, &exponent);
    double unit = ldexp(1, exponent < DBL_MIN_EXP ? DBL_MIN_EXP - DBL_MANT_DIG : exponent - DBL_MANT_DIG);
    return (double)(fabsl((long double)got - exact) / (long double)unit);
}

static double whole_range(double x)
{
    return rl_exp(x);
}

static double near_zero(double x)
{
    return rl_exp_near(x);
}

static double worst_over(double (*f)(double), double low, double high)
{
    struct test_rng rng = {1};
    double worst = 0;
    for (int i = 0; i < SAMPLES; i++) {
        double x = low + (high - low) * test_rng_uniform(&rng);
        worst = fmax(worst, ulps(f(x), expl((long double)x)));
    }
    return worst;
}

static void within_one_ulp(void **state)
{
    (void)state;
    double near = worst_over(near_zero, -80, 80), whole = worst_over(whole_range, -708, 709.7);
    double subnormal = worst_over(whole_range, -744, -708);
    printf("exp: %.3f ulp in [-80, 80], %.3f in the normal range, %.3f below\n", near, whole, subnormal);
    assert_true(near < 1 && whole < 1 && subnormal < 1);
}

/* The loop over a chunk of any length must give the bits that single calls give. */
static void all_as_one(void **state)
{
    (void)state;
    struct test_rng rng = {2};
    for (size_t n = 0; n <= RL_CHUNK; n++) {
        real x[RL_CHUNK], out[RL_CHUNK];
        for (size_t t = 0; t < n; t++)
            x[t] = (real)(160 * test_rng_uniform(&rng) - 80);
        rl_exp_near_all(out, x, n);
        for (size_t t = 0; t < n; t++)
            assert_true(out[t] == rl_exp_near(x[t]));
    }
}

static void special_values(void **state)
{
    (void)state;
    assert_true(rl_exp(0.0) == 1.0);
    assert_true(rl_exp(-0.0) == 1.0);
    assert_true(isinf(rl_exp(709.79)));
    assert_true(isinf(rl_exp(INFINITY)));
    assert_true(rl_exp(-746.0) == 0.0);
    assert_true(rl_exp(-INFINITY) == 0.0);
    assert_true(isnan(rl_exp(NAN)));
    assert_true(rl_exp(-745.0) == 0x1p-1074);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(within_one_ulp), cmocka_unit_test(special_values),
                                       cmocka_unit_test(all_as_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
