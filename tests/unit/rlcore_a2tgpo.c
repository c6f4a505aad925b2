/*
 * rlcore_a2tgpo.c: tests the parts of A2TGPO, its advantages and the turn loss, on random batches and on small ones
 * with known results.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/a2tgpo.h>

#include "support/random_batch.h"

static void assert_close(double a, double b)
{
    if (!(fabs(a - b) <= 1e-11 * fmax(1, fabs(b))))
        fail_msg("%.17g is not %.17g", a, b);
}

/* The advantages of a random batch. */
struct trial {
    struct random_batch *data;
    struct rl_a2tgpo_options options;
    double *advantages, *clip_scale;
    struct rl_a2tgpo_stats stats;
    struct rl_error err;
};

static size_t cells_of(const struct trial *t)
{
    return t->data->batch.n_rows * t->data->batch.n_tokens;
}

static struct trial trial_new(enum rl_a2tgpo_mode mode, uint64_t seed, struct random_shape shape)
{
    struct trial t = {.data = random_batch_new(seed, shape)};
    rl_a2tgpo_options_init(&t.options);
    t.options.mode = mode;
    t.options.gamma = 0.9;
    t.advantages = test_alloc(cells_of(&t), sizeof(double));
    t.clip_scale = test_alloc(cells_of(&t), sizeof(double));
    return t;
}

static void trial_free(struct trial *t)
{
    random_batch_free(t->data);
    free(t->advantages);
    free(t->clip_scale);
}

static enum rl_status attempt(struct trial *t)
{
    struct rl_workspace ws = {0};
    enum rl_status status;
    do
        status = rl_a2tgpo_advantage(&t->data->batch, &t->options, t->data->turn_rewards, t->advantages, t->clip_scale, &t->stats,
                                     &ws, &t->err);
    while (test_again(&ws, status));
    free(ws.data);
    return status;
}

static void run(struct trial *t)
{
    assert_int_equal(attempt(t), RL_OK);
}

static const struct random_shape common = {.rows = 12, .tokens = 60, .hole_share = 0.15, .empty_share = 0.1};

/* The turn values of a batch, computed by the public functions for the parts of A2TGPO. */
struct parts {
    struct rl_turns turns;
    size_t *start;
    double *values;
};

static struct parts parts_of(const struct random_batch *r)
{
    struct parts p = {.start = test_alloc(r->batch.n_rows + 1, sizeof *p.start)};
    assert_int_equal(rl_turn_starts(&r->batch, p.start, NULL), RL_OK);
    p.turns = (struct rl_turns){r->batch.n_rows, p.start, r->batch.group};
    p.values = test_alloc(p.start[r->batch.n_rows], sizeof *p.values);
    assert_int_equal(rl_turn_rewards(&r->batch, p.start, r->turn_rewards, p.values, NULL, NULL), RL_OK);
    return p;
}

static void parts_free(struct parts *p)
{
    free(p->start);
    free(p->values);
}

static void normalize(const struct parts *p, enum rl_turn_sets sets, double *z)
{
    struct rl_workspace ws = {0};
    enum rl_status status;
    do
        status = rl_turn_normalize(&p->turns, sets, true, 1e-6, p->values, z, &ws, NULL);
    while (test_again(&ws, status));
    assert_int_equal(status, RL_OK);
    free(ws.data);
}

static bool same_set(enum rl_turn_sets sets, const struct parts *p, size_t row_a, size_t a, size_t row_b, size_t b)
{
    bool last_a = a + 1 == p->start[row_a + 1], last_b = b + 1 == p->start[row_b + 1];
    if (p->turns.group[row_a] != p->turns.group[row_b])
        return false;
    if (sets == RL_TURN_SETS_JOINT)
        return true;
    if (last_a || last_b || sets == RL_TURN_SETS_SEPARATE)
        return last_a == last_b;
    return a - p->start[row_a] == b - p->start[row_b];
}

