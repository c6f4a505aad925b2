/* Tests how sure verdicts are: quantiles and intervals against published tables, pooled variances against hand-made ones,
 * thresholds, the odds of repeated trials, and which trial runs again next. */
#include "support/unit.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <lineage/evidence.h>

#include "statistics/quantiles.h"

static void assert_near(double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("%.10g is not %.10g", got, wanted);
}

/* Abramowitz and Stegun, tables 26.8 and 26.10; the normal quantiles are those of table 26.5. */
static void quantiles_are_those_of_tables(void **state)
{
    (void)state;
    assert_near(quantile_t(0.025, 2), 4.30265273, 1e-7);
    assert_near(quantile_t(0.05, 10), 1.81246112, 1e-7);
    assert_near(quantile_t(0.05, (double)INFINITY), 1.64485363, 1e-7);
    assert_near(quantile_t(0.0005, (double)INFINITY), 3.29052673, 1e-7);
    assert_near(quantile_chi_square(0.025, 2), 7.37775891, 1e-7);
    assert_near(quantile_chi_square(0.975, 2), 0.05063562, 1e-7);
    assert_near(quantile_chi_square(0.05, 30), 43.7729718, 1e-6);
    assert_near(tail_f(4.10282102, 2, 10), 0.05, 1e-7);
    assert_near(tail_f(9.55209450, 2, 3), 0.05, 1e-7);
}

static void a_floor_is_an_interval(void **state)
{
    char text[LINEAGE_NOISE_TEXT_MAX];
    struct lineage_noise noise;
    const struct lineage_config measured = {.noise_std = 0.045, .noise_freedom = 2, .noise_runs = 3}, owner = {.noise_std = 0.2},
                                two = {.noise_std = 0.045, .noise_freedom = 1};
    (void)state;
    lineage_noise_of_config(&noise, &measured);
    assert_near(noise.low, 0.045 * sqrt(2 / 7.37775891), 1e-9);
    assert_near(noise.high, 0.045 * sqrt(2 / 0.05063562), 1e-7);
    assert_string_equal(lineage_noise_text(text, &noise), "0.045 from 3 seeds, 95 % interval 0.0234 to 0.283");
    lineage_noise_of_config(&noise, &two);
    assert_non_null(strstr(lineage_noise_text(text, &noise), "from 2 seeds"));
    assert_non_null(strstr(text, "two runs say little"));
    lineage_noise_of_config(&noise, &owner);
    assert_true(isinf(noise.freedom) && noise.low == 0.2 && noise.high == 0.2);
}

static void variances_are_pooled_by_their_freedom(void **state)
{
    const struct lineage_noise_group groups[] = {{3, 1}, {5, 4}, {1, 100}};
    struct lineage_noise noise;
    (void)state;
    lineage_noise_pool(&noise, groups, 3);
    assert_near(noise.std * noise.std, (2 * 1 + 4 * 4) / 6.0, 1e-12);
    assert_true(noise.freedom == 6 && noise.runs == 8 && noise.left_out == 0);
    lineage_noise_pool(&noise, groups, 0);
    assert_true(noise.std == 0 && noise.freedom == 0);
}

/* A baseline of three seeds, one of which shared the machine, and the replicates after it. */
static void a_contended_seed_is_left_out(void **state)
{
    const struct lineage_noise_group groups[] = {{3, 0.269 * 0.269}, {3, 0.0004}, {3, 0.0003}, {2, 0.0005}};
    struct lineage_noise noise;
    (void)state;
    lineage_noise_pool(&noise, groups, 4);
    assert_true(noise.left_out == 1 && noise.freedom == 5 && noise.runs == 8);
    assert_near(noise.std, sqrt((2 * 0.0004 + 2 * 0.0003 + 0.0005) / 5), 1e-12);
    lineage_noise_pool(&noise, groups, 2); /* too near for two degrees of freedom */
    assert_true(noise.left_out == 0 && noise.freedom == 4);
    const struct lineage_noise_group gross[] = {{3, 1e-4}, {3, 16}}, two[] = {{2, 1e-4}, {3, 16}};
    lineage_noise_pool(&noise, gross, 2);
    assert_true(noise.left_out == 1 && noise.freedom == 2 && noise.runs == 3);
    lineage_noise_pool(&noise, two, 2); /* one degree of freedom accuses nobody */
    assert_true(noise.left_out == 0 && noise.freedom == 3);
}

