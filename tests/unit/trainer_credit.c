/*
 * trainer_credit.c: tests the credit of each algorithm on hand-made rollouts, against arithmetic or a direct call of
 * the core.
 */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/a2tgpo.h>
#include <rlcore/adca.h>
#include <rlcore/advantage.h>
#include <rlcore/group_advantage.h>
#include <rlcore/length.h>
#include <rlcore/process.h>

#include "rollout/rollouts.h"
#include "credit/credit.h"
#include "support/roles.h"
#include "support/small_recipe.h"

/* ---- rollouts made by hand ---- */

enum { GROUP = 4, ROWS = 2 * GROUP, WIDTH = 32, FIRST = 3, PROMPT = 3, TOLD = 2 };

/* The number of searches and the reward of each row. A search has two or three tokens. */
static const int32_t searches[ROWS] = {2, 0, 3, 1, 2, 2, 1, 3};
static const double outcomes[ROWS] = {1, 0, 0, 1, 1, 0, 0, 0};
static const uint32_t good[ROWS] = {3, 0, 5, 0, 1, 2, 1, 7};

static double gain(size_t row, int32_t turn)
{
    return 0.05 * (double)((row * 7 + (size_t)turn * 5) % 11) - 0.2;
}

struct credited {
    struct trainer_recipe recipe;
    struct trainer_rollouts *r;
    struct credit_memory memory;
    struct workspace workspace;
    struct rl_a2tgpo_stats scale;
    /* a copy of the rows from FIRST on, in the form that the core takes */
    float rewards[ROWS * WIDTH];
    struct rl_batch batch;
};

static int32_t write_tokens(struct trainer_rollouts *r, size_t row, int32_t at, int32_t n, int32_t turn)
{
    for (int32_t t = at; t < at + n; t++) {
        r->mask[row * WIDTH + (size_t)t] = turn >= 0;
        r->turn[row * WIDTH + (size_t)t] = turn;
    }
    return at + n;
}

static void make_row(struct trainer_rollouts *r, size_t row, size_t i)
{
    int32_t at = PROMPT;
    double value = 0.3;
    (void)write_tokens(r, row, 0, WIDTH, -1);
    r->prompt[row] = PROMPT;
    r->value[row * ROLLOUT_VALUES] = value;
    for (int32_t k = 0; k < searches[i]; k++) {
        at = write_tokens(r, row, at, 2 + (int32_t)(i % 2), k);
        at = write_tokens(r, row, at, TOLD, -1);
        value += gain(i, k);
        r->value[row * ROLLOUT_VALUES + (size_t)k + 1] = value;
    }
    r->length[row] = write_tokens(r, row, at, 1 + (int32_t)(i % 3), searches[i]);
    r->n_turns[row] = searches[i];
    r->reward[row] = outcomes[i];
    r->group[row] = (int64_t)(i / GROUP);
    r->task[row] = 1;
    r->number[row] = (int32_t)(i / GROUP);
    r->episode[row] = (struct trainer_episode){.turn = searches[i], .good = good[i], .done = true, .reward = outcomes[i]};
}

static struct trainer_adca make_adca(void)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    return recipe.tasks[0].algorithm.adca;
}

/* The rows of task 1 come after rows of another task. Those must not change. */
static struct credited *make(enum rl_algorithm_name name)
{
    struct credited *c = calloc(1, sizeof *c);
    c->recipe = small_recipe(TRAINER_HOPWORLD);
    c->recipe.n_tasks = 2;
    c->recipe.tasks[1] = c->recipe.tasks[0];
    trainer_algorithm_init(&c->recipe.tasks[1].algorithm, name);
    c->recipe.training.group_size = GROUP;
    c->r = rollouts_new(FIRST + ROWS, WIDTH);
    c->r->n = FIRST + ROWS;
    for (size_t i = 0; i < (FIRST + ROWS) * WIDTH; i++)
        c->r->advantage[i] = c->r->rl[i] = c->r->ce[i] = c->r->ref_kl[i] = c->r->clip_scale[i] = -77;
    for (size_t i = 0; i < ROWS; i++)
        make_row(c->r, FIRST + i, i);
    c->batch = (struct rl_batch){ROWS, WIDTH, c->r->mask + FIRST * WIDTH, c->r->turn + FIRST * WIDTH, c->r->group + FIRST};
    return c;
}

static void release(struct credited *c)
{
    workspace_free(&c->workspace);
    trainer_rollouts_free(c->r);
    free(c);
}

static void assign(struct credited *c, int32_t iteration)
{
    const struct credit_task task = {&c->recipe, 1, FIRST, ROWS, iteration};
    struct trainer_error err;
    if (credit_assign(c->r, &task, &c->memory, &c->workspace, &c->scale, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    assert_int_equal(c->r->credited, FIRST + ROWS);
    for (size_t i = 0; i < FIRST * WIDTH; i++)
        assert_true(c->r->advantage[i] == -77 && c->r->rl[i] == -77 && c->r->clip_scale[i] == -77);
}

static struct credited *credited(enum rl_algorithm_name name)
{
    struct credited *c = make(name);
    assign(c, 0);
    return c;
}

static struct trainer_algorithm *algorithm(struct credited *c)
{
    return &c->recipe.tasks[1].algorithm;
}

/*
 * Sets the rewards for the core: each outcome at the row's last token and, with `gains`, the gain of every other turn
 * at that turn's last token.
 */
static void lay_rewards(struct credited *c, bool gains, const double *outcome)
{
    memset(c->rewards, 0, sizeof c->rewards);
    for (size_t i = 0; i < ROWS; i++) {
        const int32_t *turn = c->batch.turn + i * WIDTH;
        for (int32_t t = 0; t + 1 < WIDTH; t++)
            if (turn[t] >= 0 && turn[t + 1] != turn[t]) {
                bool last = turn[t] == searches[i];
                double value = last ? outcome[i] : gains ? gain(i, turn[t]) : 0;
                c->rewards[i * WIDTH + (size_t)t] = (float)value;
            }
    }
}

static const float *advantages(const struct credited *c)
{
    return c->r->advantage + FIRST * WIDTH;
}

/* Asserts that all response tokens of a row have the row's expected value, and that all other tokens have 0. */
static void assert_rows(const struct credited *c, const double *expected)
{
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        assert_near((double)advantages(c)[i], c->batch.mask[i] ? expected[i / WIDTH] : 0, 1e-5);
}

static void assert_tokens(const struct credited *c, const float *expected)
{
    double size = 0;
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        assert_near((double)advantages(c)[i], (double)expected[i], 1e-6);
        size += fabs((double)expected[i]);
    }
    assert_true(size > 1);
}

/* ---- outcomes against the group: by hand ---- */

static void grpo_is_the_z_score(void **state)
{
    (void)state;
    const double s = sqrt(1.0 / 3), z = 0.5 / s, one = 0.75 / 0.5, rest = -0.25 / 0.5;
    struct credited *c = credited(RL_ALGORITHM_GRPO);
    assert_rows(c, (const double[]){z, -z, -z, z, one, rest, rest, rest});
    release(c);
}

/* The outcome minus the mean of its group, whitened over the tokens of the batch. */
static void reinforce_plus_plus_has_a_baseline(void **state)
{
    (void)state;
    const double centred[] = {0.5, -0.5, -0.5, 0.5, 0.75, -0.25, -0.25, -0.25};
    struct credited *c = credited(RL_ALGORITHM_REINFORCE_PLUS_PLUS_BASELINE);
    double n = 0, sum = 0, squares = 0, expected[ROWS];
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        n += c->batch.mask[i];
        sum += c->batch.mask[i] * centred[i / WIDTH];
    }
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        squares += c->batch.mask[i] * pow(centred[i / WIDTH] - sum / n, 2);
    for (size_t i = 0; i < ROWS; i++)
        expected[i] = (centred[i] - sum / n) / sqrt(squares / (n - 1) + 1e-8);
    assert_rows(c, expected);
    release(c);
}