/* Computes a turn's score directly from the definition, against all turns of its set. */
static double naive_score(enum rl_turn_sets sets, const struct parts *p, size_t row, size_t turn)
{
    double n = 0, sum = 0, squares = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t other = 0; other < p->turns.n_rows; other++)
            for (size_t i = p->start[other]; i < p->start[other + 1]; i++) {
                if (!same_set(sets, p, row, turn, other, i))
                    continue;
                n += pass == 0;
                sum += pass == 0 ? p->values[i] : 0;
                squares += pass ? (p->values[i] - sum / n) * (p->values[i] - sum / n) : 0;
            }
    return n <= 1 ? 0 : (p->values[turn] - sum / n) / (sqrt(squares / n + 1e-8) + 1e-6);
}

static void normalizer_matches_its_definition(void **state)
{
    (void)state;
    struct random_batch *r = random_batch_new(31, common);
    struct parts p = parts_of(r);
    size_t n = p.start[r->batch.n_rows];
    double *z = test_alloc(n, sizeof *z), sum = 0;
    for (int sets = RL_TURN_SETS_JOINT; sets <= RL_TURN_SETS_CELLS; sets++) {
        normalize(&p, (enum rl_turn_sets)sets, z);
        for (size_t row = 0; row < r->batch.n_rows; row++)
            for (size_t i = p.start[row]; i < p.start[row + 1]; i++) {
                assert_close(z[i], naive_score((enum rl_turn_sets)sets, &p, row, i));
                sum += z[i];
            }
        assert_true(fabs(sum) < 1e-9);
    }
    free(z);
    parts_free(&p);
    random_batch_free(r);
}

static void parts_compose_to_the_kernel(void **state)
{
    (void)state;
    struct trial t = trial_new(RL_A2TGPO_TURN_GROUP_V1D, 77, common);
    struct parts p = parts_of(t.data);
    size_t n = p.start[t.data->batch.n_rows];
    double *z = test_alloc(n, sizeof *z), *a = test_alloc(n, sizeof *a);
    double *out = test_alloc(cells_of(&t), sizeof *out);
    run(&t);
    normalize(&p, RL_TURN_SETS_CELLS, z);
    assert_int_equal(rl_turn_accumulate(&p.turns, t.options.gamma, z, a, NULL), RL_OK);
    for (size_t row = 0; row < t.data->batch.n_rows; row++)
        for (size_t i = p.start[row]; i + 1 < p.start[row + 1]; i++)
            a[i] = t.options.alpha * a[i] + z[p.start[row + 1] - 1];
    assert_int_equal(rl_turn_spread(&t.data->batch, p.start, a, 0, out, NULL), RL_OK);
    for (size_t i = 0; i < cells_of(&t); i++)
        assert_close(out[i], t.advantages[i]);
    assert_int_equal(rl_turn_clip_scale(&p.turns, t.options.clip_beta, z, z, NULL), RL_OK);
    assert_int_equal(rl_turn_spread(&t.data->batch, p.start, z, 1, out, NULL), RL_OK);
    for (size_t i = 0; i < cells_of(&t); i++)
        assert_close(out[i], t.clip_scale[i]);
    free(z);
    free(a);
    free(out);
    parts_free(&p);
    trial_free(&t);
}

static void accumulation_matches_its_definition(void **state)
{
    (void)state;
    const size_t start[] = {0, 4, 4, 5};
    const struct rl_turns turns = {3, start, NULL};
    const double values[] = {1, -2, 3, 10, 7};
    double sums[5];
    assert_int_equal(rl_turn_accumulate(&turns, 0.5, values, sums, NULL), RL_OK);
    assert_close(sums[0], (1 - 1 + 0.75) / sqrt(3));
    assert_close(sums[1], (-2 + 1.5) / sqrt(2));
    assert_close(sums[2], 3);
    assert_true(sums[3] >= 10 && sums[3] <= 10 && sums[4] >= 7 && sums[4] <= 7);
    assert_int_equal(rl_turn_accumulate(&turns, 0, values, sums, NULL), RL_OK);
    assert_close(sums[0], 1 / sqrt(3));
}