static void scatter_limits_a_wide_threshold(void **state)
{
    double scores[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1e9};
    struct lineage_scatter scatter = lineage_scatter_of(scores, 10);
    struct lineage_config config = {.noise_std = 0.269, .noise_freedom = 2};
    (void)state;
    assert_near(scatter.std, 1.4826 * 2.5, 1e-12);
    const double wide = lineage_threshold(&config, NULL);
    assert_near(wide, 31.5990546 * 0.269 * sqrt(2), 1e-5);
    const struct lineage_scatter small = {0.05, 26}, few = {0.05, 9}, none = {0, 26};
    const double low = 0.269 * sqrt(2 / 7.37775891); /* the scatter is below the interval, so its low end counts */
    assert_near(lineage_threshold(&config, &small), low * quantile_t(0.0005, 0.37 * 25) * sqrt(2), 1e-6);
    assert_true(lineage_threshold(&config, &few) == wide && lineage_threshold(&config, &none) == wide);
    config.noise_freedom = 0; /* the owner knows the noise */
    assert_near(lineage_threshold(&config, &small), 3.29052673 * 0.269 * sqrt(2), 1e-6);
}

static struct lineage_judgement judge(double std, double freedom, size_t n, double mean, size_t m, double best)
{
    const struct lineage_evidence_rule rule = {.trials = 100, .higher = true};
    const struct lineage_noise noise = {.std = std, .freedom = freedom};
    struct lineage_judgement j;
    lineage_judge(&j, &rule, &noise, &(struct lineage_runs){n, mean}, &(struct lineage_runs){m, best});
    return j;
}

static void odds_are_those_of_the_formula(void **state)
{
    const double infinite = (double)INFINITY, information = 10 * 40 / 50.0, s = 1.5 * information;
    struct lineage_judgement j = judge(1, infinite, 10, 1.5, 40, 0);
    double odds = 0.8 * exp(s - information / 2) + 0.1 * exp(2 * s - 2 * information) + 0.1 * exp(4 * s - 8 * information);
    (void)state;
    assert_near(j.odds / odds, 1, 1e-12);
    assert_near(j.error, sqrt(1 / information), 1e-12);
    assert_int_equal(j.state, LINEAGE_EVIDENCE_CONFIRMED);
    assert_int_equal(judge(1, infinite, 10, 0.6, 40, 0).state, LINEAGE_EVIDENCE_OPEN);
    assert_int_equal(judge(1, infinite, 10, 0, 40, 0).state, LINEAGE_EVIDENCE_REFUTED);
    assert_int_equal(judge(1, infinite, 64, 0.6, 64, 0).state, LINEAGE_EVIDENCE_EXHAUSTED);
    assert_int_equal(judge(1, infinite, 1, 50, 40, 0).state, LINEAGE_EVIDENCE_OPEN); /* one run confirms nothing */
    assert_int_equal(judge(1, 1, 2, 50, 2, 0).state, LINEAGE_EVIDENCE_OPEN);         /* neither does a floor from two */
}

static void unknown_and_absent_noise(void **state)
{
    struct lineage_judgement j = judge(0, 0, 1, 1, 1, 0);
    double low, high;
    (void)state;
    assert_true(j.state == LINEAGE_EVIDENCE_OPEN && j.candidate && isnan(j.error));
    lineage_judgement_interval(&low, &high, &j, &(struct lineage_noise){0});
    assert_true(isnan(low) && isnan(high));
    assert_int_equal(judge(0, 0, 1, -1, 1, 0).state, LINEAGE_EVIDENCE_REFUTED);
    assert_int_equal(judge(0, 2, 2, 1, 2, 0).state, LINEAGE_EVIDENCE_OPEN);      /* three equal scores may be chance */
    assert_int_equal(judge(0, 3, 2, 1, 4, 0).state, LINEAGE_EVIDENCE_CONFIRMED); /* the seed changes nothing */
    assert_int_equal(judge(0, 3, 2, 0, 4, 0).state, LINEAGE_EVIDENCE_REFUTED);
    j = judge(2, 4, 4, 1, 4, 0);
    lineage_judgement_interval(&low, &high, &j, &(struct lineage_noise){.std = 2, .freedom = 4});
    assert_near(high - low, 2 * 2.77644511 * 2 * sqrt(0.5), 1e-6);
}

