/* rlcore_vexpf.c: tests the accuracy of the vectorisable exp in single precision, for every float in range. */
#define RL_SINGLE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "support/vexp.h"

static double ulps(float got, double exact)
{
    int exponent;
    frexp(exact, &exponent);
    double unit = ldexp(1, exponent < FLT_MIN_EXP ? FLT_MIN_EXP - FLT_MANT_DIG : exponent - FLT_MANT_DIG);
    return fabs((double)got - exact) / unit;
}

/* Tries one float in 101 of those between 2^-30 and `high`, with this sign, and returns the worst error. */
static double worst_up_to(float high, float sign)
{
    double worst = 0;
    uint32_t bits, last;
    float first = 0x1p-30f;
    memcpy(&bits, &first, sizeof bits);
    memcpy(&last, &high, sizeof last);
    for (; bits < last; bits += 101) {
        float x;
        memcpy(&x, &bits, sizeof x);
        worst = fmax(worst, ulps(rl_exp(sign * x), exp((double)(sign * x))));
    }
    return worst;
}

static void within_one_ulp(void **state)
{
    (void)state;
    double above = worst_up_to(88.7f, 1), below = worst_up_to(103.0f, -1);
    printf("expf: %.3f ulp above 0, %.3f below\n", above, below);
    assert_true(above < 1 && below < 1);
}

static void special_values(void **state)
{
    (void)state;
    assert_true(rl_exp(0.0f) == 1.0f);
    assert_true(isinf(rl_exp(88.73f)));
    assert_true(isinf(rl_exp(INFINITY)));
    assert_true(rl_exp(-104.0f) == 0.0f);
    assert_true(rl_exp(-INFINITY) == 0.0f);
    assert_true(isnan(rl_exp(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(within_one_ulp), cmocka_unit_test(special_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
