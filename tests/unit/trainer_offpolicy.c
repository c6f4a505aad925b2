/* trainer_offpolicy.c: tests samplers that differ from the learner, and the correction of their rollouts. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/error.h"
#include "policy/layout.h"
#include "run/run.h"
#include "support/opened_run.h"
#include "support/small_recipe.h"

/* ---- lower precision ---- */

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static struct trainer_model small_model(bool previous_token)
{
    struct trainer_model model;
    trainer_model_init(&model);
    model.tokens = 13;
    model.width = 8;
    model.mlp = 20;
    model.previous_token = previous_token;
    return model;
}

static float *random_params(const struct trainer_model *model)
{
    float *params = malloc(trainer_model_parameters(model) * sizeof *params);
    trainer_policy_initf(model, 6, params);
    return params;
}

static float *lowered(const struct trainer_model *model, enum trainer_precision precision, const float *params)
{
    float *out = malloc(trainer_model_parameters(model) * sizeof *out);
    trainer_policy_quantise(model, precision, params, out);
    return out;
}

static void bf16_keeps_eight_bits(void **state)
{
    (void)state;
    struct trainer_model model = small_model(true);
    float *params = random_params(&model), *low = lowered(&model, TRAINER_BF16, params);
    size_t changed = 0;
    for (size_t i = 0; i < trainer_model_parameters(&model); i++) {
        assert_int_equal(bits_of(low[i]) & 0xffff, 0);
        assert_true(fabsf(low[i] - params[i]) <= fabsf(params[i]) * 0x1p-8f);
        changed += low[i] < params[i] || low[i] > params[i];
    }
    assert_true(changed > trainer_model_parameters(&model) / 2);
    free(params);
    free(low);
}

static void bf16_rounds_to_nearest_even(void **state)
{
    (void)state;
    const uint32_t cases[][2] = {
        {0x3f800000, 0x3f800000}, {0x3f807fff, 0x3f800000}, {0x3f808000, 0x3f800000}, {0x3f808001, 0x3f810000},
        {0x3f818000, 0x3f820000}, {0xbf818000, 0xbf820000}, {0x3fffffff, 0x40000000}, {0x80000000, 0x80000000},
        {0x00008000, 0x00000000}, {0x00018000, 0x00020000},
    };
    struct trainer_model model = small_model(true);
    float *params = random_params(&model);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        params[i] = from_bits(cases[i][0]);
    float *low = lowered(&model, TRAINER_BF16, params);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(bits_of(low[i]), cases[i][1]);
    free(params);
    free(low);
}

/* Asserts that n weights, `stride` apart, are multiples of one step, which follows from the largest of them. */
static void assert_int8(const float *x, const float *low, size_t n, size_t stride)
{
    float most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(x[i * stride]));
    double step = (double)most / 127;
    for (size_t i = 0; i < n; i++) {
        double steps = (double)low[i * stride] / step;
        assert_near(steps, rint(steps), 1e-4);
        assert_true(fabs(steps) <= 127.0001);
        assert_near((double)low[i * stride], (double)x[i * stride], 0.5001 * step);
    }
}

static void assert_matrix(const float *x, const float *low, size_t at, size_t in, size_t out)
{
    for (size_t j = 0; j < out; j++)
        assert_int8(x + at + j, low + at + j, in, out);
}

static void assert_same(const float *x, const float *low, size_t at, size_t n)
{
    assert_memory_equal(x + at, low + at, n * sizeof *x);
}