static void grpo_without_the_division_is_the_difference(void **state)
{
    (void)state;
    const double expected[] = {0.5, -0.5, -0.5, 0.5, 0.75, -0.25, -0.25, -0.25};
    struct credited *c = make(RL_ALGORITHM_GRPO);
    algorithm(c)->norm_by_std = false;
    assign(c, 0);
    assert_rows(c, expected);
    release(c);
    c = credited(RL_ALGORITHM_DR_GRPO);
    assert_rows(c, expected);
    release(c);
}

static void rloo_leaves_one_out(void **state)
{
    (void)state;
    const double a = 2.0 / 3, b = 1.0 / 3;
    struct credited *c = credited(RL_ALGORITHM_RLOO);
    assert_rows(c, (const double[]){a, -a, -a, a, 1, -b, -b, -b});
    release(c);
}

static void passk_credits_the_best(void **state)
{
    (void)state;
    struct credited *c = credited(RL_ALGORITHM_GRPO_PASSK);
    assert_rows(c, (const double[]){0, 0, 0, 0, 1 / 0.5, 0, 0, 0});
    release(c);
}

/* One question has two rows and one has six; blocks and baselines still cover exactly one group. */
static void groups_may_differ_in_size(void **state)
{
    (void)state;
    struct credited *c = make(RL_ALGORITHM_DR_GRPO);
    algorithm(c)->passk.k = 2;
    for (size_t i = 0; i < ROWS; i++)
        c->r->group[FIRST + i] = i < 2 ? 40 : 41;
    assign(c, 0);
    assert_rows(c, (const double[]){0, 0, 1.0 / 3, 1.0 / 3, 1.0 / 3, 1.0 / 3, -2.0 / 3, -2.0 / 3});
    release(c);
}

/* With k = 4 in eight iterations, gradually: 4 in the first four, 2 in the others, and then every rollout's own outcome. */
static void passk_returns_to_passone(void **state)
{
    static const struct {
        int32_t k, iterations, at;
        bool gradual;
        int32_t is;
    } cases[] = {{4, 8, 0, false, 4}, {4, 8, 7, false, 4}, {4, 8, 8, false, 1}, {4, 8, 3, true, 4},  {4, 8, 4, true, 2},
                 {4, 8, 7, true, 2},  {4, 8, 8, true, 1},  {2, 5, 4, true, 2},  {4, 0, 99, false, 4}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct credited *other = make(RL_ALGORITHM_DR_GRPO), *c = make(RL_ALGORITHM_DR_GRPO);
        algorithm(other)->passk.k = cases[i].is;
        assign(other, 0);
        algorithm(c)->passk = (struct trainer_passk){cases[i].k, cases[i].iterations, cases[i].gradual};
        assign(c, cases[i].at);
        for (size_t cell = 0; cell < ROWS * WIDTH; cell++)
            assert_near((double)advantages(c)[cell], (double)advantages(other)[cell], 1e-12);
        release(other);
        release(c);
    }
}

static void max_rl_divides_by_the_mean(void **state)
{
    (void)state;
    struct credited *c = credited(RL_ALGORITHM_MAX_RL);
    assert_rows(c, (const double[]){1, -1, -1, 1, 3, -1, -1, -1});
    release(c);
}

static void reward_is_the_outcome(void **state)
{
    (void)state;
    struct credited *c = credited(RL_ALGORITHM_REWARD);
    assert_rows(c, outcomes);
    release(c);
}

/* The moving baseline continues from call to call, separately for each task. */
static void rae_follows_a_moving_baseline(void **state)
{
    (void)state;
    struct credited *c = make(RL_ALGORITHM_RAE);
    algorithm(c)->decay = 0.9;
    double baseline = 0, expected[ROWS];
    for (int32_t iteration = 0; iteration < 3; iteration++) {
        assign(c, iteration);
        for (size_t i = 0; i < ROWS; i++) {
            expected[i] = outcomes[i] - baseline;
            baseline = 0.9 * baseline + 0.1 * outcomes[i];
        }
        assert_rows(c, expected);
    }
    assert_int_equal(c->memory.n_baselines[0], 0);
    assert_int_equal(c->memory.n_baselines[1], 1);
    assert_near(c->memory.baseline[1].value, baseline, 1e-12);
    release(c);
}

static void advantages_are_scaled(void **state)
{
    (void)state;
    struct credited *c = make(RL_ALGORITHM_DR_GRPO);
    algorithm(c)->advantage_scale = 3;
    assign(c, 0);
    assert_rows(c, (const double[]){1.5, -1.5, -1.5, 1.5, 2.25, -0.75, -0.75, -0.75});
    release(c);
}

/* ---- turns and steps: by the core ---- */

/* Calls a kernel, and once more if it asks for a larger workspace. */
#define CORE(c, call)                                                                                                            \
    do {                                                                                                                         \
        enum rl_status status_;                                                                                                  \
        CORE_CALL(status_, &(c)->workspace, call);                                                                               \
        assert_int_equal(status_, RL_OK);                                                                                        \
    } while (0)

static void reinforce_plus_plus_whitens_returns(void **state)
{
    (void)state;
    float expected[ROWS * WIDTH];
    struct credited *c = make(RL_ALGORITHM_REINFORCE_PLUS_PLUS);
    algorithm(c)->gamma = 0.9;
    assign(c, 0);
    lay_rewards(c, false, outcomes);
    CORE(c, rl_reinforce_plus_plusf(&c->batch, 0.9, true, c->rewards, expected, NULL, &c->workspace.ws, NULL));
    assert_tokens(c, expected);
    double sum = 0, n = 0;
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        sum += (double)advantages(c)[i];
        n += c->batch.mask[i];
    }
    assert_near(sum / n, 0, 1e-6);
    release(c);
}

static void check_mode(enum rl_algorithm_name name, enum rl_a2tgpo_mode mode)
{
    float expected[ROWS * WIDTH], scale[ROWS * WIDTH];
    struct rl_a2tgpo_options options;
    struct credited *c = make(name);
    struct trainer_algorithm *a = algorithm(c);
    a->alpha = 0.4;
    a->gamma = 0.95;
    a->beta = 0.2;
    a->epsilon = 1e-4;
    assign(c, 0);
    lay_rewards(c, true, outcomes);
    rl_a2tgpo_options_init(&options);
    options.mode = mode;
    options.alpha = 0.4;
    options.gamma = 0.95;
    options.clip_beta = 0.2;
    options.epsilon = 1e-4;
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        scale[i] = 1;
    CORE(c, rl_a2tgpo_advantagef(&c->batch, &options, c->rewards, expected, scale, NULL, &c->workspace.ws, NULL));
    assert_tokens(c, expected);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        assert_true(!c->batch.mask[i] || c->r->clip_scale[FIRST * WIDTH + i] == scale[i]);
    release(c);
}

