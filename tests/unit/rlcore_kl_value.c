/* rlcore_kl_value.c: tests gradients and errors of the KL penalties, the value loss and the aggregation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/loss.h>

#include "support/random_batch.h"

struct trial {
    struct random_batch *data;
    size_t n;
    double *out, *gradient;
    enum rl_kl kind;
    struct rl_agg agg;
    struct rl_error err;
};

static struct trial trial_new(void)
{
    struct trial t = {.data =
                          random_batch_new(40, (struct random_shape){.hole_share = 0.2, .empty_share = 0.1, .ratio_scale = 0.8})};
    t.n = t.data->batch.n_rows * t.data->batch.n_tokens;
    t.out = test_alloc(t.n, sizeof *t.out);
    t.gradient = test_alloc(t.n, sizeof *t.gradient);
    return t;
}

static void trial_free(struct trial *t)
{
    random_batch_free(t->data);
    free(t->out);
    free(t->gradient);
}

static double kl_sum(void *context)
{
    struct trial *t = context;
    double sum = 0;
    assert_int_equal(rl_kl_penalty(t->kind, false, t->n, t->data->log_prob, t->data->ref_log_prob, t->out, NULL, &t->err), RL_OK);
    for (size_t i = 0; i < t->n; i++)
        sum += t->out[i];
    return sum;
}

static void kl_gradients_match_differences(void **state)
{
    (void)state;
    struct trial t = trial_new();
    for (int kind = RL_KL_K1; kind <= RL_KL_K3; kind++) {
        size_t kinks;
        t.kind = (enum rl_kl)kind;
        assert_int_equal(rl_kl_penalty(t.kind, false, t.n, t.data->log_prob, t.data->ref_log_prob, t.out, t.gradient, &t.err),
                         RL_OK);
        assert_true(gradient_error(kl_sum, &t, t.data->log_prob, t.n, t.gradient, 1e-5, &kinks) < 1e-6);
        assert_true(kinks <= 3);
    }
    trial_free(&t);
}

static void straight_through_has_the_slope_of_k2(void **state)
{
    (void)state;
    struct trial t = trial_new();
    for (int kind = RL_KL_K1; kind <= RL_KL_K3; kind++) {
        t.kind = (enum rl_kl)kind;
        double sum = kl_sum(&t);
        assert_int_equal(rl_kl_penalty(t.kind, true, t.n, t.data->log_prob, t.data->ref_log_prob, t.out, t.gradient, &t.err),
                         RL_OK);
        for (size_t i = 0; i < t.n; i++) {
            sum -= t.out[i];
            assert_true(fabs(t.gradient[i] - (t.data->log_prob[i] - t.data->ref_log_prob[i])) < 1e-15);
        }
        assert_true(fabs(sum) < 1e-9);
    }
    t.data->ref_log_prob[t.n - 1] = NAN;
    assert_int_equal(rl_kl_penalty(RL_KL_K3, true, t.n, t.data->log_prob, t.data->ref_log_prob, t.out, t.gradient, &t.err),
                     RL_EVALUE);
    assert_non_null(strstr(t.err.text, "ref_log_prob[191]"));
    trial_free(&t);
}

/* The derivative of r k for k3, whose value has no limit here; r x for every estimator, also where k3 is limited. */
static void the_unbiased_penalty_has_the_gradient_of_the_weighted_k3(void **state)
{
    (void)state;
    struct trial t = trial_new();
    const struct rl_batch all = {.n_rows = t.data->batch.n_rows, .n_tokens = t.data->batch.n_tokens};
    const double *p = t.data->log_prob, *q = t.data->ref_log_prob, *old = t.data->old_log_prob;
    for (int kind = RL_KL_K1; kind <= RL_KL_K3; kind++) {
        double *plain = test_alloc(t.n, sizeof *plain);
        assert_int_equal(rl_kl_penalty((enum rl_kl)kind, false, t.n, p, q, plain, NULL, &t.err), RL_OK);
        assert_int_equal(rl_unbiased_kl(&all, (enum rl_kl)kind, p, q, old, t.out, t.gradient, &t.err), RL_OK);
        for (size_t i = 0; i < t.n; i++) {
            double r = exp(p[i] - old[i]);
            assert_true(fabs(t.out[i] - r * plain[i]) <= 1e-12 * (1 + r * fabs(plain[i])));
            assert_true(fabs(t.gradient[i] - r * (p[i] - q[i])) <= 1e-12 * (1 + r));
        }
        free(plain);
    }
    for (size_t i = 0; i < t.n; i++) {
        double h = 1e-6, up[1], down[1], here[1];
        const struct rl_batch one = {.n_rows = 1, .n_tokens = 1};
        const double above = p[i] + h, below = p[i] - h;
        assert_int_equal(rl_unbiased_kl(&one, RL_KL_K3, &above, &q[i], &old[i], up, NULL, &t.err), RL_OK);
        assert_int_equal(rl_unbiased_kl(&one, RL_KL_K3, &below, &q[i], &old[i], down, NULL, &t.err), RL_OK);
        here[0] = (up[0] - down[0]) / (2 * h);
        bool limited = exp(q[i] - p[i]) - (q[i] - p[i]) - 1 > 9.9 || fabs(p[i] - old[i]) > 19.9;
        assert_true(limited || fabs(here[0] - t.gradient[i]) <= 1e-5 * (1 + fabs(here[0])));
    }
    trial_free(&t);
}

