/*
 * trainer_episodes.c: tests rollouts that are cut by markers into episodes: where they are cut, which tokens then get
 * credit, and how training changes.
 */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rollout/sampler.h"
#include "support/files.h"
#include "support/small_recipe.h"

/* ---- a row made by hand ---- */

enum { PROMPT = 4, WIDTH = 40 };

/* The prompt Q e0 r0 /Q, then two searches with the tool's answers, and the final answer. */
static const char tokens_of_row[] = "Q e0 r0 /Q S e0 r0 /S OBS r0 e1 r1 e2 /OBS S e1 r1 /S OBS NONE /OBS ANS e1";
static const char written[] = "....wwww......wwww...ww";

static int32_t token_named(const struct trainer_world *world, const char *name)
{
    char text[16];
    for (int32_t i = 0; i < trainer_world_tokens(world); i++) {
        trainer_token_text(world, i, text);
        if (strcmp(text, name) == 0)
            return i;
    }
    fail_msg("no token %s", name);
    return -1;
}

static struct trainer_rollouts *one_row(const struct trainer_recipe *recipe)
{
    struct trainer_rollouts *r = rollouts_new(1, WIDTH);
    char text[sizeof tokens_of_row], *left = text;
    strcpy(text, tokens_of_row);
    r->n = 1;
    r->task[0] = 0;
    r->prompt[0] = r->boundary[0] = PROMPT;
    r->length[0] = (int32_t)sizeof written - 1;
    for (int32_t t = 0; t < r->length[0]; t++) {
        r->tokens[t] = token_named(&recipe->world, strtok_r(t == 0 ? text : NULL, " ", &left));
        r->mask[t] = written[t] == 'w';
        r->turn[t] = -1;
    }
    return r;
}

/*
 * Asserts the episode of each of the policy's tokens, written as digits, and where each episode except the first
 * begins.
 */
static void assert_cut(const char *markers, const char *turns, const int32_t *begins)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_SLOTS);
    struct trainer_rollouts *r = one_row(&recipe);
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_JOINT;
    strcpy(recipe.tasks[0].algorithm.episodes.markers, markers);
    check_recipe(&recipe);
    episodes_cut(r, &recipe, 0, 1);
    for (int32_t t = 0; t < r->length[0]; t++)
        if (r->turn[t] != (r->mask[t] ? turns[t] - '0' : -1))
            fail_msg("%s: token %d is of episode %d", markers, t, r->turn[t]);
    assert_int_equal(r->boundary[0], PROMPT);
    for (int32_t k = 1; k <= r->n_turns[0]; k++)
        assert_int_equal(r->boundary[k], begins[k - 1]);
    assert_int_equal(begins[r->n_turns[0]], 0);
    trainer_rollouts_free(r);
}

static void rows_are_cut_before_markers(void **state)
{
    (void)state;
    assert_cut("S,ANS", "....0000......1111...22", (const int32_t[]){14, 21, 0});
    assert_cut("ANS", "....0000......0000...11", (const int32_t[]){21, 0});
    assert_cut("OBS", "....0000......1111...22", (const int32_t[]){8, 18, 0});
    assert_cut("/OBS", "....0000......1111...22", (const int32_t[]){13, 20, 0});
    assert_cut("/S", "....0001......1112...22", (const int32_t[]){7, 17, 0});
    assert_cut("r1,e1", "....0000......1233...34", (const int32_t[]){11, 15, 16, 22, 0});
    assert_cut("NONE,Q", "....0000......0000...11", (const int32_t[]){19, 0});
}

/*
 * A piece without a token of the policy is joined to the call before it, because none of its tokens could get credit.
 */
static void an_episode_has_a_token_of_the_policy(void **state)
{
    (void)state;
    assert_cut("OBS,S,ANS", "....0000......1111...22", (const int32_t[]){14, 21, 0});
    assert_cut("OBS,/OBS,NONE", "....0000......1111...22", (const int32_t[]){13, 20, 0});
}