static void the_four_modes_are_those_of_the_core(void **state)
{
    (void)state;
    check_mode(RL_ALGORITHM_JOINT, RL_A2TGPO_JOINT);
    check_mode(RL_ALGORITHM_SEPARATE, RL_A2TGPO_SEPARATE);
    check_mode(RL_ALGORITHM_TURN_GROUP, RL_A2TGPO_TURN_GROUP);
    check_mode(RL_ALGORITHM_TURN_GROUP_V1D, RL_A2TGPO_TURN_GROUP_V1D);
}

/* Returns the biased standard deviation, computed in two passes. */
static double deviation(size_t n, const double *x)
{
    double mean = 0, square = 0;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean) / (double)n;
    return sqrt(square);
}

/* Computes with the core the advantages of turn-group-v1d at a given alpha. */
static void advantages_at(struct credited *c, double alpha, float *advantage)
{
    float scale[ROWS * WIDTH];
    struct rl_a2tgpo_options options;
    rl_a2tgpo_options_init(&options);
    options.mode = RL_A2TGPO_TURN_GROUP_V1D;
    options.alpha = alpha;
    CORE(c, rl_a2tgpo_advantagef(&c->batch, &options, c->rewards, advantage, scale, NULL, &c->workspace.ws, NULL));
}

/* Returns the factor by which alpha is expected to be multiplied. */
static double balance(struct credited *c)
{
    float process[ROWS * WIDTH], outcome[ROWS * WIDTH];
    double d[ROWS * 4], z[ROWS];
    size_t turns = 0;
    advantages_at(c, 1, process);
    advantages_at(c, 0, outcome);
    for (size_t i = 0; i < ROWS; i++) {
        const int32_t *turn = c->batch.turn + i * WIDTH;
        for (size_t t = 0, at = i * WIDTH; t < WIDTH; t++, at++) {
            bool begins = turn[t] >= 0 && (t == 0 || turn[t - 1] != turn[t]);
            z[i] = turn[t] == searches[i] ? (double)outcome[at] : z[i];
            if (begins && turn[t] < searches[i])
                d[turns++] = (double)process[at] - (double)outcome[at];
        }
    }
    return deviation(ROWS, z) / deviation(turns, d);
}

static void assert_adapted(struct credited *c, double factor)
{
    float expected[ROWS * WIDTH], fixed[ROWS * WIDTH];
    algorithm(c)->alpha = 0.4;
    algorithm(c)->epsilon = 1e-6;
    algorithm(c)->schedule = (struct trainer_schedule){.kind = TRAINER_ADAPTIVE, .alpha_end = 7, .beta_end = 1};
    c->memory.alpha = c->memory.n_alpha = 0;
    assign(c, 2);
    assert_int_equal(c->memory.n_alpha, 1);
    assert_near(c->memory.alpha, 0.4 * factor, 1e-5);
    advantages_at(c, 0.4 * factor, expected);
    advantages_at(c, 0.4, fixed);
    assert_true(memcmp(expected, fixed, sizeof fixed) == 0 || fabs(factor - 1) > 0.01);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        assert_near((double)advantages(c)[i], (double)expected[i], 1e-5);
}

/* alpha is multiplied by the spread of the outcomes divided by the spread of the gains, limited to 1/4 .. 4. */
static void alpha_follows_the_spreads(void **state)
{
    (void)state;
    const double same[ROWS] = {1, 1, 1, 1, 0, 0, 0, 0};
    struct credited *c = make(RL_ALGORITHM_TURN_GROUP_V1D);
    lay_rewards(c, true, outcomes);
    double factor = balance(c);
    assert_true(factor > 0.3 && factor < 3 && fabs(factor - 1) > 0.02);
    assert_adapted(c, factor);
    for (size_t i = 0; i < ROWS; i++)
        c->r->reward[FIRST + i] = same[i]; /* all outcomes within a group are equal, so only gains would train */
    lay_rewards(c, true, same);
    assert_adapted(c, 0.25);
    for (size_t i = 0; i < ROWS * ROLLOUT_VALUES; i++)
        c->r->value[FIRST * ROLLOUT_VALUES + i] = 0.3; /* all gains are equal too */
    assign(c, 2);
    assert_near(c->memory.alpha, 0.1 + 0.4, 1e-6);
    release(c);
}

static void process_rewards_stay_at_their_turns(void **state)
{
    (void)state;
    float expected[ROWS * WIDTH];
    uint8_t event[ROWS * WIDTH] = {0};
    struct credited *c = credited(RL_ALGORITHM_PROCESS);
    lay_rewards(c, true, outcomes);
    for (size_t i = 0; i < ROWS * WIDTH - 1; i++)
        if (c->batch.mask[i] && c->batch.turn[i + 1] != c->batch.turn[i])
            event[i] = c->batch.turn[i] == searches[i / WIDTH] ? RL_EVENT_OUTCOME : RL_EVENT_PROCESS;
    CORE(c, rl_process_advantagef(&c->batch, event, c->rewards, expected, &c->workspace.ws, NULL));
    assert_tokens(c, expected);
    release(c);
}

/* Sets the flags of all steps: the flag of a search is a bit of good[], that of the closing step is the outcome. */
static void lay_flags(size_t *start, uint8_t *flags)
{
    start[0] = 0;
    for (size_t i = 0; i < ROWS; i++) {
        start[i + 1] = start[i] + (size_t)searches[i] + 1;
        for (int32_t k = 0; k < searches[i]; k++)
            flags[start[i] + (size_t)k] = good[i] >> k & 1;
        flags[start[i + 1] - 1] = outcomes[i] > 0;
    }
}

/* Asserts that the credit equals that of the core's kernel with these options. */
static void assert_adca(struct credited *c, const struct rl_adca_options *options)
{
    float expected[ROWS * WIDTH];
    size_t start[ROWS + 1];
    uint8_t flags[ROWS * 4];
    double steps[2][ROWS * 4];
    lay_rewards(c, false, outcomes);
    lay_flags(start, flags);
    const struct rl_adca_input in = {ROWS, WIDTH, c->batch.group, c->batch.turn, start, flags, start};
    const struct rl_adca_output out = {NULL, steps[0], steps[1], NULL};
    CORE(c, rl_adca_advantagef(&in, options, c->rewards, expected, &out, &c->workspace.ws, NULL));
    assert_tokens(c, expected);
}

/* In iterations in which the judge is asked, the reported metrics are those of the core. */
static void adca_metrics_are_measured(void **state)
{
    (void)state;
    struct credited *c = make(RL_ALGORITHM_ADCA);
    algorithm(c)->prm_steps = 2;
    assign(c, 1);
    const struct rl_adca_metrics *m = &c->memory.adca;
    assert_int_equal(c->memory.n_adca, 1);
    assert_true(m->attr_std > 0.5 && m->outcome_share_last_mean > 0 && m->alpha_effective > 0);
    assert_true(m->unit_weight_mean == 0);
    c->memory.n_adca = 0;
    assign(c, 2);
    assert_int_equal(c->memory.n_adca, 0); /* from this iteration on the algorithm is grpo */
    algorithm(c)->adca.scheme = TRAINER_ADCA_ALLOCATION;
    assign(c, 0);
    assert_int_equal(c->memory.n_adca, 1);
    assert_true(m->unit_weight_mean > 0);
    release(c);
}

static void the_judge_is_asked_about_steps(void **state)
{
    (void)state;
    struct rl_adca_options options;
    struct credited *c = make(RL_ALGORITHM_ADCA);
    algorithm(c)->alpha = 0.7;
    assign(c, 0);
    rl_adca_options_init(&options);
    options.alpha = 0.7;
    assert_adca(c, &options);
    release(c);
}

