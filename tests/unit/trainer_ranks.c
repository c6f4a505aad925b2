/*
 * trainer_ranks.c: tests that a run by several processes has the same events and the same checkpoint as a run by one,
 * bit for bit, for every algorithm and option; and how such a run fails.
 */
#include "support/unit.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/files.h"
#include "support/forked_ranks.h"
#include "support/ordered_sum.h"
#include "support/ranks.h"
#include "support/small_recipe.h"
#include "support/warm_place.h"
#include "recipe/recipe_needs.h"

/* ---- a policy to start from ---- */

/*
 * The recipe has three lanes of rollouts and five chunks of a minibatch, so that each of two, three or four ranks has
 * work.
 */
static struct trainer_recipe wide_recipe(const struct warm_place *place)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    strcpy(recipe.checkpoint, place->warm);
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_TURN_GROUP_V1D;
    recipe.tasks[0].questions = 40;
    recipe.training.iterations = 2;
    recipe.training.minibatch = 88;
    recipe.evaluation.questions = 150;
    recipe.evaluation.every = 1;
    check_recipe(&recipe);
    return recipe;
}

/* Returns a recipe with the environments hopworld and reverse. */
static struct trainer_recipe mixed_recipe(const struct warm_place *place, enum rl_algorithm_name a, enum rl_algorithm_name b)
{
    struct trainer_recipe recipe = wide_recipe(place);
    add_reverse(&recipe, a, b, place->warm);
    return recipe;
}

/* ---- the same by any number of processes ---- */

static void assert_same(const struct rank_outcome *a, const struct rank_outcome *b, const char *what, int size)
{
    if (b->status != TRAINER_OK || !b->agree)
        fail_msg("%s, %d ranks: %s", what, size, b->error);
    if (strcmp(a->story, b->story) != 0)
        fail_msg("%s, %d ranks: another story:\n%s\n%s", what, size, a->story, b->story);
    if (a->checkpoint_size != b->checkpoint_size || !b->checkpoint ||
        memcmp(a->checkpoint, b->checkpoint, a->checkpoint_size) != 0)
        fail_msg("%s, %d ranks: another checkpoint", what, size);
}

/* Compares runs with a communicator of each of these sizes with a run without a communicator. */
static void assert_equal_by(const struct trainer_recipe *recipe, const int *sizes, size_t n, const char *what)
{
    struct rank_plan plan = {0};
    struct rank_outcome alone = run_ranks(recipe, &plan);
    if (alone.status != TRAINER_OK)
        fail_msg("%s: %s", what, alone.error);
    for (size_t i = 0; i < n; i++) {
        plan.size = sizes[i];
        struct rank_outcome shared = run_ranks(recipe, &plan);
        assert_same(&alone, &shared, what, sizes[i]);
        rank_outcome_release(&shared);
    }
    rank_outcome_release(&alone);
}

static void assert_equal(const struct trainer_recipe *recipe, const char *what)
{
    const int sizes[] = {2, 4};
    assert_equal_by(recipe, sizes, 2, what);
}

/* For what differs in its advantages or its loss alone: one of the sizes 2, 3 and 4 by its place among others, and an evaluation of
 * no importance. */
static void assert_equal_by_place(struct trainer_recipe recipe, int place, const char *what)
{
    recipe.evaluation.questions = 20;
    check_recipe(&recipe);
    assert_equal_by(&recipe, (const int[]){2 + place % 3}, 1, what);
}

static void any_number_of_ranks_gives_the_same(void **state)
{
    struct trainer_recipe recipe = wide_recipe(*state);
    const int sizes[] = {1, 2, 3, 4, 5, 7};
    assert_equal_by(&recipe, sizes, sizeof sizes / sizeof *sizes, "wide");
    recipe = small_recipe(TRAINER_REVERSE); /* has fewer lanes and chunks than there are ranks */
    recipe.warm_start.steps = 3;
    assert_equal_by(&recipe, sizes, sizeof sizes / sizeof *sizes, "narrow");
}

static void threads_may_differ_between_ranks(void **state)
{
    const int32_t threads[][3] = {{3, 1, 2}, {2, 2, 2}};
    struct trainer_recipe recipe = mixed_recipe(*state, RL_ALGORITHM_JOINT, RL_ALGORITHM_OPSD);
    struct rank_plan plan = {0};
    struct rank_outcome alone = run_ranks(&recipe, &plan);
    for (size_t i = 0; i < 2; i++) {
        plan = (struct rank_plan){.size = 3, .threads = threads[i]};
        struct rank_outcome shared = run_ranks(&recipe, &plan);
        assert_same(&alone, &shared, "threads", 3);
        rank_outcome_release(&shared);
    }
    rank_outcome_release(&alone);
}

