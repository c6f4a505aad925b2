/*
 * trainer_micro_batch.c: tests that packing rows by tokens changes results only by rounding, and that computing
 * activations twice, because memory is limited, changes no bit.
 */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/files.h"
#include "support/forked_run.h"
#include "support/rng.h"
#include "support/small_recipe.h"
#include "learn/learner.h"
#include "policy/kernels.h"

/* ---- rows ---- */

enum { ROWS = 61, WIDTH = 24, TOKENS = 29 };

struct rows {
    int32_t tokens[ROWS * WIDTH], length[ROWS];
    uint8_t wanted[ROWS * WIDTH];
    float log_prob[ROWS * WIDTH], entropy[ROWS * WIDTH], value[ROWS * WIDTH];
    float d_log_prob[ROWS * WIDTH], d_value[ROWS * WIDTH];
    uint16_t *routes; /* for models with experts: recorded by the first pass, then replayed */
    struct learner_rows view;
};

static struct rows *random_rows(const struct trainer_model *model, uint64_t seed)
{
    struct rows *rows = calloc(1, sizeof *rows);
    struct trainer_rng rng = {seed};
    for (size_t i = 0; i < ROWS; i++) {
        rows->length[i] = 2 + trainer_rng_below(&rng, WIDTH - 1);
        for (size_t t = 0; t < (size_t)rows->length[i]; t++) {
            size_t at = i * WIDTH + t;
            rows->tokens[at] = trainer_rng_below(&rng, TOKENS);
            rows->wanted[at] = t > 0 && trainer_rng_uniform(&rng) < 0.6;
            rows->d_log_prob[at] = (float)(trainer_rng_uniform(&rng) - 0.5);
            rows->d_value[at] = (float)(trainer_rng_uniform(&rng) - 0.5);
        }
    }
    rows->routes = calloc(ROWS * WIDTH * trainer_model_routes(model) + 1, sizeof *rows->routes);
    rows->view = (struct learner_rows){ROWS, WIDTH, rows->tokens, rows->length, rows->wanted};
    return rows;
}

static void free_rows(struct rows *rows)
{
    free(rows->routes);
    free(rows);
}

static struct trainer_model small_model(int32_t experts, bool value_head)
{
    struct trainer_model model;
    trainer_model_init(&model);
    model.tokens = TOKENS;
    model.width = 16;
    model.mlp = 24;
    model.max_tokens = WIDTH;
    model.experts = experts;
    model.value_head = value_head;
    return model;
}

/* ---- updates ---- */

/* The result of three updates. With experts, each update replays the routes of its first pass. */
struct outcome {
    size_t n;
    float *params;
    double norm; /* gradient norm of the last update */
    struct rows *rows;
};

static void update(struct learner *learner, struct rows *rows, bool replay, double *norm)
{
    const struct learner_rates rates = {.rate = 1e-2, .matrix_rate = 0.02, .clip_norm = 1};
    const bool values = learner->model.value_head;
    struct trainer_error err;
    learner->record = replay || learner->model.experts == 0 ? NULL : rows->routes;
    learner->replay = replay && learner->model.experts > 0 ? rows->routes : NULL;
    enum trainer_status status = learner_forward(learner, learner->params, &rows->view, rows->log_prob, rows->entropy, &err);
    learner->record = NULL;
    learner->replay = NULL;
    if (status == TRAINER_OK && values)
        learner_values(learner, rows->value);
    if (status == TRAINER_OK)
        status = learner_update(learner, rows->d_log_prob, values ? rows->d_value : NULL, &rates, norm, &err);
    if (status != TRAINER_OK)
        fail_msg("%s", err.text);
}