/* Each case changes one setting from its default, or two if one alone has no effect. */
static void every_option_of_adca_reaches_the_core(void **state)
{
    (void)state;
    struct rl_adca_options initial;
    rl_adca_options_init(&initial);
    const struct trainer_adca normal = make_adca();
    struct {
        struct trainer_adca recipe;
        struct rl_adca_options core;
    } cases[10];
    enum { N = sizeof cases / sizeof *cases };
    for (size_t i = 0; i < N; i++) {
        cases[i].recipe = normal;
        cases[i].core = initial;
    }
#define SET(i, setting, option, value) (cases[i].recipe.setting = (value), cases[i].core.option = (value))
    cases[0].recipe.scheme = TRAINER_ADCA_ALLOCATION;
    cases[0].core.scheme = RL_ADCA_ALLOCATION;
    cases[1] = cases[2] = cases[3] = cases[0];
    SET(1, consistent_scale, consistent_scale, 0.5);
    SET(2, pos_unconsistent_scale, pos_unconsistent_scale, 0.7);
    SET(3, neg_unconsistent_scale, neg_unconsistent_scale, 0.6);
    cases[4].recipe.outcome = TRAINER_ADCA_ALL_STEPS;
    cases[4].core.outcome = RL_ADCA_ALL_STEPS;
    cases[5].recipe.outcome = TRAINER_ADCA_ONLY;
    cases[5].core.outcome = RL_ADCA_ONLY;
    SET(6, batch_norm, do_batch_norm, false);
    SET(6, fix_base, fix_base, 0.4);
    SET(7, equal_trajectory_weight, equal_trajectory_weight, false);
    SET(8, length_normalisation, length_normalisation, true);
    SET(9, outcome_weight, outcome_weight, 0.5);
#undef SET
    float before[ROWS * WIDTH];
    struct credited *c = credited(RL_ALGORITHM_ADCA);
    memcpy(before, advantages(c), sizeof before);
    for (size_t i = 0; i < N; i++) {
        algorithm(c)->adca = cases[i].recipe;
        assign(c, 0);
        assert_adca(c, &cases[i].core);
        assert_memory_not_equal(before, advantages(c), sizeof before);
    }
    release(c);
}

/* alpha starts at its full value in the first iteration and is near its final value in the last. */
static void alpha_and_beta_follow_their_schedule(void **state)
{
    (void)state;
    struct rl_adca_options options;
    const struct {
        enum trainer_schedule_kind kind;
        int32_t iteration;
        double alpha;
    } cases[] = {{TRAINER_CONSTANT, 3, 0.9},
                 {TRAINER_LINEAR, 0, 0.9},
                 {TRAINER_LINEAR, 1, 0.7},
                 {TRAINER_LINEAR, 3, 0.3},
                 {TRAINER_COSINE, 0, 0.9},
                 {TRAINER_COSINE, 2, 0.5},
                 {TRAINER_COSINE, 1, 0.1 + 0.4 * (1 + 0.70710678118654757)}};
    rl_adca_options_init(&options);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct credited *c = make(RL_ALGORITHM_ADCA);
        c->recipe.training.iterations = 4;
        algorithm(c)->alpha = 0.9;
        algorithm(c)->schedule = (struct trainer_schedule){cases[i].kind, 0.1, 0};
        assign(c, cases[i].iteration);
        options.alpha = cases[i].alpha;
        assert_adca(c, &options);
        release(c);
    }
    struct credited *late = make(RL_ALGORITHM_TURN_GROUP_V1D);
    struct credited *now = make(RL_ALGORITHM_TURN_GROUP_V1D);
    late->recipe.training.iterations = 4;
    algorithm(late)->schedule = (struct trainer_schedule){TRAINER_LINEAR, 0.1, 0.1};
    algorithm(now)->alpha = algorithm(now)->beta = 0.2;
    assign(late, 2); /* half way from 0.3 to 0.1 */
    assign(now, 2);
    assert_tokens(late, advantages(now));
    assert_true(late->scale.ig_clip_scale_std == now->scale.ig_clip_scale_std);
    release(late);
    release(now);
}

static void after_its_steps_the_judge_is_not_asked(void **state)
{
    (void)state;
    float judged[ROWS * WIDTH];
    struct credited *c = make(RL_ALGORITHM_ADCA), *grpo = credited(RL_ALGORITHM_GRPO);
    algorithm(c)->prm_steps = 2;
    assign(c, 1);
    memcpy(judged, advantages(c), sizeof judged);
    assign(c, 2);
    assert_tokens(c, advantages(grpo));
    assert_memory_not_equal(judged, advantages(c), sizeof judged);
    release(c);
    release(grpo);
}

/* ---- length penalties ---- */

static void response_lengths(const struct credited *c, double *length)
{
    for (size_t i = 0; i < ROWS; i++) {
        length[i] = 0;
        for (size_t t = 0; t < WIDTH; t++)
            length[i] += c->batch.mask[i * WIDTH + t];
    }
}

static void check_penalty(enum trainer_length_penalty kind, double coef, enum rl_length_penalty core, double core_coef)
{
    double length[ROWS], expected[ROWS], anchor[ROWS];
    struct credited *c = make(RL_ALGORITHM_REWARD);
    algorithm(c)->length_penalty = kind;
    algorithm(c)->length_coef = coef;
    assign(c, 0);
    response_lengths(c, length);
    for (size_t i = 0; i < ROWS; i++)
        anchor[i] = NAN;
    const struct rl_length_input in = {ROWS, outcomes, length, c->batch.group, anchor};
    CORE(c, rl_length_penalty(core, core_coef, &in, expected, &c->workspace.ws, NULL));
    assert_rows(c, expected);
    release(c);
}

/* Marks one token of the tool in every row as the policy's, so that all responses get longer. */
static void lengthen(struct credited *c)
{
    for (size_t i = 0; i < ROWS; i++)
        for (size_t t = 1, at = (FIRST + i) * WIDTH; t < WIDTH; t++)
            if (c->r->mask[at + t - 1] && !c->r->mask[at + t] && c->r->turn[at + t - 1] == 0) {
                c->r->mask[at + t] = 1;
                c->r->turn[at + t] = 0;
                break;
            }
}

/*
 * The first visit of a question sets its anchor, and later visits keep it. Without a pool of questions no anchor is
 * kept.
 */
static void anchors_of_a_pool_are_kept(void **state)
{
    (void)state;
    double kept[3] = {NAN, NAN, NAN}, first[2], length[ROWS];
    struct credited *c = make(RL_ALGORITHM_REWARD);
    algorithm(c)->length_penalty = TRAINER_LENGTH_ANCHOR;
    algorithm(c)->length_coef = 0.5;
    c->recipe.tasks[1].questions = 2;
    c->recipe.tasks[1].pool = 3;
    c->memory.anchor[1] = kept;
    for (size_t i = 0; i < ROWS; i++)
        c->r->reward[FIRST + i] = 1;
    assign(c, 0); /* visits questions 0 and 1 */
    assert_true(kept[0] > 0 && kept[1] > 0 && isnan(kept[2]));
    memcpy(first, kept, sizeof first);
    lengthen(c);
    response_lengths(c, length);
    for (size_t i = 0; i < ROWS; i++)
        c->r->number[FIRST + i] = i < GROUP ? 2 : 0;
    assign(c, 1); /* visits questions 2 and 0 */
    assert_true(kept[0] == first[0] && kept[1] == first[1] && kept[2] > 0);
    for (size_t i = GROUP; i < ROWS; i++) { /* all rows of the second group belong to question 0 */
        double over = fmax(0, (length[i] - kept[0]) / kept[0]);
        assert_near((double)advantages(c)[i * WIDTH + PROMPT], 1 - 0.5 * over, 1e-6);
    }
    c->memory.anchor[1] = NULL;
    c->recipe.tasks[1].pool = 0;
    assign(c, 1);
    assert_true(kept[0] == first[0]);
    release(c);
}

