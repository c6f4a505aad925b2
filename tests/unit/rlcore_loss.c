/* rlcore_loss.c: tests gradients, invariances and errors of the policy losses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <rlcore/loss.h>

#include "support/random_batch.h"

typedef enum rl_status policy_loss(const struct rl_batch *, const struct rl_loss_input *, const struct rl_loss_options *,
                                   double *, struct rl_loss_result *, struct rl_workspace *, struct rl_error *);
typedef enum rl_status policy_lossf(const struct rl_batch *, const struct rl_loss_inputf *, const struct rl_loss_options *,
                                    float *, struct rl_loss_result *, struct rl_workspace *, struct rl_error *);

static const struct {
    const char *name;
    policy_loss *run;
    policy_lossf *runf;
    bool aggregates; /* the loss depends on all members of options.agg */
    bool clips;      /* the loss has a clip range, which clip scales widen or narrow */
} losses[] = {{"ppo", rl_ppo_loss, rl_ppo_lossf, true, true},
              {"cispo", rl_cispo_loss, rl_cispo_lossf, true, true},
              {"gpg", rl_gpg_loss, rl_gpg_lossf, true, false},
              {"reinforce", rl_reinforce_loss, rl_reinforce_lossf, true, false},
              {"sapo", rl_sapo_loss, rl_sapo_lossf, false, false},
              {"gspo", rl_gspo_loss, rl_gspo_lossf, false, true},
              {"geo_mean", rl_geo_mean_loss, rl_geo_mean_lossf, false, true}};
enum { LOSSES = sizeof losses / sizeof *losses };

/* A loss on a random batch, with its result and gradient. */
struct trial {
    size_t loss;
    struct random_batch *data;
    struct rl_loss_options options;
    bool weighted, keep_ratio;
    double *scale;    /* clip scales, or NULL */
    double *original; /* log_prob before the test changes it */
    double *gradient;
    struct rl_loss_result out;
    struct rl_error err;
};

static size_t cells_of(const struct trial *t)
{
    return t->data->batch.n_rows * t->data->batch.n_tokens;
}

static struct trial trial_new(size_t loss, uint64_t seed, struct random_shape shape)
{
    struct trial t = {.loss = loss, .data = random_batch_new(seed, shape)};
    rl_loss_options_init(&t.options);
    t.gradient = test_alloc(cells_of(&t), sizeof *t.gradient);
    t.original = test_alloc(cells_of(&t), sizeof *t.original);
    memcpy(t.original, t.data->log_prob, cells_of(&t) * sizeof *t.original);
    return t;
}

static void trial_free(struct trial *t)
{
    random_batch_free(t->data);
    free(t->gradient);
    free(t->original);
    free(t->scale);
}

static enum rl_status run_with(struct trial *t, double *gradient)
{
    struct rl_loss_input in = {.log_prob = t->data->log_prob,
                               .old_log_prob = t->data->old_log_prob,
                               .advantages = t->data->advantages,
                               .weights = t->weighted ? t->data->weights : NULL,
                               .clip_scale = t->scale};
    struct rl_workspace ws = {0};
    enum rl_status status;
    do
        status = losses[t->loss].run(&t->data->batch, &in, &t->options, gradient, &t->out, &ws, &t->err);
    while (test_again(&ws, status));
    free(ws.data);
    return status;
}

static void run(struct trial *t)
{
    assert_int_equal(run_with(t, t->gradient), RL_OK);
}

/* Returns the loss. CISPO takes the ratio as a constant, so for CISPO the old log-probs move with the current ones. */
static double value_at(void *context)
{
    struct trial *t = context;
    double *old = t->data->old_log_prob;
    size_t n = cells_of(t);
    double *kept = test_alloc(n, sizeof *kept);
    memcpy(kept, old, n * sizeof *kept);
    for (size_t i = 0; t->keep_ratio && i < n; i++)
        old[i] += t->data->log_prob[i] - t->original[i];
    assert_int_equal(run_with(t, NULL), RL_OK);
    memcpy(old, kept, n * sizeof *kept);
    free(kept);
    return t->out.loss;
}

/*
 * Makes advantages and weights constant within each row. Only then is the gradient of GSPO's straight-through ratio
 * the true one.
 */
