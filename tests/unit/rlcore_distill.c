/*
 * rlcore_distill.c: tests the gradient of the distillation loss, that the statistics of selected and other rows are
 * independent, alignment checks, and bad input.
 */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/distill.h>

#include "support/random_batch.h"

struct trial {
    struct random_batch *data; /* ref_log_prob holds the teacher's log-probs */
    struct rl_distill_options options;
    double *advantages, *gradient, *pass_rate;
    uint8_t *eligible;
    struct rl_distill_result out;
    struct rl_error err;
};

static size_t cells_of(const struct trial *t)
{
    return t->data->batch.n_rows * t->data->batch.n_tokens;
}

static struct trial trial_new(void)
{
    struct random_shape shape = {.rows = 12, .hole_share = 0.2, .empty_share = 0.1, .ratio_scale = 0.8};
    struct trial t = {.data = random_batch_new(31, shape)};
    t.options = (struct rl_distill_options){.pass_rate_threshold = 0.6, .horizon = 9, .normalise = true, .kd_coef = 0.7};
    t.advantages = test_alloc(cells_of(&t), sizeof *t.advantages);
    t.gradient = test_alloc(cells_of(&t), sizeof *t.gradient);
    t.pass_rate = test_alloc(shape.rows, sizeof *t.pass_rate);
    t.eligible = test_alloc(shape.rows, sizeof *t.eligible);
    return t;
}

static void trial_free(struct trial *t)
{
    random_batch_free(t->data);
    free(t->advantages);
    free(t->gradient);
    free(t->pass_rate);
    free(t->eligible);
}

static enum rl_status run_with(struct trial *t, double *gradient)
{
    const struct random_batch *d = t->data;
    struct rl_workspace ws = {0};
    enum rl_status status;
    do
        status = rl_distill(&d->batch, &t->options, d->log_prob, d->ref_log_prob, d->advantages, d->scores, t->advantages,
                            gradient, t->pass_rate, t->eligible, &t->out, &ws, &t->err);
    while (test_again(&ws, status));
    free(ws.data);
    return status;
}

static double loss_at(void *trial)
{
    struct trial *t = trial;
    assert_int_equal(run_with(t, NULL), RL_OK);
    return t->out.kd_loss;
}

static void the_gradient_matches_differences(void **state)
{
    (void)state;
    struct trial t = trial_new();
    size_t kinks;
    assert_int_equal(run_with(&t, t.gradient), RL_OK);
    assert_true(t.out.n_selected > 8 && t.out.kd_loss > 0);
    assert_true(gradient_error(loss_at, &t, t.data->log_prob, cells_of(&t), t.gradient, 1e-5, &kinks) < 1e-6);
    assert_int_equal(kinks, 0);
    trial_free(&t);
}

/* The advantages of selected rows are whitened among themselves; the other rows keep their advantages bit for bit. */
static void statistics_do_not_mix(void **state)
{
    (void)state;
    struct trial t = trial_new();
    double sum = 0, square = 0;
    assert_int_equal(run_with(&t, t.gradient), RL_OK);
    for (size_t i = 0; i < cells_of(&t); i++) {
        size_t row = i / t.data->batch.n_tokens;
        sum += t.eligible[row] ? t.advantages[i] : 0;
        square += t.eligible[row] ? t.advantages[i] * t.advantages[i] : 0;
        if (!t.eligible[row]) {
            assert_true(t.advantages[i] == (t.data->mask[i] ? t.data->advantages[i] : 0));
            assert_true(t.gradient[i] == 0);
            t.data->advantages[i] *= 100;
        }
    }
    assert_true(fabs(sum) < 1e-10);
    assert_true(fabs(square / (double)t.out.n_selected - 1) < 1e-6);
    double kept = t.out.kd_loss, *before = test_alloc(cells_of(&t), sizeof *before);
    memcpy(before, t.advantages, cells_of(&t) * sizeof *before);
    assert_int_equal(run_with(&t, t.gradient), RL_OK);
    assert_true(t.out.kd_loss == kept);
    for (size_t i = 0; i < cells_of(&t); i++)
        if (t.eligible[i / t.data->batch.n_tokens])
            assert_true(t.advantages[i] == before[i]);
    free(before);
    trial_free(&t);
}

static void only_failed_rows_of_hard_groups_are_eligible(void **state)
{
    (void)state;
    struct trial t = trial_new();
    assert_int_equal(run_with(&t, t.gradient), RL_OK);
    for (size_t row = 0; row < t.data->batch.n_rows; row++)
        assert_int_equal(t.eligible[row], t.pass_rate[row] <= t.options.pass_rate_threshold && !(t.data->scores[row] > 0));
    t.options.horizon = 0;
    assert_int_equal(run_with(&t, t.gradient), RL_OK);
    assert_int_equal(t.out.n_selected, 0);
    assert_true(t.out.kd_loss == 0);
    trial_free(&t);
}