/* There are at most as many episodes as values, because each episode needs one. */
static void there_are_as_many_episodes_as_values(void **state)
{
    (void)state;
    struct trainer_recipe recipe = small_recipe(TRAINER_SLOTS);
    struct trainer_rollouts *r = rollouts_new(2, WIDTH);
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_JOINT;
    strcpy(recipe.tasks[0].algorithm.episodes.markers, "S");
    r->n = 2;
    r->task[0] = r->task[1] = 0;
    r->prompt[1] = r->boundary[ROLLOUT_VALUES] = 1;
    r->boundary[0] = 0;
    r->length[1] = 30;
    for (size_t t = 0; t < 30; t++) {
        r->tokens[WIDTH + t] = TRAINER_S;
        r->mask[WIDTH + t] = t > 0;
    }
    episodes_cut(r, &recipe, 1, 1);
    assert_int_equal(r->n_turns[1], TRAINER_TURNS_MAX);
    assert_int_equal(r->turn[WIDTH + 1], 0);
    assert_int_equal(r->turn[WIDTH + 15], 14);
    assert_int_equal(r->turn[WIDTH + 16], 15);
    assert_int_equal(r->turn[WIDTH + 29], 15);
    assert_int_equal(r->boundary[ROLLOUT_VALUES + 15], 16);
    trainer_rollouts_free(r);
}

/* ---- rollouts of a policy ---- */

static struct trainer_recipe marked_recipe(const char *markers)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_VINEPPO;
    strcpy(recipe.tasks[0].algorithm.episodes.markers, markers);
    check_recipe(&recipe);
    return recipe;
}

/* Ends a test of numbers here under sanitizers, where training takes ten times as long. The other tests of the trainer reach each
 * line that these reach. */
static void skip_with_sanitizers(void)
{
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
}

/* The same rollouts cut by turns and by markers; release() frees them. */
struct pair {
    float *params;
    struct trainer_rollouts *by_turns, *marked;
    size_t n;
};

static struct pair sampled(const char *markers)
{
    struct trainer_recipe plain = marked_recipe(""), recipe = marked_recipe(markers);
    struct pair pair = {.params = warm_policy(&plain, 120)};
    pair.by_turns = sample(&plain, pair.params, 40, 3);
    pair.marked = sample(&recipe, pair.params, 40, 3);
    pair.n = trainer_rollouts_count(pair.by_turns);
    return pair;
}

static void release(struct pair *pair)
{
    trainer_rollouts_free(pair->by_turns);
    trainer_rollouts_free(pair->marked);
    free(pair->params);
}

/* A well-formed turn begins with S or ANS, so cutting at these markers gives the turns. */
static void the_words_that_begin_a_turn_cut_like_turns(void **state)
{
    (void)state;
    struct pair pair = sampled("S,ANS");
    size_t well = 0, turns = 0;
    for (size_t i = 0; i < pair.n; i++) {
        const struct trainer_rollout a = trainer_rollouts_get(pair.by_turns, i), b = trainer_rollouts_get(pair.marked, i);
        assert_int_equal(a.length, b.length);
        assert_memory_equal(a.tokens, b.tokens, (size_t)a.length * sizeof *a.tokens);
        if (a.malformed)
            continue;
        well++;
        turns += (size_t)a.n_turns;
        assert_int_equal(a.n_turns, b.n_turns);
        assert_memory_equal(a.turn, b.turn, (size_t)a.length * sizeof *a.turn);
        for (int32_t k = 0; k <= a.n_turns; k++)
            assert_near(a.value[k], b.value[k], 1e-6);
        for (int32_t t = 0; t < a.length; t++)
            assert_near((double)a.advantage[t], (double)b.advantage[t], 1e-6);
    }
    assert_true(well > pair.n / 3 && turns > well);
    release(&pair);
}

