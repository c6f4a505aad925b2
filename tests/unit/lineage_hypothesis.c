/* Tests the verdict on a prediction: its sign, its interval, and what has no verdict. */
#include "support/unit.h"

#include <math.h>
#include <string.h>

#include <lineage/hypothesis.h>

static void an_interval_decides(void **state)
{
    static const struct {
        double expected, happened, margin;
        enum lineage_verdict verdict;
        bool covered;
    } cases[] = {{0.02, 0.03, 0.01, LINEAGE_SUPPORTED, true},    {0.02, 0.05, 0.01, LINEAGE_SUPPORTED, false},
                 {0.02, 0.005, 0.01, LINEAGE_REFUTED, false},    {0.02, -0.03, 0.01, LINEAGE_REFUTED, false},
                 {0.02, 0.01, 0.01, LINEAGE_INCONCLUSIVE, true}, {0.02, 0.015, 0.02, LINEAGE_INCONCLUSIVE, true},
                 {-0.02, -0.03, 0.01, LINEAGE_SUPPORTED, true},  {-0.02, 0.03, 0.01, LINEAGE_REFUTED, false},
                 {-0.02, -0.005, 0.01, LINEAGE_REFUTED, false},  {-0.02, -0.01, 0.02, LINEAGE_INCONCLUSIVE, true},
                 {0.1, 0.03, 0.01, LINEAGE_SUPPORTED, false}, /* less than predicted, but an improvement all the same */
                 {0, 0.005, 0.01, LINEAGE_INCONCLUSIVE, true},   {0, 0.02, 0.01, LINEAGE_REFUTED, false},
                 {0.02, 0.9, 0, LINEAGE_INCONCLUSIVE, false}, /* the noise is unknown */
                 {NAN, 0.1, 0.01, LINEAGE_VERDICT_NONE, false},  {0.1, INFINITY, 0.01, LINEAGE_VERDICT_NONE, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lineage_hypothesis h = lineage_hypothesis_judge(cases[i].expected, cases[i].happened, cases[i].margin);
        assert_int_equal(h.verdict, cases[i].verdict);
        assert_int_equal(h.covered, cases[i].covered);
    }
}

static void only_compared_trials_have_a_verdict(void **state)
{
    (void)state;
    struct lineage_trial trial = {.expected_delta = "≥ +0.02 EM", .status = LINEAGE_KEEP, .delta_vs_best = {true, 0.05}};
    assert_int_equal(lineage_hypothesis_of(&trial, 0.01).verdict, LINEAGE_SUPPORTED);
    trial.status = LINEAGE_DISCARD;
    assert_int_equal(lineage_hypothesis_of(&trial, 0.01).verdict, LINEAGE_SUPPORTED);
    trial.status = LINEAGE_CRASH;
    assert_int_equal(lineage_hypothesis_of(&trial, 0.01).verdict, LINEAGE_VERDICT_NONE);
    trial.status = LINEAGE_BASELINE;
    assert_int_equal(lineage_hypothesis_of(&trial, 0.01).verdict, LINEAGE_VERDICT_NONE);
    trial.status = LINEAGE_KEEP;
    trial.expected_delta = "better";
    assert_int_equal(lineage_hypothesis_of(&trial, 0.01).verdict, LINEAGE_VERDICT_NONE);
    trial.expected_delta = NULL;
    assert_int_equal(lineage_hypothesis_of(&trial, 0.01).verdict, LINEAGE_VERDICT_NONE);
    trial.expected_delta = "0.02";
    trial.delta_vs_best.present = false;
    assert_int_equal(lineage_hypothesis_of(&trial, 0.01).verdict, LINEAGE_VERDICT_NONE);
}

static void the_text_names_the_interval(void **state)
{
    (void)state;
    char text[LINEAGE_HYPOTHESIS_TEXT_MAX];
    struct lineage_hypothesis h = lineage_hypothesis_judge(0.02, 0.03, 0.01);
    assert_string_equal(lineage_hypothesis_text(text, &h), "supported: expected +0.02, happened +0.03 ± 0.01");
    h = lineage_hypothesis_judge(-0.02, 0.03, 0);
    assert_string_equal(lineage_hypothesis_text(text, &h),
                        "inconclusive: expected -0.02, happened +0.03, and the noise is unknown");
    h = lineage_hypothesis_judge(NAN, 0.03, 0);
    assert_string_equal(lineage_hypothesis_text(text, &h), "");
    assert_null(lineage_verdict_name(LINEAGE_N_VERDICTS));
}

/* Two standard errors of a difference of means of n seeds, at 95 %. */
static void the_margin_comes_from_the_noise(void **state)
{
    (void)state;
    struct lineage_config config = {.noise_std = 0};
    assert_true(lineage_hypothesis_margin(&config) == 0);
    config.noise_std = 0.5;
    assert_true(fabs(lineage_hypothesis_margin(&config) - 1.3859) < 1e-4);
    config.noise_seeds = 2;
    assert_true(fabs(lineage_hypothesis_margin(&config) - 0.97998) < 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interval_decides),
        cmocka_unit_test(only_compared_trials_have_a_verdict),
        cmocka_unit_test(the_text_names_the_interval),
        cmocka_unit_test(the_margin_comes_from_the_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