/* prime-rl's penalty is a share of the group's mean reward; a group without a success is not penalised. */
static void the_linear_penalty_is_the_cores(void **state)
{
    (void)state;
    double expected[ROWS];
    uint8_t counted[ROWS];
    struct rl_trace traces[ROWS];
    const struct rl_length_weights weights = {0.5 * 0.25, 0.5 * 0.2, 0.5 * 0.1};
    struct credited *c = make(RL_ALGORITHM_REWARD);
    algorithm(c)->length_penalty = TRAINER_LENGTH_LINEAR;
    algorithm(c)->length_coef = 0.5;
    algorithm(c)->length.input = 0.2;
    assign(c, 0);
    response_lengths(c, expected);
    for (size_t i = 0; i < ROWS; i++)
        traces[i] = (struct rl_trace){.reward = outcomes[i],
                                      .n_output_tokens = expected[i],
                                      .n_total_tokens = c->r->length[FIRST + i],
                                      .n_turns = searches[i]};
    for (size_t i = 0; i < ROWS; i += GROUP)
        assert_int_equal(rl_group_penalise(traces + i, GROUP, &weights, expected + i, counted, NULL), RL_OK);
    assert_true(expected[0] < 1 && expected[1] < 0);
    assert_rows(c, expected);
    release(c);
}

/* LASER: a success of at most that length gets the bonus. A length that is set beforehand replaces every anchor. */
static void a_length_may_be_set_beforehand(void **state)
{
    (void)state;
    double length[ROWS], expected[ROWS], kept[1] = {3};
    size_t given = 0;
    struct credited *c = make(RL_ALGORITHM_REWARD);
    algorithm(c)->length_penalty = TRAINER_LENGTH_STEP;
    algorithm(c)->length.target = 5;
    assign(c, 0);
    response_lengths(c, length);
    for (size_t i = 0; i < ROWS; i++) {
        bool bonus = outcomes[i] > 0 && length[i] <= 5;
        expected[i] = outcomes[i] + (bonus ? 0.5 : 0);
        given += bonus;
    }
    assert_true(given > 0 && given < 3); /* of three successes */
    assert_rows(c, expected);
    algorithm(c)->length_penalty = TRAINER_LENGTH_ANCHOR;
    algorithm(c)->length_coef = 0.5;
    c->recipe.tasks[1].pool = 1;
    c->memory.anchor[1] = kept;
    memset(c->r->number + FIRST, 0, ROWS * sizeof *c->r->number);
    assign(c, 0);
    for (size_t i = 0; i < ROWS; i++)
        expected[i] = outcomes[i] - 0.5 * fmax(0, (length[i] - 5) / 5);
    assert_rows(c, expected);
    assert_true(kept[0] == 3);
    c->memory.anchor[1] = NULL;
    release(c);
}

/* ---- filters ---- */

/* A rollout that was cut off still counts in the mean of its group. */
static void truncated_rollouts_may_have_no_advantage(void **state)
{
    (void)state;
    const double expected[] = {0.5, 0, -0.5, 0.5, 0.75, -0.25, -0.25, 0};
    struct credited *c = make(RL_ALGORITHM_DR_GRPO);
    c->r->episode[FIRST + 1].truncated = c->r->episode[FIRST + 7].truncated = true;
    algorithm(c)->filter.truncated = true;
    assign(c, 0);
    assert_rows(c, expected);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        assert_true(c->r->rl[FIRST * WIDTH + i] == (float)c->batch.mask[i]);
    release(c);
}

static void rollouts_without_an_advantage_may_leave_the_loss(void **state)
{
    (void)state;
    struct credited *c = make(RL_ALGORITHM_DR_GRPO);
    for (size_t i = 0; i < GROUP; i++)
        c->r->reward[FIRST + i] = 1;
    algorithm(c)->filter.zero_advantage = true;
    assign(c, 0);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        assert_true(c->r->rl[FIRST * WIDTH + i] == (float)(i / WIDTH >= GROUP && c->batch.mask[i]));
    release(c);
}

/* A command sees what is known: at the outcomes, the credit of the environments before, but not that of its own rows. */
static enum trainer_status look(void *context, struct trainer_credit_batch *batch, struct trainer_error *err)
{
    int *asked = context;
    (void)err;
    for (size_t i = 0; i < batch->rollouts->n; i++) {
        struct trainer_rollout row = trainer_rollouts_get(batch->rollouts, i);
        bool known = i < batch->first || batch->asked == TRAINER_ASKED_WEIGHTS;
        assert_true((row.advantage != NULL) == known && (row.rl != NULL) == known && (row.clip_scale != NULL) == known);
    }
    ++*asked;
    return TRAINER_OK;
}

static void a_command_sees_no_credit_of_an_earlier_iteration(void **state)
{
    (void)state;
    struct credited *c = make(RL_ALGORITHM_DR_GRPO);
    int asked = 0;
    strcpy(algorithm(c)->hooks.score, "s");
    strcpy(algorithm(c)->hooks.weights, "w");
    c->memory.given = (struct given_credit){.ask = look, .context = &asked};
    c->r->credited = FIRST; /* the other task's rows */
    assign(c, 0);
    assert_int_equal(asked, 2);
    release(c);
}

/* ---- the tool's answers ---- */

/* Writes every answer of the tool as OBS, NONE or a relation, /OBS; the lengths of the answers grow to three tokens. */
static void answer(struct trainer_rollouts *r, size_t row, bool empty)
{
    int32_t *token = r->tokens + row * WIDTH;
    for (size_t t = PROMPT; t + 2 < (size_t)r->length[row]; t++)
        if (r->mask[row * WIDTH + t] && !r->mask[row * WIDTH + t + 1]) {
            token[t + 1] = TRAINER_OBS;
            token[t + 2] = empty ? TRAINER_NONE : TRAINER_N_MARKERS;
        }
}

static double echoed(const struct credited *c, size_t i, int32_t token)
{
    double sum = 0;
    for (size_t at = (FIRST + i) * WIDTH; at < (FIRST + i + 1) * WIDTH; at++)
        sum += c->r->tokens[at] == token ? (double)c->r->ce[at] : 0;
    return sum;
}

static void echo_selects_tokens_by_role_and_filter(void **state)
{
    (void)state;
    struct credited *c = make(RL_ALGORITHM_ECHO);
    answer(c->r, FIRST, false);     /* row 0: two answers that found something */
    answer(c->r, FIRST + 2, true);  /* row 2: three that did not */
    assign(c, 0);
    assert_near(echoed(c, 0, TRAINER_OBS), 2 * 0.1, 1e-6);
    strcpy(algorithm(c)->echo.roles, "tool=0.25");
    assign(c, 0);
    assert_near(echoed(c, 0, TRAINER_OBS), 2 * 0.25, 1e-6);
    assert_near(echoed(c, 2, TRAINER_NONE), 3 * 0.25, 1e-6);
    algorithm(c)->echo.filter = TRAINER_ECHO_CONTENT;
    assign(c, 0);
    assert_near(echoed(c, 0, TRAINER_OBS), 0, 0);
    assert_near(echoed(c, 0, TRAINER_N_MARKERS), 2 * 0.25, 1e-6);
    assert_near(echoed(c, 2, TRAINER_NONE), 3 * 0.25, 1e-6);
    algorithm(c)->echo.filter = TRAINER_ECHO_FOUND;
    assign(c, 0);
    assert_near(echoed(c, 0, TRAINER_OBS), 2 * 0.25, 1e-6);
    assert_near(echoed(c, 2, TRAINER_OBS) + echoed(c, 2, TRAINER_NONE), 0, 0);
    release(c);
}