static void clip_scale_is_bounded_and_rises(void **state)
{
    (void)state;
    enum { N = 201 };
    const size_t start[] = {0, N};
    const struct rl_turns turns = {1, start, NULL};
    double z[N], scale[N];
    for (int i = 0; i < N; i++)
        z[i] = (i - N / 2) * 0.1;
    assert_int_equal(rl_turn_clip_scale(&turns, 0.3, z, scale, NULL), RL_OK);
    for (int i = 0; i + 1 < N; i++) {
        assert_true(scale[i] > 0.7 && scale[i] < 1.3);
        assert_true(i == 0 || scale[i] > scale[i - 1]);
        assert_close(scale[i], 1 + 0.3 * (2 / (1 + exp(-z[i])) - 1));
    }
    assert_close(scale[N - 1], 1);
    assert_int_equal(rl_turn_clip_scale(&turns, 1.5, z, scale, NULL), RL_EINVAL);
}

static void gains_and_their_statistics(void **state)
{
    (void)state;
    const double log_prob[] = {-2, -4, -1, -1, -1, -3};
    double gain[2];
    assert_int_equal(rl_information_gain(RL_GAIN_MEAN_LOG_PROB, 2, 2, log_prob, gain, NULL), RL_OK);
    assert_close(gain[0], 2);
    assert_close(gain[1], -1);
    assert_int_equal(rl_information_gain(RL_GAIN_MEAN_PROB, 2, 2, log_prob, gain, NULL), RL_OK);
    assert_close(gain[0], exp(-1) - exp(-3));
    assert_int_equal(rl_information_gain(RL_GAIN_PROB, 2, 2, log_prob, gain, NULL), RL_OK);
    assert_close(gain[1], exp(-4) - exp(-2));
    assert_int_equal(rl_information_gain(RL_GAIN_PROB, 2, 0, log_prob, gain, NULL), RL_EINVAL);
    const size_t start[] = {0, 3, 5, 5, 6};
    const double values[] = {1, 5, 100, 4, 100, 100};
    const struct rl_turns turns = {4, start, NULL};
    struct rl_turn_stat stats[3];
    size_t n;
    assert_int_equal(rl_turn_statistics(&turns, values, stats, 3, &n, NULL), RL_OK);
    assert_int_equal(n, 2);
    assert_int_equal(stats[0].count, 2);
    assert_close(stats[0].mean, 2.5);
    assert_close(stats[0].std, sqrt(4.5));
    assert_int_equal(stats[1].count, 1);
    assert_close(stats[1].mean, 5);
    assert_true(stats[1].std <= 0 && stats[2].count == 0);
}

/*
 * Normalisation by turn index depends only on differences, so a gain of exactly 0 must not be
 * special.
 */
static void a_gain_of_zero_counts_like_any_other(void **state)
{
    (void)state;
    struct trial zero = trial_new(RL_A2TGPO_TURN_GROUP_V1D, 12, common);
    struct trial moved = trial_new(RL_A2TGPO_TURN_GROUP_V1D, 12, common);
    size_t T = common.tokens, zeros = 0;
    for (size_t i = 0; i < cells_of(&zero); i++) {
        int32_t turn = zero.data->turn[i], last = -1;
        size_t end = i / T * T + T;
        for (size_t t = i; t < end; t++)
            last = zero.data->turn[t] > last ? zero.data->turn[t] : last;
        bool ends = turn >= 0 && turn < last;
        for (size_t t = i + 1; ends && t < end; t++)
            ends = zero.data->turn[t] != turn;
        if (!ends)
            continue;
        if (zeros++ % 3 == 0)
            zero.data->turn_rewards[i] = moved.data->turn_rewards[i] = 0;
        moved.data->turn_rewards[i] += 0.25;
    }
    assert_true(zeros > 10);
    run(&zero);
    run(&moved);
    for (size_t i = 0; i < cells_of(&zero); i++) {
        assert_close(moved.advantages[i], zero.advantages[i]);
        assert_close(moved.clip_scale[i], zero.clip_scale[i]);
    }
    trial_free(&zero);
    trial_free(&moved);
}

