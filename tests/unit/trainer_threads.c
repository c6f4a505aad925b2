/*
 * trainer_threads.c: tests that a run by several threads has the same events and the same checkpoint as a run by one, bit for bit,
 * for every algorithm and option.
 */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/files.h"
#include "support/forked_run.h"
#include "support/small_recipe.h"
#include "support/warm_place.h"
#include "recipe/recipe_needs.h"

/* ---- a policy to start from ---- */

/*
 * The recipe has three lanes of rollouts and five chunks of a minibatch, so that each of two or three threads has work.
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

/* ---- the same by any number of threads ---- */

static void assert_same(const struct run_outcome *a, const struct run_outcome *b, const char *what, int threads)
{
    if (b->status != TRAINER_OK)
        fail_msg("%s, %d threads: %s", what, threads, b->error);
    if (strcmp(a->story, b->story) != 0)
        fail_msg("%s, %d threads: another story:\n%s\n%s", what, threads, a->story, b->story);
    if (a->checkpoint_size != b->checkpoint_size || !b->checkpoint ||
        memcmp(a->checkpoint, b->checkpoint, a->checkpoint_size) != 0)
        fail_msg("%s, %d threads: another checkpoint", what, threads);
}

/* Compares runs with these numbers of threads with a run of one. */
static void assert_equal_by(const struct trainer_recipe *given, const int *threads, size_t n, const char *what)
{
    struct trainer_recipe recipe = *given;
    const struct run_plan plan = {0};
    recipe.threads = 1;
    struct run_outcome alone = run_forked(&recipe, &plan);
    if (alone.status != TRAINER_OK)
        fail_msg("%s: %s", what, alone.error);
    for (size_t i = 0; i < n; i++) {
        recipe.threads = threads[i];
        struct run_outcome shared = run_forked(&recipe, &plan);
        assert_same(&alone, &shared, what, threads[i]);
        run_outcome_release(&shared);
    }
    run_outcome_release(&alone);
}

static void assert_equal(const struct trainer_recipe *recipe, const char *what)
{
    const int threads[] = {3};
    assert_equal_by(recipe, threads, 1, what);
}

/* For what differs in its advantages or its loss alone: 2, 3 or 4 threads by its place among others, and an evaluation of
 * no importance. */
static void assert_equal_by_place(struct trainer_recipe recipe, int place, const char *what)
{
    recipe.evaluation.questions = 20;
    check_recipe(&recipe);
    assert_equal_by(&recipe, (const int[]){2 + place % 3}, 1, what);
}

static void any_number_of_threads_gives_the_same(void **state)
{
    struct trainer_recipe recipe = wide_recipe(*state);
    const int sizes[] = {2, 3, 5};
    assert_equal_by(&recipe, sizes, sizeof sizes / sizeof *sizes, "wide");
    recipe = small_recipe(TRAINER_REVERSE); /* has fewer lanes and chunks than there are threads */
    recipe.warm_start.steps = 3;
    assert_equal_by(&recipe, sizes, sizeof sizes / sizeof *sizes, "narrow");
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
 * The second run has memory for two passes of the smallest size, so most chunks repeat their forward
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

/* One task has three lanes. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads_gives_the_same),
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
    };
    return cmocka_run_group_tests(tests, open_warm_place, close_warm_place);
}
