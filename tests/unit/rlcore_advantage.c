/* rlcore_advantage.c: tests estimators on random batches: sums, permutation, precision, holes, and bad input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/advantage.h>

#include "support/random_batch.h"

enum { ROWS = 24, TOKENS = 40 };

struct trial {
    struct random_batch *data;
    struct rl_outcome_options options;
    double *advantages, *returns;
    struct rl_error err;
};

static struct trial trial_new(uint64_t seed, double hole_share)
{
    struct trial t = {
        .data = random_batch_new(
            seed, (struct random_shape){.rows = ROWS, .tokens = TOKENS, .hole_share = hole_share, .empty_share = 0.1})};
    rl_outcome_options_init(&t.options);
    t.advantages = test_alloc(ROWS * TOKENS, sizeof(double));
    t.returns = test_alloc(ROWS * TOKENS, sizeof(double));
    return t;
}

static void trial_free(struct trial *t)
{
    random_batch_free(t->data);
    free(t->advantages);
    free(t->returns);
}

static enum rl_status run_group(struct trial *t)
{
    struct rl_workspace ws = {0};
    enum rl_status status;
    do
        status = rl_outcome_advantage(&t->data->batch, &t->options, t->data->turn_rewards, t->advantages, &ws, &t->err);
    while (test_again(&ws, status));
    free(ws.data);
    return status;
}

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance * fmax(1, fabs(b))))
        fail_msg("%.17g is not %.17g", a, b);
}

/* Sets *credit to the advantage at the row's first response token. Returns false if the row has none. */
static bool credit_of(const struct trial *t, size_t row, double *credit)
{
    for (size_t i = row * TOKENS; i < (row + 1) * TOKENS; i++)
        if (t->data->mask[i]) {
            *credit = t->advantages[i];
            return true;
        }
    return false;
}

/* Gives every row a response token, so that credit_of can read its credit. */
static void fill_rows(struct random_batch *data)
{
    for (size_t row = 0; row < ROWS; row++)
        data->mask[row * TOKENS] = 1;
}

static void groups_sum_to_zero(void **state)
{
    (void)state;
    static const enum rl_estimator centred[] = {RL_GRPO, RL_GRPO_VECTORIZED, RL_RLOO, RL_GPG};
    for (size_t e = 0; e < sizeof centred / sizeof *centred; e++) {
        struct trial t = trial_new(e + 1, 0.2);
        double total = 0, size = 0, credit;
        fill_rows(t.data);
        t.options.estimator = centred[e];
        assert_int_equal(run_group(&t), RL_OK);
        for (size_t row = 0; row < ROWS; row++)
            if (credit_of(&t, row, &credit)) {
                total += credit;
                size += fabs(credit);
            }
        assert_true(size > 1);
        assert_near(total, 0, 1e-12 * size);
        trial_free(&t);
    }
}

static void masked_tokens_get_nothing(void **state)
{
    (void)state;
    for (int e = RL_GRPO; e <= RL_REINFORCE_PLUS_PLUS_BASELINE; e++) {
        struct trial t = trial_new(77, 0.3);
        t.options.estimator = (enum rl_estimator)e;
        assert_int_equal(run_group(&t), RL_OK);
        for (size_t i = 0; i < ROWS * TOKENS; i++)
            if (!t.data->mask[i])
                assert_true(t.advantages[i] >= 0 && t.advantages[i] <= 0);
        trial_free(&t);
    }
}

static void swap_rows(struct random_batch *data, size_t a, size_t b)
{
    for (size_t j = 0; j < TOKENS; j++) {
        double reward = data->turn_rewards[a * TOKENS + j];
        data->turn_rewards[a * TOKENS + j] = data->turn_rewards[b * TOKENS + j];
        data->turn_rewards[b * TOKENS + j] = reward;
        uint8_t mask = data->mask[a * TOKENS + j];
        data->mask[a * TOKENS + j] = data->mask[b * TOKENS + j];
        data->mask[b * TOKENS + j] = mask;
    }
    int64_t group = data->group[a];
    data->group[a] = data->group[b];
    data->group[b] = group;
}

