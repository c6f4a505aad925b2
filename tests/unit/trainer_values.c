/*
 * trainer_values.c: tests the value head: its gradient against central differences, values at sampling against whole
 * passes, its loss, checkpoints with and without it, and that each setting of ppo has an effect.
 */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/loss.h>

#include "learn/minibatch_loss.h"
#include "run/run.h"
#include "support/files.h"
#include "support/opened_run.h"
#include "support/small_recipe.h"

/* ---- gradient ---- */

enum { N_TOKENS = 12, N_WANTED = 7 };

static const size_t starts[3] = {0, 7, N_TOKENS};
static const int32_t tokens[N_TOKENS] = {1, 4, 4, 0, 10, 2, 7, 3, 3, 9, 1, 8};
static const uint8_t wanted[N_TOKENS] = {0, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1};

static struct trainer_model tiny(int32_t layers)
{
    struct trainer_model model;
    trainer_model_init(&model);
    model.tokens = 11;
    model.width = 12;
    model.heads = 3;
    model.mlp = 20;
    model.layers = layers;
    model.max_tokens = 9;
    model.value_head = true;
    return model;
}

/* Weight of the i-th log-prob in the loss. Values enter the loss squared, so that their gradient depends on them. */
static double weight(size_t i)
{
    return 0.3 * (double)i - 1;
}

static double loss(struct trainer_pass *pass, const double *params, double *value)
{
    const struct trainer_sequences in = {2, starts, tokens, wanted};
    double log_prob[N_WANTED], sum = 0;
    assert_int_equal(trainer_policy_forward(pass, params, &in, log_prob, NULL, NULL), TRAINER_OK);
    trainer_policy_values(pass, params, value);
    for (size_t i = 0; i < N_WANTED; i++)
        sum += weight(i) * log_prob[i] + 0.5 * weight(6 - i) * value[i] * value[i];
    return sum;
}

static void check_gradient(struct trainer_model model)
{
    const double step = 1e-5;
    size_t n = trainer_model_parameters(&model), alive = 0;
    double *params = malloc(n * sizeof *params), *gradient = calloc(n, sizeof *gradient);
    double d_log_prob[N_WANTED], d_value[N_WANTED], value[N_WANTED];
    struct trainer_pass *pass;
    assert_int_equal(trainer_pass_create(&pass, &model, N_TOKENS, N_WANTED, NULL), TRAINER_OK);
    trainer_policy_init(&model, 3, params);
    for (size_t i = n - 13; i < n; i++) {
        assert_true(params[i] == 0);
        params[i] = 0.3 * sin((double)i);
    }
    loss(pass, params, value);
    for (size_t i = 0; i < N_WANTED; i++) {
        d_log_prob[i] = weight(i);
        d_value[i] = weight(6 - i) * value[i];
    }
    trainer_policy_backward_values(pass, params, d_log_prob, d_value, gradient);
    for (size_t i = 0; i < n; i++) {
        double kept = params[i];
        params[i] = kept + step;
        double above = loss(pass, params, value);
        params[i] = kept - step;
        double below = loss(pass, params, value);
        params[i] = kept;
        assert_near(gradient[i], (above - below) / (2 * step), 2e-7);
        alive += i + 13 >= n && fabs(gradient[i]) > 1e-6;
    }
    assert_true(alive >= 12);
    trainer_pass_free(pass);
    free(params);
    free(gradient);
}

static void the_gradient_of_values_is_the_central_difference(void **state)
{
    (void)state;
    check_gradient(tiny(1));
    check_gradient(tiny(2));
}

/* ---- at sampling ---- */

static struct trainer_recipe ppo_recipe(void)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    recipe.warm_start.steps = 60;
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_PPO;
    recipe.tasks[0].questions = 20;
    recipe.training.minibatch = 40;
    check_recipe(&recipe);
    return recipe;
}

