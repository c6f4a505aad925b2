/*
 * rlcore_compose.c: tests the composed loss against its definition, against the losses it contains and against
 * central differences; also tool tokens, OPSM, threads, precision and bad input.
 */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <rlcore/compose.h>

#include "support/random_batch.h"

/*
 * A call of the composed loss. In its batch, old_log_prob is the proximal policy's, ref_log_prob the behaviour
 * policy's, and rollout_log_prob the sampler's.
 */
struct trial {
    struct random_batch *data;
    struct rl_compose_input in;
    struct rl_compose_options options;
    struct rl_compose_output out;
    struct rl_compose_result result;
    struct rl_workspace ws;
    struct rl_error err;
};

static size_t cells_of(const struct trial *t)
{
    return t->data->batch.n_rows * t->data->batch.n_tokens;
}

static struct trial trial_new(uint64_t seed, struct random_shape shape)
{
    struct trial t = {.data = random_batch_new(seed, shape)};
    struct random_batch *d = t.data;
    t.in = (struct rl_compose_input){.log_prob = d->log_prob,
                                     .proximal = d->old_log_prob,
                                     .behaviour = d->ref_log_prob,
                                     .sampler = d->rollout_log_prob,
                                     .advantages = d->advantages};
    rl_compose_options_of(&t.options, NULL);
    t.options.backend_cap = 1.4;
    t.options.staleness_cap = 2;
    t.out.mask = test_alloc(cells_of(&t), 1);
    double **const arrays[] = {&t.out.d_log_prob, &t.out.backend, &t.out.staleness, &t.out.ratio};
    for (size_t i = 0; i < 4; i++)
        *arrays[i] = test_alloc(cells_of(&t), sizeof(double));
    return t;
}

static void trial_free(struct trial *t)
{
    random_batch_free(t->data);
    free(t->out.mask);
    free(t->out.d_log_prob);
    free(t->out.backend);
    free(t->out.staleness);
    free(t->out.ratio);
    free(t->ws.data);
}

static enum rl_status compose(struct trial *t)
{
    enum rl_status status;
    do
        status = rl_compose_loss(&t->data->batch, &t->in, &t->options, &t->out, &t->result, &t->ws, &t->err);
    while (test_again(&t->ws, status));
    return status;
}

static void run(struct trial *t)
{
    if (compose(t) != RL_OK)
        fail_msg("%s", t->err.text);
}

static void assert_close(double a, double b)
{
    if (!(fabs(a - b) <= 1e-11 * fmax(1, fabs(b))))
        fail_msg("%.17g is not %.17g", a, b);
}

static const struct random_shape ragged = {.rows = 10, .tokens = 200, .hole_share = 0.2, .empty_share = 0.1};

/* Computes the product of the factors token by token, as defined. */
static void each_factor_matches_its_definition(void **state)
{
    (void)state;
    struct trial t = trial_new(1, ragged);
    const struct random_batch *d = t.data;
    double loss = 0, n = 0, capped = 0;
    run(&t);
    for (size_t i = 0; i < cells_of(&t); i++) {
        if (!d->mask[i]) {
            assert_true(t.out.backend[i] == 0 && t.out.staleness[i] == 0 && t.out.ratio[i] == 0);
            assert_true(t.out.d_log_prob[i] == 0);
            continue;
        }
        double engines = exp(d->ref_log_prob[i] - d->rollout_log_prob[i]);
        double stale = fmin(exp(d->old_log_prob[i] - d->ref_log_prob[i]), 2);
        double r = exp(d->log_prob[i] - d->old_log_prob[i]), a = d->advantages[i];
        double clipped = fmax(-a * r, -a * fmin(fmax(r, 0.8), 1.2));
        clipped = a < 0 ? fmin(clipped, -3 * a) : clipped;
        assert_close(t.out.backend[i], fmin(engines, 1.4));
        assert_close(t.out.staleness[i], stale);
        assert_close(t.out.ratio[i], r);
        loss += fmin(engines, 1.4) * stale * clipped;
        capped += engines > 1.4;
        n++;
    }
    assert_close(t.result.loss.loss, loss / n);
    assert_close(t.result.backend.capped, capped / n);
    assert_true(t.result.backend.max > 1.4 && t.result.backend.min < 1);
    trial_free(&t);
}

