/* rlcore_passk.c: tests pass@k against exact fractions, the Beta fit at its maximum, lengths, and bad input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include <rlcore/length.h>
#include <rlcore/passk.h>

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.17g is not %.17g", a, b);
}

static double choose(int64_t n, int64_t k)
{
    double value = 1;
    for (int64_t i = 0; i < k; i++)
        value = value * (double)(n - i) / (double)(i + 1);
    return k > n ? 0 : value;
}

static double one_passk(enum rl_passk estimator, int64_t n, int64_t c, int64_t k)
{
    double value, mean;
    assert_int_equal(rl_passk(estimator, 1, &n, &c, 1, &k, &value, &mean, NULL), RL_OK);
    assert_near(value, mean, 0);
    return value;
}

static void unbiased_is_the_ratio_of_binomials(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 12; n++)
        for (int64_t c = 0; c <= n; c++)
            for (int64_t k = 1; k <= n; k++)
                assert_near(one_passk(RL_PASSK_UNBIASED, n, c, k), 1 - choose(n - c, k) / choose(n, k), 1e-14);
}

static void large_counts(void **state)
{
    (void)state;
    assert_near(one_passk(RL_PASSK_UNBIASED, 100000, 1, 50000), 0.5, 1e-14);
    assert_near(one_passk(RL_PASSK_UNBIASED, 100000, 2, 1), 2e-5, 1e-18);
    assert_near(one_passk(RL_PASSK_UNBIASED, 1000000000000, 3, 1), 3e-12, 1e-26);
    assert_near(one_passk(RL_PASSK_UNBIASED, 1000000000000000000, 500000000000000000, 400000000000000000), 1,
                0); /* this case must also be fast */
    assert_near(one_passk(RL_PASSK_BERNOULLI, 4, 1, 1000000), 1, 0);
}

static void bad_counts_are_refused(void **state)
{
    (void)state;
    struct rl_error err;
    const int64_t bad[][3] = {{8, 1, 9}, {8, 1, 0}, {8, 9, 1}, {8, -1, 1}, {0, 0, 1}};
    double value;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(rl_passk(RL_PASSK_UNBIASED, 1, &bad[i][0], &bad[i][1], 1, &bad[i][2], &value, NULL, &err), RL_EVALUE);
    assert_int_equal(rl_passk(RL_PASSK_BERNOULLI, 1, &bad[0][0], &bad[0][1], 1, &bad[0][2], &value, NULL, &err), RL_OK);
}

static void uniform_rates_pass_with_k_over_k_plus_one(void **state)
{
    (void)state;
    const int64_t k[] = {1, 2, 9, 4095, 4096, 4097, 1000000, 1000000000};
    double passk[8];
    assert_int_equal(rl_passk_beta(1, 1, 8, k, passk, NULL), RL_OK);
    for (size_t i = 0; i < 8; i++)
        assert_near(passk[i], (double)k[i] / ((double)k[i] + 1), 1e-13);
    assert_int_equal(rl_passk_beta(0, 1, 8, k, passk, NULL), RL_EINVAL);
}

static double log_likelihood(double alpha, double beta, size_t n_problems, const int64_t *n, const int64_t *c)
{
    double sum = 0;
    for (size_t i = 0; i < n_problems; i++)
        sum += lgamma((double)c[i] + alpha) + lgamma((double)(n[i] - c[i]) + beta) - lgamma((double)n[i] + alpha + beta) -
               lgamma(alpha) - lgamma(beta) + lgamma(alpha + beta);
    return sum;
}

static void the_fit_is_at_a_maximum(void **state)
{
    (void)state;
    const int64_t n[] = {8, 8, 16, 4, 8, 8, 0}, c[] = {0, 8, 3, 4, 1, 6, 0};
    struct rl_beta_fit fit;
    assert_int_equal(rl_passk_beta_fit(7, n, c, &fit, NULL), RL_OK);
    double best = log_likelihood(fit.alpha, fit.beta, 7, n, c);
    assert_near(fit.log_likelihood, best, 1e-11);
    for (int a = -1; a <= 1; a++)
        for (int b = -1; b <= 1; b++)
            if (a || b)
                assert_true(log_likelihood(fit.alpha * (1 + a * 1e-3), fit.beta * (1 + b * 1e-3), 7, n, c) < best);
}

static void fits_without_a_maximum(void **state)
{
    (void)state;
    const int64_t n[] = {8, 8}, none[] = {0, 0}, all[] = {8, 8}, same[] = {4, 4};
    struct rl_beta_fit fit;
    assert_int_equal(rl_passk_beta_fit(2, n, none, &fit, NULL), RL_ENOMAX);
    assert_int_equal(rl_passk_beta_fit(2, n, all, &fit, NULL), RL_ENOMAX);
    assert_int_equal(rl_passk_beta_fit(0, n, all, &fit, NULL), RL_ENOMAX);
    assert_int_equal(rl_passk_beta_fit(2, n, same, &fit, NULL), RL_ENOMAX);
    assert_int_equal(rl_passk_beta_fit(2, none, all, &fit, NULL), RL_EVALUE);
}

/*
 * Three problems have two samples each, of which none, one and both are correct. Along alpha = beta = a the slope is
 * -a + 1, so the maximum is at 1.
 */
static void the_fit_is_sharp(void **state)
{
    (void)state;
    const int64_t n[] = {2, 2, 2}, c[] = {0, 1, 2};
    struct rl_beta_fit fit;
    assert_int_equal(rl_passk_beta_fit(3, n, c, &fit, NULL), RL_OK);
    assert_near(fit.alpha, 1, 1e-11);
    assert_near(fit.beta, 1, 1e-11);
}