static void level_rows(struct random_batch *r)
{
    for (size_t i = 0; i < r->batch.n_rows * r->batch.n_tokens; i++) {
        size_t first = i / r->batch.n_tokens * r->batch.n_tokens;
        r->advantages[i] = r->advantages[first];
        r->weights[i] = r->weights[first];
    }
}

static void gradients_match_differences(void **state)
{
    (void)state;
    for (size_t loss = 0; loss < LOSSES; loss++)
        for (int mode = 0; mode < 4; mode++)
            for (int weighted = 0; weighted < 2; weighted++) {
                struct trial t = trial_new(loss, 17 + (uint64_t)mode,
                                           (struct random_shape){.hole_share = 0.2, .empty_share = 0.1, .ratio_scale = 0.25});
                t.options.agg.mode = (enum rl_agg_mode)mode;
                t.options.agg.dp_size = 2;
                t.weighted = weighted;
                t.keep_ratio = losses[loss].run == rl_cispo_loss;
                if (losses[loss].run == rl_gspo_loss)
                    level_rows(t.data);
                size_t kinks;
                run(&t);
                double error = gradient_error(value_at, &t, t.data->log_prob, cells_of(&t), t.gradient, 1e-5, &kinks);
                if (error > 1e-6 || kinks > 3)
                    fail_msg("%s mode %d: error %g, %zu kinks", losses[loss].name, mode, error, kinks);
                trial_free(&t);
            }
}

static void assert_close(double a, double b)
{
    if (!(fabs(a - b) <= 1e-12 * fmax(1, fabs(b))))
        fail_msg("%.17g is not %.17g", a, b);
}

/* Gives each token a clip scale from 0.2 to 1.8, a different one for its neighbours. */
static void scale_clips(struct trial *t)
{
    t->scale = test_alloc(cells_of(t), sizeof *t->scale);
    for (size_t i = 0; i < cells_of(t); i++)
        t->scale[i] = t->data->mask[i] ? 0.2 + 0.2 * (double)(i * 5 % 9) : NAN;
}

static void scaled_gradients_match_differences(void **state)
{
    (void)state;
    for (size_t loss = 0; loss < LOSSES; loss++)
        for (int weighted = 0; weighted < 2 && losses[loss].clips; weighted++) {
            struct random_shape shape = {.hole_share = 0.2, .empty_share = 0.1, .ratio_scale = 0.25};
            struct trial t = trial_new(loss, 31, shape), plain = trial_new(loss, 31, shape);
            t.weighted = plain.weighted = weighted;
            t.keep_ratio = losses[loss].run == rl_cispo_loss;
            if (losses[loss].run == rl_gspo_loss) {
                level_rows(t.data);
                level_rows(plain.data);
            }
            scale_clips(&t);
            for (size_t i = 0; losses[loss].run == rl_gspo_loss && i < cells_of(&t); i++)
                t.scale[i] = t.data->mask[i] ? 0.3 : NAN;
            size_t kinks;
            run(&t);
            run(&plain);
            double error = gradient_error(value_at, &t, t.data->log_prob, cells_of(&t), t.gradient, 1e-5, &kinks);
            if (error > 1e-6 || kinks > 3)
                fail_msg("%s: error %g, %zu kinks", losses[loss].name, error, kinks);
            run(&t);
            if (memcmp(t.gradient, plain.gradient, cells_of(&t) * sizeof *t.gradient) == 0)
                fail_msg("%s ignores its clip scales", losses[loss].name);
            trial_free(&t);
            trial_free(&plain);
        }
}

/* A scale that is equal at all tokens is the same as clip ranges that are multiplied by it. */
static void equal_scales_are_a_factor_of_the_range(void **state)
{
    (void)state;
    for (size_t loss = 0; loss < LOSSES; loss++)
        for (int weighted = 0; weighted < 2 && losses[loss].clips; weighted++) {
            struct random_shape shape = {.tokens = 300, .hole_share = 0.2, .ratio_scale = 0.3};
            struct trial scaled = trial_new(loss, 12, shape), wide = trial_new(loss, 12, shape);
            scaled.weighted = wide.weighted = weighted;
            scaled.scale = test_alloc(cells_of(&scaled), sizeof *scaled.scale);
            for (size_t i = 0; i < cells_of(&scaled); i++)
                scaled.scale[i] = 1.5;
            wide.options.clip_low = 1.5 * scaled.options.clip_low;
            wide.options.clip_high = 1.5 * scaled.options.clip_high;
            run(&scaled);
            run(&wide);
            assert_close(scaled.out.loss, wide.out.loss);
            assert_close(scaled.out.pg_clipfrac, wide.out.pg_clipfrac);
            for (size_t i = 0; i < cells_of(&scaled); i++)
                assert_close(scaled.gradient[i], wide.gradient[i]);
            trial_free(&scaled);
            trial_free(&wide);
        }
}