/* Reorders the rows, puts them into a wider batch, and writes NaN outside the mask. */
static void order_padding_and_noise_change_nothing(void **state)
{
    (void)state;
    for (int mode = RL_A2TGPO_JOINT; mode <= RL_A2TGPO_TURN_GROUP_V1D; mode++) {
        struct random_shape wider = {.rows = common.rows, .tokens = common.tokens + 13};
        struct trial t = trial_new((enum rl_a2tgpo_mode)mode, 5, common);
        struct trial moved = trial_new((enum rl_a2tgpo_mode)mode, 6, wider);
        size_t T = common.tokens, W = wider.tokens, B = common.rows;
        for (size_t i = 0; i < B * W; i++) {
            size_t row = B - 1 - i / W, k = i % W;
            moved.data->mask[i] = k < T ? t.data->mask[row * T + k] : 0;
            moved.data->turn[i] = k < T ? t.data->turn[row * T + k] : -1;
            moved.data->turn_rewards[i] = k < T ? t.data->turn_rewards[row * T + k] : 0;
            moved.data->group[i / W] = t.data->group[row];
        }
        random_batch_poison(moved.data);
        run(&t);
        run(&moved);
        for (size_t i = 0; i < B * T; i++) {
            size_t j = (B - 1 - i / T) * W + i % T;
            assert_close(moved.advantages[j], t.advantages[i]);
            assert_close(moved.clip_scale[j], t.clip_scale[i]);
        }
        assert_close(moved.stats.ig_clip_scale_mean, t.stats.ig_clip_scale_mean);
        assert_close(moved.stats.ig_clip_scale_std, t.stats.ig_clip_scale_std);
        trial_free(&t);
        trial_free(&moved);
    }
}

/* Tests all modes except turn-group, which rescales by the spread of the whole batch. */
static void groups_do_not_influence_each_other(void **state)
{
    (void)state;
    const enum rl_a2tgpo_mode modes[] = {RL_A2TGPO_JOINT, RL_A2TGPO_SEPARATE, RL_A2TGPO_TURN_GROUP_V1D};
    for (size_t m = 0; m < 3; m++) {
        struct trial whole = trial_new(modes[m], 44, common), part = trial_new(modes[m], 44, common);
        for (size_t row = 0; row < common.rows; row++)
            whole.data->group[row] = part.data->group[row] = row < 5 ? -3 : 8;
        part.data->batch.n_rows = 5;
        run(&whole);
        run(&part);
        for (size_t i = 0; i < cells_of(&part); i++)
            assert_close(part.advantages[i], whole.advantages[i]);
        trial_free(&whole);
        trial_free(&part);
    }
}

static void clip_scale_statistics_are_over_tokens(void **state)
{
    (void)state;
    struct trial t = trial_new(RL_A2TGPO_TURN_GROUP_V1D, 3, common);
    double n = 0, sum = 0, squares = 0;
    run(&t);
    for (size_t i = 0; i < cells_of(&t); i++) {
        n += t.data->mask[i];
        sum += t.data->mask[i] ? t.clip_scale[i] : 0;
    }
    for (size_t i = 0; i < cells_of(&t); i++)
        squares += t.data->mask[i] ? pow(t.clip_scale[i] - sum / n, 2) : 0;
    assert_close(t.stats.ig_clip_scale_mean, sum / n);
    assert_close(t.stats.ig_clip_scale_std, sqrt(squares / (n - 1)));
    trial_free(&t);
}

static void assert_refused(struct trial *t, enum rl_status status, const char *text)
{
    assert_int_equal(attempt(t), status);
    if (!strstr(t->err.text, text))
        fail_msg("'%s' does not say '%s'", t->err.text, text);
}