static void a_score_has_a_margin(void **state)
{
    (void)state;
    assert_near(lineage_noise_margin(&(struct lineage_noise){.std = 0.2, .freedom = (double)INFINITY}, 4), 1.959963985 * 0.1,
                1e-6);
    assert_near(lineage_noise_margin(&(struct lineage_noise){.std = 2, .freedom = 4}, 1), 2.77644511 * 2, 1e-6);
    assert_true(isnan(lineage_noise_margin(&(struct lineage_noise){0}, 1)));

    /* The margin of a row depends on the seeds that the row names, else on those of the settings. */
    struct lineage_config config = {.noise_std = 0.2, .noise_seeds = 4};
    struct lineage_trial row = {.score = {true, 1}, .notes = "lr=0.1"};
    assert_near(lineage_score_margin(&config, &row).value, 1.959963985 * 0.1, 1e-6);
    row.notes = "mean of 16 seeds, std 0.2";
    assert_near(lineage_score_margin(&config, &row).value, 1.959963985 * 0.05, 1e-6);
    row.score.present = false;
    assert_false(lineage_score_margin(&config, &row).present);
    row.score.present = true;
    config.noise_std = 0;
    assert_false(lineage_score_margin(&config, &row).present);
    assert_int_equal(lineage_score_runs(NULL), 1);
    assert_int_equal(lineage_score_runs("lr=3; mean of 5 seeds, std 0.01"), 5);
    assert_int_equal(lineage_score_runs("mean of 5 seeds"), 1);
}

/* Single runs and ten good ones: the lucky single run is drawn to the middle, and is the one to repeat. */
static void runs_go_where_they_decide(void **state)
{
    struct lineage_evidence_trial list[] = {{.exp_id = "0", .runs = {1, 5.0}},
                                            {.exp_id = "1", .kept_id = "1", .runs = {10, 1.1}},
                                            {.exp_id = "2", .runs = {1, 1.0}},
                                            {.exp_id = "3", .runs = {1, 3.0}},
                                            {.exp_id = "4", .runs = {1, 1.9}}};
    struct lineage_evidence evidence = {.trials = list, .n = 5, .noise = {.std = 0.5, .freedom = 9}};
    const bool none[5] = {false}, skip[5] = {false, true, true};
    size_t order[5];
    (void)state;
    assert_true(lineage_evidence_judge(&evidence));
    assert_int_equal(evidence.answer, 1);
    assert_int_equal(evidence.second, 2);
    assert_int_equal(evidence.best, 1);
    assert_true(evidence.over_second > 0.5 && evidence.over_second < 0.9 && evidence.sure < evidence.over_second &&
                list[2].expected > list[1].expected && list[2].doubt > list[1].doubt);
    assert_int_equal(lineage_evidence_next(&evidence, none), 2);
    assert_int_equal(lineage_evidence_next(&evidence, skip), 4);
    evidence.noise =
        (struct lineage_noise){.std = 0.001, .freedom = (double)INFINITY}; /* the single run is right; one more proves it */
    assert_true(lineage_evidence_judge(&evidence));
    assert_true(evidence.answer == 2 && evidence.sure > 0.999);
    assert_int_equal(lineage_evidence_next(&evidence, none), 2);
    list[2].runs.n = 2;
    assert_true(lineage_evidence_judge(&evidence) && lineage_evidence_is_ready(&evidence, 2));
    assert_int_equal(lineage_evidence_next(&evidence, none), 2); /* for its row */
    list[2].kept_id = "2";
    assert_true(lineage_evidence_judge(&evidence));
    assert_true(lineage_evidence_next(&evidence, none) == SIZE_MAX);
    list[0].runs.mean = 500; /* a run that may have diverged is repeated */
    evidence.noise = (struct lineage_noise){.std = 0.5, .freedom = 9};
    assert_true(lineage_evidence_judge(&evidence));
    assert_int_equal(lineage_evidence_next(&evidence, none), 0);
    assert_true(list[0].stray && list[0].expected < 5 && list[0].doubt > list[4].doubt); /* it says nothing about its setting */
    lineage_evidence_order(order, &evidence);
    assert_int_equal(order[4], 0);
    list[4].runs.mean = 1.05; /* which of two leads is more in doubt than that the setting is better than both */
    list[3].runs.mean = 5;
    evidence.noise.std = 1;
    assert_true(lineage_evidence_judge(&evidence) && list[0].stray);
    assert_int_not_equal(lineage_evidence_next(&evidence, none), 0);
    list[0].again = 1; /* it ran again and failed */
    assert_true(lineage_evidence_judge(&evidence) && !list[0].stray && list[0].expected > list[3].expected);
}