static double loss_at(void *trial)
{
    struct trial *t = trial;
    double *gradient = t->out.d_log_prob;
    t->out.d_log_prob = NULL;
    run(t);
    t->out.d_log_prob = gradient;
    return t->result.loss.loss;
}

static void gradients_match_differences(void **state)
{
    (void)state;
    for (int per_turn = 0; per_turn < 2; per_turn++)
        for (int mode = 0; mode < 4; mode++) {
            struct trial t = trial_new(2, (struct random_shape){.hole_share = 0.2, .empty_share = 0.1, .max_turns = 4});
            size_t kinks, n = cells_of(&t);
            uint8_t *tool = test_alloc(n, 1);
            tool[n / 2] = tool[n / 3] = tool[n / 3 + 1] = 1;
            t.in.data.tool = tool;
            t.options.per_turn = per_turn;
            t.options.loss.agg.mode = (enum rl_agg_mode)mode;
            run(&t);
            double error = gradient_error(loss_at, &t, t.data->log_prob, n, t.out.d_log_prob, 1e-5, &kinks);
            if (error > 1e-6 || kinks > 3)
                fail_msg("turns %d mode %d: error %g, %zu kinks", per_turn, mode, error, kinks);
            free(tool);
            trial_free(&t);
        }
}

/* With one engine and no staleness, all policies are the same and the loss is PPO. */
static void without_reasons_for_corrections_it_is_ppo(void **state)
{
    (void)state;
    struct trial t = trial_new(3, ragged);
    const struct rl_loss_input in = {
        .log_prob = t.data->log_prob, .old_log_prob = t.data->rollout_log_prob, .advantages = t.data->advantages};
    double *gradient = test_alloc(cells_of(&t), sizeof *gradient);
    struct rl_loss_result ppo;
    t.in.behaviour = t.in.proximal = NULL;
    run(&t);
    assert_int_equal(rl_ppo_loss(&t.data->batch, &in, &t.options.loss, gradient, &ppo, &t.ws, NULL), RL_OK);
    assert_close(t.result.loss.loss, ppo.loss);
    assert_true(t.result.backend.mean == 1 && t.result.staleness.max == 1);
    assert_true(t.result.weight_ess == 1);
    for (size_t i = 0; i < cells_of(&t); i++)
        assert_close(t.out.d_log_prob[i], gradient[i]);
    free(gradient);
    trial_free(&t);
}

/* A clip scale that is equal at all tokens is the same as clip ranges that are multiplied by it, also per turn. */
static void clip_scales_are_a_factor_of_the_range(void **state)
{
    (void)state;
    for (int per_turn = 0; per_turn < 2; per_turn++) {
        struct trial t = trial_new(6, ragged), wide = trial_new(6, ragged), plain = trial_new(6, ragged);
        double *scale = test_alloc(cells_of(&t), sizeof *scale);
        t.options.per_turn = wide.options.per_turn = plain.options.per_turn = per_turn;
        for (size_t i = 0; i < cells_of(&t); i++)
            scale[i] = t.data->mask[i] ? 0.25 : NAN;
        t.in.clip_scale = scale;
        wide.options.loss.clip_low *= 0.25;
        wide.options.loss.clip_high *= 0.25;
        run(&t);
        run(&wide);
        run(&plain);
        assert_close(t.result.loss.loss, wide.result.loss.loss);
        assert_true(fabs(t.result.loss.loss - plain.result.loss.loss) > 1e-6);
        for (size_t i = 0; i < cells_of(&t); i++)
            assert_close(t.out.d_log_prob[i], wide.out.d_log_prob[i]);
        free(scale);
        trial_free(&t);
        trial_free(&wide);
        trial_free(&plain);
    }
}

/* With one engine, and a learner that has moved on since sampling, the loss is decoupled PPO. */
static void with_one_engine_it_is_decoupled_ppo(void **state)
{
    (void)state;
    struct trial t = trial_new(4, ragged);
    const struct random_batch *d = t.data;
    const struct rl_correction_options tis = {.is = RL_IS_TOKEN, .is_threshold = 2};
    double *weights = test_alloc(cells_of(&t), sizeof *weights);
    double *gradient = test_alloc(cells_of(&t), sizeof *gradient);
    struct rl_loss_result decoupled;
    struct rl_metrics none = {0};
    t.in.behaviour = NULL;
    run(&t);
    assert_int_equal(rl_decoupled_loss(&d->batch, &tis, &t.options.loss, d->log_prob, d->old_log_prob, d->rollout_log_prob,
                                       d->advantages, weights, t.out.mask, gradient, &decoupled, &none, &t.ws, &t.err),
                     RL_OK);
    assert_close(t.result.loss.loss, decoupled.loss);
    for (size_t i = 0; i < cells_of(&t); i++) {
        assert_close(t.out.staleness[i], weights[i]);
        assert_close(t.out.d_log_prob[i], gradient[i]);
    }
    free(weights);
    free(gradient);
    trial_free(&t);
}