static void values_outside_the_mask_are_not_read(void **state)
{
    (void)state;
    for (size_t loss = 0; loss < LOSSES; loss++) {
        struct random_shape shape = {.tokens = 700, .hole_share = 0.3, .empty_share = 0.2};
        struct trial t = trial_new(loss, 5, shape), poisoned = trial_new(loss, 5, shape);
        t.weighted = poisoned.weighted = true;
        random_batch_poison(poisoned.data);
        run(&t);
        run(&poisoned);
        assert_memory_equal(&t.out, &poisoned.out, sizeof t.out);
        for (size_t i = 0; i < cells_of(&t); i++)
            assert_true(t.gradient[i] == poisoned.gradient[i]);
        trial_free(&t);
        trial_free(&poisoned);
    }
}

static void single_precision_agrees(void **state)
{
    (void)state;
    for (size_t loss = 0; loss < LOSSES; loss++) {
        struct trial t = trial_new(loss, 9, (struct random_shape){.tokens = 600, .hole_share = 0.1});
        size_t n = cells_of(&t);
        run(&t);
        float *p = floats_of(t.data->log_prob, n), *q = floats_of(t.data->old_log_prob, n);
        float *a = floats_of(t.data->advantages, n), *d = floats_of(t.gradient, n);
        struct rl_loss_inputf in = {.log_prob = p, .old_log_prob = q, .advantages = a};
        struct rl_loss_result out;
        struct rl_workspace ws = {0};
        enum rl_status status;
        do
            status = losses[loss].runf(&t.data->batch, &in, &t.options, d, &out, &ws, &t.err);
        while (test_again(&ws, status));
        assert_int_equal(status, RL_OK);
        assert_true(fabs(out.loss - t.out.loss) < 1e-5 * fmax(1, fabs(out.loss)));
        for (size_t i = 0; i < n; i++)
            assert_true(fabs((double)d[i] - t.gradient[i]) < 1e-5);
        free(p);
        free(q);
        free(a);
        free(d);
        free(ws.data);
        trial_free(&t);
    }
}

/* Copies row `from` of one batch to row `to` of another that is at least as wide. */
static void copy_row(const struct random_batch *a, size_t from, struct random_batch *b, size_t to)
{
    size_t n = a->batch.n_tokens, i = from * n, j = to * b->batch.n_tokens;
    memcpy(b->mask + j, a->mask + i, n);
    memcpy(b->turn + j, a->turn + i, n * sizeof *a->turn);
    memcpy(b->log_prob + j, a->log_prob + i, n * sizeof(double));
    memcpy(b->old_log_prob + j, a->old_log_prob + i, n * sizeof(double));
    memcpy(b->advantages + j, a->advantages + i, n * sizeof(double));
    b->group[to] = a->group[from];
}

static void row_order_and_padding_change_nothing(void **state)
{
    (void)state;
    for (size_t loss = 0; loss < LOSSES; loss++) {
        struct random_shape shape = {.rows = 6, .tokens = 40, .hole_share = 0.2};
        struct random_shape wider = {.rows = 6, .tokens = 57};
        struct trial t = trial_new(loss, 3, shape), moved = trial_new(loss, 4, wider);
        memset(moved.data->mask, 0, cells_of(&moved));
        for (size_t row = 0; row < shape.rows; row++)
            copy_row(t.data, row, moved.data, shape.rows - 1 - row);
        run(&t);
        run(&moved);
        assert_close(moved.out.loss, t.out.loss);
        assert_close(moved.out.ppo_kl, t.out.ppo_kl);
        assert_close(moved.out.pg_clipfrac, t.out.pg_clipfrac);
        for (size_t row = 0; row < shape.rows; row++)
            for (size_t k = 0; k < shape.tokens; k++)
                assert_close(moved.gradient[(shape.rows - 1 - row) * wider.tokens + k], t.gradient[row * shape.tokens + k]);
        trial_free(&t);
        trial_free(&moved);
    }
}