/* Asserts that the values equal those that a whole pass computes before every token of the policy. */
static void assert_expected(const struct run *run, size_t row)
{
    const struct trainer_rollouts *r = run->rollouts;
    size_t at = row * r->width, n = (size_t)r->length[row], k = 0;
    const size_t start[2] = {0, n};
    const struct trainer_sequences in = {1, start, r->tokens + at, r->mask + at};
    const float *params = run->learner.params;
    struct trainer_passf *pass;
    float log_prob[256], value[256];
    assert_int_equal(trainer_pass_createf(&pass, &run->recipe->model, n, n, NULL), TRAINER_OK);
    assert_int_equal(trainer_policy_forwardf(pass, params, &in, log_prob, NULL, NULL), TRAINER_OK);
    trainer_policy_valuesf(pass, params, value);
    for (size_t t = 0; t < r->width; t++)
        if (r->mask[at + t])
            assert_near(r->expected[at + t], (double)value[k++], 2e-5);
        else
            assert_true(r->expected[at + t] == 0);
    trainer_pass_freef(pass);
}

/* Asserts the returns. With gamma = lam = 1, the return at every token of the policy is the outcome. */
static void assert_returns(const struct trainer_rollouts *r, size_t row)
{
    for (size_t t = row * r->width; t < (row + 1) * r->width; t++)
        if (r->task[row] != 0)
            assert_true(isnan(r->returns[t]));
        else if (r->mask[t])
            assert_near(r->returns[t], r->reward[row], 1e-5);
}

static void values_are_those_of_whole_passes(void **state)
{
    (void)state;
    struct trainer_recipe recipe = ppo_recipe();
    recipe.n_tasks = 2;
    recipe.tasks[1] = recipe.tasks[0];
    recipe.tasks[1].algorithm.name = RL_ALGORITHM_GRPO;
    check_recipe(&recipe);
    assert_true(recipe.model.value_head);
    struct run run = {.recipe = &recipe};
    struct trainer_iteration metrics = {0};
    float *params = warm_policy(&recipe, 60);
    assert_int_equal(run_open(&run, NULL), TRAINER_OK);
    memcpy(run.learner.params, params, run.learner.n_params * sizeof *params);
    for (size_t i = run.learner.n_params - 17; i < run.learner.n_params; i++)
        run.learner.params[i] = sinf((float)i);
    assert_int_equal(collect_and_credit(&run, 0, &metrics, NULL), TRAINER_OK);
    for (size_t row = 0; row < run.rollouts->n; row++) {
        assert_expected(&run, row);
        assert_returns(run.rollouts, row);
    }
    assert_true(metrics.values.explained_variance < 1 && fabs(metrics.values.mean) > 1e-3);
    assert_true(metrics.values.returned > 0 && metrics.values.returned < 1);
    run_close(&run);
    free(params);
}

/* ---- the loss ---- */

static void the_loss_is_the_cores_times_its_weight(void **state)
{
    (void)state;
    struct trainer_recipe recipe = ppo_recipe();
    struct run run = {.recipe = &recipe};
    struct trainer_iteration metrics = {0};
    struct loss_result result = {.loss = 3};
    struct rl_value_result core;
    float *params = warm_policy(&recipe, 60);
    recipe.value.coef = 0.25;
    recipe.value.clip = 0.1;
    assert_int_equal(run_open(&run, NULL), TRAINER_OK);
    struct minibatch *b = run.minibatch;
    memcpy(run.learner.params, params, run.learner.n_params * sizeof *params);
    assert_int_equal(collect_and_credit(&run, 0, &metrics, NULL), TRAINER_OK);
    assert_int_equal(run_correct(&run, &metrics, NULL), TRAINER_OK);
    for (size_t i = 0; i < run.rollouts->n; i++)
        run.order[i] = i;
    minibatch_gather(b, run.rollouts, run.order, 40);
    for (size_t i = 0; i < 40 * b->width; i++)
        b->value[i] = 0.3f * sinf((float)i);
    assert_int_equal(minibatch_value_loss(b, &recipe, &run.workspace, &result, NULL), TRAINER_OK);
    const struct rl_batch batch = {b->n_rl, b->width, b->mask, NULL, NULL};
    const struct rl_agg agg = {0};
    float *gradient = calloc(40 * b->width, sizeof *gradient);
    struct rl_workspace ws = {malloc(1 << 20), 1 << 20, 0};
    assert_int_equal(rl_value_lossf(&batch, &agg, 0.1, b->value, b->expected, b->returns, gradient, &core, &ws, NULL), RL_OK);
    assert_near(result.value_loss, core.loss, 1e-12);
    assert_near(result.loss, 3 + 0.25 * core.loss, 1e-12);
    assert_true(result.value_clip_fraction == core.vf_clipfrac && core.vf_clipfrac > 0);
    assert_true(result.n_valued > 100);
    for (size_t i = 0; i < b->n_rl * b->width; i++)
        assert_near((double)b->d_value[i], 0.25 * (double)gradient[i], 1e-9);
    free(ws.data);
    free(gradient);
    run_close(&run);
    free(params);
}