/* Within a turn all ratios are equal. Changing a token changes only the ratios of its own turn. */
static void turns_are_isolated(void **state)
{
    (void)state;
    struct trial t = trial_new(5, ragged);
    const struct random_batch *d = t.data;
    size_t n = cells_of(&t), moved = 0;
    double *before = test_alloc(n, sizeof *before);
    t.options.per_turn = true;
    run(&t);
    memcpy(before, t.out.ratio, n * sizeof *before);
    while (!d->mask[moved] || d->turn[moved] < 1)
        moved++;
    d->log_prob[moved] += 1;
    run(&t);
    for (size_t i = 0; i < n; i++) {
        bool same_turn = d->mask[i] && i / 200 == moved / 200 && d->turn[i] == d->turn[moved];
        assert_true((t.out.ratio[i] != before[i]) == same_turn);
        assert_true(!same_turn || t.out.ratio[i] == t.out.ratio[moved]);
    }
    free(before);
    trial_free(&t);
}

/* Tool tokens have no effect, whatever their values, just as if the mask excluded them. */
static void tokens_of_tools_have_no_effect(void **state)
{
    (void)state;
    struct trial with = trial_new(6, ragged), without = trial_new(6, ragged);
    size_t n = cells_of(&with);
    uint8_t *tool = test_alloc(n, 1);
    for (size_t i = 0; i < n; i++) {
        tool[i] = i % 5 == 0 || with.data->turn[i] == 1;
        if (!tool[i])
            continue;
        without.data->mask[i] = 0;
        with.data->log_prob[i] = with.data->rollout_log_prob[i] = NAN;
    }
    for (size_t i = 0; i < n; i++)
        without.data->turn[i] = without.data->mask[i] ? without.data->turn[i] - (without.data->turn[i] > 1) : -1;
    with.in.data.tool = tool;
    with.options.per_turn = without.options.per_turn = true;
    run(&with);
    run(&without);
    assert_memory_equal(&with.result, &without.result, sizeof with.result);
    assert_memory_equal(with.out.d_log_prob, without.out.d_log_prob, n * sizeof(double));
    assert_memory_equal(with.out.mask, without.data->mask, n);
    free(tool);
    trial_free(&with);
    trial_free(&without);
}

static void opsm_drops_before_anything_counts(void **state)
{
    (void)state;
    struct trial t = trial_new(7, ragged);
    const struct random_batch *d = t.data;
    struct rl_opsm_result dropped;
    uint8_t *mask = test_alloc(cells_of(&t), 1);
    t.options.use_opsm = true;
    t.options.opsm = (struct rl_opsm_options){.unit = RL_OPSM_TURN, .per_token = true, .lower = 0.95, .upper = 1.05};
    run(&t);
    assert_int_equal(rl_opsm(&d->batch, &t.options.opsm, d->log_prob, d->rollout_log_prob, NULL, mask, NULL, &dropped, NULL),
                     RL_OK);
    assert_true(dropped.n_dropped > 0 && dropped.n_dropped < dropped.n_units);
    assert_memory_equal(mask, t.out.mask, cells_of(&t));
    assert_int_equal(t.result.opsm.n_tokens_dropped, dropped.n_tokens_dropped);
    for (size_t i = 0; i < cells_of(&t); i++)
        assert_true(mask[i] || (t.out.ratio[i] == 0 && t.out.d_log_prob[i] == 0));
    free(mask);
    trial_free(&t);
}

static void values_outside_the_mask_are_not_read(void **state)
{
    (void)state;
    struct trial t = trial_new(8, ragged), poisoned = trial_new(8, ragged);
    random_batch_poison(poisoned.data);
    run(&t);
    run(&poisoned);
    assert_memory_equal(&t.result, &poisoned.result, sizeof t.result);
    assert_memory_equal(t.out.d_log_prob, poisoned.out.d_log_prob, cells_of(&t) * sizeof(double));
    trial_free(&t);
    trial_free(&poisoned);
}