/* The results for two halves of a batch, computed with global counts, add up to the result for the whole batch. */
static void splitting_with_global_counts_adds_up(void **state)
{
    (void)state;
    for (size_t loss = 0; loss < LOSSES; loss++)
        for (int mode = 0; (losses[loss].aggregates || losses[loss].run == rl_gspo_loss) && mode < 4; mode++) {
            struct random_shape shape = {.rows = 8, .tokens = 32, .hole_share = 0.1};
            struct trial whole = trial_new(loss, 21, shape), half = trial_new(loss, 21, shape);
            whole.options.agg.mode = half.options.agg.mode = (enum rl_agg_mode)mode;
            run(&whole);
            half.options.agg.batch_num_tokens = (double)whole.out.n_tokens;
            half.options.agg.global_batch_size = 8;
            half.data->batch.n_rows = 4;
            run(&half);
            double sum = half.out.loss;
            for (size_t i = 0; i < cells_of(&half); i++)
                assert_close(half.gradient[i], whole.gradient[i]);
            for (size_t row = 0; row < 4; row++)
                copy_row(whole.data, row + 4, half.data, row);
            run(&half);
            assert_close(sum + half.out.loss, whole.out.loss);
            trial_free(&whole);
            trial_free(&half);
        }
}

static void weight_zero_equals_an_absent_token(void **state)
{
    (void)state;
    for (size_t loss = 0; loss < LOSSES; loss++) {
        if (!losses[loss].aggregates)
            continue;
        struct trial weighted = trial_new(loss, 8, (struct random_shape){0});
        struct trial absent = trial_new(loss, 8, (struct random_shape){0});
        weighted.weighted = absent.weighted = true;
        weighted.options.agg.batch_num_tokens = absent.options.agg.batch_num_tokens = 1e4;
        for (size_t i = 0; i < cells_of(&absent); i += 3) {
            weighted.data->weights[i] = 0;
            absent.data->mask[i] = 0;
        }
        run(&weighted);
        run(&absent);
        assert_close(weighted.out.loss, absent.out.loss);
        for (size_t i = 0; i < cells_of(&absent); i++)
            assert_close(weighted.gradient[i], absent.gradient[i]);
        trial_free(&weighted);
        trial_free(&absent);
    }
}

static void the_number_of_threads_changes_no_bit(void **state)
{
    (void)state;
#ifdef _OPENMP
    for (size_t loss = 0; loss < LOSSES; loss++) {
        struct random_shape shape = {.rows = 37, .tokens = 900, .hole_share = 0.05};
        struct trial one = trial_new(loss, 2, shape), three = trial_new(loss, 2, shape);
        omp_set_num_threads(1);
        run(&one);
        omp_set_num_threads(3);
        run(&three);
        assert_memory_equal(&one.out, &three.out, sizeof one.out);
        assert_memory_equal(one.gradient, three.gradient, cells_of(&one) * sizeof *one.gradient);
        trial_free(&one);
        trial_free(&three);
    }
#else
    print_message("SKIP the_number_of_threads_changes_no_bit: built without OpenMP\n");
    skip();
#endif
}

static void assert_refused(struct trial *t, enum rl_status status, const char *text)
{
    t->err.text[0] = '\0';
    assert_int_equal(run_with(t, t->gradient), status);
    assert_int_equal(t->err.status, status);
    if (!strstr(t->err.text, text))
        fail_msg("'%s' does not say '%s'", t->err.text, text);
}

static size_t some_response_token(const struct random_batch *r)
{
    size_t i = 2 * r->batch.n_tokens;
    while (!r->mask[i])
        i++;
    return i;
}

static void bad_clip_scales_are_refused(void **state)
{
    (void)state;
    const double bad[] = {-0.1, NAN, INFINITY};
    for (size_t loss = 0; loss < LOSSES; loss++)
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            struct trial t = trial_new(loss, 7, (struct random_shape){.rows = 4, .tokens = 20});
            t.weighted = k == 1;
            scale_clips(&t);
            t.scale[some_response_token(t.data)] = bad[k];
            assert_refused(&t, losses[loss].clips ? RL_EVALUE : RL_EINVAL,
                           losses[loss].clips ? "clip_scale[2][" : "has no clip range");
            trial_free(&t);
        }
}