static void every_algorithm_gives_the_same(void **state)
{
    const struct warm_place *place = *state;
    struct trainer_recipe recipe = wide_recipe(place);
    for (enum rl_algorithm_name name = 0; name < RL_N_ALGORITHMS; name++) {
        struct trainer_algorithm *a = &recipe.tasks[0].algorithm;
        bool taught = name == RL_ALGORITHM_OPD || name == RL_ALGORITHM_SFT;
        if (name == RL_ALGORITHM_CUSTOM)
            continue; /* it needs a data set (trainer_data.c) */
        a->name = name;
        a->length_penalty = (enum trainer_length_penalty)(name % 4);
        strcpy(a->teacher, taught ? place->warm : "");
        assert_equal_by_place(recipe, (int)name, rl_algorithm_at(name)->name);
    }
}

static void every_loss_gives_the_same(void **state)
{
    struct trainer_recipe recipe = wide_recipe(*state);
    for (enum trainer_loss_name name = 0; name < TRAINER_N_LOSSES; name++) {
        bool stream = name == TRAINER_LOSS_DPPO || name == TRAINER_LOSS_IPO;
        char what[32];
        snprintf(what, sizeof what, "loss %d", (int)name);
        recipe.loss.name = name;
        recipe.loss.dro.beta = name == TRAINER_LOSS_DRO ? 0.1 : 0;
        recipe.loss.aggregation = stream ? TRAINER_TOKEN_MEAN : (enum trainer_aggregation)(name % 4);
        recipe.loss.kl_coef = name % 2 ? 0.1 : 0;
        recipe.tasks[0].algorithm.beta = recipe_loss_clips(name) ? 0.3 : 0;
        assert_equal_by_place(recipe, (int)name, what);
    }
}

static void other_samplers_give_the_same(void **state)
{
    struct trainer_recipe recipe = wide_recipe(*state);
    recipe.training.iterations = 4;
    for (int correction = 0; correction < 3; correction++) {
        bool rejects = correction == TRAINER_CORRECTION_DECOUPLED;
        recipe.sampler.precision = (enum trainer_precision)correction;
        recipe.sampler.staleness = correction;
        recipe.sampler.max_staleness = rejects ? 1 : -1;
        recipe.training.temperature = rejects ? 1 : 0.9;
        recipe.correction.name = (enum trainer_correction_name)correction;
        recipe.correction.sequence_level = rejects;
        strcpy(recipe.correction.reject, rejects ? "token_k1,seq_mean_k3" : "");
        strcpy(recipe.correction.reject_threshold, rejects ? "0.9_1.1,0.05" : "");
        check_recipe(&recipe);
        assert_equal(&recipe, "sampler");
    }
}

static void warm_starts_give_the_same(void **state)
{
    (void)state;
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    recipe.warm_start.steps = 10;
    recipe.warm_start.batch = 50;
    recipe.tasks[0].algorithm.gain = TRAINER_GAIN_LOG_PROB;
    check_recipe(&recipe);
    assert_equal(&recipe, "warm start with Muon");
    recipe.warm_start.matrix_rate = 0;
    recipe.training.weight_decay = 0.1;
    recipe.training.warmup = 3;
    recipe.training.final_rate = 0.1;
    assert_equal(&recipe, "warm start with AdamW");
    recipe.model.experts = 4;
    recipe.warm_start.matrix_rate = 0.02;
    check_recipe(&recipe);
    assert_equal(&recipe, "experts");
    for (int replay = TRAINER_REPLAY_R2; replay <= TRAINER_REPLAY_R3; replay++) {
        recipe.replay = (enum trainer_replay)replay;
        recipe.sampler.precision = TRAINER_INT8;
        check_recipe(&recipe);
        assert_equal(&recipe, "route replay");
    }
}

/*
 * The second run has memory for two passes of the smallest size, so most chunks of every rank repeat their forward
 * pass.
 */
static void packed_micro_batches_give_the_same(void **state)
{
    struct trainer_recipe recipe = wide_recipe(*state);
    size_t least = (size_t)recipe.model.max_tokens;
    recipe.micro_batch.tokens = (int32_t)least;
    check_recipe(&recipe);
    assert_equal(&recipe, "packed");
    recipe.micro_batch.activation_bytes = 2.5 * (double)trainer_pass_bytesf(&recipe.model, least, least);
    check_recipe(&recipe);
    assert_equal(&recipe, "packed within a budget");
}