/* Two of three runs of a good trial diverged. That is chance where other runs do, so the good one counts: it runs again before it is named, and
 * another trial of which both runs diverged may run a third time. */
static void chance_divergence_abandons_no_trial(void **state)
{
    struct lineage_evidence_trial list[] = {{.exp_id = "0", .runs = {3, 2.0}, .again = 2},
                                            {.exp_id = "1", .runs = {1, 1.0}, .again = 2, .left_out = 2},
                                            {.exp_id = "2", .runs = {1, 2.6}},
                                            {.exp_id = "3", .runs = {1, 3.0}},
                                            {.exp_id = "4", .runs = {1, 2.9}},
                                            {.exp_id = "5", .runs = {2, 90.0}, .again = 1}};
    struct lineage_evidence evidence = {.trials = list, .n = 6, .noise = {.std = 0.1, .freedom = 9}};
    const bool none[6] = {false};
    size_t order[6];
    (void)state;
    assert_true(lineage_evidence_judge(&evidence));
    assert_int_equal(evidence.answer, 0);
    assert_int_equal(lineage_evidence_next(&evidence, none), 1);
    assert_true(list[5].stray && list[5].expected < 3.5);
    lineage_evidence_order(order, &evidence);
    assert_true(order[0] == 0 && (order[4] == 1 || order[5] == 1));
    list[1].runs.n = 2; /* half of its runs did not diverge */
    list[1].again = 3;
    assert_true(lineage_evidence_judge(&evidence));
    assert_int_equal(evidence.answer, 1);
    list[1].left_out = 0; /* nothing diverges by chance */
    assert_true(lineage_evidence_judge(&evidence) && !list[5].stray);
}

/* One run of a trial that ran again measures little. The second runs next if it is near, and the leader if it is far. */
static void the_leader_runs_alone_only_if_it_is_far_ahead(void **state)
{
    struct lineage_evidence_trial list[] = {{.exp_id = "0", .runs = {2, 1.0}},
                                            {.exp_id = "1", .runs = {1, 1.01}},
                                            {.exp_id = "2", .runs = {1, 2.0}},
                                            {.exp_id = "3", .runs = {1, 3.0}},
                                            {.exp_id = "4", .runs = {1, 4.0}}};
    struct lineage_evidence evidence = {.trials = list, .n = 5, .noise = {.std = 0.3, .freedom = 1}};
    const bool none[5] = {false};
    (void)state;
    assert_true(lineage_evidence_judge(&evidence));
    assert_int_equal(lineage_evidence_next(&evidence, none), 1);
    list[1].runs.mean = 1.9;
    assert_true(lineage_evidence_judge(&evidence));
    assert_int_equal(lineage_evidence_next(&evidence, none), 0);
}

/* Equal trials have equal chances of being the best, in which the answer's own error counts once and not against each of them. */
static void equal_trials_have_equal_chances(void **state)
{
    struct lineage_evidence_trial list[6];
    (void)state;
    for (size_t n = 2; n <= 6; n++) {
        for (size_t i = 0; i < n; i++)
            list[i] = (struct lineage_evidence_trial){.exp_id = "0", .runs = {3, 1.0}, .again = 2};
        struct lineage_evidence evidence = {.trials = list, .n = n, .noise = {.std = 0.1, .freedom = (double)INFINITY}};
        list[0].runs.mean -= 1e-6; /* nothing beside the noise */
        assert_true(lineage_evidence_judge(&evidence));
        assert_near(evidence.over_second, 0.5, 1e-4);
        assert_near(evidence.sure, 1 / (double)n, 1e-4);
    }
}