static struct outcome trained(const struct trainer_model *model, const struct trainer_micro_batch *micro, int threads)
{
    struct learner learner;
    struct outcome outcome = {.rows = random_rows(model, 5)};
    assert_int_equal(learner_open(&learner, model, ROWS, micro, threads, NULL), TRAINER_OK);
    trainer_policy_initf(model, 4, learner.params);
    learner_restart(&learner, 0.9, 0.95, 0.01);
    learner.balance = 0.1;
    for (int i = 0; i < 3; i++)
        update(&learner, outcome.rows, i > 0, &outcome.norm);
    outcome.n = learner.n_params;
    outcome.params = malloc(outcome.n * sizeof *outcome.params);
    memcpy(outcome.params, learner.params, outcome.n * sizeof *outcome.params);
    learner_close(&learner);
    return outcome;
}

static void release(struct outcome *outcome)
{
    free(outcome->params);
    free_rows(outcome->rows);
}

static void assert_same(const struct outcome *a, const struct outcome *b)
{
    assert_memory_equal(a->params, b->params, a->n * sizeof *a->params);
    assert_memory_equal(a->rows->log_prob, b->rows->log_prob, sizeof a->rows->log_prob);
    assert_memory_equal(a->rows->entropy, b->rows->entropy, sizeof a->rows->entropy);
    assert_memory_equal(a->rows->value, b->rows->value, sizeof a->rows->value);
    assert_true(a->norm <= b->norm && b->norm <= a->norm);
}

/* Returns the bytes that exactly `passes` passes need. */
static double room(const struct trainer_model *model, int32_t tokens, double passes)
{
    size_t n = tokens > 0 ? (size_t)tokens : TRAINER_MICRO_BATCH_ROWS * (size_t)model->max_tokens;
    return passes * (double)trainer_pass_bytesf(model, n, n);
}

/* The tested models: a dense policy, one with a value head, and a mixture of experts whose routes are replayed. */
static const struct {
    int32_t experts;
    bool value_head;
} kinds[] = {{0, false}, {0, true}, {4, false}};

static void recomputed_activations_change_nothing(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
        for (int32_t tokens = 0; tokens <= 50; tokens += 50) {
            struct trainer_model model = small_model(kinds[kind].experts, kinds[kind].value_head);
            struct trainer_micro_batch micro = {.tokens = tokens};
            struct outcome whole = trained(&model, &micro, 2);
            for (int passes = 1; passes <= 20; passes += passes < 4 ? 1 : 8) {
                micro.activation_bytes = room(&model, tokens, passes + 0.5);
                for (int threads = 1; threads <= 3; threads++) {
                    struct outcome again = trained(&model, &micro, threads);
                    assert_same(&whole, &again);
                    release(&again);
                }
            }
            release(&whole);
        }
}

/* Compares instead of calling fmax, whose reduction over converted numbers ends GCC 12.2 for aarch64 with an internal error. */
static double largest_difference(const float *a, const float *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        double difference = fabs((double)a[i] - (double)b[i]);
        most = difference > most ? difference : most;
    }
    return most;
}

/*
 * Packing adds the same terms in another order. The test compares gradients instead of parameters, because Adam turns
 * a gradient near zero into a full step of either sign.
 */
static void packing_changes_rounding_alone(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < 2; kind++) {
        struct trainer_model model = small_model(kinds[kind].experts, kinds[kind].value_head);
        struct outcome plain = trained(&model, NULL, 1);
        for (int32_t tokens = WIDTH; tokens < ROWS * WIDTH; tokens = tokens * 2 + 1) {
            const struct trainer_micro_batch micro = {.tokens = tokens};
            struct outcome packed = trained(&model, &micro, 2);
            assert_near(packed.norm, plain.norm, 1e-4 * plain.norm);
            assert_true(largest_difference(plain.params, packed.params, plain.n) < 2e-3);
            assert_true(largest_difference(packed.rows->log_prob, plain.rows->log_prob, ROWS * WIDTH) < 2e-3);
            release(&packed);
        }
        release(&plain);
    }
}