/* The mean of r d over all tokens of a vocabulary, weighted by the old policy, is the gradient of the exact KL. */
static void the_mean_of_the_unbiased_gradient_is_that_of_the_exact_kl(void **state)
{
    enum { TOKENS = 5 };
    const double logits[TOKENS] = {0.3, -1, 0.8, 0, -0.4}, before[TOKENS] = {-0.2, 0.5, 0.1, 1, -1},
                 ref[TOKENS] = {1, 0, -1, 0.2, 0.4};
    double p[TOKENS], old[TOKENS], q[TOKENS], kl[TOKENS], d[TOKENS], z[3] = {0}, exact = 0;
    const struct rl_batch batch = {.n_rows = 1, .n_tokens = TOKENS};
    struct rl_error err;
    (void)state;
    for (int i = 0; i < TOKENS; i++) {
        z[0] += exp(logits[i]);
        z[1] += exp(before[i]);
        z[2] += exp(ref[i]);
    }
    for (int i = 0; i < TOKENS; i++) {
        p[i] = logits[i] - log(z[0]);
        old[i] = before[i] - log(z[1]);
        q[i] = ref[i] - log(z[2]);
        exact += exp(p[i]) * (p[i] - q[i]);
    }
    assert_int_equal(rl_unbiased_kl(&batch, RL_KL_K3, p, q, old, kl, d, &err), RL_OK);
    for (int k = 0; k < TOKENS; k++) { /* with respect to logit k: d log p_i = [i = k] - p_k */
        double mean = 0;
        for (int i = 0; i < TOKENS; i++)
            mean += exp(old[i]) * d[i] * ((i == k) - exp(p[k]));
        assert_true(fabs(mean - exp(p[k]) * (p[k] - q[k] - exact)) < 1e-14);
    }
}

static void the_unbiased_penalty_names_what_is_wrong(void **state)
{
    const double p[2] = {-1, -1}, q[2] = {-2, -2}, far[2] = {-1, -1e308}, no[2] = {-1, NAN}, large[2] = {-1, 1e308};
    double kl[2], d[2];
    const struct rl_batch batch = {.n_rows = 1, .n_tokens = 2};
    const uint8_t mask[2] = {1, 0};
    const struct rl_batch masked = {.n_rows = 1, .n_tokens = 2, .mask = mask};
    struct rl_error err;
    (void)state;
    assert_int_equal(rl_unbiased_kl(&batch, RL_KL_K3, p, q, no, kl, d, &err), RL_EVALUE);
    assert_non_null(strstr(err.text, "old_log_prob[0][1]"));
    assert_int_equal(rl_unbiased_kl(&masked, RL_KL_K3, p, q, no, kl, d, &err), RL_OK);
    assert_true(kl[1] == 0 && d[1] == 0);
    assert_int_equal(rl_unbiased_kl(&batch, RL_KL_K2, p, large, far, kl, d, &err), RL_EVALUE);
    assert_int_equal(rl_unbiased_kl(&batch, RL_KL_K3, p, q, NULL, kl, d, &err), RL_EINVAL);
    assert_int_equal(rl_unbiased_kl(&batch, (enum rl_kl)9, p, q, p, kl, d, &err), RL_EINVAL);
}