/* A setting more of whose runs diverged than did not does not count as a rival before it runs again. */
static void what_is_held_back_is_no_rival(void **state)
{
    struct lineage_evidence_trial list[] = {{.exp_id = "0", .runs = {3, 1.0}, .again = 2},
                                            {.exp_id = "1", .runs = {3, 1.1}, .again = 2},
                                            {.exp_id = "2", .runs = {1, 0.5}, .again = 2, .left_out = 2}};
    struct lineage_evidence evidence = {.trials = list, .n = 3, .noise = {.std = 0.1, .freedom = 4}};
    (void)state;
    assert_true(lineage_evidence_judge(&evidence) && evidence.answer == 0 && lineage_evidence_held_back(&evidence) == 2);
    assert_true(evidence.over_second > 0.6);
    assert_near(evidence.sure, evidence.over_second, 0.03);
    assert_int_equal(lineage_evidence_next(&evidence, (const bool[3]){false}), 2);
}

/* Rivals that are known far better than the answer change the probability smoothly. */
static void a_well_known_rival_makes_no_steps(void **state)
{
    double before = 0, step = 0;
    (void)state;
    for (int k = 0; k <= 200; k++) {
        struct lineage_evidence_trial list[] = {{.exp_id = "0", .runs = {1, 0}},
                                                {.exp_id = "1", .runs = {1000000, 1 + 0.01 * k}, .again = 1},
                                                {.exp_id = "2", .runs = {1000000, 4}, .again = 1},
                                                {.exp_id = "3", .runs = {1000000, 5}, .again = 1}};
        struct lineage_evidence evidence = {.trials = list, .n = 4, .noise = {.std = 1, .freedom = (double)INFINITY}};
        assert_true(lineage_evidence_judge(&evidence) && evidence.answer == 0);
        assert_true(evidence.sure <= evidence.over_second);
        assert_near(evidence.sure, evidence.over_second, 0.03);
        if (k > 0 && evidence.sure - before > step)
            step = evidence.sure - before;
        before = evidence.sure;
    }
    assert_true(step < 0.006);
}

/* Where the squares of scores overflow, the noise and what follows from it are unknown. */
static void what_overflows_is_unknown(void **state)
{
    const struct lineage_noise_group groups[] = {{3, 1e308}, {3, 1.5e308}};
    struct lineage_evidence_trial list[] = {{.exp_id = "0", .runs = {2, -1e200}, .again = 1},
                                            {.exp_id = "1", .runs = {2, 1e200}, .again = 1},
                                            {.exp_id = "2", .runs = {2, 3e200}, .again = 1}};
    struct lineage_evidence evidence = {.trials = list, .n = 3};
    struct lineage_noise noise;
    (void)state;
    lineage_noise_pool(&noise, groups, 2);
    assert_true(noise.freedom == 0 && noise.std == 0);
    assert_true(lineage_evidence_judge(&evidence));
    assert_true(isnan(evidence.sure) && isnan(evidence.over_second));
}