static void order_of_rows_does_not_matter(void **state)
{
    (void)state;
    for (int e = RL_GRPO; e <= RL_REINFORCE_PLUS_PLUS_BASELINE; e++) {
        struct trial t = trial_new(5, 0.2), u = trial_new(5, 0.2);
        t.options.estimator = u.options.estimator = (enum rl_estimator)e;
        for (size_t row = 0; row < ROWS / 2; row++)
            swap_rows(u.data, row, ROWS - 1 - row);
        assert_int_equal(run_group(&t), RL_OK);
        assert_int_equal(run_group(&u), RL_OK);
        for (size_t row = 0; row < ROWS; row++)
            for (size_t j = 0; j < TOKENS; j++)
                assert_near(u.advantages[(ROWS - 1 - row) * TOKENS + j], t.advantages[row * TOKENS + j], 1e-10);
        trial_free(&t);
        trial_free(&u);
    }
}

static void float_agrees_with_double(void **state)
{
    (void)state;
    for (int e = RL_GRPO; e <= RL_REINFORCE_PLUS_PLUS_BASELINE; e++) {
        struct trial t = trial_new(9, 0.2);
        struct rl_workspace ws = {0};
        float *rewards = floats_of(t.data->turn_rewards, ROWS * TOKENS);
        float *advantages = test_alloc(ROWS * TOKENS, sizeof *advantages);
        enum rl_status status;
        t.options.estimator = (enum rl_estimator)e;
        assert_int_equal(run_group(&t), RL_OK);
        do
            status = rl_outcome_advantagef(&t.data->batch, &t.options, rewards, advantages, &ws, &t.err);
        while (test_again(&ws, status));
        assert_int_equal(status, RL_OK);
        for (size_t i = 0; i < ROWS * TOKENS; i++)
            assert_near(advantages[i], t.advantages[i], 1e-5);
        free(rewards);
        free(advantages);
        free(ws.data);
        trial_free(&t);
    }
}

static void a_group_of_one(void **state)
{
    (void)state;
    static const double expected[] = {2 / (1 + 1e-6), 2 / (1 + 1e-6), NAN, 2, 0, 2, 2};
    const uint8_t mask[] = {1, 0, 1};
    const int64_t group[] = {-4};
    const double rewards[] = {0.5, 0.5, 1};
    const struct rl_batch batch = {1, 3, mask, NULL, group};
    for (int e = RL_GRPO; e <= RL_GPG; e++) {
        _Alignas(64) unsigned char memory[1024];
        struct rl_workspace ws = {.data = memory, .size = sizeof memory};
        struct rl_error err = {0};
        double out[3];
        const struct rl_outcome_options options = {(enum rl_estimator)e, true, 1e-6};
        enum rl_status status = rl_outcome_advantage(&batch, &options, rewards, out, &ws, &err);
        assert_int_equal(status, e == RL_GRPO_PASSK ? RL_EVALUE : RL_OK);
        if (status == RL_OK) {
            assert_near(out[0], expected[e], 1e-15);
            assert_near(out[1], 0, 0);
        }
    }
}

static void a_reward_that_is_not_finite_is_named(void **state)
{
    (void)state;
    struct trial t = trial_new(3, 0);
    t.data->turn_rewards[7 * TOKENS + 11] = NAN;
    assert_int_equal(run_group(&t), RL_EVALUE);
    assert_non_null(strstr(t.err.text, "token_level_rewards[7][11]"));
    t.options.epsilon = -1;
    assert_int_equal(run_group(&t), RL_EINVAL);
    assert_non_null(strstr(t.err.text, "epsilon"));
    trial_free(&t);
}

static void a_small_workspace_is_refused(void **state)
{
    (void)state;
    struct trial t = trial_new(3, 0);
    struct rl_workspace ws = {0};
    assert_int_equal(rl_outcome_advantage(&t.data->batch, &t.options, t.data->turn_rewards, t.advantages, &ws, &t.err),
                     RL_EWORKSPACE);
    assert_true(ws.needed > 0);
    trial_free(&t);
}