static enum rl_status value_loss(struct trial *t, struct rl_value_result *out)
{
    struct rl_workspace ws = {0};
    enum rl_status status;
    do
        status = rl_value_loss(&t->data->batch, &t->agg, 0.4, t->data->values, t->data->weights, t->data->advantages, t->gradient,
                               out, &ws, &t->err);
    while (test_again(&ws, status));
    free(ws.data);
    return status;
}

static double value_at(void *context)
{
    struct rl_value_result out;
    assert_int_equal(value_loss(context, &out), RL_OK);
    return out.loss;
}

static void value_gradients_match_differences(void **state)
{
    (void)state;
    for (int mode = 0; mode < 4; mode++) {
        struct trial t = trial_new();
        size_t kinks;
        t.agg.mode = (enum rl_agg_mode)mode;
        value_at(&t);
        double *gradient = test_alloc(t.n, sizeof *gradient);
        memcpy(gradient, t.gradient, t.n * sizeof *gradient);
        assert_true(gradient_error(value_at, &t, t.data->values, t.n, gradient, 1e-5, &kinks) < 1e-6);
        assert_true(kinks <= 3);
        free(gradient);
        trial_free(&t);
    }
}

static void bad_values_are_named(void **state)
{
    (void)state;
    struct trial t = trial_new();
    struct rl_value_result out;
    size_t i = 0;
    while (!t.data->mask[i])
        i++;
    t.data->weights[i] = INFINITY;
    assert_int_equal(value_loss(&t, &out), RL_EVALUE);
    assert_non_null(strstr(t.err.text, "values["));
    t.data->weights[i] = 1;
    random_batch_poison(t.data);
    assert_int_equal(value_loss(&t, &out), RL_OK);
    trial_free(&t);
}

static void aggregation_matches_hand_computed_values(void **state)
{
    (void)state;
    const uint8_t mask[] = {1, 1, 0, 0, 0, 0, 1, 0, 0};
    const double losses[] = {1, 3, NAN, NAN, NAN, NAN, 5, NAN, NAN};
    const struct rl_batch batch = {.n_rows = 3, .n_tokens = 3, .mask = mask};
    const double expected[] = {3, 4.5, (4 / (2 + 1e-8) + 5 / (1 + 1e-8)) / 2, 3};
    struct rl_workspace ws = {0};
    for (int mode = 0; mode < 4; mode++) {
        const struct rl_agg agg = {.mode = (enum rl_agg_mode)mode};
        double loss, gradient[9];
        enum rl_status status;
        do
            status = rl_agg_loss(&batch, &agg, losses, gradient, &loss, &ws, NULL);
        while (test_again(&ws, status));
        assert_int_equal(status, RL_OK);
        assert_true(fabs(loss - expected[mode]) < 1e-14);
        double sum = 0;
        for (int i = 0; i < 9; i++)
            sum += mask[i] ? gradient[i] * losses[i] : gradient[i];
        assert_true(fabs(sum - loss) < 1e-14);
    }
    free(ws.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kl_gradients_match_differences),
        cmocka_unit_test(straight_through_has_the_slope_of_k2),
        cmocka_unit_test(the_unbiased_penalty_has_the_gradient_of_the_weighted_k3),
        cmocka_unit_test(the_mean_of_the_unbiased_gradient_is_that_of_the_exact_kl),
        cmocka_unit_test(the_unbiased_penalty_names_what_is_wrong),
        cmocka_unit_test(value_gradients_match_differences),
        cmocka_unit_test(bad_values_are_named),
        cmocka_unit_test(aggregation_matches_hand_computed_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
