/* trainer_learner.c: tests passes over rows and updates, and that neither threads nor slices change the results. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/error.h"
#include "support/rng.h"
#include "policy/layout.h"
#include "learn/learner.h"
#include "support/small_recipe.h"

/* ---- rows ---- */

enum { ROWS = 45, WIDTH = 20 };

struct rows {
    int32_t tokens[ROWS * WIDTH], length[ROWS];
    uint8_t wanted[ROWS * WIDTH];
    float log_prob[ROWS * WIDTH], entropy[ROWS * WIDTH], d_log_prob[ROWS * WIDTH];
    struct learner_rows view;
};

static struct trainer_model small_model(void)
{
    struct trainer_model model;
    trainer_model_init(&model);
    model.tokens = 29;
    model.width = 16;
    model.mlp = 24;
    model.max_tokens = WIDTH;
    return model;
}

static struct rows *random_rows(void)
{
    struct rows *rows = calloc(1, sizeof *rows);
    struct trainer_rng rng = {5};
    for (size_t i = 0; i < ROWS; i++) {
        rows->length[i] = 2 + trainer_rng_below(&rng, WIDTH - 1);
        for (size_t t = 0; t < WIDTH; t++) {
            bool inside = t < (size_t)rows->length[i];
            rows->tokens[i * WIDTH + t] = inside ? trainer_rng_below(&rng, 29) : -1;
            rows->wanted[i * WIDTH + t] = inside && t > 0 && trainer_rng_uniform(&rng) < 0.6;
            rows->d_log_prob[i * WIDTH + t] = (float)(trainer_rng_uniform(&rng) - 0.5);
        }
    }
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        rows->log_prob[i] = rows->entropy[i] = 99;
    rows->view = (struct learner_rows){ROWS, WIDTH, rows->tokens, rows->length, rows->wanted};
    return rows;
}

static struct learner opened(size_t max_rows, int threads)
{
    struct trainer_model model = small_model();
    struct learner learner;
    assert_int_equal(learner_open(&learner, &model, max_rows, NULL, threads, NULL), TRAINER_OK);
    trainer_policy_initf(&model, 4, learner.params);
    learner_restart(&learner, 0.9, 0.95, 0.01);
    return learner;
}