static void environments_beside_each_other_give_the_same(void **state)
{
    const enum rl_algorithm_name pairs[][2] = {{RL_ALGORITHM_TURN_GROUP_V1D, RL_ALGORITHM_GRPO},
                                               {RL_ALGORITHM_ECHO, RL_ALGORITHM_SFT},
                                               {RL_ALGORITHM_RAE, RL_ALGORITHM_OPD},
                                               {RL_ALGORITHM_ADCA, RL_ALGORITHM_OPSD}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct trainer_recipe recipe = mixed_recipe(*state, pairs[i][0], pairs[i][1]);
        recipe.training.iterations = 1;
        assert_equal(&recipe, rl_algorithm_at(pairs[i][0])->name);
    }
}

/* grpo has a teacher of either kind for rows that fail, and the other task uses opsd with worked solutions. */
static void teachers_beside_an_algorithm_give_the_same(void **state)
{
    const struct warm_place *place = *state;
    for (int how = TRAINER_DISTILL_ADVANTAGE; how <= TRAINER_DISTILL_LOSS; how++) {
        struct trainer_recipe recipe = mixed_recipe(place, RL_ALGORITHM_GRPO, RL_ALGORITHM_OPSD);
        bool loss = how == TRAINER_DISTILL_LOSS;
        recipe.tasks[0].algorithm.distill =
            (struct trainer_distill){.how = (enum trainer_distill_how)how,
                                     .teacher = loss ? TRAINER_TEACHER_POLICY : TRAINER_TEACHER_CHECKPOINT,
                                     .pass_rate = 0.8,
                                     .horizon = 12,
                                     .normalise = true,
                                     .coef = 0.5};
        recipe.tasks[0].algorithm.passk.k = 2;
        recipe.training.iterations = 2;
        check_recipe(&recipe);
        assert_equal(&recipe, loss ? "K2" : "K1");
    }
}

/* There are more continuations than rows, so they are played in several rounds. */
static void continuations_give_the_same(void **state)
{
    struct trainer_recipe recipe = mixed_recipe(*state, RL_ALGORITHM_VINEPPO, RL_ALGORITHM_GRPO);
    recipe.tasks[0].algorithm.prefix.value = TRAINER_PREFIX_CONTINUATIONS;
    recipe.tasks[0].algorithm.prefix.continuations = 3;
    recipe.training.iterations = 2;
    check_recipe(&recipe);
    assert_equal(&recipe, "continuations");
}

static void marked_episodes_give_the_same(void **state)
{
    struct trainer_recipe recipe = mixed_recipe(*state, RL_ALGORITHM_VINEPPO, RL_ALGORITHM_JOINT);
    strcpy(recipe.tasks[0].algorithm.episodes.markers, "OBS,ANS");
    check_recipe(&recipe);
    assert_equal(&recipe, "markers");
}

static void an_adaptive_alpha_gives_the_same(void **state)
{
    struct trainer_recipe recipe = wide_recipe(*state);
    recipe.tasks[0].algorithm.schedule.kind = TRAINER_ADAPTIVE;
    check_recipe(&recipe);
    assert_equal(&recipe, "alpha");
}

/* One task has three lanes. The rows of a rank need not end at the end of a group. */
static void groups_of_differing_sizes_give_the_same(void **state)
{
    struct trainer_recipe recipe = wide_recipe(*state);
    recipe.tasks[0].pool = 40;
    recipe.tasks[0].sizes = TRAINER_GROUPS_MIXED;
    recipe.tasks[0].algorithm.length_penalty = TRAINER_LENGTH_ANCHOR;
    recipe.training.iterations = 3;
    check_recipe(&recipe);
    assert_equal(&recipe, "groups");
}

/* Checkpoints of plain recipes have sequences too short for solutions, so this run warm-starts its own policy. */
static void shown_solutions_give_the_same(void **state)
{
    (void)state;
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    recipe.warm_start.steps = 6;
    recipe.warm_start.shown = 0.5;
    recipe.tasks[0].questions = 40;
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_OPSD;
    recipe.tasks[0].algorithm.distill.shown = TRAINER_SHOWN_DEMONSTRATION;
    recipe.training.minibatch = 88;
    recipe.training.iterations = 1;
    check_recipe(&recipe);
    assert_equal(&recipe, "a solution");
}