/* Compares GAE over a row with a hole with GAE over the same row without it. */
static void gae_skips_holes(void **state)
{
    (void)state;
    const uint8_t with[] = {1, 1, 0, 0, 1, 1}, without[] = {1, 1, 1, 1};
    const double rewards[] = {0.1, 0, NAN, NAN, -0.3, 1}, rewards4[] = {0.1, 0, -0.3, 1};
    const double values[] = {0.2, 0.4, 9, 9, 0.1, 0.7}, values4[] = {0.2, 0.4, 0.1, 0.7};
    const struct rl_batch six = {1, 6, with, NULL, NULL}, four = {1, 4, without, NULL, NULL};
    static const size_t at[] = {0, 1, 4, 5};
    _Alignas(64) unsigned char memory[256];
    struct rl_workspace ws = {.data = memory, .size = sizeof memory};
    double a6[6], r6[6], a4[4], r4[4];
    assert_int_equal(rl_gae(&six, 0.9, 0.8, rewards, values, a6, r6, &ws, NULL), RL_OK);
    assert_int_equal(rl_gae(&four, 0.9, 0.8, rewards4, values4, a4, r4, &ws, NULL), RL_OK);
    for (size_t j = 0; j < 4; j++) {
        assert_near(a6[at[j]], a4[j], 1e-14);
        assert_near(r6[at[j]], r4[j], 1e-14);
    }
}

/* A hole ends the return of REINFORCE++, unless through_holes carries the return over it. */
static void reinforce_at_holes(void **state)
{
    (void)state;
    const uint8_t mask[] = {1, 0, 1};
    const double rewards[] = {0, 0, 1};
    const struct rl_batch batch = {1, 3, mask, NULL, NULL};
    _Alignas(64) unsigned char memory[256];
    struct rl_workspace ws = {.data = memory, .size = sizeof memory};
    double a[3], r[3];
    assert_int_equal(rl_reinforce_plus_plus(&batch, 0.5, false, rewards, a, r, &ws, NULL), RL_OK);
    assert_near(r[0], 0, 0);
    assert_int_equal(rl_reinforce_plus_plus(&batch, 0.5, true, rewards, a, r, &ws, NULL), RL_OK);
    assert_near(r[0], 0.5, 0);
    const uint8_t one[] = {0, 0, 1};
    const struct rl_batch lone = {1, 3, one, NULL, NULL};
    assert_int_equal(rl_reinforce_plus_plus(&lone, 0.5, true, rewards, a, r, &ws, NULL), RL_EVALUE);
}

static enum rl_status run_baseline(struct trial *t, bool compact, struct rl_workspace *ws)
{
    const struct rl_token_baseline_input in = {
        .rewards = t->data->turn_rewards, .old_log_prob = t->data->old_log_prob, .sum_pi_squared = t->data->weights};
    const struct rl_token_baseline_options options = {compact, true, 1e-8};
    enum rl_status status;
    do
        status = rl_token_baseline(&t->data->batch, &in, &options, t->advantages, t->returns, ws, &t->err);
    while (test_again(ws, status));
    return status;
}

/* Values at mask 0 are never read. */
static void token_baselines(void **state)
{
    (void)state;
    struct trial t = trial_new(21, 0.2), u = trial_new(21, 0.2);
    struct rl_workspace ws = {0};
    double size = 0;
    random_batch_poison(u.data);
    for (int compact = 0; compact < 2; compact++) {
        assert_int_equal(run_baseline(&t, compact, &ws), RL_OK);
        assert_int_equal(run_baseline(&u, compact, &ws), RL_OK);
        for (size_t i = 0; i < ROWS * TOKENS; i++) {
            assert_near(u.advantages[i], t.advantages[i], 0);
            assert_near(u.returns[i], t.returns[i], 0);
            size += fabs(t.advantages[i]);
        }
    }
    assert_true(size > 0);
    free(ws.data);
    trial_free(&t);
    trial_free(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_sum_to_zero),
        cmocka_unit_test(masked_tokens_get_nothing),
        cmocka_unit_test(order_of_rows_does_not_matter),
        cmocka_unit_test(float_agrees_with_double),
        cmocka_unit_test(a_group_of_one),
        cmocka_unit_test(a_reward_that_is_not_finite_is_named),
        cmocka_unit_test(a_small_workspace_is_refused),
        cmocka_unit_test(gae_skips_holes),
        cmocka_unit_test(reinforce_at_holes),
        cmocka_unit_test(token_baselines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