/*
 * All searches are in one episode, whose value is taken at the beginning of the answer. vineppo gives each token of
 * the episode the whole gain.
 */
static void credit_is_of_the_episode(void **state)
{
    (void)state;
    skip_with_sanitizers();
    struct pair pair = sampled("ANS");
    size_t seen = 0;
    for (size_t i = 0; i < pair.n; i++) {
        const struct trainer_rollout a = trainer_rollouts_get(pair.by_turns, i), b = trainer_rollouts_get(pair.marked, i);
        if (a.malformed || a.n_turns < 2)
            continue;
        seen++;
        assert_int_equal(b.n_turns, 1);
        assert_near(b.value[0], a.value[0], 1e-6);
        assert_near(b.value[1], a.value[a.n_turns], 1e-6);
        for (int32_t t = 0; t < b.length; t++) {
            double before = b.turn[t] == 0 ? b.value[0] : b.value[1];
            double behind = b.turn[t] == 0 ? b.value[1] : b.reward;
            assert_near((double)b.advantage[t], b.mask[t] ? behind - before : 0, 1e-6);
        }
    }
    assert_true(seen > 10);
    release(&pair);
}

/*
 * If episodes are cut before the tool's answers, values are taken there, so a gain goes to the tokens after the
 * answer.
 */
static void another_cut_takes_other_values(void **state)
{
    (void)state;
    skip_with_sanitizers();
    struct pair pair = sampled("OBS");
    double differ = 0;
    for (size_t i = 0; i < pair.n; i++) {
        const struct trainer_rollout a = trainer_rollouts_get(pair.by_turns, i), b = trainer_rollouts_get(pair.marked, i);
        for (int32_t k = 1; !a.malformed && k <= a.n_turns; k++)
            differ += fabs(a.value[k] - b.value[k]);
    }
    assert_true(differ > 0.1);
    release(&pair);
}

/* ---- runs ---- */

static char *trained(const char *dir, const struct trainer_recipe *recipe, size_t *size)
{
    char *path = join(dir, "out.ckpt");
    struct trainer_run_options options = {.checkpoint = path};
    struct trainer_error err;
    if (trainer_run(recipe, &options, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    char *bytes = read_file(path, size);
    free(path);
    return bytes;
}

/* Tests every algorithm that reads gains, and the loss by turns. */
static void markers_change_what_is_learned(void **state)
{
    const enum rl_algorithm_name names[] = {RL_ALGORITHM_JOINT, RL_ALGORITHM_TURN_GROUP_V1D, RL_ALGORITHM_PROCESS,
                                            RL_ALGORITHM_VINEPPO};
    skip_with_sanitizers();
    for (size_t i = 0; i < 4; i++) {
        struct trainer_recipe recipe = marked_recipe("ANS");
        size_t n, m;
        recipe.tasks[0].algorithm.name = names[i];
        recipe.loss.name = i % 2 ? TRAINER_LOSS_TURN : TRAINER_LOSS_PPO;
        recipe.warm_start.steps = 120;
        recipe.training.iterations = 2;
        check_recipe(&recipe);
        char *marked = trained(*state, &recipe, &n);
        recipe.tasks[0].algorithm.episodes.markers[0] = '\0';
        char *plain = trained(*state, &recipe, &m);
        assert_true(n == m && memcmp(marked, plain, n) != 0);
        free(marked);
        free(plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_cut_before_markers),
        cmocka_unit_test(an_episode_has_a_token_of_the_policy),
        cmocka_unit_test(there_are_as_many_episodes_as_values),
        cmocka_unit_test(the_words_that_begin_a_turn_cut_like_turns),
        cmocka_unit_test(credit_is_of_the_episode),
        cmocka_unit_test(another_cut_takes_other_values),
        cmocka_unit_test(markers_change_what_is_learned),
    };
    return cmocka_run_group_tests(tests, set_up_dir, tear_down_dir);
}
