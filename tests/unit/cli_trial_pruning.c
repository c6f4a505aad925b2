/* Tests when a trial is pruned: the settings of the rule, the value of a curve at a step, and both rules. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial/pruning.h"

static void a_rule_has_defaults_and_settings(void **state)
{
    (void)state;
    struct prune_rule rule;
    char why[256];
    assert_true(prune_rule_parse(&rule, NULL, why, sizeof why));
    assert_int_equal(rule.method, PRUNE_NONE);
    assert_true(prune_rule_parse(&rule, "median", why, sizeof why));
    assert_int_equal(rule.method, PRUNE_MEDIAN);
    assert_int_equal(rule.warmup, -1);
    assert_int_equal(rule.curves, PRUNE_CURVES);
    assert_int_equal(rule.patience, PRUNE_PATIENCE);
    assert_true(prune_rule_parse(&rule, "halving,warmup=0,curves=9,patience=3,factor=2.5", why, sizeof why));
    assert_int_equal(rule.method, PRUNE_HALVING);
    assert_int_equal(rule.warmup, 0);
    assert_int_equal(rule.curves, 9);
    assert_int_equal(rule.patience, 3);
    assert_true(rule.factor == 2.5);
}

static void what_is_no_rule_is_quoted(void **state)
{
    (void)state;
    static const char *const wrong[] = {"mean",
                                        "medians",
                                        "",
                                        "median,",
                                        "median,warmup",
                                        "median,warmup=",
                                        "median,warmup=-1",
                                        "median,curves=0",
                                        "median,patience=0.5",
                                        "median,factor=1",
                                        "median,other=1",
                                        "median,warmup=1x",
                                        "median,warmup=nan"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct prune_rule rule;
        char why[256] = "";
        assert_false(prune_rule_parse(&rule, wrong[i], why, sizeof why));
        assert_non_null(strstr(why, "prune: '"));
        assert_int_equal(rule.method, PRUNE_NONE);
    }
}

/* Curves of n points at the steps 10, 20, ..; curve i has the value values[i] at all of them. */
static struct prune_curves flat(const double *values, size_t n, size_t points)
{
    struct prune_curves curves = {.items = calloc(n, sizeof *curves.items), .n = n, .parent = SIZE_MAX, .best = SIZE_MAX};
    for (size_t i = 0; i < n; i++) {
        struct prune_curve *curve = &curves.items[i];
        snprintf(curve->id, sizeof curve->id, "%03zu", i);
        curve->finished = true;
        curve->points = calloc(points, sizeof *curve->points);
        for (curve->n = 0; curve->n < points; curve->n++)
            curve->points[curve->n] = (struct prune_point){10 * (int64_t)(curve->n + 1), values[i]};
    }
    return curves;
}

static void a_curve_has_the_value_of_its_last_point(void **state)
{
    (void)state;
    double value;
    struct prune_curves curves = flat((const double[]){1}, 1, 3);
    curves.items[0].points[1].value = 2;
    assert_false(prune_curve_at(&value, &curves.items[0], 9));
    assert_true(prune_curve_at(&value, &curves.items[0], 10) && value == 1);
    assert_true(prune_curve_at(&value, &curves.items[0], 29) && value == 2);
    assert_true(prune_curve_at(&value, &curves.items[0], 30) && value == 1);
    assert_false(prune_curve_at(&value, &curves.items[0], 31));
    prune_curves_release(&curves);
}

static struct pruning begin(const char *text, const double *values, size_t n, size_t points)
{
    struct pruning p;
    struct prune_rule rule;
    char why[256];
    struct prune_curves curves = flat(values, n, points);
    assert_true(prune_rule_parse(&rule, text, why, sizeof why));
    pruning_init(&p, &rule, &curves);
    return p;
}

static const double five[] = {1, 2, 3, 4, 5};

static void a_trial_below_the_median_is_pruned_after_its_patience(void **state)
{
    (void)state;
    char why[512] = "";
    struct pruning p = begin("median,warmup=20,patience=2", five, 5, 10);
    assert_false(pruning_judge(&p, 10, 3.5, why, sizeof why)); /* warm-up */
    assert_false(pruning_judge(&p, 20, 3.5, why, sizeof why)); /* once */
    assert_false(pruning_judge(&p, 20, 9, why, sizeof why));   /* the same step again */
    assert_true(pruning_judge(&p, 30, 4, why, sizeof why));
    assert_string_equal(why, "pruned at step 30: its best 3.5 is worse than the median 3 of 5 trials");
    pruning_release(&p);
    p = begin("median,warmup=20,patience=2", five, 5, 10);
    assert_false(pruning_judge(&p, 10, 2.5, why, sizeof why)); /* the best value so far counts */
    for (int step = 20; step <= 100; step += 10)
        assert_false(pruning_judge(&p, step, 9, why, sizeof why));
    pruning_release(&p);
}