static void bad_values_are_named(void **state)
{
    (void)state;
    for (size_t loss = 0; loss < LOSSES; loss++) {
        struct trial t = trial_new(loss, 6, (struct random_shape){0});
        size_t i = some_response_token(t.data);
        struct {
            double *array, bad;
            const char *name;
        } cases[] = {{t.data->log_prob, NAN, "log_prob[2]["},
                     {t.data->old_log_prob, -INFINITY, "old_log_prob[2]["},
                     {t.data->advantages, INFINITY, "advantages[2]["},
                     {t.data->weights, NAN, "weights[2]["},
                     {t.data->weights, -0.5, "weights[2]["}};
        t.weighted = true;
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            double good = cases[c].array[i];
            cases[c].array[i] = cases[c].bad;
            assert_refused(&t, RL_EVALUE, cases[c].name);
            cases[c].array[i] = good;
        }
        t.data->mask[i] = 2;
        assert_refused(&t, RL_EVALUE, "mask[2][");
        trial_free(&t);
    }
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    struct trial t = trial_new(0, 6, (struct random_shape){0});
    const struct rl_loss_options good = t.options;
    t.options.clip_low = -0.1;
    assert_refused(&t, RL_EINVAL, "clip range");
    t.options = good;
    t.options.clip_high = NAN;
    assert_refused(&t, RL_EINVAL, "clip range");
    t.options = good;
    t.options.clip_c = 1;
    assert_refused(&t, RL_EINVAL, "clip_c");
    t.options = good;
    t.options.tau_neg = 0;
    assert_refused(&t, RL_EINVAL, "tau");
    t.options = good;
    t.options.agg.dp_size = -1;
    assert_refused(&t, RL_EINVAL, "dp_size");
    t.options = good;
    memset(t.data->mask, 0, cells_of(&t));
    for (int mode = 0; mode < 3; mode++) {
        t.options.agg.mode = (enum rl_agg_mode)mode;
        assert_refused(&t, RL_EINVAL, "none");
    }
    t.options.agg.mode = RL_AGG_SEQ_MEAN_TOKEN_SUM_NORM;
    run(&t);
    assert_true(t.out.loss == 0 && t.out.n_tokens == 0);
    trial_free(&t);
}

static void statistics_are_reported(void **state)
{
    (void)state;
    const uint8_t mask[] = {1, 1, 0, 1};
    const double p[] = {-1, -30, NAN, -2}, q[] = {-1, -2, NAN, -2.5}, a[] = {1, 1, NAN, -1};
    const double entropy[] = {0.5, 2, NAN, 0.2};
    const struct rl_batch batch = {.n_rows = 1, .n_tokens = 4, .mask = mask};
    const struct rl_loss_input in = {.log_prob = p, .old_log_prob = q, .advantages = a, .entropy = entropy};
    struct rl_loss_options options;
    struct rl_loss_result out;
    struct rl_workspace ws = {0};
    enum rl_status status;
    rl_loss_options_init(&options);
    do
        status = rl_ppo_loss(&batch, &in, &options, NULL, &out, &ws, NULL);
    while (test_again(&ws, status));
    assert_int_equal(status, RL_OK);
    assert_int_equal(out.n_tokens, 3);
    assert_int_equal(out.n_clamped, 1);
    assert_close(out.ratio_min, exp(-20));
    assert_close(out.ratio_max, exp(0.5));
    assert_close(out.ratio_mean, (1 + exp(-20) + exp(0.5)) / 3);
    assert_close(out.entropy_mean, 0.9);
    assert_true(out.entropy_min <= 0.2 && out.entropy_max >= 2);
    free(ws.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_differences),
        cmocka_unit_test(scaled_gradients_match_differences),
        cmocka_unit_test(equal_scales_are_a_factor_of_the_range),
        cmocka_unit_test(bad_clip_scales_are_refused),
        cmocka_unit_test(values_outside_the_mask_are_not_read),
        cmocka_unit_test(single_precision_agrees),
        cmocka_unit_test(row_order_and_padding_change_nothing),
        cmocka_unit_test(splitting_with_global_counts_adds_up),
        cmocka_unit_test(weight_zero_equals_an_absent_token),
        cmocka_unit_test(the_number_of_threads_changes_no_bit),
        cmocka_unit_test(bad_values_are_named),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(statistics_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