static void forward(struct learner *learner, struct rows *rows)
{
    struct trainer_error err;
    if (learner_forward(learner, learner->params, &rows->view, rows->log_prob, rows->entropy, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
}

/* Compares the learner's log-probs with a pass over each row alone, in double. */
static void rows_are_scored_one_by_one(void **state)
{
    (void)state;
    struct trainer_model model = small_model();
    struct learner learner = opened(ROWS, 2);
    struct rows *rows = random_rows();
    struct trainer_pass *pass;
    double *params = malloc(learner.n_params * sizeof *params), log_prob[WIDTH], entropy[WIDTH];
    trainer_policy_init(&model, 4, params);
    forward(&learner, rows);
    assert_int_equal(trainer_pass_create(&pass, &model, WIDTH, WIDTH, NULL), TRAINER_OK);
    for (size_t i = 0; i < ROWS; i++) {
        const size_t start[2] = {0, (size_t)rows->length[i]}, at = i * WIDTH;
        struct trainer_sequences one = {1, start, rows->tokens + at, rows->wanted + at};
        size_t n = 0;
        assert_int_equal(trainer_policy_forward(pass, params, &one, log_prob, entropy, NULL), TRAINER_OK);
        for (size_t t = at; t < at + WIDTH; t++) {
            assert_near((double)rows->log_prob[t], rows->wanted[t] ? log_prob[n] : 99, 2e-5);
            assert_near((double)rows->entropy[t], rows->wanted[t] ? entropy[n] : 99, 2e-5);
            n += rows->wanted[t];
        }
    }
    trainer_pass_free(pass);
    learner_close(&learner);
    free(params);
    free(rows);
}

static void scoring_in_slices_is_one_pass(void **state)
{
    (void)state;
    struct rows *whole = random_rows(), *sliced = random_rows();
    struct learner large = opened(ROWS, 1);
    forward(&large, whole);
    for (size_t max_rows = 3; max_rows <= 24; max_rows += 7) {
        struct learner small = opened(max_rows, 2);
        for (size_t i = 0; i < ROWS * WIDTH; i++)
            sliced->log_prob[i] = 99;
        assert_int_equal(learner_score(&small, small.params, &sliced->view, sliced->log_prob, NULL), TRAINER_OK);
        assert_memory_equal(sliced->log_prob, whole->log_prob, sizeof whole->log_prob);
        learner_close(&small);
    }
    learner_close(&large);
    free(whole);
    free(sliced);
}

/* ---- updates ---- */

static double update(struct learner *learner, const struct rows *rows, double rate, double clip_norm)
{
    const struct learner_rates rates = {.rate = rate, .clip_norm = clip_norm};
    struct trainer_error err;
    double norm;
    if (learner_update(learner, rows->d_log_prob, NULL, &rates, &norm, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    return norm;
}

static float *trained(int threads, int updates, double matrix_rate)
{
    const struct learner_rates rates = {.rate = 1e-2, .matrix_rate = matrix_rate, .clip_norm = 1};
    struct learner learner = opened(ROWS, threads);
    struct rows *rows = random_rows();
    float *params = malloc(learner.n_params * sizeof *params);
    double norm;
    for (int i = 0; i < updates; i++) {
        forward(&learner, rows);
        assert_int_equal(learner_update(&learner, rows->d_log_prob, NULL, &rates, &norm, NULL), TRAINER_OK);
        assert_true(norm > 0);
    }
    memcpy(params, learner.params, learner.n_params * sizeof *params);
    learner_close(&learner);
    free(rows);
    return params;
}

static void threads_change_nothing(void **state)
{
    (void)state;
    struct trainer_model model = small_model();
    size_t bytes = trainer_model_parameters(&model) * sizeof(float);
    for (double matrix_rate = 0; matrix_rate < 0.03; matrix_rate += 0.02) {
        float *one = trained(1, 5, matrix_rate), *none = trained(1, 0, matrix_rate);
        assert_memory_not_equal(one, none, bytes);
        for (int threads = 1; threads <= 5; threads++) {
            float *again = trained(threads, 5, matrix_rate);
            assert_memory_equal(one, again, bytes);
            free(again);
        }
        free(one);
        free(none);
    }
}

/* Returns the sum of d_log_prob * log_prob at the given parameters, in double. */
static double weighted_sum(const struct rows *rows, const double *params)
{
    struct trainer_model model = small_model();
    struct trainer_pass *pass;
    double log_prob[WIDTH], sum = 0;
    assert_int_equal(trainer_pass_create(&pass, &model, WIDTH, WIDTH, NULL), TRAINER_OK);
    for (size_t i = 0; i < ROWS; i++) {
        const size_t start[2] = {0, (size_t)rows->length[i]}, at = i * WIDTH;
        struct trainer_sequences one = {1, start, rows->tokens + at, rows->wanted + at};
        size_t n = 0;
        assert_int_equal(trainer_policy_forward(pass, params, &one, log_prob, NULL, NULL), TRAINER_OK);
        for (size_t t = at; t < at + WIDTH; t++)
            if (rows->wanted[t])
                sum += (double)rows->d_log_prob[t] * log_prob[n++];
    }
    trainer_pass_free(pass);
    return sum;
}

static void the_gradient_is_that_of_all_rows(void **state)
{
    (void)state;
    struct trainer_model model = small_model();
    struct learner learner = opened(ROWS, 2);
    struct rows *rows = random_rows();
    double *params = malloc(learner.n_params * sizeof *params), norm;
    trainer_policy_init(&model, 4, params);
    forward(&learner, rows);
    norm = update(&learner, rows, 0, 0);
    assert_near(norm, adamw_norm(learner.n_params, learner.gradient), 1e-9);
    for (size_t i = 3; i < learner.n_params; i += 97) {
        double kept = params[i];
        params[i] = kept + 1e-4;
        double above = weighted_sum(rows, params);
        params[i] = kept - 1e-4;
        double below = weighted_sum(rows, params);
        params[i] = kept;
        assert_near((double)learner.gradient[i], (above - below) / 2e-4, 1e-4 * norm);
    }
    learner_close(&learner);
    free(params);
    free(rows);
}

/*
 * The first step of Adam is rate * sign(gradient), whatever the gradient's norm. Therefore the test reads the
 * moments.
 */
static void long_gradients_are_cut(void **state)
{
    (void)state;
    struct learner cut = opened(ROWS, 1), whole = opened(ROWS, 1);
    struct rows *rows = random_rows();
    forward(&cut, rows);
    double norm = update(&cut, rows, 1e-3, 0.25);
    forward(&whole, rows);
    double same = update(&whole, rows, 1e-3, 0);
    assert_true(norm > 0.5 && same == norm);
    assert_near(adamw_norm(cut.n_params, cut.adam.m), 0.1 * 0.25, 1e-5);
    assert_near(adamw_norm(whole.n_params, whole.adam.m), 0.1 * norm, 1e-5 * norm);
    learner_close(&cut);
    learner_close(&whole);
    free(rows);
}

/* Muon moves the layers' matrices, and AdamW all other parameters. No parameter is moved twice or left out. */
static void matrices_have_a_rate_of_their_own(void **state)
{
    (void)state;
    struct trainer_model model = small_model();
    struct net_layout layout = net_layout(&model);
    size_t n = trainer_model_parameters(&model);
    float *start = trained(1, 0, 0), *adam = trained(1, 1, 0), *both = trained(1, 1, 0.02);
    for (size_t i = 0; i < n; i++) {
        bool moved = both[i] < start[i] || both[i] > start[i];
        bool same = !(both[i] < adam[i] || both[i] > adam[i]);
        size_t in_layer = i < layout.layers || i >= layout.norm ? 0 : (i - layout.layers) % layout.per_layer;
        bool norm = in_layer < 16 || (in_layer >= 16 + 4 * 256 && in_layer < 32 + 4 * 256);
        if (i < layout.layers || i >= layout.norm || norm)
            assert_true(same);
        else
            assert_true(moved && !same);
    }
    free(start);
    free(adam);
    free(both);
}

static void a_gradient_that_is_not_finite_changes_nothing(void **state)
{
    (void)state;
    struct learner learner = opened(ROWS, 1);
    struct rows *rows = random_rows();
    float *before = malloc(learner.n_params * sizeof *before);
    const struct learner_rates rates = {.rate = 1e-3, .matrix_rate = 0.02, .clip_norm = 1};
    struct trainer_error err;
    double norm;
    memcpy(before, learner.params, learner.n_params * sizeof *before);
    forward(&learner, rows);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        rows->d_log_prob[i] = 1e38f;
    assert_int_equal(learner_update(&learner, rows->d_log_prob, NULL, &rates, &norm, &err), TRAINER_ENUMERIC);
    assert_memory_equal(before, learner.params, learner.n_params * sizeof *before);
    assert_int_equal(learner.adam.steps, 0);
    learner_close(&learner);
    free(before);
    free(rows);
}

static void bad_tokens_are_an_error(void **state)
{
    (void)state;
    struct learner learner = opened(ROWS, 2);
    struct rows *rows = random_rows();
    struct trainer_error err;
    rows->tokens[30 * WIDTH + 1] = 29;
    assert_int_equal(learner_forward(&learner, learner.params, &rows->view, rows->log_prob, rows->entropy, &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "tokens["));
    learner_close(&learner);
    free(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_scored_one_by_one),
        cmocka_unit_test(scoring_in_slices_is_one_pass),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(the_gradient_is_that_of_all_rows),
        cmocka_unit_test(long_gradients_are_cut),
        cmocka_unit_test(matrices_have_a_rate_of_their_own),
        cmocka_unit_test(a_gradient_that_is_not_finite_changes_nothing),
        cmocka_unit_test(bad_tokens_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