static void roles_are_checked(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",        "tool",          "tool=",   "tool=-1",    "tool=x",
                                        "tool=1,", "tool=1,tool=2", "user=1",  "system=0.1", "tool=1;user=2",
                                        "TOOL=1",  "tool=inf",      "tool=nan"};
    double weight = -1;
    assert_null(roles_read("tool=0.5", &weight));
    assert_true(weight == 0.5);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (!roles_read(wrong[i], &weight))
            fail_msg("'%s' was accepted", wrong[i]);
}

static void length_penalties_lower_outcomes(void **state)
{
    (void)state;
    check_penalty(TRAINER_LENGTH_UNIFORM, 0, RL_LENGTH_UNIFORM, 1e-4);
    check_penalty(TRAINER_LENGTH_UNIFORM, 0.03, RL_LENGTH_UNIFORM, 0.03);
    check_penalty(TRAINER_LENGTH_GROUP, 0, RL_LENGTH_GROUP, 0.1);
    check_penalty(TRAINER_LENGTH_ANCHOR, 0, RL_LENGTH_ANCHOR, 0.01); /* no group is right often enough to get an anchor */
}

/* A group whose rows are all right sets its anchor to its mean length. */
static void an_anchor_is_set_by_a_group_that_is_right(void **state)
{
    (void)state;
    double length[ROWS], expected[ROWS], anchor;
    struct credited *c = make(RL_ALGORITHM_REWARD);
    algorithm(c)->length_penalty = TRAINER_LENGTH_ANCHOR;
    algorithm(c)->length_coef = 0.5;
    for (size_t i = 0; i < GROUP; i++)
        c->r->reward[FIRST + i] = 1;
    assign(c, 0);
    response_lengths(c, length);
    anchor = (length[0] + length[1] + length[2] + length[3]) / 4;
    for (size_t i = 0; i < ROWS; i++)
        expected[i] = i < GROUP ? 1 - 0.5 * fmax(0, (length[i] - anchor) / anchor) : outcomes[i];
    assert_rows(c, expected);
    release(c);
}

/* The penalty has half its weight after half of the warm-up, and its full weight from the last warm-up iteration on. */
static void a_length_penalty_warms_up(void **state)
{
    (void)state;
    static const struct {
        int32_t iteration;
        double share;
    } at[] = {{0, 0.25}, {1, 0.5}, {3, 1}, {9, 1}};
    for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
        double length[ROWS], expected[ROWS];
        struct credited *c = make(RL_ALGORITHM_REWARD);
        algorithm(c)->length_penalty = TRAINER_LENGTH_UNIFORM;
        algorithm(c)->length_coef = 0.02;
        algorithm(c)->length.warmup = 4;
        assign(c, at[k].iteration);
        response_lengths(c, length);
        for (size_t i = 0; i < ROWS; i++)
            expected[i] = outcomes[i] - 0.02 * at[k].share * length[i];
        assert_rows(c, expected);
        release(c);
    }
}

/* ---- pass@k as reward ---- */

static void blocks_share_the_reward_of_their_best(void **state)
{
    (void)state;
    static const double expected[ROWS] = {1, 1, 1, 1, 1, 1, 0, 0};
    double length[ROWS], shorter[ROWS];
    struct credited *c = make(RL_ALGORITHM_REWARD);
    algorithm(c)->passk.k = 2;
    assign(c, 0);
    assert_rows(c, expected);
    algorithm(c)->length_penalty = TRAINER_LENGTH_UNIFORM; /* the best of a block is chosen after the penalty */
    algorithm(c)->length_coef = 0.01;
    assign(c, 0);
    response_lengths(c, length);
    for (size_t i = 0; i < ROWS; i += 2)
        shorter[i] = shorter[i + 1] = fmax(outcomes[i] - 0.01 * length[i], outcomes[i + 1] - 0.01 * length[i + 1]);
    assert_rows(c, shorter);
    for (size_t i = 0; i < ROWS; i++)
        assert_true(c->r->reward[FIRST + i] == outcomes[i]);
    release(c);
}

/* ---- what a turn added ---- */

static void vineppo_is_what_a_turn_added(void **state)
{
    (void)state;
    struct credited *c = credited(RL_ALGORITHM_VINEPPO);
    for (size_t at = 0; at < ROWS * WIDTH; at++) {
        size_t i = at / WIDTH;
        int32_t turn = c->batch.turn[at];
        double value = 0.3;
        for (int32_t k = 0; k < searches[i]; k++)
            value += gain(i, k);
        double expected = turn == searches[i] ? outcomes[i] - value : turn >= 0 ? gain(i, turn) : 0;
        assert_near((double)advantages(c)[at], expected, 1e-6);
    }
    release(c);
}

/* ---- a teacher for what failed ---- */

/* Makes rollouts with a teacher. Two of four rows of group 0 are right, and one of group 1. */
static struct credited *taught(enum trainer_distill_how how, double pass_rate, int32_t horizon)
{
    struct credited *c = make(RL_ALGORITHM_REWARD);
    algorithm(c)->distill.how = how;
    algorithm(c)->distill.pass_rate = pass_rate;
    algorithm(c)->distill.horizon = horizon;
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        c->r->log_prob[FIRST * WIDTH + i] = -0.1f * (float)(1 + i % 13);
        c->r->reference[FIRST * WIDTH + i] = -0.07f * (float)(1 + i % 17);
    }
    assign(c, 0);
    return c;
}

/*
 * Returns true if the teacher trains this token: the row is wrong, its group is below the pass rate, and the token is
 * within the horizon.
 */
static bool is_taught(const struct credited *c, size_t i, size_t t, double pass_rate, size_t horizon)
{
    size_t before = 0;
    for (size_t u = 0; u < t; u++)
        before += c->batch.mask[i * WIDTH + u];
    return outcomes[i] == 0 && (i < GROUP ? 0.5 : 0.25) <= pass_rate && c->batch.mask[i * WIDTH + t] && before < horizon;
}

static void check_taught(enum trainer_distill_how how, double pass_rate, int32_t horizon)
{
    struct credited *c = taught(how, pass_rate, horizon);
    size_t n = 0, most = horizon > 0 ? (size_t)horizon : WIDTH;
    double mean = 0, square = 0, gap = 0;
    for (int pass = 0; pass < 3; pass++) {
        for (size_t at = 0; at < ROWS * WIDTH; at++) {
            size_t i = at / WIDTH, first = FIRST * WIDTH;
            double x = (double)c->r->reference[first + at] - (double)c->r->log_prob[first + at];
            bool teaches = is_taught(c, i, at % WIDTH, pass_rate, most);
            bool row = outcomes[i] == 0 && (i < GROUP ? 0.5 : 0.25) <= pass_rate;
            double own = c->batch.mask[at] ? outcomes[i] : 0;
            if (pass == 0 && teaches) {
                n++;
                mean += x;
            } else if (pass == 1 && teaches) {
                square += (x - mean) * (x - mean);
            } else if (pass == 2 && how == TRAINER_DISTILL_ADVANTAGE) {
                double z = (x - mean) / (sqrt(square / (double)n) + 1e-8);
                assert_near((double)advantages(c)[at], teaches ? z : row ? 0 : own, 1e-5);
                assert_true(c->r->kd[first + at] == 0);
            } else if (pass == 2) {
                assert_true(advantages(c)[at] == (float)own);
                assert_true(c->r->kd[first + at] == (teaches ? 1 : 0));
            }
        }
        if (pass == 0) {
            gap = mean / (double)n;
            mean = gap;
        }
    }
    const struct trainer_distillation *d = &c->memory.distillation;
    assert_int_equal(d->taught_tokens, n);
    assert_int_equal(d->tokens, rollouts_tokens(c->r, FIRST, ROWS));
    assert_int_equal(d->groups, 2);
    assert_int_equal(d->taught_groups, pass_rate < 0.5 ? 1 : 2);
    assert_int_equal(d->rollouts, ROWS);
    assert_int_equal(d->taught_rollouts, pass_rate < 0.5 ? 3 : 5);
    assert_near(d->gap, gap, 1e-6);
    release(c);
}

