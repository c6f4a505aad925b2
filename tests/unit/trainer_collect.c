/*
 * trainer_collect.c: tests which weights generate rollouts, which questions are asked, and how teachers score the
 * rollouts.
 */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rollout/evaluate.h"
#include "support/error.h"
#include "support/rng.h"
#include "run/run.h"
#include "support/files.h"
#include "support/opened_run.h"
#include "support/small_recipe.h"

struct place {
    char *dir, *teacher;
    struct trainer_recipe recipe;
    float *params, *taught; /* weights of the learner, and of the teacher */
};

static int open_place(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    const struct trainer_checkpoint checkpoint = {recipe.model, 80};
    place->dir = make_dir();
    place->teacher = join(place->dir, "teacher.ckpt");
    place->params = warm_policy(&recipe, 40);
    place->taught = warm_policy(&recipe, 80);
    assert_int_equal(trainer_checkpoint_save(place->teacher, &checkpoint, place->taught, NULL), TRAINER_OK);
    *state = place;
    return 0;
}

static int close_place(void **state)
{
    struct place *place = *state;
    free(place->teacher);
    free(place->params);
    free(place->taught);
    remove_dir(place->dir);
    free(place);
    return 0;
}

/* Resets the recipe to one with the environments hopworld and reverse. */
static int renew_recipe(void **state)
{
    struct place *place = *state;
    place->recipe = small_recipe(TRAINER_HOPWORLD);
    place->recipe.n_tasks = 2;
    strcpy(place->recipe.tasks[0].algorithm.teacher, place->teacher);
    place->recipe.tasks[1] = place->recipe.tasks[0];
    place->recipe.tasks[1].env.kind = TRAINER_REVERSE;
    place->recipe.tasks[1].questions = 3;
    return 0;
}