static void check_int8(bool previous_token)
{
    struct trainer_model model = small_model(previous_token);
    struct net_layout layout = net_layout(&model);
    size_t d = 8, m = 20, tables = previous_token ? 2 : 1;
    float *x = random_params(&model), *low;
    for (size_t j = 0; j < d; j++)
        x[3 * d + j] = 0; /* a row of zeros */
    low = lowered(&model, TRAINER_INT8, x);
    for (size_t i = 0; i < tables * 13; i++)
        if (i == 3)
            assert_same(x, low, i * d, d);
        else
            assert_int8(x + i * d, low + i * d, d, 1);
    for (int32_t l = 0; l < model.layers; l++) {
        struct net_layer at = net_layer(&model, &layout, l);
        assert_matrix(x, low, at.qkv, d, 3 * d);
        assert_matrix(x, low, at.out, d, d);
        assert_matrix(x, low, at.up, d, m);
        assert_matrix(x, low, at.down, m, d);
        assert_same(x, low, at.norm1, d);
        assert_same(x, low, at.norm2, d);
    }
    assert_same(x, low, layout.norm, d);
    free(x);
    free(low);
}

static void int8_has_a_scale_per_output(void **state)
{
    (void)state;
    check_int8(true);
    check_int8(false);
}

static void float_is_left_alone(void **state)
{
    (void)state;
    struct trainer_model model = small_model(true);
    float *x = random_params(&model), *low = lowered(&model, TRAINER_FLOAT, x);
    assert_same(x, low, 0, trainer_model_parameters(&model));
    free(x);
    free(low);
}

/* ---- a run, step by step ---- */