/* Returns the position of a token whose next token belongs to the same turn. */
static size_t inside_a_turn(const struct random_batch *r)
{
    for (size_t i = 0; i + 1 < r->batch.n_rows * r->batch.n_tokens; i++)
        if (r->turn[i] >= 0 && r->turn[i] == r->turn[i + 1])
            return i;
    fail_msg("the batch has no turn of two tokens");
    return 0;
}

static void bad_input_is_named(void **state)
{
    (void)state;
    struct trial t = trial_new(RL_A2TGPO_TURN_GROUP_V1D, 1, common);
    const struct rl_a2tgpo_options good = t.options;
    size_t i = inside_a_turn(t.data);
    t.data->turn_rewards[i] = 0.5;
    assert_refused(&t, RL_EVALUE, "continues after it");
    t.data->turn_rewards[i] = NAN;
    assert_refused(&t, RL_EVALUE, "not a finite number");
    t.data->turn_rewards[i] = 0;
    t.options.epsilon = -1e-6;
    assert_refused(&t, RL_EINVAL, "epsilon");
    t.options = good;
    t.options.gamma = NAN;
    assert_refused(&t, RL_EINVAL, "gamma");
    t.options = good;
    t.options.clip_beta = 1.01;
    assert_refused(&t, RL_EINVAL, "beta");
    t.options = good;
    t.data->turn[i]++;
    assert_refused(&t, RL_EVALUE, "turn id[");
    t.data->turn[i] = -1;
    assert_refused(&t, RL_EVALUE, "turn id[");
    t.data->turn[i] = t.data->turn[i + 1];
    t.data->mask[i] = 0;
    assert_refused(&t, RL_EVALUE, "at mask 0");
    t.data->mask[i] = 1;
    t.data->batch.group = NULL;
    assert_refused(&t, RL_EINVAL, "group");
    trial_free(&t);
}

/* The turn loss on a random batch, with its gradient. */
struct turn_loss {
    struct random_batch *data;
    struct rl_turn_loss_options options;
    double *gradient, *ratio;
    struct rl_loss_result out;
    struct rl_error err;
};

static enum rl_status attempt_loss(struct turn_loss *l)
{
    const struct rl_loss_input in = {
        .log_prob = l->data->log_prob, .old_log_prob = l->data->old_log_prob, .advantages = l->data->advantages};
    struct rl_workspace ws = {0};
    enum rl_status status;
    do
        status = rl_a2tgpo_turn_loss(&l->data->batch, &in, l->data->weights, &l->options, l->gradient, l->ratio, &l->out, &ws,
                                     &l->err);
    while (test_again(&ws, status));
    free(ws.data);
    return status;
}

static double loss_at(void *context)
{
    struct turn_loss *l = context;
    assert_int_equal(attempt_loss(l), RL_OK);
    return l->out.loss;
}

/*
 * Sets one advantage and one scale per turn, like A2TGPO. equal_pairs gives turns 0 and 1 the same values, turns 2
 * and 3, and so on.
 */
static struct turn_loss turn_loss_new(uint64_t seed, struct random_shape shape, bool equal_pairs)
{
    struct turn_loss l = {.data = random_batch_new(seed, shape)};
    size_t T = l.data->batch.n_tokens, n = l.data->batch.n_rows * T;
    rl_turn_loss_options_init(&l.options);
    for (size_t i = 0; i < n; i++) {
        double turn = equal_pairs ? l.data->turn[i] / 2 : l.data->turn[i];
        l.data->advantages[i] = sin(1 + (double)(i / T) + 2 * turn);
        l.data->weights[i] = 1 + 0.2 * cos(turn);
    }
    l.gradient = test_alloc(n, sizeof(double));
    l.ratio = test_alloc(n, sizeof(double));
    return l;
}

static void turn_loss_free(struct turn_loss *l)
{
    random_batch_free(l->data);
    free(l->gradient);
    free(l->ratio);
}