/* Counts are refused if they determine only the mean, or if they vary no more than a single pass rate explains. */
static void fits_on_a_ridge_are_refused(void **state)
{
    (void)state;
    const int64_t ones[] = {1, 1, 1, 0}, some[] = {0, 1, 0, 0};
    const int64_t nearly[] = {1, 1, 2}, few[] = {0, 1, 1};
    struct rl_beta_fit fit;
    struct rl_error err;
    assert_int_equal(rl_passk_beta_fit(4, ones, some, &fit, &err), RL_ENOMAX);
    assert_non_null(strstr(err.text, "one sample a problem"));
    assert_int_equal(rl_passk_beta_fit(3, nearly, few, &fit, &err), RL_ENOMAX);
    assert_non_null(strstr(err.text, "one pass rate"));
}

static void a_fit_over_many_sizes(void **state)
{
    (void)state;
    const int64_t n[] = {1000000000, 1000000000, 1000000000, 10, 0};
    const int64_t c[] = {1, 500000, 900000000, 3, 0};
    struct rl_beta_fit fit, without;
    assert_int_equal(rl_passk_beta_fit(5, n, c, &fit, NULL), RL_OK);
    assert_int_equal(rl_passk_beta_fit(4, n, c, &without, NULL), RL_OK);
    assert_true(fit.alpha > 0.05 && fit.alpha < 1 && fit.beta > 0.05 && fit.beta < 1);
    assert_near(fit.alpha, without.alpha, 0);
}

static void sampling_stops_at_enough_or_at_the_budget(void **state)
{
    (void)state;
    struct rl_passk_sampling s = {.enough = 2, .budget = 20, .round = 8};
    const int64_t n[] = {0, 8, 8, 16, 20, 24, 16}, c[] = {0, 1, 2, 0, 0, 1, 16};
    const int64_t expected[] = {8, 8, 0, 4, 0, 0, 0};
    int64_t more[7];
    assert_int_equal(rl_passk_more(&s, 7, n, c, more, NULL), RL_OK);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(more[i], expected[i]);
    s.enough = 1;
    assert_int_equal(rl_passk_more(&s, 7, n, c, more, NULL), RL_OK);
    assert_int_equal(more[1], 0);
}

static void bad_sampling_settings_are_refused(void **state)
{
    (void)state;
    struct rl_passk_sampling s = {.enough = 2, .budget = 20, .round = 0};
    const int64_t n[] = {4, 4}, c[] = {0, 5};
    int64_t more[2];
    struct rl_error err;
    assert_int_equal(rl_passk_more(&s, 2, n, c, more, &err), RL_EINVAL);
    assert_non_null(strstr(err.text, "round"));
    s.round = 1;
    assert_int_equal(rl_passk_more(&s, 2, n, c, more, &err), RL_EVALUE);
    assert_non_null(strstr(err.text, "c[1]"));
}

static void rewards_of_blocks(void **state)
{
    (void)state;
    double rewards[] = {0, 1, -1, -2, 0.5, 0};
    assert_int_equal(rl_passk_reward(6, rewards, 4, rewards, NULL), RL_EINVAL);
    assert_int_equal(rl_passk_reward(6, rewards, 0, rewards, NULL), RL_EINVAL);
    assert_int_equal(rl_passk_reward(6, rewards, 2, rewards, NULL), RL_OK);
    assert_near(rewards[0], 1, 0);
    assert_near(rewards[2], -1, 0);
    assert_near(rewards[5], 0.5, 0);
}

static void an_anchor_is_set_once(void **state)
{
    (void)state;
    double anchor = NAN;
    const double nine[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 0}, ten[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const double lengths[] = {10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
    assert_int_equal(rl_length_anchor(10, nine, lengths, &anchor, NULL), RL_OK);
    assert_true(isnan(anchor));
    assert_int_equal(rl_length_anchor(10, ten, lengths, &anchor, NULL), RL_OK);
    assert_near(anchor, 55, 0);
    assert_int_equal(rl_length_anchor(1, ten, lengths, &anchor, NULL), RL_OK);
    assert_near(anchor, 55, 0);
}

static void bad_lengths_are_refused(void **state)
{
    (void)state;
    struct rl_error err;
    double reward = 1, out, length = -5, anchor = 0;
    struct rl_length_input in = {.n = 1, .rewards = &reward, .lengths = &length, .anchor = &anchor};
    assert_int_equal(rl_length_penalty(RL_LENGTH_UNIFORM, 0.1, &in, &out, NULL, &err), RL_EVALUE);
    assert_non_null(strstr(err.text, "lengths[0]"));
    length = 5;
    assert_int_equal(rl_length_penalty(RL_LENGTH_ANCHOR, 0.1, &in, &out, NULL, &err), RL_EVALUE);
    assert_non_null(strstr(err.text, "anchor[0]"));
    anchor = NAN;
    assert_int_equal(rl_length_penalty(RL_LENGTH_ANCHOR, 0.1, &in, &out, NULL, &err), RL_OK);
    assert_near(out, 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unbiased_is_the_ratio_of_binomials),
        cmocka_unit_test(large_counts),
        cmocka_unit_test(bad_counts_are_refused),
        cmocka_unit_test(uniform_rates_pass_with_k_over_k_plus_one),
        cmocka_unit_test(the_fit_is_at_a_maximum),
        cmocka_unit_test(fits_without_a_maximum),
        cmocka_unit_test(the_fit_is_sharp),
        cmocka_unit_test(fits_on_a_ridge_are_refused),
        cmocka_unit_test(a_fit_over_many_sizes),
        cmocka_unit_test(sampling_stops_at_enough_or_at_the_budget),
        cmocka_unit_test(bad_sampling_settings_are_refused),
        cmocka_unit_test(rewards_of_blocks),
        cmocka_unit_test(an_anchor_is_set_once),
        cmocka_unit_test(bad_lengths_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