/* A plan contains every row once, its micro-batches keep the limit, and its lanes have about equally many tokens. */
static void a_plan_is_a_permutation_within_its_bounds(void **state)
{
    (void)state;
    struct trainer_model model = small_model(0, false);
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct rows *rows = random_rows(&model, seed);
        const struct trainer_micro_batch micro = {.tokens = WIDTH + (int32_t)(seed * 7 % 90)};
        struct micro_batches b = micro_batches_sized(&model, ROWS, &micro);
        size_t n = seed == 1 ? 1 : ROWS - seed, seen = 0, bytes, lane[GRADIENT_LANES] = {0};
        struct carve block = {NULL, 0};
        uint8_t taken[ROWS] = {0};
        micro_batches_carve(&b, &block);
        bytes = block.used;
        block = (struct carve){carve_block(bytes), 0};
        micro_batches_carve(&b, &block);
        assert_int_equal(micro_batches_plan(&b, n, rows->length, NULL), TRAINER_OK);
        assert_true(b.n <= b.most && b.n % GRADIENT_LANES == 0);
        assert_true((double)b.workspace.ws.size <= micro_batches_workspace(&b));
        for (size_t i = 0; i < b.n; i++) {
            size_t tokens = 0;
            for (size_t j = 0; j < b.count[i]; j++, seen++) {
                size_t row = b.row[b.first[i] + j];
                assert_true(row < n && !taken[row]);
                taken[row] = 1;
                tokens += (size_t)rows->length[row];
            }
            assert_true(tokens <= b.tokens);
            lane[i % GRADIENT_LANES] += tokens;
        }
        assert_int_equal(seen, n);
        for (size_t i = 0; n > 16 && i < GRADIENT_LANES; i++)
            assert_true(lane[i] < 2 * lane[(i + 1) % GRADIENT_LANES] + 2 * WIDTH);
        micro_batches_close(&b);
        free(block.base);
        free_rows(rows);
    }
}

/* ---- runs ---- */

static struct run_outcome outcome_of(const struct trainer_recipe *recipe)
{
    const struct run_plan plan = {0};
    struct run_outcome outcome = run_forked(recipe, &plan);
    if (outcome.status != TRAINER_OK)
        fail_msg("%s", outcome.error);
    return outcome;
}

/* Runs the recipe with memory for only one micro-batch. The results must not change. */
static void assert_a_budget_changes_nothing(struct trainer_recipe recipe, const char *what)
{
    check_recipe(&recipe);
    struct run_outcome whole = outcome_of(&recipe);
    recipe.micro_batch.activation_bytes = room(&recipe.model, recipe.micro_batch.tokens, 1);
    recipe.threads = 2;
    check_recipe(&recipe);
    struct run_outcome again = outcome_of(&recipe);
    if (strcmp(whole.story, again.story) != 0)
        fail_msg("%s: another story:\n%s\n%s", what, whole.story, again.story);
    assert_int_equal(whole.checkpoint_size, again.checkpoint_size);
    assert_memory_equal(whole.checkpoint, again.checkpoint, whole.checkpoint_size);
    run_outcome_release(&again);
    run_outcome_release(&whole);
}

static struct trainer_recipe wide_recipe(enum rl_algorithm_name name)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    recipe.warm_start.steps = 4;
    recipe.tasks[0].algorithm.name = name;
    recipe.tasks[0].questions = 12;
    recipe.training.minibatch = 40;
    recipe.training.iterations = 2;
    return recipe;
}