static void a_teacher_teaches_what_failed(void **state)
{
    (void)state;
    static const double rates[] = {0.25, 0.5, 1};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        for (int32_t horizon = 0; horizon <= 4; horizon += 2) {
            check_taught(TRAINER_DISTILL_ADVANTAGE, rates[i], horizon);
            check_taught(TRAINER_DISTILL_LOSS, rates[i], horizon);
        }
}

/* The original reward decides which rows the teacher trains, and its K1 term has its own weight and normalisation. */
static void a_teachers_weight_and_scale_are_its_own(void **state)
{
    (void)state;
    struct credited *c = taught(TRAINER_DISTILL_ADVANTAGE, 1, 0);
    algorithm(c)->distill.normalise = false;
    algorithm(c)->distill.coef = 0.5;
    algorithm(c)->advantage_scale = 3;
    algorithm(c)->passk.k = 2;
    c->memory.distillation = (struct trainer_distillation){.groups = 0};
    assign(c, 0);
    for (size_t at = 0; at < ROWS * WIDTH; at++) {
        size_t i = at / WIDTH, first = FIRST * WIDTH;
        double x = (double)c->r->reference[first + at] - (double)c->r->log_prob[first + at];
        double expected = outcomes[i] == 0 ? 0.5 * x : 3;
        assert_near((double)advantages(c)[at], c->batch.mask[at] ? expected : 0, 1e-6);
    }
    release(c);
}

/* ---- easy and hard ---- */

/* With k between 2 and 6, questions with k = 2 and 3 count as easy, 5 and 6 as hard, and 4 as neither. */
static void both_ends_of_a_mix_are_measured(void **state)
{
    (void)state;
    struct credited *c = make(RL_ALGORITHM_GRPO);
    struct trainer_end_of_mix ends[TRAINER_N_DIFFICULTIES] = {{0}};
    double passed[3] = {0}, tokens[3] = {0}, n[3] = {0};
    c->recipe.tasks[1].env.k_min = 2;
    c->recipe.tasks[1].env.k_max = 6;
    for (size_t i = 0; i < FIRST; i++) { /* rows of another task, whose questions all have the same k */
        c->r->task[i] = 0;
        c->recipe.tasks[0].env.k_min = c->recipe.tasks[0].env.k_max = 2;
        c->r->episode[i].k = 2;
    }
    for (size_t i = 0; i < ROWS; i++) {
        int32_t k = 2 + (int32_t)(i % 5);
        size_t end = k <= 3 ? TRAINER_EASY : k >= 5 ? TRAINER_HARD : 2;
        c->r->episode[FIRST + i].k = k;
        passed[end] += outcomes[i];
        tokens[end] += rollouts_written(c->r, FIRST + i);
        n[end]++;
    }
    for (size_t twice = 0; twice < 2; twice++)
        difficulty_add(ends, c->r, &c->recipe);
    for (size_t end = 0; end < TRAINER_N_DIFFICULTIES; end++) {
        assert_near(ends[end].passed, passed[end] / n[end], 1e-12);
        assert_near(ends[end].tokens, tokens[end] / n[end], 1e-12);
        assert_true((double)ends[end].rollouts == 2 * n[end]);
    }
    assert_true(ends[0].tokens != ends[1].tokens && n[2] > 0);
    release(c);
}

/* ---- other baselines ---- */

static void opo_weighs_the_mean_by_length(void **state)
{
    (void)state;
    double length[ROWS], expected[ROWS];
    struct credited *c = credited(RL_ALGORITHM_OPO);
    response_lengths(c, length);
    for (size_t first = 0; first < ROWS; first += GROUP) {
        double sum = 0, weight = 0;
        for (size_t i = first; i < first + GROUP; i++) {
            sum += length[i] * outcomes[i];
            weight += length[i];
        }
        for (size_t i = first; i < first + GROUP; i++)
            expected[i] = outcomes[i] - sum / weight;
    }
    assert_rows(c, expected);
    release(c);
}

/* Three of the eight outcomes are not 0, hence the factor 8/3. */
static void gpg_makes_up_for_rows_without_reward(void **state)
{
    (void)state;
    double expected[ROWS];
    struct credited *c = credited(RL_ALGORITHM_GPG);
    for (size_t i = 0; i < ROWS; i++)
        expected[i] = (outcomes[i] - (i < GROUP ? 0.5 : 0.25)) * 8 / 3;
    assert_rows(c, expected);
    release(c);
}

static void remax_subtracts_the_greedy_outcome(void **state)
{
    (void)state;
    double expected[ROWS];
    struct credited *c = make(RL_ALGORITHM_REMAX);
    for (size_t i = 0; i < ROWS; i++) {
        c->r->baseline[FIRST + i] = i < GROUP;
        expected[i] = outcomes[i] - (i < GROUP);
    }
    assign(c, 0);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        if (c->batch.mask[i])
            assert_near((double)advantages(c)[i], expected[i / WIDTH], 1e-6);
    release(c);
}

/* Each pair of rows shares its first turn; in the last pair both rows are the same rollout. */
static void branched_rows_share_their_beginning(void **state)
{
    (void)state;
    struct credited *c = make(RL_ALGORITHM_HIERARCHICAL_GRPO);
    const double trunk[ROWS] = {0, 0, 0, 0, 0.25, 0.25, -0.25, -0.25};
    const double branch[ROWS] = {0.5, -0.5, -0.5, 0.5, 0.5, -0.5, 0, 0};
    for (size_t i = 0; i < ROWS; i++) {
        c->r->branch_of[FIRST + i] = (int64_t)(i / 2);
        c->r->n_shared[FIRST + i] = i < 6 ? 1 : searches[i] + 1;
    }
    assign(c, 0);
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        size_t row = i / WIDTH;
        bool shared = c->batch.turn[i] < c->r->n_shared[FIRST + row];
        double expected = shared ? trunk[row] : branch[row];
        assert_near((double)advantages(c)[i], c->batch.mask[i] ? expected : 0, 1e-6);
    }
    release(c);
}

/* ---- weight streams ---- */

static void check_streams(enum rl_algorithm_name name, float rl, float ref_kl, float ce, float told)
{
    struct credited *c = credited(name);
    const struct trainer_rollouts *r = c->r;
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        size_t at = FIRST * WIDTH + i;
        bool written = r->mask[at];
        bool tool = !written && i % WIDTH >= PROMPT && i % WIDTH < (size_t)r->length[at / WIDTH];
        assert_true(r->rl[at] == (written ? rl : 0));
        assert_true(r->ref_kl[at] == (written ? ref_kl : 0));
        assert_true(r->ce[at] == (written ? ce : tool ? told : 0));
    }
    release(c);
}