static struct trainer_iteration collect_and_correct(struct run *run, int32_t iteration)
{
    struct trainer_iteration metrics = {0};
    struct trainer_error err;
    if (collect_and_credit(run, iteration, &metrics, &err) != TRAINER_OK || run_correct(run, &metrics, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    return metrics;
}

static void update(struct run *run, int32_t iteration)
{
    struct trainer_iteration metrics = {0};
    struct trainer_error err;
    if (run_update(run, iteration, &metrics, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
}

/* Asserts that the rollouts have the log-probs of these weights. */
static void assert_sampled_by(struct run *run, const float *params)
{
    struct trainer_rollouts *r = run->rollouts;
    struct learner_rows rows = {r->n, r->width, r->tokens, r->length, r->mask};
    float *log_prob = malloc(r->n * r->width * sizeof *log_prob);
    assert_int_equal(learner_score(&run->learner, params, &rows, log_prob, NULL), TRAINER_OK);
    for (size_t i = 0; i < r->n * r->width; i++)
        if (r->mask[i])
            assert_near((double)r->log_prob[i], (double)log_prob[i], 2e-5);
    free(log_prob);
}

enum { ITERATIONS = 6 };

/* Keeps the weights of every iteration and checks that the sampler's are those of `age` iterations ago. */
static void check_staleness(const float *params, int32_t staleness, int32_t max_staleness, enum trainer_precision precision)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_JOINT; /* gains give every group a gradient */
    recipe.sampler.staleness = staleness;
    recipe.sampler.max_staleness = max_staleness;
    recipe.sampler.precision = precision;
    recipe.training.learning_rate = 1e-2;
    check_recipe(&recipe);
    struct run *run = opened_run(&recipe, params);
    size_t n = run->learner.n_params;
    float *history = malloc(ITERATIONS * n * sizeof *history), *low = malloc(n * sizeof *low);
    for (int32_t i = 0; i < ITERATIONS; i++) {
        int32_t age = staleness < i ? staleness : i;
        age = max_staleness >= 0 && max_staleness < age ? max_staleness : age;
        memcpy(history + (size_t)i * n, run->learner.params, n * sizeof *history);
        struct trainer_iteration metrics = collect_and_correct(run, i);
        assert_true(metrics.staleness == age);
        trainer_policy_quantise(&recipe.model, precision, history + (size_t)(i - age) * n, low);
        assert_memory_equal(low, run->sampled_by.quantised, n * sizeof *low);
        assert_sampled_by(run, low);
        assert_true(age == 0 || metrics.mismatch_kl > 1e-5);
        assert_true(metrics.mismatch_ess > 0 && metrics.mismatch_ess <= 1 + 1e-6);
        update(run, i);
    }
    free(history);
    free(low);
    close_run(run);
}

static void the_sampler_is_staleness_iterations_behind(void **state)
{
    check_staleness(*state, 1, -1, TRAINER_FLOAT);
    check_staleness(*state, 3, -1, TRAINER_FLOAT);
    check_staleness(*state, 2, -1, TRAINER_INT8);
}

static void admission_bounds_staleness(void **state)
{
    check_staleness(*state, 3, 1, TRAINER_FLOAT);
    check_staleness(*state, 3, 0, TRAINER_FLOAT);
    check_staleness(*state, 1, 4, TRAINER_BF16);
}

static void on_policy_nothing_is_corrected(void **state)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    struct run *run = opened_run(&recipe, *state);
    struct trainer_iteration metrics = collect_and_correct(run, 0);
    const struct trainer_rollouts *r = run->rollouts;
    assert_null(run->sampled_by.quantised);
    assert_memory_equal(r->old, r->log_prob, r->n * r->width * sizeof *r->old);
    assert_memory_equal(r->kept, r->mask, r->n * r->width);
    assert_true(metrics.weight_mean == 1 && metrics.rejected == 0 && metrics.staleness == 0);
    assert_sampled_by(run, run->learner.params);
    close_run(run);
}

/* Samples with int8 weights that are two updates old. They differ enough from the learner that caps matter. */
static struct trainer_recipe off_policy_recipe(enum trainer_correction_name name)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    recipe.sampler.precision = TRAINER_INT8;
    recipe.sampler.staleness = 2;
    recipe.training.learning_rate = 2e-2;
    recipe.tasks[0].questions = 16;
    recipe.correction.name = name;
    return recipe;
}

static struct run *third_iteration(const struct trainer_recipe *recipe, const float *params, struct trainer_iteration *metrics)
{
    struct run *run = opened_run(recipe, params);
    for (int32_t i = 0; i < 3; i++) {
        *metrics = collect_and_correct(run, i);
        if (i < 2)
            update(run, i);
    }
    return run;
}

static void without_correction_the_samplers_log_probs_are_old(void **state)
{
    struct trainer_recipe recipe = off_policy_recipe(TRAINER_CORRECTION_NONE);
    struct trainer_iteration metrics;
    check_recipe(&recipe);
    struct run *run = third_iteration(&recipe, *state, &metrics);
    const struct trainer_rollouts *r = run->rollouts;
    assert_memory_equal(r->old, r->log_prob, r->n * r->width * sizeof *r->old);
    assert_true(metrics.mismatch_kl > 1e-3 && metrics.mismatch_ess < 0.999);
    assert_true(metrics.weight_mean == 1 && metrics.rejected == 0);
    close_run(run);
}

/* Returns the learner's log-probs of the rollouts under the given weights; the caller frees them. */
static float *scored(struct run *run, const float *params)
{
    struct trainer_rollouts *r = run->rollouts;
    struct learner_rows rows = {r->n, r->width, r->tokens, r->length, r->mask};
    float *log_prob = calloc(r->n * r->width, sizeof *log_prob);
    assert_int_equal(learner_score(&run->learner, params, &rows, log_prob, NULL), TRAINER_OK);
    return log_prob;
}

static void assert_scores(const struct trainer_rollouts *r, const float *a, const float *b)
{
    for (size_t i = 0; i < r->n * r->width; i++)
        assert_true(!r->mask[i] || (a[i] >= b[i] && a[i] <= b[i]));
}

static void recomputing_weighs_nothing(void **state)
{
    struct trainer_recipe recipe = off_policy_recipe(TRAINER_CORRECTION_RECOMPUTE);
    struct trainer_iteration metrics;
    check_recipe(&recipe);
    struct run *run = third_iteration(&recipe, *state, &metrics);
    const struct trainer_rollouts *r = run->rollouts;
    float *own = scored(run, run->learner.params);
    assert_scores(r, r->old, own);
    assert_true(metrics.weight_mean == 1 && metrics.rejected == 0 && metrics.mismatch_kl > 1e-3);
    assert_memory_equal(r->kept, r->mask, r->n * r->width);
    free(own);
    close_run(run);
}

/*
 * The behaviour policy has the full-precision weights of two iterations ago, but the sampler has their quantised
 * form.
 */
static void composing_scores_three_policies(void **state)
{
    struct trainer_recipe recipe = off_policy_recipe(TRAINER_CORRECTION_NONE);
    struct trainer_iteration metrics;
    recipe.loss.name = TRAINER_LOSS_COMPOSE;
    check_recipe(&recipe);
    struct run *run = third_iteration(&recipe, *state, &metrics);
    const struct trainer_rollouts *r = run->rollouts;
    assert_memory_equal(run->sampled_by.behaviour, *state, run->learner.n_params * sizeof(float));
    float *own = scored(run, run->learner.params), *then = scored(run, *state);
    assert_scores(r, r->old, own);
    assert_scores(r, r->behaviour, then);
    struct trainer_error err;
    assert_int_equal(run_update(run, 2, &metrics, &err), TRAINER_OK);
    assert_true(fabs(metrics.offpolicy.staleness - 1) > 1e-4);
    assert_true(fabs(metrics.offpolicy.backend - 1) > 1e-6);
    assert_true(metrics.offpolicy.compose_ess < 0.9999);
    free(own);
    free(then);
    close_run(run);
}

/* The penalty of a rollout is the sum over its tokens. Credit is assigned from the reward minus this penalty. */
static void a_penalty_in_the_reward_changes_credit(void **state)
{
    struct trainer_recipe recipe = off_policy_recipe(TRAINER_CORRECTION_NONE);
    struct trainer_iteration metrics = {0};
    struct trainer_error err;
    recipe.sampler = (struct trainer_sampler){TRAINER_FLOAT, 0, -1};
    recipe.loss.kl_coef = 0.5;
    recipe.loss.kl_place = TRAINER_KL_REWARD;
    check_recipe(&recipe);
    struct run *run = opened_run(&recipe, *state);
    for (size_t i = 0; i < run->learner.n_params; i++)
        run->references.start[i] = 0.9f * run->learner.params[i];
    if (collect_and_credit(run, 0, &metrics, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    const struct trainer_rollouts *r = run->rollouts;
    double sum = 0;
    for (size_t i = 0; i < r->n * r->width; i++) {
        double d = (double)r->start[i] - (double)r->log_prob[i];
        sum += r->mask[i] ? exp(d) - d - 1 : 0;
    }
    assert_true(sum > 0.01);
    assert_near(metrics.offpolicy.kl_reward, 0.5 * sum / (double)r->n, 1e-4 * sum);
    float *with = malloc(r->n * r->width * sizeof *with);
    memcpy(with, r->advantage, r->n * r->width * sizeof *with);
    recipe.loss.kl_place = TRAINER_KL_LOSS;
    assert_int_equal(collect_and_credit(run, 0, &metrics, &err), TRAINER_OK);
    assert_true(memcmp(with, r->advantage, r->n * r->width * sizeof *with) != 0);
    free(with);
    close_run(run);
}

static void check_weights(const float *params, bool sequence_level, double cap)
{
    struct trainer_recipe recipe = off_policy_recipe(TRAINER_CORRECTION_TIS);
    struct trainer_iteration metrics;
    size_t capped = 0, below = 0;
    double sum = 0;
    recipe.correction.cap = cap;
    recipe.correction.sequence_level = sequence_level;
    check_recipe(&recipe);
    struct run *run = third_iteration(&recipe, params, &metrics);
    const struct trainer_rollouts *r = run->rollouts;
    for (size_t row = 0; row < r->n; row++) {
        double log_ratio = 0;
        for (size_t i = row * r->width; i < (row + 1) * r->width; i++)
            log_ratio += r->mask[i] ? (double)(r->old[i] - r->log_prob[i]) : 0;
        for (size_t i = row * r->width; i < (row + 1) * r->width; i++) {
            if (!r->mask[i])
                continue;
            double token = (double)(r->old[i] - r->log_prob[i]);
            double ratio = exp(fmax(-20, sequence_level ? log_ratio : token)); /* a limit of the core */
            assert_near((double)r->weight[i], fmin(cap, ratio), 1e-4 * fmin(cap, ratio));
            capped += ratio > cap;
            below += ratio < cap;
            sum += fmin(cap, ratio);
        }
    }
    assert_true(capped > 0 && below > 0);
    assert_near(metrics.weight_mean, sum / (double)(capped + below), 1e-4);
    assert_true(metrics.rejected == 0);
    close_run(run);
}

static void weights_are_truncated_at_the_cap(void **state)
{
    check_weights(*state, false, 1.1);
    check_weights(*state, true, 1.2);
}

/* Tokens whose k1 is out of bounds are not trained on. */
static void decoupling_rejects(void **state)
{
    struct trainer_recipe recipe = off_policy_recipe(TRAINER_CORRECTION_DECOUPLED);
    struct trainer_iteration metrics;
    double n = 0, rejected = 0;
    strcpy(recipe.correction.reject, "token_k1");
    strcpy(recipe.correction.reject_threshold, "0.8_1.25");
    check_recipe(&recipe);
    struct run *run = third_iteration(&recipe, *state, &metrics);
    const struct trainer_rollouts *r = run->rollouts;
    for (size_t i = 0; i < r->n * r->width; i++) {
        double ratio = exp((double)(r->old[i] - r->log_prob[i]));
        if (!r->mask[i]) {
            assert_int_equal(r->kept[i], 0);
            continue;
        }
        n++;
        rejected += r->kept[i] == 0;
        if (fabs(ratio - 0.8) > 1e-4 && fabs(ratio - 1.25) > 1e-4)
            assert_int_equal(r->kept[i], ratio > 0.8 && ratio < 1.25);
    }
    assert_true(rejected > 0 && rejected < n);
    assert_near(metrics.rejected, rejected / n, 1e-12);
    update(run, 2);
    close_run(run);
}

/*
 * Tempered sampling follows another policy than the learner's, so rollouts are scored again, and the ratio is to the
 * learner's own log-probs.
 */
static void tempered_rollouts_are_scored_again(void **state)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    recipe.training.temperature = 0.5;
    check_recipe(&recipe);
    struct run *run = opened_run(&recipe, *state);
    struct trainer_iteration metrics = collect_and_correct(run, 0);
    struct trainer_rollouts *r = run->rollouts;
    struct learner_rows rows = {r->n, r->width, r->tokens, r->length, r->mask};
    float *log_prob = malloc(r->n * r->width * sizeof *log_prob);
    assert_int_equal(learner_score(&run->learner, run->learner.params, &rows, log_prob, NULL), TRAINER_OK);
    for (size_t i = 0; i < r->n * r->width; i++)
        if (r->mask[i])
            assert_near((double)r->old[i], (double)log_prob[i], 1e-6);
    assert_true(metrics.mismatch_kl > 1e-3);
    free(log_prob);
    close_run(run);
}

static int warm_up(void **state)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    *state = warm_policy(&recipe, 100);
    return 0;
}

static int cool_down(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bf16_keeps_eight_bits),
        cmocka_unit_test(bf16_rounds_to_nearest_even),
        cmocka_unit_test(int8_has_a_scale_per_output),
        cmocka_unit_test(float_is_left_alone),
        cmocka_unit_test(the_sampler_is_staleness_iterations_behind),
        cmocka_unit_test(admission_bounds_staleness),
        cmocka_unit_test(on_policy_nothing_is_corrected),
        cmocka_unit_test(without_correction_the_samplers_log_probs_are_old),
        cmocka_unit_test(recomputing_weighs_nothing),
        cmocka_unit_test(composing_scores_three_policies),
        cmocka_unit_test(a_penalty_in_the_reward_changes_credit),
        cmocka_unit_test(weights_are_truncated_at_the_cap),
        cmocka_unit_test(decoupling_rejects),
        cmocka_unit_test(tempered_rollouts_are_scored_again),
    };
    return cmocka_run_group_tests(tests, warm_up, cool_down);
}