static void a_mean_has_the_digits_of_its_margin(void **state)
{
    static const struct {
        double mean, margin;
        const char *text;
    } cases[] = {{1234567, 0, "1234567"},
                 {1234568.25, 0, "1234568.25"},
                 {1234567, NAN, "1234567"},
                 {1000000000.2, 0.16, "1000000000.2"},
                 {0.8666666, 0.027, "0.866667"},
                 {123.456789, 0.0099, "123.4568"},
                 {123.456789, 0.011, "123.457"},
                 {12.25, 2.7e5, "12.25"},
                 {-2000000000.31, 0.31, "-2000000000.31"},
                 {0, 0.1, "0"},
                 {1e300, NAN, "1e+300"},
                 {0.1, 0, "0.1"}};
    char text[LINEAGE_NUMBER_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(lineage_mean_text(text, cases[i].mean, cases[i].margin), cases[i].text);
}

/* Two settings that are nearer to each other than their runs say nothing about a third one far behind them. */
static void a_setting_far_behind_keeps_its_mean(void **state)
{
    struct lineage_evidence_trial list[] = {{.exp_id = "0", .runs = {3, 5.55}, .again = 2},
                                            {.exp_id = "1", .runs = {3, 5.114}, .again = 2},
                                            {.exp_id = "2", .runs = {3, 5.124}, .again = 2}};
    struct lineage_evidence evidence = {.trials = list, .n = 3, .noise = {.std = 0.077, .freedom = 6}};
    (void)state;
    assert_true(lineage_evidence_judge(&evidence));
    assert_near(list[0].expected, 5.55, 1e-12);
    assert_near(list[0].doubt, 0.077 / sqrt(3), 0.01);
    assert_true(evidence.answer == 1 && evidence.sure > 0.45);
}

/* One run far outside says nothing, unless the scores have many magnitudes, as with learning rates of which the largest are bad. */
static void magnitudes_are_no_divergence(void **state)
{
    const double scores[][7] = {
        {1.0, 1.1, 1.15, 1.2, 1.3, 1.4, 50}, {0.05, 0.06, 0.3, 1, 3, 8, 50}, {-0.05, 0.06, 0.3, 1, 3, 8, 50}};
    const bool stray[] = {true, false, true};
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        struct lineage_evidence_trial list[7];
        for (size_t i = 0; i < 7; i++)
            list[i] = (struct lineage_evidence_trial){.exp_id = "0", .runs = {1, scores[k][i]}};
        struct lineage_evidence evidence = {.trials = list, .n = 7};
        assert_true(lineage_evidence_judge(&evidence));
        assert_int_equal(list[6].stray, stray[k]);
    }
}

/* Half of the first runs diverged, that of the baseline, too: being better than it proves nothing before it ran again. */
static void nothing_is_better_than_a_diverged_baseline(void **state)
{
    struct lineage_evidence_trial list[] = {{.exp_id = "0", .kept_id = "0", .status = LINEAGE_BASELINE, .runs = {1, 9.1}},
                                            {.exp_id = "1", .runs = {3, 1.1}, .again = 2},
                                            {.exp_id = "2", .runs = {1, 9.4}},
                                            {.exp_id = "3", .runs = {3, 1.4}, .again = 2},
                                            {.exp_id = "4", .runs = {1, 1.3}},
                                            {.exp_id = "5", .runs = {1, 9.2}}};
    struct lineage_evidence evidence = {.trials = list, .n = 6, .noise = {.std = 0.1, .freedom = 4}};
    (void)state;
    assert_true(lineage_evidence_judge(&evidence) && list[1].judgement.state == LINEAGE_EVIDENCE_CONFIRMED);
    assert_false(lineage_evidence_is_ready(&evidence, 1));
    list[0].runs = (struct lineage_runs){2, 9.0};
    list[0].again = 1;
    assert_true(lineage_evidence_judge(&evidence) && lineage_evidence_is_ready(&evidence, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_trials_have_equal_chances),
        cmocka_unit_test(what_is_held_back_is_no_rival),
        cmocka_unit_test(a_well_known_rival_makes_no_steps),
        cmocka_unit_test(what_overflows_is_unknown),
        cmocka_unit_test(a_mean_has_the_digits_of_its_margin),
        cmocka_unit_test(a_setting_far_behind_keeps_its_mean),
        cmocka_unit_test(magnitudes_are_no_divergence),
        cmocka_unit_test(nothing_is_better_than_a_diverged_baseline),
        cmocka_unit_test(the_leader_runs_alone_only_if_it_is_far_ahead),
        cmocka_unit_test(quantiles_are_those_of_tables),
        cmocka_unit_test(a_floor_is_an_interval),
        cmocka_unit_test(variances_are_pooled_by_their_freedom),
        cmocka_unit_test(a_contended_seed_is_left_out),
        cmocka_unit_test(scatter_limits_a_wide_threshold),
        cmocka_unit_test(odds_are_those_of_the_formula),
        cmocka_unit_test(unknown_and_absent_noise),
        cmocka_unit_test(a_score_has_a_margin),
        cmocka_unit_test(runs_go_where_they_decide),
        cmocka_unit_test(chance_divergence_abandons_no_trial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
