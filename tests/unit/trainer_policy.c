/* trainer_policy.c: tests the policy's gradient against central differences, and what the policy refuses. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <trainer/policy.h>

#include "support/small_recipe.h"

enum { N_TOKENS = 19, N_SEQUENCES = 3 };

static const size_t starts[N_SEQUENCES + 1] = {0, 7, 12, N_TOKENS};
static const int32_t tokens[N_TOKENS] = {1, 4, 4, 0, 10, 2, 7, 3, 3, 9, 1, 8, 5, 6, 5, 6, 0, 2, 10};
static const uint8_t wanted[N_TOKENS] = {0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0, 1, 0, 0, 0, 1, 1};
enum { N_WANTED = 10 };

static struct trainer_model tiny(bool previous_token)
{
    struct trainer_model model;
    trainer_model_init(&model);
    model.tokens = 11;
    model.width = 12;
    model.heads = 3;
    model.mlp = 20;
    model.max_tokens = 9;
    model.previous_token = previous_token;
    return model;
}

static struct trainer_sequences sequences(void)
{
    return (struct trainer_sequences){N_SEQUENCES, starts, tokens, wanted};
}

/* Weight of the i-th log-prob in the loss whose gradient is tested. */
static double weight(size_t i)
{
    return 0.3 * (double)i - 1;
}

static double loss(struct trainer_pass *pass, const double *params)
{
    struct trainer_sequences in = sequences();
    double log_prob[N_WANTED], sum = 0;
    assert_int_equal(trainer_policy_forward(pass, params, &in, log_prob, NULL, NULL), TRAINER_OK);
    for (size_t i = 0; i < N_WANTED; i++)
        sum += weight(i) * log_prob[i];
    return sum;
}

static double central_difference(struct trainer_pass *pass, double *params, size_t i)
{
    const double step = 1e-5;
    double kept = params[i];
    params[i] = kept + step;
    double above = loss(pass, params);
    params[i] = kept - step;
    double below = loss(pass, params);
    params[i] = kept;
    return (above - below) / (2 * step);
}

static void check_gradient(struct trainer_model model)
{
    size_t n = trainer_model_parameters(&model);
    double *params = malloc(n * sizeof *params), *gradient = calloc(n, sizeof *gradient);
    double d_log_prob[N_WANTED];
    struct trainer_pass *pass;
    assert_int_equal(trainer_pass_create(&pass, &model, N_TOKENS, N_WANTED, NULL), TRAINER_OK);
    trainer_policy_init(&model, 3, params);
    for (size_t i = 0; i < N_WANTED; i++)
        d_log_prob[i] = weight(i);
    loss(pass, params);
    trainer_policy_backward(pass, params, d_log_prob, gradient);
    for (size_t i = 0; i < n; i++)
        assert_near(gradient[i], central_difference(pass, params, i), 2e-7);
    trainer_pass_free(pass);
    free(params);
    free(gradient);
}

static void gradient_is_the_central_difference(void **state)
{
    (void)state;
    struct trainer_model one_layer = tiny(true);
    one_layer.layers = 1;
    check_gradient(one_layer);
    check_gradient(tiny(true));
    check_gradient(tiny(false));
}

/* Every parameter must influence the loss, because a gradient of zeros would pass the test above. */
static void no_block_of_parameters_is_dead(void **state)
{
    (void)state;
    struct trainer_model model = tiny(true);
    size_t n = trainer_model_parameters(&model), alive = 0;
    double *params = malloc(n * sizeof *params), *gradient = calloc(n, sizeof *gradient);
    double d_log_prob[N_WANTED] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct trainer_pass *pass;
    assert_int_equal(trainer_pass_create(&pass, &model, N_TOKENS, N_WANTED, NULL), TRAINER_OK);
    trainer_policy_init(&model, 3, params);
    loss(pass, params);
    trainer_policy_backward(pass, params, d_log_prob, gradient);
    for (size_t i = 0; i < n; i++)
        alive += fabs(gradient[i]) > 1e-12;
    assert_true(alive > n * 9 / 10);
    trainer_pass_free(pass);
    free(params);
    free(gradient);
}

static void probabilities_sum_to_one(void **state)
{
    (void)state;
    struct trainer_model model = tiny(true);
    double params[8192], sum = 0;
    size_t start[2] = {0, 4};
    int32_t text[4] = {1, 4, 4, 0};
    uint8_t last[4] = {0, 0, 0, 1};
    struct trainer_sequences in = {1, start, text, last};
    struct trainer_pass *pass;
    assert_true(trainer_model_parameters(&model) < 8192);
    assert_int_equal(trainer_pass_create(&pass, &model, 4, 1, NULL), TRAINER_OK);
    trainer_policy_init(&model, 5, params);
    double log_prob, entropy, expected = 0;
    for (text[3] = 0; text[3] < model.tokens; text[3]++) {
        assert_int_equal(trainer_policy_forward(pass, params, &in, &log_prob, &entropy, NULL), TRAINER_OK);
        sum += exp(log_prob);
        expected -= exp(log_prob) * log_prob;
    }
    assert_near(sum, 1, 1e-12);
    assert_near(entropy, expected, 1e-12);
    trainer_pass_free(pass);
}