static double naive_ratio(const struct random_batch *r, size_t i)
{
    size_t T = r->batch.n_tokens, row = i / T;
    double sum = 0, n = 0;
    for (size_t t = row * T; t < row * T + T; t++)
        if (r->turn[t] == r->turn[i]) {
            sum += r->log_prob[t] - r->old_log_prob[t];
            n++;
        }
    return exp(fmin(sum / n, 10));
}

static void turns_of_equal_advantage_stay_separate(void **state)
{
    (void)state;
    struct random_shape shape = {.rows = 9, .tokens = 300, .max_turns = 6, .hole_share = 0.1};
    struct turn_loss l = turn_loss_new(4, shape, true);
    random_batch_poison(l.data);
    loss_at(&l);
    for (size_t i = 0; i < 9 * 300; i++)
        assert_close(l.ratio[i], l.data->mask[i] ? naive_ratio(l.data, i) : 0);
    turn_loss_free(&l);
}

static void turn_loss_gradient_matches_differences(void **state)
{
    (void)state;
    for (int mode = 0; mode < 4; mode++) {
        struct random_shape shape = {.rows = 6, .tokens = 30, .max_turns = 3, .hole_share = 0.1};
        struct turn_loss l = turn_loss_new(8 + (uint64_t)mode, shape, false);
        size_t n = 6 * 30, kinks;
        double *gradient = test_alloc(n, sizeof *gradient);
        l.options.mode = (enum rl_agg_mode)mode;
        loss_at(&l);
        memcpy(gradient, l.gradient, n * sizeof *gradient);
        double error = gradient_error(loss_at, &l, l.data->log_prob, n, gradient, 1e-5, &kinks);
        if (error > 1e-6 || kinks > 3)
            fail_msg("mode %d: error %g, %zu kinks", mode, error, kinks);
        free(gradient);
        turn_loss_free(&l);
    }
}

static void bad_input_of_the_turn_loss_is_refused(void **state)
{
    (void)state;
    struct turn_loss l = turn_loss_new(3, (struct random_shape){.rows = 4}, false);
    size_t i = 0;
    while (!l.data->mask[i])
        i++;
    l.data->weights[i] = -0.1;
    assert_int_equal(attempt_loss(&l), RL_EVALUE);
    assert_non_null(strstr(l.err.text, "clip_scale[0]["));
    l.data->weights[i] = 1;
    l.data->log_prob[i] = NAN;
    assert_int_equal(attempt_loss(&l), RL_EVALUE);
    assert_non_null(strstr(l.err.text, "log_prob[0]["));
    l.data->log_prob[i] = -1;
    for (size_t t = 0; t < l.data->batch.n_tokens; t++) {
        l.data->mask[t] = 0;
        l.data->turn[t] = -1;
    }
    assert_int_equal(attempt_loss(&l), RL_OK);
    l.options.mode = RL_AGG_SEQ_MEAN_TOKEN_MEAN;
    assert_int_equal(attempt_loss(&l), RL_EVALUE);
    assert_non_null(strstr(l.err.text, "no response token"));
    turn_loss_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normalizer_matches_its_definition),
        cmocka_unit_test(parts_compose_to_the_kernel),
        cmocka_unit_test(accumulation_matches_its_definition),
        cmocka_unit_test(clip_scale_is_bounded_and_rises),
        cmocka_unit_test(gains_and_their_statistics),
        cmocka_unit_test(a_gain_of_zero_counts_like_any_other),
        cmocka_unit_test(order_padding_and_noise_change_nothing),
        cmocka_unit_test(groups_do_not_influence_each_other),
        cmocka_unit_test(clip_scale_statistics_are_over_tokens),
        cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(turns_of_equal_advantage_stay_separate),
        cmocka_unit_test(turn_loss_gradient_matches_differences),
        cmocka_unit_test(bad_input_of_the_turn_loss_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