/*
 * If the value head is trained repeatedly on the same rollouts, without a policy loss, its values approach the
 * returns.
 */
static void values_are_learned(void **state)
{
    (void)state;
    struct trainer_recipe recipe = ppo_recipe();
    struct run run = {.recipe = &recipe};
    struct trainer_iteration metrics = {0};
    float *params = warm_policy(&recipe, 60);
    double norm, first = 0, last = 0;
    recipe.value.coef = 1;
    recipe.value.clip = 10;
    assert_int_equal(run_open(&run, NULL), TRAINER_OK);
    struct minibatch *b = run.minibatch;
    const struct learner_rates rates = {.rate = 1e-3, .clip_norm = 1, .value_rate = 3e-2};
    memcpy(run.learner.params, params, run.learner.n_params * sizeof *params);
    learner_restart(&run.learner, 0.9, 0.95, 0);
    assert_int_equal(collect_and_credit(&run, 0, &metrics, NULL), TRAINER_OK);
    assert_int_equal(run_correct(&run, &metrics, NULL), TRAINER_OK);
    for (size_t i = 0; i < run.rollouts->n; i++)
        run.order[i] = i;
    minibatch_gather(b, run.rollouts, run.order, 40);
    const struct learner_rows rows = {b->n, b->width, b->tokens, b->length, b->wanted};
    memset(b->d_log_prob, 0, b->n * b->width * sizeof *b->d_log_prob);
    for (int step = 0; step < 60; step++) {
        struct loss_result result = {0};
        const float *now = run.learner.params;
        assert_int_equal(learner_forward(&run.learner, now, &rows, b->log_prob, NULL, NULL), TRAINER_OK);
        learner_values(&run.learner, b->value);
        assert_int_equal(minibatch_value_loss(b, &recipe, &run.workspace, &result, NULL), TRAINER_OK);
        assert_int_equal(learner_update(&run.learner, b->d_log_prob, b->d_value, &rates, &norm, NULL), TRAINER_OK);
        first = step == 0 ? result.value_loss : first;
        last = result.value_loss;
    }
    if (!(last < 0.5 * first))
        fail_msg("the loss of values falls from %g to %g only", first, last);
    run_close(&run);
    free(params);
}

/* ---- checkpoints ---- */

static void checkpoints_load_with_and_without_a_value_head(void **state)
{
    const char *dir = *state;
    char *with = join(dir, "with.ckpt"), *without = join(dir, "without.ckpt");
    struct trainer_model model = tiny(1), plain = model;
    plain.value_head = false;
    size_t n = trainer_model_parameters(&model), m = trainer_model_parameters(&plain), size;
    struct trainer_checkpoint saved = {model, 5}, read;
    float params[2048], again[2048];
    assert_true(n == m + 13 && n <= 2048);
    trainer_policy_initf(&model, 1, params);
    for (size_t i = m; i < n; i++)
        params[i] = (float)i;
    assert_int_equal(trainer_checkpoint_save(with, &saved, params, NULL), TRAINER_OK);
    saved.model = plain;
    assert_int_equal(trainer_checkpoint_save(without, &saved, params, NULL), TRAINER_OK);
    assert_int_equal(trainer_checkpoint_load(with, &read, again, n, NULL), TRAINER_OK);
    assert_true(read.model.value_head);
    assert_memory_equal(params, again, n * sizeof *params);
    assert_int_equal(trainer_checkpoint_load_as(with, &plain, again, NULL, NULL), TRAINER_OK);
    assert_memory_equal(params, again, m * sizeof *params);
    for (size_t i = m; i < n; i++)
        again[i] = 7;
    assert_int_equal(trainer_checkpoint_load_as(without, &model, again, NULL, NULL), TRAINER_OK);
    assert_memory_equal(params, again, m * sizeof *params);
    for (size_t i = m; i < n; i++)
        assert_true(again[i] == 0);
    char *bytes = read_file(without, &size);
    assert_true(bytes[8] == 1 && bytes[44] == 0 && size == 136 + 4 * m);
    free(bytes);
    bytes = read_file(with, &size);
    assert_true(bytes[8] == 2 && bytes[44] == 1 && size == 136 + 4 * n);
    free(bytes);
    free(with);
    free(without);
}