static void float_agrees_with_double(void **state)
{
    (void)state;
    struct trainer_model model = tiny(true);
    double params[8192], log_prob[N_WANTED];
    float params_f[8192], log_prob_f[N_WANTED];
    struct trainer_sequences in = sequences();
    struct trainer_pass *pass;
    struct trainer_passf *pass_f;
    assert_int_equal(trainer_pass_create(&pass, &model, N_TOKENS, N_WANTED, NULL), TRAINER_OK);
    assert_int_equal(trainer_pass_createf(&pass_f, &model, N_TOKENS, N_WANTED, NULL), TRAINER_OK);
    trainer_policy_init(&model, 7, params);
    trainer_policy_initf(&model, 7, params_f);
    assert_int_equal(trainer_policy_forward(pass, params, &in, log_prob, NULL, NULL), TRAINER_OK);
    assert_int_equal(trainer_policy_forwardf(pass_f, params_f, &in, log_prob_f, NULL, NULL), TRAINER_OK);
    for (size_t i = 0; i < N_WANTED; i++)
        assert_near(log_prob_f[i], log_prob[i], 2e-5);
    trainer_pass_free(pass);
    trainer_pass_freef(pass_f);
}

/* A token does not depend on later tokens or on other sequences. */
static void attention_is_causal_and_stays_in_its_sequence(void **state)
{
    (void)state;
    struct trainer_model model = tiny(true);
    double params[8192], before[N_WANTED], after[N_WANTED];
    int32_t changed[N_TOKENS];
    memcpy(changed, tokens, sizeof tokens);
    changed[11] = 2;
    struct trainer_sequences in = sequences();
    struct trainer_pass *pass;
    assert_int_equal(trainer_pass_create(&pass, &model, N_TOKENS, N_WANTED, NULL), TRAINER_OK);
    trainer_policy_init(&model, 9, params);
    assert_int_equal(trainer_policy_forward(pass, params, &in, before, NULL, NULL), TRAINER_OK);
    in.tokens = changed;
    assert_int_equal(trainer_policy_forward(pass, params, &in, after, NULL, NULL), TRAINER_OK);
    for (size_t i = 0; i < N_WANTED; i++) {
        if (i == 6)
            assert_true(before[i] != after[i]);
        else
            assert_near(before[i], after[i], 1e-12);
    }
    trainer_pass_free(pass);
}

static void refused(struct trainer_sequences in, const char *why)
{
    struct trainer_model model = tiny(true);
    double params[8192] = {0}, log_prob[N_WANTED];
    struct trainer_pass *pass;
    struct trainer_error err;
    assert_int_equal(trainer_pass_create(&pass, &model, N_TOKENS, N_WANTED, NULL), TRAINER_OK);
    assert_int_equal(trainer_policy_forward(pass, params, &in, log_prob, NULL, &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, why));
    trainer_pass_free(pass);
}

static void bad_sequences_are_refused(void **state)
{
    (void)state;
    struct trainer_sequences in = sequences();
    int32_t outside[N_TOKENS] = {[3] = 11};
    in.tokens = outside;
    refused(in, "tokens[3]");
    in = sequences();
    uint8_t first[N_TOKENS] = {[7] = 1};
    in.wanted = first;
    refused(in, "wanted[7]");
    in = sequences();
    size_t too_long[2] = {0, 10};
    in.start = too_long;
    in.n = 1;
    refused(in, "max_tokens");
}

static void bad_models_are_refused(void **state)
{
    (void)state;
    struct trainer_model model = tiny(true);
    struct trainer_error err;
    model.heads = 5;
    assert_int_equal(trainer_model_check(&model, &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "width"));
    model = tiny(true);
    model.layers = 0;
    assert_int_equal(trainer_model_check(&model, &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "layers"));
}

static void prototype_has_its_size(void **state)
{
    (void)state;
    struct trainer_model model;
    trainer_model_init(&model);
    assert_int_equal(trainer_model_parameters(&model), 114112);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_is_the_central_difference),
        cmocka_unit_test(no_block_of_parameters_is_dead),
        cmocka_unit_test(probabilities_sum_to_one),
        cmocka_unit_test(float_agrees_with_double),
        cmocka_unit_test(attention_is_causal_and_stays_in_its_sequence),
        cmocka_unit_test(bad_sequences_are_refused),
        cmocka_unit_test(bad_models_are_refused),
        cmocka_unit_test(prototype_has_its_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
