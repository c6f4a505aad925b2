/* Tests the verdict keep or discard: differences are those that a person computes by hand, and the figures of a reason
 * agree with the verdict. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/store.h>

#include "append/verdict.h"

static void differences_are_those_of_the_written_digits(void **state)
{
    (void)state;
    assert_true(verdict_difference(0.3, 0.1) == 0.2);
    assert_true(verdict_difference(34.96, 34.51) == 0.45);
    assert_true(verdict_difference(5, 7) == -2);
    assert_true(verdict_difference(0.123, 0.1) == 0.023);
}

/* Differences of numbers that a person would not write by hand stay exact, because rounding would invent digits. */
static void other_differences_are_exact(void **state)
{
    static const double pairs[][2] = {{1e-7, 0.25}, {0.25, 1e-7}, {1234.5, 0.1}, {0.1234567890123456, 0.1}, {0.1, -1e300}};
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_true(verdict_difference(pairs[i][0], pairs[i][1]) == pairs[i][0] - pairs[i][1]);
    assert_true(isinf(verdict_difference(1e308, -1e308)));
    assert_true(isnan(verdict_difference((double)NAN, 1)));
}

static void a_threshold_is_the_larger_of_two(void **state)
{
    (void)state;
    struct lineage_config config = {.min_delta = 0.5};
    assert_true(lineage_threshold(&config, NULL) == 0.5);
    config = (struct lineage_config){.noise_std = 1, .noise_seeds = 2, .night_trials = 2};
    assert_true(fabs(lineage_threshold(&config, NULL) - 1.959963984540054) < 1e-9); /* the normal quantile 0.975 */
    config.noise_seeds = 0;
    assert_true(fabs(lineage_threshold(&config, NULL) - 1.959963984540054 * sqrt(2)) < 1e-9);
    config.min_delta = 9;
    assert_true(lineage_threshold(&config, NULL) == 9);
}

static void assert_reason(double difference, double threshold, bool higher, const char *wanted)
{
    char reason[VERDICT_REASON_MAX];
    assert_false(verdict_is_keep(difference, threshold, higher));
    assert_string_equal(verdict_reason(reason, difference, threshold, higher), wanted);
}

static void a_reason_agrees_with_its_verdict(void **state)
{
    (void)state;
    assert_reason(0.1, 0.2, true, "discarded: +0.1, needs more than 0.2");
    assert_reason(0.3, 0, false, "discarded: +0.3, needs less than 0");
    assert_reason(-0.1, 0.2, false, "discarded: -0.1, needs less than -0.2");
    assert_reason(-0.0, 0, true, "discarded: +0, needs more than 0");
    assert_reason(0.12349, 0.1235, true, "discarded: +0.123, needs more than 0.123");
    assert_reason(0.12351, 0.12352, true, "discarded: +0.124, needs more than 0.124");
    assert_reason(0.99949, 0.99951, true, "discarded: +0.999, needs more than 1");
}

static void any_reason_agrees_with_its_verdict(void **state)
{
    char reason[VERDICT_REASON_MAX];
    (void)state;
    srand(1);
    for (int i = 0; i < 20000; i++) {
        double threshold = ldexp(rand(), -31), difference = threshold - ldexp(rand() % 3, -(40 + rand() % 20)), got, needed;
        if (verdict_is_keep(difference, threshold, true))
            continue;
        verdict_reason(reason, difference, threshold, true);
        assert_int_equal(sscanf(reason, "discarded: %lf, needs more than %lf", &got, &needed), 2);
        assert_false(verdict_is_keep(got, needed, true));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_are_those_of_the_written_digits),
        cmocka_unit_test(other_differences_are_exact),
        cmocka_unit_test(a_threshold_is_the_larger_of_two),
        cmocka_unit_test(a_reason_agrees_with_its_verdict),
        cmocka_unit_test(any_reason_agrees_with_its_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