/* ---- runs ---- */

struct told {
    uint64_t n_valued;
    double clipped, value_loss;
};

static bool listen(void *context, const struct trainer_event *event)
{
    struct told *told = context;
    if (event->iteration) {
        told->n_valued += event->iteration->n_valued;
        told->clipped += event->iteration->values.clip_fraction;
        told->value_loss += event->iteration->values.loss;
    }
    return true;
}

/* Returns the checkpoint that a run writes; the caller frees it. */
static char *trained(const char *dir, const struct trainer_recipe *recipe, struct told *told, size_t *size)
{
    char *path = join(dir, "out.ckpt");
    struct trainer_run_options options = {.checkpoint = path, .event = listen, .context = told};
    struct trainer_error err;
    *told = (struct told){0};
    if (trainer_run(recipe, &options, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    assert_int_equal(told->n_valued > 0, recipe->model.value_head);
    assert_int_equal(told->value_loss > 0, recipe->model.value_head);
    char *bytes = read_file(path, size);
    free(path);
    return bytes;
}

struct end {
    char *bytes;
    size_t n;
};

static struct end end_of(const char *dir, const struct trainer_recipe *recipe)
{
    struct told told;
    struct end end;
    end.bytes = trained(dir, recipe, &told, &end.n);
    return end;
}

static bool ends_at(const char *dir, const struct trainer_recipe *recipe, const struct end *expected)
{
    struct end end = end_of(dir, recipe);
    bool same = end.n == expected->n && memcmp(end.bytes, expected->bytes, end.n) == 0;
    free(end.bytes);
    return same;
}

static void every_setting_changes_what_is_learned(void **state)
{
    struct trainer_recipe recipe = ppo_recipe(), rloo = ppo_recipe();
    const struct {
        double *member, *of_rloo, value;
    } changes[] = {{&recipe.tasks[0].algorithm.gamma, &rloo.tasks[0].algorithm.gamma, 0.9},
                   {&recipe.tasks[0].algorithm.lam, &rloo.tasks[0].algorithm.lam, 0.8},
                   {&recipe.value.coef, &rloo.value.coef, 0.1},
                   {&recipe.value.clip, &rloo.value.clip, 0.001},
                   {&recipe.value.learning_rate, &rloo.value.learning_rate, 1e-2}};
    rloo.tasks[0].algorithm.name = RL_ALGORITHM_RLOO;
    check_recipe(&rloo);
    struct end plain = end_of(*state, &recipe), plain_rloo = end_of(*state, &rloo);
    assert_true(ends_at(*state, &recipe, &plain));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        double kept = *changes[i].member;
        *changes[i].member = *changes[i].of_rloo = changes[i].value;
        if (ends_at(*state, &recipe, &plain))
            fail_msg("setting %zu changes nothing", i);
        check_recipe(&rloo);
        if (!ends_at(*state, &rloo, &plain_rloo))
            fail_msg("setting %zu changes rloo", i);
        *changes[i].member = *changes[i].of_rloo = kept;
    }
    free(plain.bytes);
    free(plain_rloo.bytes);
}

static void threads_change_nothing(void **state)
{
    struct trainer_recipe one = ppo_recipe(), more = one;
    one.threads = 1;
    struct end end = end_of(*state, &one);
    for (more.threads = 2; more.threads <= 3; more.threads++)
        assert_true(ends_at(*state, &more, &end));
    free(end.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gradient_of_values_is_the_central_difference),
        cmocka_unit_test(values_are_those_of_whole_passes),
        cmocka_unit_test(the_loss_is_the_cores_times_its_weight),
        cmocka_unit_test(checkpoints_load_with_and_without_a_value_head),
        cmocka_unit_test(every_setting_changes_what_is_learned),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(values_are_learned),
    };
    return cmocka_run_group_tests(tests, set_up_dir, tear_down_dir);
}