static void a_judge_is_asked_once_for_all(void **state)
{
    struct trainer_recipe recipe = wide_recipe(*state);
    trainer_algorithm_init(&recipe.tasks[0].algorithm, RL_ALGORITHM_ADCA);
    recipe.training.iterations = 3;
    recipe.judge.skip = TRAINER_JUDGE_ALL;
    recipe.judge.max_failed_share = 0.5;
    strcpy(recipe.judge.endpoint, "http://127.0.0.1:1/v1");
    strcpy(recipe.judge.model, "nobody");
    check_recipe(&recipe);
    assert_equal(&recipe, "judge");
}

/* ---- failing ---- */

static void assert_all_fail(const struct trainer_recipe *recipe, const struct rank_plan *plan, enum trainer_status expected,
                            const char *why)
{
    struct rank_outcome outcome = run_ranks(recipe, plan);
    assert_int_equal(outcome.status, expected);
    assert_true(outcome.agree);
    if (!strstr(outcome.error, why) || !strstr(outcome.other, why))
        fail_msg("'%s' and '%s', not '%s'", outcome.error, outcome.other, why);
    assert_null(outcome.checkpoint);
    rank_outcome_release(&outcome);
}

/* All processes report the error of the one that failed, with the same message. */
static void an_overflow_fails_on_every_rank(void **state)
{
    struct trainer_recipe recipe = wide_recipe(*state);
    struct rank_plan plan = {0};
    recipe.training.learning_rate = NAN;
    struct rank_outcome alone = run_ranks(&recipe, &plan);
    plan.size = 3;
    assert_all_fail(&recipe, &plan, TRAINER_ENUMERIC, alone.error);
    rank_outcome_release(&alone);
}

static void rank_0_reports_a_missing_file(void **state)
{
    struct trainer_recipe recipe = wide_recipe(*state);
    const struct rank_plan plan = {.size = 3};
    strcat(recipe.checkpoint, "-not");
    assert_all_fail(&recipe, &plan, TRAINER_ENOTFOUND, "no such checkpoint");
}

static void ranks_of_other_recipes_are_refused(void **state)
{
    struct trainer_recipe recipe = wide_recipe(*state);
    const struct rank_plan plan = {.size = 3, .odd_seed = 2};
    assert_all_fail(&recipe, &plan, TRAINER_EINVAL, "rank 2: recipe");
}

static void a_callback_stops_all_ranks(void **state)
{
    struct trainer_recipe recipe = wide_recipe(*state);
    const struct rank_plan plan = {.size = 4, .stop_at = 1};
    assert_all_fail(&recipe, &plan, TRAINER_ESTOPPED, "stopped at step 1 of 2");
}

/* The other ranks notice that the failed rank's sockets are closed. */
static void a_communicator_that_fails_ends_the_run(void **state)
{
    struct trainer_recipe recipe = wide_recipe(*state);
    const struct rank_plan plan = {.size = 3, .fails = 1};
    assert_all_fail(&recipe, &plan, TRAINER_ELOST, "cannot be reached");
}