static void runs_within_a_budget_give_the_same(void **state)
{
    (void)state;
    for (int32_t tokens = 0; tokens <= 400; tokens += 400) {
        struct trainer_recipe recipe = wide_recipe(RL_ALGORITHM_TURN_GROUP_V1D);
        recipe.micro_batch.tokens = tokens;
        assert_a_budget_changes_nothing(recipe, "turns");
        recipe.warm_start.matrix_rate = 0;
        assert_a_budget_changes_nothing(recipe, "AdamW");
        recipe = wide_recipe(RL_ALGORITHM_PPO);
        recipe.micro_batch.tokens = tokens;
        assert_a_budget_changes_nothing(recipe, "values");
        recipe = wide_recipe(RL_ALGORITHM_GRPO);
        recipe.micro_batch.tokens = tokens;
        recipe.tasks[0].algorithm.distill = (struct trainer_distill){
            .how = TRAINER_DISTILL_LOSS, .teacher = TRAINER_TEACHER_POLICY, .pass_rate = 1, .normalise = true, .coef = 0.5};
        assert_a_budget_changes_nothing(recipe, "distillation");
        recipe = wide_recipe(RL_ALGORITHM_GRPO);
        recipe.micro_batch.tokens = tokens;
        recipe.model.experts = 4;
        recipe.sampler.precision = TRAINER_INT8;
        for (int replay = TRAINER_REPLAY_NONE; replay <= TRAINER_REPLAY_R3; replay++) {
            recipe.replay = (enum trainer_replay)replay;
            assert_a_budget_changes_nothing(recipe, "experts");
        }
    }
}

/* ---- memory ---- */

/*
 * Measures the peak memory of a process that updates once with 4,096 short rows, although its buffers are for long
 * rows.
 */
static void update_many(const struct trainer_model *model, const struct trainer_micro_batch *micro)
{
    enum { N = 4096, SHORT = 6 };
    size_t width = (size_t)model->max_tokens;
    const struct learner_rates rates = {.rate = 1e-3, .clip_norm = 1};
    struct learner learner;
    double norm;
    int32_t *tokens = calloc(N * width, sizeof *tokens), *length = calloc(N, sizeof *length);
    uint8_t *wanted = calloc(N * width, 1);
    float *values = calloc(N * width, sizeof *values);
    for (size_t i = 0; i < N; i++) {
        length[i] = SHORT;
        memset(wanted + i * width + 1, 1, SHORT - 1);
    }
    for (size_t i = 0; i < N * width; i++)
        tokens[i] = (int32_t)(i % TOKENS), values[i] = 0.01f;
    const struct learner_rows rows = {N, width, tokens, length, wanted};
    if (learner_open(&learner, model, N, micro, 2, NULL) != TRAINER_OK)
        _exit(1);
    trainer_policy_initf(model, 4, learner.params);
    learner_restart(&learner, 0.9, 0.95, 0);
    if (learner_forward(&learner, learner.params, &rows, values, NULL, NULL) != TRAINER_OK ||
        learner_update(&learner, values, NULL, &rates, &norm, NULL) != TRAINER_OK)
        _exit(1);
    _exit(0);
}

static void a_large_minibatch_stays_within_its_budget(void **state)
{
    (void)state;
    struct trainer_model model;
    struct rusage usage;
    int status;
    trainer_model_init(&model);
    model.max_tokens = 114;
    const struct trainer_micro_batch micro = {.activation_bytes = 64e6};
    double all = learner_bytes(&model, 4096, NULL), bound = learner_bytes(&model, 4096, &micro);
    pid_t child = fork();
    if (child == 0)
        update_many(&model, &micro);
    assert_int_equal(wait4(child, &status, 0, &usage), child);
    assert_int_equal(status, 0);
    double most = 1024 * (double)usage.ru_maxrss;
    print_message("%.0f MB at most, %.0f MB by learner_bytes, %.0f MB without a budget\n", most / 1e6, bound / 1e6, all / 1e6);
    assert_true(bound < 130e6 && all > 4e9);
#ifndef __SANITIZE_ADDRESS__ /* the sanitizer's own memory would be counted */
    assert_true(most > 64e6 && most < bound + 40e6);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* These tests fork, which is safe only before threads are started. */
        cmocka_unit_test(runs_within_a_budget_give_the_same),        cmocka_unit_test(a_large_minibatch_stays_within_its_budget),
        cmocka_unit_test(recomputed_activations_change_nothing),     cmocka_unit_test(packing_changes_rounding_alone),
        cmocka_unit_test(a_plan_is_a_permutation_within_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