static void row_order_and_padding_change_nothing(void **state)
{
    (void)state;
    struct random_shape shape = {.rows = 6, .tokens = 140, .hole_share = 0.2}, wider = {.rows = 6, .tokens = 260};
    struct trial t = trial_new(13, shape), moved = trial_new(14, wider);
    t.options.per_turn = moved.options.per_turn = true;
    for (size_t row = 0; row < 6; row++)
        random_batch_copy_row(t.data, row, moved.data, 5 - row);
    run(&t);
    run(&moved);
    assert_close(moved.result.loss.loss, t.result.loss.loss);
    assert_close(moved.result.weight_ess, t.result.weight_ess);
    for (size_t i = 0; i < cells_of(&t); i++)
        assert_close(moved.out.d_log_prob[(5 - i / 140) * 260 + i % 140], t.out.d_log_prob[i]);
    trial_free(&t);
    trial_free(&moved);
}

/* The results for parts of a batch, computed with global counts, add up to the result for the whole batch. */
static void splitting_with_global_counts_adds_up(void **state)
{
    (void)state;
    for (int mode = 0; mode < 4; mode++) {
        struct random_shape shape = {.rows = 8, .tokens = 150, .hole_share = 0.1};
        struct trial whole = trial_new(15, shape), half = trial_new(15, shape);
        whole.options.loss.agg.mode = half.options.loss.agg.mode = (enum rl_agg_mode)mode;
        run(&whole);
        half.options.loss.agg.batch_num_tokens = (double)whole.result.loss.n_tokens;
        half.options.loss.agg.global_batch_size = 8;
        half.data->batch.n_rows = 4;
        run(&half);
        double sum = half.result.loss.loss;
        for (size_t row = 0; row < 4; row++)
            random_batch_copy_row(whole.data, row + 4, half.data, row);
        run(&half);
        assert_close(sum + half.result.loss.loss, whole.result.loss.loss);
        for (size_t i = 0; i < cells_of(&half); i++)
            assert_close(half.out.d_log_prob[i], whole.out.d_log_prob[4 * 150 + i]);
        trial_free(&whole);
        trial_free(&half);
    }
}

static void the_number_of_threads_changes_no_bit(void **state)
{
    (void)state;
#ifdef _OPENMP
    struct random_shape shape = {.rows = 37, .tokens = 900, .hole_share = 0.05};
    struct trial one = trial_new(9, shape), three = trial_new(9, shape);
    one.options.per_turn = three.options.per_turn = true;
    omp_set_num_threads(1);
    run(&one);
    omp_set_num_threads(3);
    run(&three);
    assert_memory_equal(&one.result, &three.result, sizeof one.result);
    assert_memory_equal(one.out.d_log_prob, three.out.d_log_prob, cells_of(&one) * sizeof(double));
    trial_free(&one);
    trial_free(&three);
#else
    print_message("SKIP the_number_of_threads_changes_no_bit: built without OpenMP\n");
    skip();
#endif
}

static void single_precision_agrees(void **state)
{
    (void)state;
    for (int per_turn = 0; per_turn < 2; per_turn++) {
        struct trial t = trial_new(10, ragged);
        size_t n = cells_of(&t);
        t.options.per_turn = per_turn;
        run(&t);
        float *arrays[] = {floats_of(t.in.log_prob, n), floats_of(t.in.proximal, n),   floats_of(t.in.behaviour, n),
                           floats_of(t.in.sampler, n),  floats_of(t.in.advantages, n), floats_of(t.out.d_log_prob, n)};
        struct rl_compose_inputf in = {arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], {0}, NULL};
        struct rl_compose_outputf out = {.mask = t.out.mask, .d_log_prob = arrays[5]};
        struct rl_compose_result result;
        assert_int_equal(rl_compose_lossf(&t.data->batch, &in, &t.options, &out, &result, &t.ws, &t.err), RL_OK);
        assert_true(fabs(result.loss.loss - t.result.loss.loss) < 1e-5);
        assert_true(fabs(result.weight_ess - t.result.weight_ess) < 1e-5);
        for (size_t i = 0; i < n; i++)
            assert_true(fabs((double)arrays[5][i] - t.out.d_log_prob[i]) < 1e-5);
        for (size_t i = 0; i < 6; i++)
            free(arrays[i]);
        trial_free(&t);
    }
}