static struct run *collected(struct place *place, enum rl_algorithm_name a, enum rl_algorithm_name b, int32_t iteration)
{
    struct run *run = calloc(1, sizeof *run);
    struct trainer_iteration metrics = {0};
    struct trainer_error err;
    size_t n = trainer_model_parameters(&place->recipe.model);
    place->recipe.tasks[0].algorithm.name = a;
    place->recipe.tasks[1].algorithm.name = b;
    /* Distillation is not allowed together with an algorithm that trains on a teacher itself. */
    for (int32_t task = 0; task < 2; task++)
        if (rl_algorithm_at(place->recipe.tasks[task].algorithm.name)->loss != RL_COMPONENT_RL)
            place->recipe.tasks[task].algorithm.distill.how = TRAINER_DISTILL_NONE;
    check_recipe(&place->recipe);
    run->recipe = &place->recipe;
    if (run_open(run, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    memcpy(run->learner.params, place->params, n * sizeof *place->params);
    if (run->references.start)
        memcpy(run->references.start, place->taught, n * sizeof *place->taught);
    if (collect_and_credit(run, iteration, &metrics, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    return run;
}

static void closed(struct run *run)
{
    run_close(run);
    free(run);
}

/* Writes the log-prob of each wanted token of one sequence to at[], at the token's position. */
static void score(const struct place *place, const float *params, const int32_t *tokens, const uint8_t *wanted, size_t n,
                  double *at)
{
    const size_t start[2] = {0, n};
    const struct trainer_sequences in = {1, start, tokens, wanted};
    struct trainer_passf *pass;
    float log_prob[256];
    size_t k = 0;
    assert_int_equal(trainer_pass_createf(&pass, &place->recipe.model, n, n, NULL), TRAINER_OK);
    assert_int_equal(trainer_policy_forwardf(pass, params, &in, log_prob, NULL, NULL), TRAINER_OK);
    for (size_t t = 0; t < n; t++)
        at[t] = wanted[t] ? (double)log_prob[k++] : 0;
    trainer_pass_freef(pass);
}

/* Asserts that `values` at the policy's tokens of a task's rows are log-probs under params. */
static void assert_scored(const struct place *place, const struct trainer_rollouts *r, int32_t task, const float *values,
                          const float *params)
{
    for (size_t row = 0; row < r->n; row++) {
        size_t first = row * r->width, n = (size_t)r->length[row];
        double expected[256];
        if (r->task[row] != task)
            continue;
        score(place, params, r->tokens + first, r->mask + first, n, expected);
        for (size_t t = 0; t < n; t++)
            if (r->mask[first + t])
                assert_near((double)values[first + t], expected[t], 2e-5);
    }
}

/*
 * Five questions, four in each iteration: the second iteration begins with the fifth question and continues with
 * the first.
 */
static void iterations_cycle_through_a_pool(void **state)
{
    struct place *place = *state;
    place->recipe.tasks[0].pool = 5;
    struct run *first = collected(place, RL_ALGORITHM_GRPO, RL_ALGORITHM_GRPO, 0);
    struct run *second = collected(place, RL_ALGORITHM_GRPO, RL_ALGORITHM_GRPO, 1);
    const struct trainer_rollouts *a = first->rollouts, *b = second->rollouts;
    size_t g = (size_t)place->recipe.training.group_size;
    for (size_t q = 0; q < 3; q++) {
        assert_true(a->episode[q * g].question == b->episode[(q + 1) * g].question);
        assert_true(a->episode[q * g].noise != b->episode[(q + 1) * g].noise);
    }
    for (size_t q = 0; q < 4; q++)
        assert_true(a->episode[q * g].question != b->episode[0].question);
    for (size_t row = 4 * g; row < a->n; row++) /* reverse has no pool */
        assert_true(a->episode[row].question != b->episode[row].question);
    closed(first);
    closed(second);
}

/* No question is drawn twice; when half of a pool is known to be easy, the other half is drawn more often. */
static void hard_questions_are_drawn_more_often(void **state)
{
    struct trainer_task task = ((struct place *)*state)->recipe.tasks[0];
    struct allocation a = {0};
    size_t drawn[2] = {0};
    task.pool = 40;
    task.questions = 8;
    for (int hardness = 0; hardness <= 4; hardness += 4) {
        struct trainer_allocation told = {0};
        task.hardness = hardness > 0 ? hardness : 1e-9; /* almost flat */
        assert_int_equal(allocation_open(&a, &task, NULL), TRAINER_OK);
        for (size_t i = 0; i < 40; i++) {
            a.asked[i] = 8;
            a.right[i] = i < 20 ? 6 + (int64_t)(i % 3) : (int64_t)(i % 3);
        }
        drawn[0] = drawn[1] = 0;
        for (uint64_t seed = 0; seed < 200; seed++) {
            uint8_t seen[40] = {0};
            const struct allocation_plan plan = {seed, 0, 8};
            assert_int_equal(allocation_draw(&a, &task, &plan, &told, NULL), TRAINER_OK);
            for (int32_t q = 0; q < task.questions; q++) {
                assert_in_range(a.chosen[q], 0, 39);
                assert_false(seen[a.chosen[q]]++);
                drawn[a.chosen[q] >= 20]++;
            }
        }
        assert_int_equal(told.questions, 1600);
        assert_near(told.pool, 0.5, 0.05);
        assert_true(hardness ? drawn[1] > 1500 && told.chosen < 0.25
                             : drawn[1] > 700 && drawn[1] < 900 && fabs(told.chosen - told.pool) < 0.03);
        allocation_close(&a);
    }
}

/* What passed too often or too rarely in its last group is left out, but for as many as an iteration needs. */
static void questions_are_dropped_by_their_pass_rate(void **state)
{
    struct trainer_task task = ((struct place *)*state)->recipe.tasks[0];
    struct allocation a = {0};
    task.pool = 40;
    task.questions = 8;
    task.drop_above = 0.9;
    task.drop_below = 0.25;
    assert_int_equal(allocation_open(&a, &task, NULL), TRAINER_OK);
    for (size_t left = 20; left > 0; left -= 4) {
        size_t drawn[2] = {0};
        for (size_t i = 0; i < 40; i++) {
            bool stays = i < left;
            a.asked[i] = i == 0 ? 0 : 8; /* the first one was never asked, which drops nothing */
            a.right[i] = i == 0 ? 0 : stays ? 2 + (int64_t)(i % 6) : i % 2 ? 8 : 1;
        }
        for (uint64_t seed = 0; seed < 50; seed++) {
            struct trainer_allocation told = {0};
            const struct allocation_plan plan = {seed, 0, 8};
            assert_int_equal(allocation_draw(&a, &task, &plan, &told, NULL), TRAINER_OK);
            assert_int_equal(told.dropped, 40 - left);
            for (int32_t q = 0; q < task.questions; q++)
                drawn[(size_t)a.chosen[q] >= left]++;
        }
        assert_int_equal(drawn[0], 50 * (left < 8 ? left : 8));
        assert_int_equal(drawn[1], 50 * (left < 8 ? 8 - left : 0));
    }
    allocation_close(&a);
}

/*
 * Returns what groups of these sizes achieve at these pass rates: the expected number of questions solved, or of
 * groups with both right and wrong answers.
 */
static double promised(const double rate[3], const size_t size[3], enum trainer_group_sizes kind)
{
    double sum = 0;
    for (size_t q = 0; q < 3; q++) {
        sum += 1 - pow(1 - rate[q], (double)size[q]);
        sum -= kind == TRAINER_GROUPS_MIXED ? pow(rate[q], (double)size[q]) : 0;
    }
    return sum;
}

/* The fitted rates are exact, because enough rollouts were seen. No other sizes with the same sum must achieve more. */
static void groups_are_as_large_as_is_best(void **state)
{
    const double rate[3] = {0.95, 0.5, 0.04};
    struct trainer_task task = ((struct place *)*state)->recipe.tasks[0];
    task.pool = task.questions = 3;
    for (int kind = TRAINER_GROUPS_SOLVED; kind <= TRAINER_GROUPS_MIXED; kind++)
        for (int32_t k = 1; k <= 2; k++) {
            struct allocation a = {0};
            struct trainer_allocation told = {0};
            const struct allocation_plan plan = {1, 0, 8};
            size_t least = 2 * (size_t)k, size[3];
            task.sizes = (enum trainer_group_sizes)kind;
            task.least = (int32_t)least;
            task.algorithm.passk.k = k;
            assert_int_equal(allocation_open(&a, &task, NULL), TRAINER_OK);
            for (size_t q = 0; q < 3; q++) {
                a.asked[q] = 1000000;
                a.right[q] = (int64_t)(rate[q] * 1e6);
            }
            assert_int_equal(allocation_draw(&a, &task, &plan, &told, NULL), TRAINER_OK);
            assert_int_equal(a.sizes[0] + a.sizes[1] + a.sizes[2], 24);
            double best = promised(rate, a.sizes, task.sizes);
            for (size[0] = least; size[0] < 24; size[0] += (size_t)k)
                for (size[1] = least; size[0] + size[1] + least <= 24; size[1] += (size_t)k) {
                    size[2] = 24 - size[0] - size[1];
                    assert_true(promised(rate, size, task.sizes) <= best + 1e-4);
                }
            assert_true(a.sizes[2] > a.sizes[1]); /* the hardest question gets a larger group than the middle one */
            assert_true(kind == TRAINER_GROUPS_MIXED ? a.sizes[0] > a.sizes[1] : a.sizes[0] == least);
            assert_int_equal(a.sizes[1] % (size_t)k, 0);
            assert_int_equal(told.least, a.sizes[kind == TRAINER_GROUPS_MIXED]);
            assert_int_equal(told.most, a.sizes[kind == TRAINER_GROUPS_MIXED ? 0 : 2]);
            allocation_close(&a);
        }
}

/* Until pass rates are known, all groups have the same size and questions are asked in turn. */
static void groups_of_unknown_questions_are_equal(void **state)
{
    struct trainer_task task = ((struct place *)*state)->recipe.tasks[0];
    struct allocation a = {0};
    struct trainer_allocation told = {0};
    const struct allocation_plan plan = {1, 5, 4};
    task.pool = 7;
    task.questions = 4;
    task.sizes = TRAINER_GROUPS_SOLVED;
    assert_int_equal(allocation_open(&a, &task, NULL), TRAINER_OK);
    assert_int_equal(allocation_draw(&a, &task, &plan, &told, NULL), TRAINER_OK);
    for (int32_t q = 0; q < 4; q++) {
        assert_int_equal(a.sizes[q], 4);
        assert_int_equal(a.chosen[q], (5 + q) % 7);
    }
    allocation_close(&a);
}

/* Gives each question 40 earlier rows, `right` of them right, so that a run begins with known pass rates. */
static void know(struct allocation *a, const int64_t right[4])
{
    for (size_t q = 0; q < 4; q++) {
        a->asked[q] = 40;
        a->right[q] = right[q];
    }
}

/*
 * In the second iteration of a run, groups differ in size, but the number of rows is unchanged. grpo compares rows
 * within their group, and remax compares each row with the greedy answer to its own question.
 */
static void groups_of_differing_sizes_are_credited(void **state)
{
    const int64_t right[4] = {39, 20, 1, 10};
    const enum rl_algorithm_name names[] = {RL_ALGORITHM_GRPO, RL_ALGORITHM_REMAX};
    struct place *place = *state;
    place->recipe.tasks[0].pool = 4;
    place->recipe.tasks[0].sizes = TRAINER_GROUPS_SOLVED;
    for (size_t i = 0; i < 2; i++) {
        struct run *run = collected(place, names[i], names[i], 0);
        struct trainer_iteration metrics = {0};
        struct trainer_rollouts *r = run->rollouts;
        size_t n = r->n, groups = 0, differ = 0;
        know(&run->allocation[0], right);
        assert_int_equal(collect_and_credit(run, 1, &metrics, NULL), TRAINER_OK);
        assert_int_equal(r->n, n);
        for (size_t first = 0, end; r->task[first] == 0; first = end, groups++) {
            double mean = 0, sum = 0;
            for (end = first; r->group[end] == r->group[first]; end++) {
                assert_int_equal(r->number[end], groups);
                assert_true(r->episode[end].question == r->episode[first].question);
                assert_true(end == first || r->episode[end].noise != r->episode[first].noise);
                assert_near(r->baseline[end], r->baseline[first], 0);
                mean += r->reward[end];
                sum += (double)r->advantage[end * r->width + (size_t)r->prompt[end]];
            }
            assert_int_equal(end - first, run->allocation[0].sizes[groups]);
            mean /= (double)(end - first);
            differ += end - first != 4;
            if (names[i] == RL_ALGORITHM_GRPO)
                assert_near(sum, 0, 1e-5);
            else
                assert_near(sum / (double)(end - first), mean - r->baseline[first], 1e-5);
        }
        assert_int_equal(groups, 4);
        assert_true(differ >= 2);
        assert_int_equal(metrics.allocation.questions, 4);
        assert_true(metrics.allocation.least < 4 && metrics.allocation.most > 4);
        closed(run);
    }
}

/* The counts of a question are those of its latest visit. */
static void a_pools_pass_rates_are_the_last_seen(void **state)
{
    struct place *place = *state;
    size_t g = (size_t)place->recipe.training.group_size;
    place->recipe.tasks[0].pool = 6;
    place->recipe.tasks[0].hardness = 2;
    struct run *run = collected(place, RL_ALGORITHM_GRPO, RL_ALGORITHM_GRPO, 3);
    const struct trainer_rollouts *r = run->rollouts;
    const struct allocation *a = &run->allocation[0];
    int64_t asked = 0;
    for (size_t q = 0; q < 4; q++) {
        int64_t right = 0;
        for (size_t i = q * g; i < (q + 1) * g; i++) {
            assert_int_equal(r->number[i], a->chosen[q]);
            assert_true(r->episode[i].question == r->episode[q * g].question);
            right += r->reward[i] > 0;
        }
        assert_int_equal(a->asked[a->chosen[q]], g);
        assert_int_equal(a->right[a->chosen[q]], right);
    }
    for (size_t i = 0; i < 6; i++)
        asked += a->asked[i];
    assert_int_equal(asked, 4 * g);
    assert_int_equal(run->allocation[1].pool, 0);
    closed(run);
}

static void a_teacher_scores_what_the_learner_says(void **state)
{
    struct place *place = *state;
    struct run *run = collected(place, RL_ALGORITHM_GRPO, RL_ALGORITHM_OPD, 0);
    assert_scored(place, run->rollouts, 0, run->rollouts->log_prob, place->params);
    assert_scored(place, run->rollouts, 1, run->rollouts->log_prob, place->params);
    assert_scored(place, run->rollouts, 1, run->rollouts->reference, place->taught);
    closed(run);
}

static void a_source_says_what_the_learner_is_to_say(void **state)
{
    struct place *place = *state;
    struct run *run = collected(place, RL_ALGORITHM_SFT, RL_ALGORITHM_GRPO, 0);
    assert_scored(place, run->rollouts, 0, run->rollouts->log_prob, place->taught);
    assert_scored(place, run->rollouts, 1, run->rollouts->log_prob, place->params);
    closed(run);
}

static void the_start_scores_all_tasks(void **state)
{
    struct place *place = *state;
    place->recipe.loss.kl_coef = 0.1;
    struct run *run = collected(place, RL_ALGORITHM_SFT, RL_ALGORITHM_OPD, 0);
    assert_scored(place, run->rollouts, 0, run->rollouts->start, place->taught);
    assert_scored(place, run->rollouts, 1, run->rollouts->start, place->taught);
    closed(run);
}

/*
 * Copies a row and inserts the last hop's fact, OBS relation entity /OBS, after the prompt, if there is a fact and it
 * fits. Returns the number of inserted tokens.
 */
static size_t show(const struct trainer_rollouts *r, size_t row, int32_t *tokens, uint8_t *wanted)
{
    const struct trainer_episode *episode = &r->episode[row];
    size_t first = row * r->width, prompt = (size_t)r->prompt[row], length = (size_t)r->length[row];
    size_t n = r->task[row] == 0 && length + 4 <= r->width ? 4 : 0;
    const int32_t fact[4] = {TRAINER_OBS, TRAINER_N_MARKERS + episode->relations[episode->k - 1],
                             TRAINER_N_MARKERS + 6 + episode->path[episode->k], TRAINER_END_OBS};
    memcpy(tokens, r->tokens + first, prompt * sizeof *tokens);
    memcpy(tokens + prompt, fact, n * sizeof *tokens);
    memcpy(tokens + prompt + n, r->tokens + first + prompt, (length - prompt) * sizeof *tokens);
    memset(wanted, 0, prompt + n);
    memcpy(wanted + prompt + n, r->mask + first + prompt, length - prompt);
    return n;
}

static void a_policy_is_shown_the_last_fact(void **state)
{
    struct place *place = *state;
    struct run *run = collected(place, RL_ALGORITHM_OPSD, RL_ALGORITHM_OPSD, 0);
    const struct trainer_rollouts *r = run->rollouts;
    size_t shown_rows = 0;
    double difference = 0;
    for (size_t row = 0; row < r->n; row++) {
        int32_t tokens[256];
        uint8_t wanted[256];
        double expected[256];
        size_t first = row * r->width, n = show(r, row, tokens, wanted);
        score(place, place->params, tokens, wanted, (size_t)r->length[row] + n, expected);
        for (size_t t = 0; t < (size_t)r->length[row]; t++)
            if (r->mask[first + t]) {
                assert_near((double)r->reference[first + t], expected[t + n], 2e-5);
                difference += fabs(expected[t + n] - (double)r->log_prob[first + t]);
            }
        shown_rows += n > 0;
    }
    assert_true(shown_rows > 0 && difference > 0.1);
    closed(run);
}

/* The policy scores a worked solution of the row's question followed by the unchanged row. */
static void a_policy_is_shown_a_solution(void **state)
{
    struct place *place = *state;
    double difference = 0;
    for (int32_t task = 0; task < 2; task++)
        place->recipe.tasks[task].algorithm.distill.shown = TRAINER_SHOWN_DEMONSTRATION;
    struct run *run = collected(place, RL_ALGORITHM_OPSD, RL_ALGORITHM_OPSD, 0);
    const struct trainer_rollouts *r = run->rollouts;
    for (size_t row = 0; row < r->n; row++) {
        const struct trainer_env *env = &place->recipe.tasks[r->task[row]].env;
        size_t first = row * r->width, length = (size_t)r->length[row];
        int32_t tokens[256];
        uint8_t wanted[256] = {0};
        double expected[256];
        size_t n = trainer_env_solve(env, r->episode[row].question, tokens);
        memcpy(tokens + n, r->tokens + first, length * sizeof *tokens);
        memcpy(wanted + n, r->mask + first, length);
        score(place, place->params, tokens, wanted, n + length, expected);
        for (size_t t = 0; t < length; t++)
            if (r->mask[first + t]) {
                assert_near((double)r->reference[first + t], expected[t + n], 2e-5);
                difference += fabs(expected[t + n] - (double)r->log_prob[first + t]);
            }
    }
    assert_true(difference > 1);
    closed(run);
}

/*
 * The teacher of algorithm.distill scores rollouts as the teacher of opd or opsd does, while the algorithm still
 * computes advantages.
 */
static void a_teacher_beside_an_algorithm_scores(void **state)
{
    struct place *place = *state;
    struct trainer_distill *a = &place->recipe.tasks[0].algorithm.distill;
    a->how = place->recipe.tasks[1].algorithm.distill.how = TRAINER_DISTILL_ADVANTAGE;
    struct run *run = collected(place, RL_ALGORITHM_GRPO, RL_ALGORITHM_RLOO, 0);
    assert_scored(place, run->rollouts, 0, run->rollouts->reference, place->taught);
    assert_scored(place, run->rollouts, 1, run->rollouts->reference, place->taught);
    closed(run);
    a->teacher = TRAINER_TEACHER_POLICY;
    struct run *other = collected(place, RL_ALGORITHM_GRPO, RL_ALGORITHM_GRPO, 0);
    struct run *opsd = collected(place, RL_ALGORITHM_OPSD, RL_ALGORITHM_OPD, 0);
    for (size_t i = 0; i < other->rollouts->n * other->rollouts->width; i++)
        if (other->rollouts->mask[i])
            assert_true(other->rollouts->reference[i] == opsd->rollouts->reference[i]);
    closed(other);
    closed(opsd);
}

/* ---- questions ---- */

static bool is_among(uint64_t question, const struct trainer_rollouts *r, int32_t task)
{
    bool any = false;
    for (size_t row = 0; row < r->n; row++)
        any = any || (r->task[row] == task && r->episode[row].question == question);
    return any;
}

static void questions_are_new_in_every_iteration(void **state)
{
    struct place *place = *state;
    struct run *first = collected(place, RL_ALGORITHM_GRPO, RL_ALGORITHM_GRPO, 0);
    struct run *again = collected(place, RL_ALGORITHM_GRPO, RL_ALGORITHM_GRPO, 0);
    struct run *second = collected(place, RL_ALGORITHM_GRPO, RL_ALGORITHM_GRPO, 1);
    const struct trainer_rollouts *r = first->rollouts;
    assert_int_equal(r->n, 4 * 4 + 3 * 4);
    for (size_t row = 0; row < r->n; row++) {
        assert_int_equal(r->task[row], row >= 16);
        assert_int_equal(r->group[row], (int64_t)(row >= 16) << 32 | (int64_t)((row % 16) / 4));
        assert_true(is_among(r->episode[row].question, again->rollouts, r->task[row]));
        for (int32_t task = 0; task < 2; task++)
            assert_false(is_among(r->episode[row].question, second->rollouts, task));
        assert_false(is_among(r->episode[row].question, r, 1 - r->task[row]));
    }
    closed(first);
    closed(again);
    closed(second);
}

static struct trainer_rollouts *evaluated(const struct place *place, uint64_t seed, double *score)
{
    struct trainer_rollouts *r = rollouts_new(evaluate_rows(&place->recipe), (size_t)place->recipe.model.max_tokens);
    struct sampler sampler;
    assert_int_equal(sampler_open(&sampler, &place->recipe, 1, NULL), TRAINER_OK);
    assert_int_equal(evaluate_once(&sampler, r, place->taught, seed, 1, score, NULL, NULL), TRAINER_OK);
    sampler_close(&sampler);
    return r;
}

/* The recipe's seed changes the training questions but not those of the evaluation. */
static void evaluations_ask_the_same_questions(void **state)
{
    struct place *place = *state;
    double a_score, b_score, right = 0;
    struct trainer_rollouts *a = evaluated(place, 1, &a_score);
    place->recipe.seed = 99;
    struct trainer_rollouts *b = evaluated(place, 2, &b_score);
    assert_int_equal(a->n, 32);
    for (size_t row = 0; row < a->n; row++) {
        assert_true(a->episode[row].question == b->episode[row].question);
        assert_true(a->episode[row].noise != b->episode[row].noise);
        assert_int_equal(a->task[row], row >= 16);
        for (size_t other = 0; other < row; other++)
            assert_true(a->episode[row].question != a->episode[other].question);
        right += a->reward[row];
    }
    assert_near(a_score, right / 32, 1e-12);
    place->recipe.evaluation.question_seed++;
    struct trainer_rollouts *c = evaluated(place, 1, &b_score);
    assert_true(c->episode[0].question != a->episode[0].question);
    trainer_rollouts_free(a);
    trainer_rollouts_free(b);
    trainer_rollouts_free(c);
}

/* ---- rollouts beside those that are trained on ---- */

/* Collects rollouts with the weights of the teacher, which is right more often. */
static struct run *taught(struct place *place, enum rl_algorithm_name a, enum rl_algorithm_name b)
{
    float *kept = place->params;
    place->params = place->taught;
    struct run *run = collected(place, a, b, 1);
    place->params = kept;
    return run;
}

/* Each row of a group is compared with the greedy answer to the same question with the same noise. */
static void remax_compares_with_the_greedy_answer(void **state)
{
    struct place *place = *state;
    const struct trainer_env *env = &place->recipe.tasks[0].env;
    size_t right = 0, answered = 0;
    place->recipe.tasks[0].questions = 20;
    struct run *run = taught(place, RL_ALGORITHM_REMAX, RL_ALGORITHM_GRPO);
    const struct trainer_rollouts *r = run->rollouts, *greedy = run->side;
    struct trainer_rollouts *again = rollouts_new(20, r->width);
    struct sampler_job job = {.rollouts = again, .params = {run->learner.params}};
    assert_int_equal(greedy->n, 20);
    for (size_t q = 0; q < 20; q++)
        rollouts_add_continued(again, env, greedy, q, (size_t)greedy->prompt[q], greedy->episode[q].noise);
    assert_int_equal(sampler_play(&run->sampler, &job, NULL), TRAINER_OK);
    for (size_t i = 0; i < r->n; i++) {
        size_t q = i / 4, at = i * r->width;
        assert_true(i < 80 || r->baseline[i] == 0);
        if (i >= 80)
            continue;
        assert_true(r->episode[i].question == greedy->episode[q].question);
        assert_true(r->episode[i].noise != greedy->episode[q].noise);
        assert_memory_equal(again->tokens + q * r->width, greedy->tokens + q * r->width,
                            (size_t)again->length[q] * sizeof *again->tokens);
        assert_true(r->baseline[i] == again->reward[q]);
        right += r->baseline[i] > 0;
        answered++;
        for (size_t t = at; t < at + (size_t)r->length[i]; t++)
            if (r->mask[t])
                assert_near((double)r->advantage[t], r->reward[i] - r->baseline[i], 1e-6);
    }
    assert_true(right > 0 && right < answered);
    trainer_rollouts_free(again);
    closed(run);
}

/* Returns true if two rows have the same first n tokens. */
static bool alike(const struct trainer_rollouts *r, size_t a, size_t b, int32_t n)
{
    return r->length[a] >= n && r->length[b] >= n &&
           memcmp(r->tokens + a * r->width, r->tokens + b * r->width, (size_t)n * sizeof *r->tokens) == 0 &&
           memcmp(r->log_prob + a * r->width, r->log_prob + b * r->width, (size_t)n * sizeof *r->log_prob) == 0;
}

static void episodes_branch_behind_their_turns(void **state)
{
    struct place *place = *state;
    for (int32_t turns = 1; turns <= 2; turns++) {
        size_t branched = 0, whole = 0, differ = 0;
        place->recipe.tasks[0].questions = 20;
        place->recipe.training.group_size = 6;
        place->recipe.tasks[0].algorithm.hierarchy.branches = 3;
        place->recipe.tasks[0].algorithm.hierarchy.turns = turns;
        struct run *run = taught(place, RL_ALGORITHM_HIERARCHICAL_GRPO, RL_ALGORITHM_GRPO);
        const struct trainer_rollouts *r = run->rollouts;
        assert_int_equal(r->n, 20 * 6 + 3 * 6);
        for (size_t i = 0; i < 20 * 6; i++) {
            size_t first = i / 3 * 3;
            bool over = r->n_shared[i] > r->n_turns[i];
            assert_int_equal(r->branch_of[i], first);
            assert_true(r->group[i] == r->group[i / 6 * 6] && r->episode[i].done);
            assert_true(over || r->n_shared[i] == turns);
            assert_true(alike(r, i, first, over ? r->length[i] : r->boundary[i * ROLLOUT_VALUES + (size_t)turns]));
            branched += !over;
            whole += over;
            differ += !over && !alike(r, i, first, r->length[i]);
        }
        assert_int_equal(run->side->n, 40);
        assert_true(branched > 10 && whole > 10 && differ > 5);
        closed(run);
    }
}

/* Each prefix gets the requested number of continuations, and its value is the share of them that is right. */
static void continuations_value_a_prefix(void **state)
{
    struct place *place = *state;
    enum { K = 5 };
    double within = 0, differ = 0, seen = 0;
    place->recipe.tasks[0].algorithm.prefix.value = TRAINER_PREFIX_CONTINUATIONS;
    place->recipe.tasks[0].algorithm.prefix.continuations = K;
    struct run *run = taught(place, RL_ALGORITHM_VINEPPO, RL_ALGORITHM_JOINT);
    place->recipe.tasks[0].algorithm.prefix.value = TRAINER_PREFIX_POLICY;
    struct run *plain = taught(place, RL_ALGORITHM_GRPO, RL_ALGORITHM_JOINT);
    const struct trainer_rollouts *r = run->rollouts;
    struct trainer_rollouts *again = rollouts_new(K, r->width);
    for (size_t row = 0; row < r->n; row++)
        for (int32_t b = 0; b <= r->n_turns[row]; b++) {
            size_t at = row * ROLLOUT_VALUES + (size_t)b, right = 0;
            struct sampler_job job = {.rollouts = again, .params = {run->learner.params}, .temperature = 1};
            if (r->task[row] == 1) {
                assert_true(r->value[at] == plain->rollouts->value[at]);
                continue;
            }
            again->n = 0;
            for (uint64_t k = 0; k < K; k++)
                rollouts_add_continued(again, &place->recipe.tasks[0].env, r, row, (size_t)r->boundary[at],
                                       trainer_seed(trainer_seed(place->recipe.seed, 'v', 1), 'c', at * K + k));
            assert_int_equal(sampler_play(&run->sampler, &job, NULL), TRAINER_OK);
            for (size_t k = 0; k < K; k++)
                right += again->reward[k] > 0;
            assert_near(r->value[at], (double)right / K, 1e-12);
            within += right > 0 && right < K;
            differ += fabs(r->value[at] - plain->rollouts->value[at]) > 1e-6;
            seen++;
        }
    if (!(within > 0 && differ > seen / 4))
        fail_msg("%g of %g prefixes are certain neither way, %g differ", within, seen, differ);
    trainer_rollouts_free(again);
    closed(run);
    closed(plain);
}

static void one_question_is_enough(void **state)
{
    struct place *place = *state;
    place->recipe.tasks[0].questions = 1;
    place->recipe.tasks[1].questions = 1;
    struct run *run = collected(place, RL_ALGORITHM_GRPO, RL_ALGORITHM_GRPO, 0);
    assert_int_equal(run->rollouts->n, 8);
    closed(run);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, renew_recipe)
    const struct CMUnitTest tests[] = {
        TEST(hard_questions_are_drawn_more_often),
        TEST(questions_are_dropped_by_their_pass_rate),
        TEST(groups_are_as_large_as_is_best),
        TEST(groups_of_unknown_questions_are_equal),
        TEST(groups_of_differing_sizes_are_credited),
        TEST(a_pools_pass_rates_are_the_last_seen),
        TEST(a_teacher_scores_what_the_learner_says),
        TEST(a_source_says_what_the_learner_is_to_say),
        TEST(the_start_scores_all_tasks),
        TEST(a_policy_is_shown_the_last_fact),
        TEST(a_policy_is_shown_a_solution),
        TEST(a_teacher_beside_an_algorithm_scores),
        TEST(questions_are_new_in_every_iteration),
        TEST(iterations_cycle_through_a_pool),
        TEST(evaluations_ask_the_same_questions),
        TEST(one_question_is_enough),
        TEST(remax_compares_with_the_greedy_answer),
        TEST(continuations_value_a_prefix),
        TEST(episodes_branch_behind_their_turns),
    };
    return cmocka_run_group_tests(tests, open_place, close_place);
}