static void each_algorithm_fills_its_streams(void **state)
{
    (void)state;
    for (enum rl_algorithm_name name = 0; name < RL_ALGORITHM_ECHO; name++)
        if (name != RL_ALGORITHM_CUSTOM)
            check_streams(name, 1, 0, 0, 0);
    check_streams(RL_ALGORITHM_OPD, 0, 1, 0, 0);
    check_streams(RL_ALGORITHM_OPSD, 0, 1, 0, 0);
    check_streams(RL_ALGORITHM_SFT, 0, 0, 1, 0);
    check_streams(RL_ALGORITHM_ECHO, 1, 0, 0, 0.1f);
}

static void echo_is_grpo_on_its_own_tokens(void **state)
{
    (void)state;
    struct credited *echo = credited(RL_ALGORITHM_ECHO), *grpo = credited(RL_ALGORITHM_GRPO);
    assert_tokens(echo, advantages(grpo));
    release(echo);
    release(grpo);
}

static void teachers_leave_no_advantage(void **state)
{
    (void)state;
    const double nothing[ROWS] = {0};
    const enum rl_algorithm_name names[] = {RL_ALGORITHM_OPD, RL_ALGORITHM_OPSD, RL_ALGORITHM_SFT};
    for (size_t i = 0; i < 3; i++) {
        struct credited *c = credited(names[i]);
        assert_rows(c, nothing);
        release(c);
    }
}

/* ---- statistics ---- */

static void gains_are_measured_by_turn(void **state)
{
    (void)state;
    struct credited *c = credited(RL_ALGORITHM_JOINT);
    struct trainer_turn_gain gains[TRAINER_TURNS_MAX];
    int32_t n_gain;
    memset(c->r->n_turns, 0, FIRST * sizeof *c->r->n_turns);
    assert_int_equal(credit_measure_gains(c->r, gains, &n_gain, NULL), TRAINER_OK);
    assert_int_equal(n_gain, 3);
    for (int32_t k = 0; k < 3; k++) {
        double n = 0, mean = 0, square = 0;
        for (size_t i = 0; i < ROWS; i++)
            n += searches[i] > k;
        for (size_t i = 0; i < ROWS; i++)
            mean += searches[i] > k ? gain(i, k) / n : 0;
        for (size_t i = 0; i < ROWS; i++)
            square += searches[i] > k ? pow(gain(i, k) - mean, 2) : 0;
        assert_int_equal(gains[k].count, (uint64_t)n);
        assert_near(gains[k].mean, mean, 1e-12);
        assert_near(gains[k].std, sqrt(square / (n - 1)), 1e-9);
    }
    release(c);
}

static void clip_scales_are_measured_over_response_tokens(void **state)
{
    (void)state;
    double n = 0, mean = 0, square = 0;
    struct credited *c = credited(RL_ALGORITHM_TURN_GROUP_V1D);
    const float *scale = c->r->clip_scale + FIRST * WIDTH;
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        n += c->batch.mask[i];
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        mean += c->batch.mask[i] ? (double)scale[i] / n : 0;
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        square += c->batch.mask[i] ? pow((double)scale[i] - mean, 2) : 0;
    assert_int_equal(rollouts_tokens(c->r, FIRST, ROWS), (size_t)n);
    assert_near(c->scale.ig_clip_scale_mean, mean, 1e-7); /* `mean` is of scales rounded to float */
    assert_near(c->scale.ig_clip_scale_std, sqrt(square / (n - 1)), 1e-7);
    assert_true(c->scale.ig_clip_scale_std > 0.01);
    release(c);
}

/* Gains that are not finite give an error with the core's message, instead of silently counting as 0. */
static void bad_gains_are_an_error(void **state)
{
    (void)state;
    struct credited *c = make(RL_ALGORITHM_JOINT);
    const struct credit_task task = {&c->recipe, 1, FIRST, ROWS, 0};
    struct trainer_error err;
    c->r->value[FIRST * ROLLOUT_VALUES + 1] = NAN;
    assert_int_equal(credit_assign(c->r, &task, &c->memory, &c->workspace, &c->scale, &err), TRAINER_ENUMERIC);
    assert_non_null(strstr(err.text, "credit assignment"));
    release(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grpo_is_the_z_score),
        cmocka_unit_test(grpo_without_the_division_is_the_difference),
        cmocka_unit_test(rloo_leaves_one_out),
        cmocka_unit_test(passk_credits_the_best),
        cmocka_unit_test(passk_returns_to_passone),
        cmocka_unit_test(max_rl_divides_by_the_mean),
        cmocka_unit_test(groups_may_differ_in_size),
        cmocka_unit_test(reward_is_the_outcome),
        cmocka_unit_test(rae_follows_a_moving_baseline),
        cmocka_unit_test(advantages_are_scaled),
        cmocka_unit_test(reinforce_plus_plus_whitens_returns),
        cmocka_unit_test(the_four_modes_are_those_of_the_core),
        cmocka_unit_test(alpha_follows_the_spreads),
        cmocka_unit_test(process_rewards_stay_at_their_turns),
        cmocka_unit_test(the_judge_is_asked_about_steps),
        cmocka_unit_test(adca_metrics_are_measured),
        cmocka_unit_test(every_option_of_adca_reaches_the_core),
        cmocka_unit_test(alpha_and_beta_follow_their_schedule),
        cmocka_unit_test(after_its_steps_the_judge_is_not_asked),
        cmocka_unit_test(length_penalties_lower_outcomes),
        cmocka_unit_test(anchors_of_a_pool_are_kept),
        cmocka_unit_test(an_anchor_is_set_by_a_group_that_is_right),
        cmocka_unit_test(a_length_penalty_warms_up),
        cmocka_unit_test(the_linear_penalty_is_the_cores),
        cmocka_unit_test(a_length_may_be_set_beforehand),
        cmocka_unit_test(truncated_rollouts_may_have_no_advantage),
        cmocka_unit_test(rollouts_without_an_advantage_may_leave_the_loss),
        cmocka_unit_test(a_command_sees_no_credit_of_an_earlier_iteration),
        cmocka_unit_test(echo_selects_tokens_by_role_and_filter),
        cmocka_unit_test(roles_are_checked),
        cmocka_unit_test(reinforce_plus_plus_has_a_baseline),
        cmocka_unit_test(blocks_share_the_reward_of_their_best),
        cmocka_unit_test(both_ends_of_a_mix_are_measured),
        cmocka_unit_test(vineppo_is_what_a_turn_added),
        cmocka_unit_test(a_teacher_teaches_what_failed),
        cmocka_unit_test(a_teachers_weight_and_scale_are_its_own),
        cmocka_unit_test(opo_weighs_the_mean_by_length),
        cmocka_unit_test(gpg_makes_up_for_rows_without_reward),
        cmocka_unit_test(remax_subtracts_the_greedy_outcome),
        cmocka_unit_test(branched_rows_share_their_beginning),
        cmocka_unit_test(each_algorithm_fills_its_streams),
        cmocka_unit_test(echo_is_grpo_on_its_own_tokens),
        cmocka_unit_test(teachers_leave_no_advantage),
        cmocka_unit_test(gains_are_measured_by_turn),
        cmocka_unit_test(clip_scales_are_measured_over_response_tokens),
        cmocka_unit_test(bad_gains_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