static void assert_refused(struct trial *t, enum rl_status status, const char *text)
{
    t->err.text[0] = '\0';
    assert_int_equal(compose(t), status);
    if (!strstr(t->err.text, text))
        fail_msg("'%s' does not say '%s'", t->err.text, text);
}

static void bad_input_is_named(void **state)
{
    (void)state;
    struct trial t = trial_new(11, (struct random_shape){0});
    struct random_batch *d = t.data;
    size_t i = 3 * d->batch.n_tokens;
    while (!d->mask[i])
        i++;
    const struct {
        double *array;
        const char *name;
    } arrays[] = {{d->log_prob, "log_prob[3]["},
                  {d->old_log_prob, "proximal_log_prob[3]["},
                  {d->ref_log_prob, "behaviour_log_prob[3]["},
                  {d->rollout_log_prob, "sampler_log_prob[3]["},
                  {d->advantages, "advantages[3]["}};
    for (size_t a = 0; a < 5; a++) {
        double good = arrays[a].array[i];
        arrays[a].array[i] = NAN;
        assert_refused(&t, RL_EVALUE, arrays[a].name);
        arrays[a].array[i] = good;
    }
    t.options.backend_cap = 0;
    assert_refused(&t, RL_EINVAL, "caps");
    t.options.backend_cap = 2;
    t.options.per_turn = true;
    d->batch.turn = NULL;
    assert_refused(&t, RL_EINVAL, "turn ids");
    t.options.per_turn = false;
    t.options.replay = RL_REPLAY_R3;
    assert_refused(&t, RL_EINVAL, "replay R3");
    t.options.replay = RL_REPLAY_NONE;
    t.in.behaviour = t.in.sampler = NULL;
    assert_refused(&t, RL_EINVAL, "behaviour");
    trial_free(&t);
}

/* A pass whose routes differ from the recorded ones is refused. */
static void replay_is_checked(void **state)
{
    (void)state;
    struct trial t = trial_new(12, (struct random_shape){0});
    enum { LAYERS = 3, K = 2 };
    size_t n = cells_of(&t);
    uint16_t *recorded = test_alloc(n * LAYERS * K, sizeof *recorded);
    uint16_t *used = test_alloc(n * LAYERS * K, sizeof *used);
    for (size_t i = 0; i < n * LAYERS * K; i++)
        recorded[i] = used[i ^ 1] = (uint16_t)(i % 8);
    const struct rl_routes a = {LAYERS, K, 8, recorded}, b = {LAYERS, K, 8, used};
    t.in.data = (struct rl_compose_data){.sampler_routes = &a, .used_routes = &b};
    t.options.replay = RL_REPLAY_R3;
    run(&t);
    assert_true(t.result.routes.share == 1 && t.result.routes.exact == 1);
    size_t i = 0;
    while (!t.data->mask[i])
        i++;
    uint16_t *place = used + (i * LAYERS + 2) * K;
    place[0] = (uint16_t)((place[0] + 2) % 8);
    assert_refused(&t, RL_EVALUE, "replay");
    t.options.replay = RL_REPLAY_NONE;
    run(&t);
    assert_true(t.result.routes.exact < 1 && t.result.routes.exact > 0.9);
    place[1] = place[0];
    assert_refused(&t, RL_EVALUE, "listed twice");
    free(recorded);
    free(used);
    trial_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_factor_matches_its_definition),
        cmocka_unit_test(gradients_match_differences),
        cmocka_unit_test(without_reasons_for_corrections_it_is_ppo),
        cmocka_unit_test(clip_scales_are_a_factor_of_the_range),
        cmocka_unit_test(with_one_engine_it_is_decoupled_ppo),
        cmocka_unit_test(turns_are_isolated),
        cmocka_unit_test(tokens_of_tools_have_no_effect),
        cmocka_unit_test(opsm_drops_before_anything_counts),
        cmocka_unit_test(values_outside_the_mask_are_not_read),
        cmocka_unit_test(row_order_and_padding_change_nothing),
        cmocka_unit_test(splitting_with_global_counts_adds_up),
        cmocka_unit_test(the_number_of_threads_changes_no_bit),
        cmocka_unit_test(single_precision_agrees),
        cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(replay_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