static void ranks_that_cannot_be_are_refused(void **state)
{
    const struct trainer_recipe recipe = wide_recipe(*state);
    const int wrong[][2] = {{0, 0}, {-1, 2}, {2, 2}, {0, TRAINER_RANKS_MAX + 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct trainer_error err;
        const struct trainer_comm comm = {.rank = wrong[i][0], .size = wrong[i][1]};
        const struct trainer_process process = {.comm = &comm};
        assert_int_equal(trainer_run_process(&recipe, NULL, &process, &err), TRAINER_EINVAL);
    }
}

/* ---- the sum by itself ---- */

enum { LANES = 4, LENGTH = 40000, MOST = 6 };

/* Messages between threads: one slot for each pair. A sender waits until the receiver has taken its message. */
struct exchange {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    const void *bytes[MOST][MOST];
};

struct member {
    struct exchange *exchange;
    int rank, size;
    float *lanes; /* [LANES][LENGTH]; the lanes of other ranks are NaN */
};

static bool hand_over(void *context, int to, const void *bytes, size_t n)
{
    struct member *m = context;
    const void **slot = &m->exchange->bytes[m->rank][to];
    (void)n;
    pthread_mutex_lock(&m->exchange->lock);
    *slot = bytes;
    pthread_cond_broadcast(&m->exchange->moved);
    while (*slot)
        pthread_cond_wait(&m->exchange->moved, &m->exchange->lock);
    pthread_mutex_unlock(&m->exchange->lock);
    return true;
}

static bool take_over(void *context, int from, void *bytes, size_t n)
{
    struct member *m = context;
    const void **slot = &m->exchange->bytes[from][m->rank];
    pthread_mutex_lock(&m->exchange->lock);
    while (!*slot)
        pthread_cond_wait(&m->exchange->moved, &m->exchange->lock);
    memcpy(bytes, *slot, n);
    *slot = NULL;
    pthread_cond_broadcast(&m->exchange->moved);
    pthread_mutex_unlock(&m->exchange->lock);
    return true;
}

static bool tell_all(void *context, int from, void *bytes, size_t n)
{
    struct member *m = context;
    if (m->rank != from)
        return n == 0 || take_over(context, from, bytes, n);
    for (int to = 0; to < m->size && n > 0; to++)
        if (to != from)
            hand_over(context, to, bytes, n);
    return true;
}

static bool tell_each(void *context, void *bytes, const size_t *start)
{
    const struct member *m = context;
    for (int r = 0; r < m->size; r++)
        tell_all(context, r, (char *)bytes + start[r], start[r + 1] - start[r]);
    return true;
}

static void *sum_as_member(void *argument)
{
    struct member *m = argument;
    struct trainer_comm comm = {m->rank, m->size, m, tell_all, tell_each, hand_over, take_over};
    struct ranks ranks = {.comm = &comm};
    struct trainer_error err;
    enum trainer_status status = ordered_sum(&ranks, LANES, LENGTH, m->lanes, &err);
    return status == TRAINER_OK ? m : NULL;
}

/* Returns numbers of such different sizes that adding them in another order gives another sum. */
static float number(size_t lane, size_t i)
{
    return sinf((float)(lane * LENGTH + i)) * powf(10, (float)((lane * 7 + i) % 9));
}

static void a_sum_keeps_its_order(void **state)
{
    (void)state;
    static float lanes[MOST][LANES * LENGTH], expected[LENGTH], backwards[LENGTH];
    for (size_t i = 0; i < LENGTH; i++) {
        expected[i] = number(0, i);
        backwards[i] = number(LANES - 1, i);
        for (size_t lane = 1; lane < LANES; lane++) {
            expected[i] += number(lane, i);
            backwards[i] += number(LANES - 1 - lane, i);
        }
    }
    assert_memory_not_equal(expected, backwards, sizeof expected); /* order matters here */
    for (int size = 1; size <= MOST; size++) {
        struct exchange exchange = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
        struct member members[MOST];
        pthread_t threads[MOST];
        for (int r = 0; r < size; r++) {
            size_t first, end;
            struct trainer_comm comm = {.rank = r, .size = size};
            struct ranks ranks = {.comm = &comm};
            ranks_lanes(&ranks, LANES, r, &first, &end);
            for (size_t at = 0; at < LANES * (size_t)LENGTH; at++)
                lanes[r][at] = at / LENGTH >= first && at / LENGTH < end ? number(at / LENGTH, at % LENGTH) : NAN;
            members[r] = (struct member){&exchange, r, size, lanes[r]};
        }
        for (int r = 0; r < size; r++)
            assert_int_equal(pthread_create(&threads[r], NULL, sum_as_member, &members[r]), 0);
        for (int r = 0; r < size; r++) {
            void *well;
            pthread_join(threads[r], &well);
            assert_non_null(well);
            assert_memory_equal(lanes[r], expected, sizeof expected);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_keeps_its_order),
        cmocka_unit_test(any_number_of_ranks_gives_the_same),
        cmocka_unit_test(threads_may_differ_between_ranks),
        cmocka_unit_test(every_algorithm_gives_the_same),
        cmocka_unit_test(every_loss_gives_the_same),
        cmocka_unit_test(other_samplers_give_the_same),
        cmocka_unit_test(warm_starts_give_the_same),
        cmocka_unit_test(packed_micro_batches_give_the_same),
        cmocka_unit_test(environments_beside_each_other_give_the_same),
        cmocka_unit_test(teachers_beside_an_algorithm_give_the_same),
        cmocka_unit_test(shown_solutions_give_the_same),
        cmocka_unit_test(continuations_give_the_same),
        cmocka_unit_test(marked_episodes_give_the_same),
        cmocka_unit_test(an_adaptive_alpha_gives_the_same),
        cmocka_unit_test(groups_of_differing_sizes_give_the_same),
        cmocka_unit_test(a_judge_is_asked_once_for_all),
        cmocka_unit_test(an_overflow_fails_on_every_rank),
        cmocka_unit_test(rank_0_reports_a_missing_file),
        cmocka_unit_test(ranks_of_other_recipes_are_refused),
        cmocka_unit_test(a_callback_stops_all_ranks),
        cmocka_unit_test(a_communicator_that_fails_ends_the_run),
        cmocka_unit_test(ranks_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, open_warm_place, close_warm_place);
}