static void single_precision_agrees(void **state)
{
    (void)state;
    struct trial t = trial_new();
    size_t n = cells_of(&t);
    assert_int_equal(run_with(&t, t.gradient), RL_OK);
    float *s = floats_of(t.data->log_prob, n), *teacher = floats_of(t.data->ref_log_prob, n);
    float *rl = floats_of(t.data->advantages, n), *a = floats_of(t.advantages, n);
    float *d = floats_of(t.gradient, n);
    struct rl_distill_result out;
    struct rl_workspace ws = {0};
    enum rl_status status;
    do
        status = rl_distillf(&t.data->batch, &t.options, s, teacher, rl, t.data->scores, a, d, t.pass_rate, t.eligible, &out, &ws,
                             &t.err);
    while (test_again(&ws, status));
    assert_int_equal(status, RL_OK);
    assert_int_equal(out.n_selected, t.out.n_selected);
    assert_true(fabs(out.kd_loss - t.out.kd_loss) < 1e-5);
    for (size_t i = 0; i < n; i++) {
        assert_true(fabs((double)a[i] - t.advantages[i]) < 1e-5);
        assert_true(fabs((double)d[i] - t.gradient[i]) < 1e-5);
    }
    free(s);
    free(teacher);
    free(rl);
    free(a);
    free(d);
    free(ws.data);
    trial_free(&t);
}

static void bad_values_are_named(void **state)
{
    (void)state;
    struct trial t = trial_new();
    size_t i = 0;
    random_batch_poison(t.data);
    assert_int_equal(run_with(&t, t.gradient), RL_OK);
    while (!t.data->mask[i])
        i++;
    t.data->ref_log_prob[i] = NAN;
    assert_int_equal(run_with(&t, t.gradient), RL_EVALUE);
    assert_non_null(strstr(t.err.text, "teacher_log_prob["));
    t.data->ref_log_prob[i] = -1;
    t.data->scores[3] = INFINITY;
    assert_int_equal(run_with(&t, t.gradient), RL_EVALUE);
    assert_non_null(strstr(t.err.text, "rewards[3]"));
    t.options.pass_rate_threshold = 1.5;
    t.data->scores[3] = 0;
    assert_int_equal(run_with(&t, t.gradient), RL_EINVAL);
    trial_free(&t);
}

static void fingerprints_must_exist_and_agree(void **state)
{
    (void)state;
    const struct rl_fingerprint student = {"tok-1", "chat-1"};
    const struct {
        struct rl_fingerprint teacher;
        const char *says;
    } bad[] = {{{"tok-2", "chat-1"}, "tokenizers differ"},
               {{"tok-1", "chat-2"}, "chat templates differ"},
               {{NULL, "chat-1"}, "teacher has no fingerprint"},
               {{"tok-1", ""}, "teacher has no fingerprint"}};
    const struct rl_fingerprint none = {NULL, NULL}, half = {"tok-1", NULL};
    struct rl_error err;
    assert_int_equal(rl_distill_check(&student, &student, &err), RL_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(rl_distill_check(&student, &bad[i].teacher, &err), RL_EINVAL);
        assert_non_null(strstr(err.text, bad[i].says));
    }
    assert_int_equal(rl_distill_check(&none, &none, &err), RL_EINVAL);
    assert_int_equal(rl_distill_check(&half, &half, &err), RL_EINVAL);
    assert_non_null(strstr(err.text, "chat template"));
}

static void a_teacher_is_cut_to_the_response(void **state)
{
    (void)state;
    const double full[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const float fullf[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const double expected[] = {1, 2, 3, 8, 9, 10};
    const size_t prompt[] = {0, 2}, beyond[] = {0, 3};
    double out[6];
    float outf[6];
    struct rl_error err;
    assert_int_equal(rl_distill_cut(2, 3, 5, prompt, full, out, NULL), RL_OK);
    assert_int_equal(rl_distill_cutf(2, 3, 5, prompt, fullf, outf, NULL), RL_OK);
    for (size_t i = 0; i < 6; i++)
        assert_true(out[i] == expected[i] && (double)outf[i] == expected[i]);
    assert_int_equal(rl_distill_cut(2, 3, 5, beyond, full, out, &err), RL_EINVAL);
    assert_int_equal(rl_distill_cutf(2, 3, 5, beyond, fullf, outf, &err), RL_EINVAL);
    assert_non_null(strstr(err.text, "row 1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gradient_matches_differences),
        cmocka_unit_test(statistics_do_not_mix),
        cmocka_unit_test(only_failed_rows_of_hard_groups_are_eligible),
        cmocka_unit_test(single_precision_agrees),
        cmocka_unit_test(bad_values_are_named),
        cmocka_unit_test(fingerprints_must_exist_and_agree),
        cmocka_unit_test(a_teacher_is_cut_to_the_response),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