static void the_direction_turns_the_rule_round(void **state)
{
    (void)state;
    char why[512];
    struct pruning p = begin("median,warmup=0,patience=1", five, 5, 10);
    p.curves.higher = true;
    assert_false(pruning_judge(&p, 10, 3, why, sizeof why));
    pruning_release(&p);
    p = begin("median,warmup=0,patience=1", five, 5, 10);
    p.curves.higher = true;
    assert_true(pruning_judge(&p, 10, 2.9, why, sizeof why));
    pruning_release(&p);
}

static void few_curves_the_last_step_and_nan_prune_nothing(void **state)
{
    (void)state;
    char why[512];
    struct pruning p = begin("median,warmup=0,patience=1", five, 3, 10);
    assert_false(pruning_judge(&p, 10, 99, why, sizeof why));
    pruning_release(&p);
    p = begin("median,warmup=0,patience=1", five, 5, 10);
    assert_false(pruning_judge(&p, 10, NAN, why, sizeof why));
    assert_false(pruning_judge(&p, 100, 99, why, sizeof why));
    assert_false(pruning_judge(&p, 1000, 99, why, sizeof why));
    pruning_release(&p);
    p = begin("median,warmup=0,patience=1", five, 5, 10);
    for (size_t i = 0; i < 2; i++) /* a pruned trial is not part of the median: three curves are left */
        p.curves.items[i].finished = false;
    assert_false(pruning_judge(&p, 10, 99, why, sizeof why));
    pruning_release(&p);
}

static void a_trial_that_keeps_up_with_parent_or_best_goes_on(void **state)
{
    (void)state;
    char why[512];
    for (int rival = 0; rival < 2; rival++) {
        struct pruning p = begin("median,warmup=0,patience=1", five, 5, 10);
        *(rival ? &p.curves.parent : &p.curves.best) = 3; /* its value is 4 */
        assert_false(pruning_judge(&p, 10, 4, why, sizeof why));
        pruning_release(&p);
    }
    struct pruning p = begin("median,warmup=0,patience=1", five, 5, 10);
    p.curves.parent = 3;
    p.curves.best = 0;
    assert_true(pruning_judge(&p, 10, 4.5, why, sizeof why));
    assert_string_equal(why, "pruned at step 10: its best 4.5 is worse than the median 3 of 5 trials, parent 003 (4), "
                             "best 000 (1)");
    pruning_release(&p);
}

/* With the rungs 10, 30 and 90 and five others, two of six go on. */
static void halving_judges_at_its_rungs(void **state)
{
    (void)state;
    char why[512];
    struct pruning p = begin("halving,warmup=10", five, 5, 10);
    assert_false(pruning_judge(&p, 10, 2, why, sizeof why));
    assert_false(pruning_judge(&p, 20, 2, why, sizeof why));
    pruning_release(&p);
    p = begin("halving,warmup=10", five, 5, 10);
    assert_true(pruning_judge(&p, 10, 2.1, why, sizeof why));
    assert_string_equal(why, "pruned at step 10: its best 2.1 is worse than the best 1/3, down to 2 of 5 trials");
    pruning_release(&p);
    p = begin("halving,warmup=10", five, 5, 10);
    p.curves.items[0].points[0].value = p.curves.items[1].points[0].value = 9; /* easy at the first rung only */
    assert_false(pruning_judge(&p, 10, 3.5, why, sizeof why));
    assert_false(pruning_judge(&p, 20, 3.5, why, sizeof why));
    assert_true(pruning_judge(&p, 40, 3.5, why, sizeof why)); /* the rung 30 was passed */
    assert_non_null(strstr(why, "pruned at step 30"));
    pruning_release(&p);
    p = begin("halving,warmup=10", five, 5, 10);
    for (size_t i = 0; i < 5; i++) /* pruned trials count here */
        p.curves.items[i].finished = false;
    assert_true(pruning_judge(&p, 10, 2.1, why, sizeof why));
    pruning_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_has_defaults_and_settings),
        cmocka_unit_test(what_is_no_rule_is_quoted),
        cmocka_unit_test(a_curve_has_the_value_of_its_last_point),
        cmocka_unit_test(a_trial_below_the_median_is_pruned_after_its_patience),
        cmocka_unit_test(the_direction_turns_the_rule_round),
        cmocka_unit_test(few_curves_the_last_step_and_nan_prune_nothing),
        cmocka_unit_test(a_trial_that_keeps_up_with_parent_or_best_goes_on),
        cmocka_unit_test(halving_judges_at_its_rungs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
