/* trainer_env.c: tests what environments accept, answer and reward, and how often the demonstrator errs. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <trainer/env.h>

#include "support/error.h"
#include "support/rng.h"

/* ---- playing by hand ---- */

struct game {
    struct trainer_env env;
    struct trainer_episode episode;
    int32_t prompt[TRAINER_PROMPT_MAX], text[TRAINER_OBSERVATION_MAX];
    size_t n_prompt, n;
    size_t length; /* number of tokens so far, including the tool's */
};

static struct game begin(struct trainer_env env, uint64_t question, uint64_t noise)
{
    struct game game = {.env = env};
    game.length = game.n_prompt = trainer_env_reset(&env, question, noise, &game.episode, game.prompt);
    return game;
}

static struct trainer_env hopworld(double p_fail)
{
    struct trainer_env env;
    trainer_env_init(&env, TRAINER_HOPWORLD);
    env.p_fail = p_fail;
    return env;
}

static struct trainer_env reverse(void)
{
    struct trainer_env env;
    trainer_env_init(&env, TRAINER_REVERSE);
    return env;
}

static int32_t relation_token(int32_t relation)
{
    return TRAINER_N_MARKERS + relation;
}

static int32_t entity_token(const struct trainer_env *env, int32_t entity)
{
    return TRAINER_N_MARKERS + env->world.relations + entity;
}

static enum trainer_turn write_token(struct game *game, int32_t token)
{
    enum trainer_turn turn = trainer_env_step(&game->env, &game->episode, token, game->text, &game->n);
    game->length += 1 + game->n;
    return turn;
}

static enum trainer_turn write_all(struct game *game, const int32_t *tokens, size_t n)
{
    enum trainer_turn turn = TRAINER_TURN_GOES_ON;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(turn, TRAINER_TURN_GOES_ON);
        turn = write_token(game, tokens[i]);
    }
    return turn;
}

static enum trainer_turn search(struct game *game, int32_t entity, int32_t relation)
{
    const int32_t tokens[] = {TRAINER_S, entity_token(&game->env, entity), relation_token(relation), TRAINER_END_S};
    return write_all(game, tokens, 4);
}

static enum trainer_turn answer(struct game *game, int32_t entity)
{
    const int32_t tokens[] = {TRAINER_ANS, entity_token(&game->env, entity)};
    return write_all(game, tokens, 2);
}

static bool found_nothing(const struct game *game)
{
    return game->n == 3 && game->text[0] == TRAINER_OBS && game->text[1] == TRAINER_NONE && game->text[2] == TRAINER_END_OBS;
}

/*
 * Returns the entity that the tool's answers give for a relation, or -1. Asserts that each relation occurs at most
 * once.
 */
static int32_t fact(const struct game *game, int32_t relation)
{
    int32_t entity = -1;
    assert_int_equal(game->n, 2 + 2 * (size_t)game->env.facts);
    assert_int_equal(game->text[0], TRAINER_OBS);
    assert_int_equal(game->text[game->n - 1], TRAINER_END_OBS);
    for (size_t i = 1; i + 1 < game->n; i += 2)
        if (game->text[i] == relation_token(relation)) {
            assert_int_equal(entity, -1);
            entity = game->text[i + 1] - entity_token(&game->env, 0);
        }
    return entity;
}

static int32_t look_up(struct game *game, int32_t entity, int32_t relation)
{
    assert_int_equal(search(game, entity, relation), TRAINER_TURN_OBSERVED);
    return fact(game, relation);
}

/* ---- hopworld ---- */

static void a_question_is_asked_in_its_form(void **state)
{
    (void)state;
    int32_t seen[6] = {0};
    for (uint64_t q = 0; q < 300; q++) {
        struct game game = begin(hopworld(0), q, 0);
        int32_t k = game.episode.k;
        assert_in_range(k, 3, 5);
        seen[k]++;
        assert_int_equal(game.n_prompt, (size_t)k + 3);
        assert_int_equal(game.prompt[0], TRAINER_Q);
        assert_int_equal(game.prompt[1], entity_token(&game.env, game.episode.path[0]));
        assert_int_equal(game.prompt[k + 2], TRAINER_END_Q);
        for (int32_t i = 0; i < k; i++) {
            assert_int_equal(game.prompt[2 + i], relation_token(game.episode.relations[i]));
            for (int32_t j = 0; j < i; j++)
                assert_int_not_equal(game.prompt[2 + i], game.prompt[2 + j]);
        }
    }
    assert_true(seen[3] > 60 && seen[4] > 60 && seen[5] > 60);
}

static void following_the_chain_is_rewarded(void **state)
{
    (void)state;
    for (uint64_t q = 0; q < 200; q++) {
        struct game game = begin(hopworld(0), q, q);
        int32_t at = game.episode.path[0], k = game.episode.k;
        for (int32_t i = 0; i < k; i++) {
            at = look_up(&game, at, game.episode.relations[i]);
            assert_int_equal(at, game.episode.path[i + 1]);
        }
        assert_int_equal(game.episode.turn, k);
        assert_int_equal(game.episode.hop, k);
        assert_int_equal(game.episode.good, (1u << k) - 1);
        assert_int_equal(answer(&game, at), TRAINER_TURN_DONE);
        assert_true(game.episode.done && !game.episode.malformed && game.episode.reward == 1);
    }
}

static void a_wrong_answer_earns_nothing(void **state)
{
    (void)state;
    struct game game = begin(hopworld(0), 3, 0);
    int32_t wrong = (game.episode.path[game.episode.k] + 1) % trainer_world_entities(&game.env.world);
    assert_int_equal(answer(&game, wrong), TRAINER_TURN_DONE);
    assert_true(game.episode.done && !game.episode.malformed && game.episode.reward == 0);
}

static void the_true_answer_ends_the_chain(void **state)
{
    (void)state;
    int32_t tokens[TRAINER_HOPS_MAX];
    struct game game = begin(hopworld(0.1), 11, 0);
    assert_int_equal(trainer_env_answer(&game.env, &game.episode, tokens), 1);
    assert_int_equal(tokens[0], entity_token(&game.env, game.episode.path[game.episode.k]));
}

static void relations_of_the_lower_half_stay_in_the_region(void **state)
{
    (void)state;
    int32_t left = 0, members[6] = {0};
    for (uint64_t q = 0; q < 40; q++)
        for (int32_t relation = 0; relation < 16; relation++) {
            struct game game = begin(hopworld(0), q, 0);
            int32_t from = (int32_t)(q * 7 % 96), to = look_up(&game, from, relation);
            assert_in_range(to, 0, 95);
            if (relation < 8)
                assert_int_equal(to / 6, from / 6);
            else
                left += to / 6 != from / 6;
            members[to % 6]++;
        }
    assert_in_range(left, 270, 320); /* 320 * 15 / 16 = 300 */
    for (int i = 0; i < 6; i++)
        assert_in_range(members[i], 70, 145);
}

static void facts_are_the_questions_own(void **state)
{
    (void)state;
    int32_t same = 0;
    for (uint64_t q = 0; q < 100; q++) {
        struct game a = begin(hopworld(0), q, 1), b = begin(hopworld(0), q, 2), c = begin(hopworld(0), q + 1, 1);
        int32_t from_a = look_up(&a, 5, 12);
        assert_int_equal(from_a, look_up(&b, 5, 12));
        assert_int_equal(from_a, look_up(&a, 5, 12));
        same += from_a == look_up(&c, 5, 12);
    }
    assert_true(same < 10);
}

/* Distractors are true facts of other relations. They may come before or after the requested fact. */
static void distractors_are_true_and_stand_anywhere(void **state)
{
    (void)state;
    int32_t first = 0, seen[16] = {0};
    for (uint64_t noise = 0; noise < 400; noise++) {
        struct game game = begin(hopworld(0), 9, noise), check = begin(hopworld(0), 9, 0);
        (void)look_up(&game, 20, 4);
        size_t asked = game.text[1] == relation_token(4) ? 1 : 3, other = 4 - asked;
        int32_t relation = game.text[other] - TRAINER_N_MARKERS;
        first += asked == 1;
        seen[relation]++;
        assert_int_equal(game.text[other + 1], entity_token(&game.env, look_up(&check, 20, relation)));
    }
    assert_in_range(first, 150, 250);
    assert_int_equal(seen[4], 0);
    for (int i = 0; i < 16; i++)
        assert_true(i == 4 || seen[i] > 5);
}

static void the_number_of_facts_is_the_environments(void **state)
{
    (void)state;
    struct trainer_env env = hopworld(0);
    for (env.facts = 1; env.facts <= TRAINER_FACTS_MAX; env.facts++)
        for (uint64_t noise = 0; noise < 20; noise++) {
            struct game game = begin(env, 1, noise);
            assert_true(look_up(&game, 3, 7) >= 0);
        }
}

static int32_t failures(double p_fail)
{
    int32_t n = 0;
    for (uint64_t noise = 0; noise < 1000; noise++) {
        struct game game = begin(hopworld(p_fail), 2, noise);
        for (int t = 0; t < 5; t++) {
            assert_int_equal(search(&game, 1, 1), TRAINER_TURN_OBSERVED);
            n += found_nothing(&game);
        }
    }
    return n;
}

static void the_tool_fails_at_its_rate(void **state)
{
    (void)state;
    assert_int_equal(failures(0), 0);
    assert_int_equal(failures(1), 5000);
    assert_in_range(failures(0.1), 415, 585);
    assert_in_range(failures(0.5), 2360, 2640);
}

/* A search is GOOD even if the tool fails, but then the hop is not found yet. */
static void a_failed_search_is_judged_by_what_it_asked(void **state)
{
    (void)state;
    struct game game = begin(hopworld(1), 4, 0);
    int32_t from = game.episode.path[0], relation = game.episode.relations[0];
    (void)search(&game, from, relation);
    (void)search(&game, from, (relation + 1) % 16);
    (void)search(&game, from, relation);
    assert_int_equal(game.episode.hop, 0);
    (void)answer(&game, game.episode.path[game.episode.k]);
    assert_true(trainer_env_judge(&game.episode, 0));
    assert_false(trainer_env_judge(&game.episode, 1));
    assert_true(trainer_env_judge(&game.episode, 2));
    assert_true(trainer_env_judge(&game.episode, 3));
}

static void the_relation_of_a_hop_counts_for_its_entity_alone(void **state)
{
    (void)state;
    struct game game = begin(hopworld(0), 4, 0);
    (void)search(&game, game.episode.path[1], game.episode.relations[0]);
    assert_int_equal(game.episode.hop, 0);
    assert_int_equal(game.episode.good, 0);
}

static void the_closing_turn_is_judged_by_its_reward(void **state)
{
    (void)state;
    struct game game = begin(hopworld(0), 4, 0);
    (void)look_up(&game, game.episode.path[0], game.episode.relations[0]);
    (void)write_token(&game, TRAINER_Q);
    assert_true(game.episode.malformed);
    assert_true(trainer_env_judge(&game.episode, 0));
    assert_false(trainer_env_judge(&game.episode, 1));
}

static void a_malformed_turn_ends_the_episode(void **state)
{
    (void)state;
    const struct trainer_env env = hopworld(0);
    const int32_t e = entity_token(&env, 0), last = entity_token(&env, 95), r = relation_token(0);
    const struct {
        int32_t tokens[4];
        size_t n;
    } cases[] = {
        {{TRAINER_PAD}, 1},
        {{TRAINER_END_S}, 1},
        {{e}, 1},
        {{r}, 1},
        {{-1}, 1},
        {{last + 1}, 1},
        {{TRAINER_S, r}, 2},
        {{TRAINER_S, TRAINER_S}, 2},
        {{TRAINER_S, last + 1}, 2},
        {{TRAINER_S, -7}, 2},
        {{TRAINER_S, e, e}, 3},
        {{TRAINER_S, e, TRAINER_END_S}, 3},
        {{TRAINER_S, e, -3}, 3},
        {{TRAINER_S, e, r, r}, 4},
        {{TRAINER_S, e, r, TRAINER_S}, 4},
        {{TRAINER_ANS, r}, 2},
        {{TRAINER_ANS, TRAINER_NONE}, 2},
        {{TRAINER_ANS, last + 1}, 2},
        {{TRAINER_ANS, -100}, 2},
        {{TRAINER_S, e, INT32_MAX}, 3},
        {{TRAINER_ANS, INT32_MIN + 100}, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct game game = begin(env, i, 0);
        assert_int_equal(write_all(&game, cases[i].tokens, cases[i].n), TRAINER_TURN_DONE);
        assert_true(game.episode.done && game.episode.malformed && game.episode.reward == 0);
        assert_int_equal(game.n, 0);
    }
}

static void an_episode_that_is_done_stays_done(void **state)
{
    (void)state;
    struct game game = begin(hopworld(0), 8, 0);
    (void)answer(&game, game.episode.path[game.episode.k]);
    struct trainer_episode before = game.episode;
    assert_int_equal(write_token(&game, TRAINER_S), TRAINER_TURN_DONE);
    assert_int_equal(write_token(&game, -5), TRAINER_TURN_DONE);
    assert_int_equal(game.n, 0);
    assert_memory_equal(&before, &game.episode, sizeof before);
}

static void a_search_too_many_ends_the_episode(void **state)
{
    (void)state;
    struct trainer_env env = hopworld(0);
    for (env.max_turns = 0; env.max_turns <= TRAINER_TURNS_MAX; env.max_turns += 5) {
        struct game late = begin(env, 1, 0), in_time = begin(env, 1, 0);
        for (int32_t t = 0; t < env.max_turns; t++) {
            assert_int_equal(search(&late, 1, 1), TRAINER_TURN_OBSERVED);
            assert_int_equal(search(&in_time, 1, 1), TRAINER_TURN_OBSERVED);
        }
        assert_int_equal(write_token(&late, TRAINER_S), TRAINER_TURN_DONE);
        assert_true(late.episode.malformed && late.episode.reward == 0);
        assert_int_equal(answer(&in_time, in_time.episode.path[in_time.episode.k]), TRAINER_TURN_DONE);
        assert_true(in_time.episode.reward == 1);
        assert_int_equal(in_time.length + (size_t)(env.k_max - in_time.episode.k), trainer_env_max_tokens(&env));
    }
}

/* Episodes are independent structs: playing one does not change another. */
static void episodes_are_independent(void **state)
{
    (void)state;
    struct game alone = begin(hopworld(0.5), 6, 3), a = begin(hopworld(0.5), 6, 3), b = begin(hopworld(0.5), 7, 4);
    for (int t = 0; t < 7; t++) {
        (void)search(&alone, t, t);
        (void)search(&b, 2 * t, t);
        (void)search(&a, t, t);
        assert_int_equal(alone.n, a.n);
        assert_memory_equal(alone.text, a.text, a.n * sizeof *a.text);
    }
    assert_memory_equal(&alone.episode, &a.episode, sizeof a.episode);
}

/* ---- reverse ---- */

static void a_reversed_string_is_rewarded(void **state)
{
    (void)state;
    int32_t tokens[TRAINER_HOPS_MAX];
    for (uint64_t q = 0; q < 100; q++) {
        struct game game = begin(reverse(), q, 0);
        size_t k = (size_t)game.episode.k;
        assert_in_range(k, 3, 5);
        assert_int_equal(game.n_prompt, k + 2);
        assert_int_equal(game.prompt[0], TRAINER_S);
        assert_int_equal(game.prompt[k + 1], TRAINER_END_S);
        assert_int_equal(trainer_env_answer(&game.env, &game.episode, tokens), k);
        assert_int_equal(write_token(&game, TRAINER_ANS), TRAINER_TURN_GOES_ON);
        for (size_t i = 0; i < k; i++) {
            assert_int_equal(tokens[i], game.prompt[k - i]);
            assert_int_equal(write_token(&game, tokens[i]), i + 1 < k ? TRAINER_TURN_GOES_ON : TRAINER_TURN_DONE);
            assert_int_equal(game.n, 0);
        }
        assert_true(game.episode.done && !game.episode.malformed && game.episode.reward == 1);
        assert_true(trainer_env_judge(&game.episode, 0));
        assert_true(game.length <= trainer_env_max_tokens(&game.env));
    }
}

static void the_first_wrong_token_ends_it(void **state)
{
    (void)state;
    struct game game = begin(reverse(), 5, 0);
    int32_t last = game.episode.path[game.episode.k - 1];
    assert_int_equal(answer(&game, (last + 1) % 96), TRAINER_TURN_DONE);
    assert_true(!game.episode.malformed && game.episode.reward == 0);
    game = begin(reverse(), 5, 0);
    assert_int_equal(write_token(&game, TRAINER_S), TRAINER_TURN_DONE);
    assert_true(game.episode.malformed && game.episode.reward == 0);
    game = begin(reverse(), 5, 0);
    const int32_t marker[] = {TRAINER_ANS, TRAINER_NONE};
    assert_int_equal(write_all(&game, marker, 2), TRAINER_TURN_DONE);
    assert_true(game.episode.malformed && game.episode.reward == 0);
}

/* ---- lengths ---- */

/* Returns mostly tokens that the grammar allows, because episodes then get long. */
static int32_t random_token(const struct game *game, struct trainer_rng *rng, int32_t position)
{
    const struct trainer_world *world = &game->env.world;
    if (trainer_rng_uniform(rng) < 0.02)
        return trainer_rng_below(rng, trainer_world_tokens(world));
    switch (position) {
    case 0: return trainer_rng_uniform(rng) < 0.9 ? TRAINER_S : TRAINER_ANS;
    case 1: return entity_token(&game->env, trainer_rng_below(rng, trainer_world_entities(world)));
    case 2: return relation_token(trainer_rng_below(rng, world->relations));
    default: return TRAINER_END_S;
    }
}

static struct trainer_env random_env(struct trainer_rng *rng)
{
    struct trainer_env env = {.kind = (enum trainer_env_kind)trainer_rng_below(rng, 2)};
    env.world.regions = 1 + trainer_rng_below(rng, 5);
    env.world.region_size = 1 + trainer_rng_below(rng, 5);
    env.world.relations = 6 + trainer_rng_below(rng, 7);
    env.k_max = 1 + trainer_rng_below(rng, 6);
    env.k_min = 1 + trainer_rng_below(rng, env.k_max);
    env.max_turns = trainer_rng_below(rng, TRAINER_TURNS_MAX + 1);
    env.facts = 1 + trainer_rng_below(rng, TRAINER_FACTS_MAX);
    env.p_fail = trainer_rng_uniform(rng);
    assert_int_equal(trainer_env_check(&env, NULL), TRAINER_OK);
    return env;
}

static void play_at_random(struct game *game, struct trainer_rng *rng)
{
    int32_t position = 0;
    enum trainer_turn turn = TRAINER_TURN_GOES_ON;
    while (turn != TRAINER_TURN_DONE) {
        turn = write_token(game, random_token(game, rng, position));
        position = turn == TRAINER_TURN_OBSERVED ? 0 : position + 1;
        assert_true(game->n <= TRAINER_OBSERVATION_MAX);
        assert_true(turn == TRAINER_TURN_OBSERVED || game->n == 0);
    }
}

static void no_episode_is_longer_than_max_tokens(void **state)
{
    (void)state;
    struct trainer_rng rng = {1};
    for (uint64_t i = 0; i < 3000; i++) {
        struct game game = begin(random_env(&rng), i, i);
        play_at_random(&game, &rng);
        assert_true(game.n_prompt <= TRAINER_PROMPT_MAX);
        assert_true(game.length <= trainer_env_max_tokens(&game.env));
        assert_true(game.episode.turn <= game.env.max_turns);
        assert_true(game.episode.reward == 0 || !game.episode.malformed);
    }
}

static void no_demonstration_is_longer_than_max_tokens(void **state)
{
    (void)state;
    struct trainer_rng rng = {2};
    struct trainer_demo_options options;
    trainer_demo_options_init(&options);
    options.p_needless = 0.9;
    for (uint64_t i = 0; i < 1000; i++) {
        struct trainer_env env = random_env(&rng);
        size_t most = trainer_env_max_tokens(&env);
        int32_t *tokens = malloc(most * sizeof *tokens);
        uint8_t *mask = malloc(most);
        size_t n = trainer_env_demonstrate(&env, &options, i, tokens, mask);
        assert_true(n <= most);
        for (size_t t = 0; t < n; t++)
            assert_true(tokens[t] >= 0 && tokens[t] < trainer_world_tokens(&env.world) && mask[t] <= 1);
        free(tokens);
        free(mask);
    }
}

/* ---- worked solutions ---- */

/* If the policy writes its part of a solution and the tool answers as in the solution, the episode is rewarded. */
static void solutions_solve_their_question(void **state)
{
    (void)state;
    for (enum trainer_env_kind kind = 0; kind < TRAINER_N_ENVS; kind++)
        for (uint64_t question = 1; question <= 50; question++) {
            struct trainer_env env;
            int32_t tokens[256];
            trainer_env_init(&env, kind);
            env.p_fail = 0;
            struct game game = begin(env, question, trainer_seed(question, 'w', 0));
            enum trainer_turn turn = TRAINER_TURN_GOES_ON;
            env.p_fail = 1; /* solutions assume a tool that never fails */
            size_t n = trainer_env_solve(&env, question, tokens), at = game.n_prompt;
            assert_true(n <= trainer_env_max_tokens(&env));
            assert_memory_equal(tokens, game.prompt, game.n_prompt * sizeof *tokens);
            for (; at < n && turn != TRAINER_TURN_DONE; at++) {
                turn = write_token(&game, tokens[at]);
                assert_memory_equal(tokens + at + 1, game.text, game.n * sizeof *tokens);
                at += game.n;
            }
            assert_int_equal(at, n);
            assert_int_equal(turn, TRAINER_TURN_DONE);
            assert_true(game.episode.reward == 1);
            assert_int_equal(game.episode.good,
                             (1u << game.episode.turn) - 1 + (kind >= TRAINER_SLOTS ? 1u << game.episode.turn : 0));
        }
}

/* A solution's answer is right even if only one call is allowed. */
static void a_solution_keeps_to_its_turns(void **state)
{
    (void)state;
    struct trainer_env env = hopworld(0);
    int32_t tokens[256], answer[TRAINER_HOPS_MAX];
    env.max_turns = 1;
    for (uint64_t question = 1; question <= 20; question++) {
        struct game game = begin(env, question, 0);
        size_t n = trainer_env_solve(&env, question, tokens), calls = 0;
        for (size_t i = 0; i < n; i++)
            calls += tokens[i] == TRAINER_END_S;
        assert_int_equal(calls, 1);
        assert_int_equal(trainer_env_answer(&env, &game.episode, answer), 1);
        assert_int_equal(tokens[n - 1], answer[0]);
        assert_int_equal(tokens[n - 2], TRAINER_ANS);
    }
}

static void a_demonstration_is_of_its_seeds_question(void **state)
{
    (void)state;
    struct trainer_demo_options options;
    trainer_demo_options_init(&options);
    for (enum trainer_env_kind kind = 0; kind < TRAINER_N_ENVS; kind++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct trainer_env env;
            int32_t tokens[256];
            uint8_t mask[256];
            trainer_env_init(&env, kind);
            struct game game = begin(env, trainer_env_demonstrated(seed), 0);
            (void)trainer_env_demonstrate(&env, &options, seed, tokens, mask);
            assert_memory_equal(tokens, game.prompt, game.n_prompt * sizeof *tokens);
        }
}

/* ---- the demonstrator ---- */

struct demo {
    struct game game; /* a game with the same question, before the first written token */
    int32_t tokens[256];
    uint8_t mask[256];
    size_t n, trained;
};

static struct demo demonstrate(struct trainer_env env, struct trainer_demo_options options, uint64_t seed)
{
    struct demo demo = {.n = 0};
    struct trainer_rng rng = {trainer_seed(seed, 'd', 0)};
    demo.game = begin(env, trainer_rng_next(&rng), 0);
    demo.n = trainer_env_demonstrate(&env, &options, seed, demo.tokens, demo.mask);
    for (size_t t = 0; t < demo.n; t++)
        demo.trained += demo.mask[t];
    assert_memory_equal(demo.tokens, demo.game.prompt, demo.game.n_prompt * sizeof(int32_t));
    return demo;
}

/* In a demonstration, the tool's answers have the tool's form and are true facts about the requested entity. */
static void check_observation(const struct demo *demo, size_t at)
{
    const struct game ask = begin(demo->game.env, demo->game.episode.question, 0);
    const int32_t *text = demo->tokens + at;
    int32_t entity = demo->tokens[at - 3] - entity_token(&ask.env, 0);
    assert_int_equal(text[0], TRAINER_OBS);
    for (size_t i = 1; text[1] != TRAINER_NONE && i < 2 * (size_t)ask.env.facts; i += 2) {
        struct game fresh = ask;
        int32_t to = look_up(&fresh, entity, text[i] - TRAINER_N_MARKERS);
        assert_int_equal(text[i + 1], entity_token(&ask.env, to));
    }
}

/*
 * Feeds the demonstrator's tokens to the environment, whose tool may answer differently. In reverse, a wrong token
 * ends the episode before the end of the string.
 */
static void replay(struct demo *demo)
{
    enum trainer_turn turn = TRAINER_TURN_GOES_ON;
    for (size_t t = demo->game.n_prompt; t < demo->n; t++) {
        if (turn == TRAINER_TURN_DONE && demo->game.env.kind == TRAINER_REVERSE)
            break;
        if (demo->mask[t]) {
            assert_int_not_equal(turn, TRAINER_TURN_DONE);
            turn = write_token(&demo->game, demo->tokens[t]);
            continue;
        }
        if (demo->mask[t - 1]) {
            assert_int_equal(turn, TRAINER_TURN_OBSERVED);
            check_observation(demo, t);
        }
    }
    assert_int_equal(turn, TRAINER_TURN_DONE);
    assert_false(demo->game.episode.malformed);
}

static struct trainer_demo_options no_errors(void)
{
    return (struct trainer_demo_options){0};
}

static void demonstrations_follow_the_grammar(void **state)
{
    (void)state;
    struct trainer_demo_options options;
    trainer_demo_options_init(&options);
    options.p_belief = 0;
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct demo demo = demonstrate(hopworld(0), options, seed);
        replay(&demo);
    }
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct demo demo = demonstrate(reverse(), options, seed);
        assert_int_equal(demo.trained, (size_t)demo.game.episode.k + 1);
        replay(&demo);
    }
}

static double share_right(struct trainer_env env, struct trainer_demo_options options, double *turns)
{
    double right = 0, searches = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct demo demo = demonstrate(env, options, seed);
        replay(&demo);
        right += demo.game.episode.reward;
        searches += demo.game.episode.turn;
    }
    *turns = searches / 1000;
    return right / 1000;
}

/* Even without errors, one search in twenty asks for an arbitrary relation. */
static void a_demonstrator_without_errors_is_mostly_right(void **state)
{
    (void)state;
    double turns, right = share_right(hopworld(0), no_errors(), &turns);
    assert_true(right > 0.78 && right < 0.9); /* 0.953^4 = 0.825 */
    assert_true(turns > 3.9 && turns < 4.1);
    struct trainer_demo_options options = no_errors();
    assert_true(share_right(reverse(), options, &turns) == 1);
}

static void each_error_makes_demonstrations_worse(void **state)
{
    (void)state;
    double turns, right = share_right(hopworld(0), no_errors(), &turns);
    struct trainer_demo_options options = no_errors();
    options.p_wrong = 1;
    assert_true(share_right(hopworld(0), options, &turns) < right / 4);
    options = no_errors();
    options.p_stop = 0.5;
    assert_true(share_right(hopworld(0), options, &turns) < right / 2 && turns < 2.1);
    options.p_hindsight = 1;
    assert_true(share_right(hopworld(0), options, &turns) > right);
    options = no_errors();
    options.p_needless = 0.5;
    assert_true(share_right(hopworld(0), options, &turns) < right && turns > 4.5);
    assert_true(share_right(hopworld(1), no_errors(), &turns) < 0.1 && turns == 7);
    options = no_errors();
    options.p_wrong = 1;
    right = share_right(reverse(), options, &turns);
    assert_true(right > 0.44 && right < 0.58);
}

static void belief_rows_train_the_true_answer_alone(void **state)
{
    (void)state;
    struct trainer_demo_options options;
    trainer_demo_options_init(&options);
    int32_t beliefs = 0, at_prompt = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct demo demo = demonstrate(hopworld(0.1), options, seed);
        if (demo.trained > 1)
            continue;
        beliefs++;
        const struct trainer_episode *episode = &demo.game.episode;
        assert_int_equal(demo.mask[demo.n - 1], 1);
        assert_int_equal(demo.tokens[demo.n - 1], entity_token(&demo.game.env, episode->path[episode->k]));
        assert_int_equal(demo.tokens[demo.n - 2], TRAINER_ANS);
        bool prompt = demo.n == demo.game.n_prompt + 2;
        at_prompt += prompt;
        assert_true(prompt || demo.tokens[demo.n - 3] == TRAINER_END_OBS);
    }
    assert_in_range(beliefs, 520, 680); /* 2000 * 0.3 */
    assert_in_range(at_prompt, 100, 320);
}

static void demonstrations_are_those_of_their_seed(void **state)
{
    (void)state;
    struct trainer_demo_options options;
    trainer_demo_options_init(&options);
    struct demo a = demonstrate(hopworld(0.1), options, 5), b = demonstrate(hopworld(0.1), options, 5);
    struct demo c = demonstrate(hopworld(0.1), options, 6);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.tokens, b.tokens, a.n * sizeof *a.tokens);
    assert_true(a.n != c.n || memcmp(a.tokens, c.tokens, a.n * sizeof *a.tokens) != 0);
}

/* ---- names and refusals ---- */

static void assert_text(int32_t token, const char *expected)
{
    const struct trainer_world world = {16, 6, 16};
    char text[16];
    trainer_token_text(&world, token, text);
    assert_string_equal(text, expected);
}

static void tokens_have_names(void **state)
{
    (void)state;
    const struct trainer_env env = hopworld(0);
    assert_int_equal(trainer_world_tokens(&env.world), 121);
    assert_text(TRAINER_PAD, "<pad>");
    assert_text(TRAINER_END_OBS, "/OBS");
    assert_text(relation_token(0), "r0");
    assert_text(relation_token(15), "r15");
    assert_text(entity_token(&env, 0), "e0");
    assert_text(entity_token(&env, 95), "e95");
    assert_string_equal(trainer_env_name(TRAINER_HOPWORLD), "hopworld");
    assert_string_equal(trainer_env_name(TRAINER_REVERSE), "reverse");
    assert_null(trainer_env_name(TRAINER_N_ENVS));
}

static void assert_refused(struct trainer_env env, const char *why)
{
    struct trainer_error err = {TRAINER_OK, ""};
    assert_int_equal(trainer_env_check(&env, &err), TRAINER_EINVAL);
    assert_int_equal(err.status, TRAINER_EINVAL);
    if (!strstr(err.text, why))
        fail_msg("'%s' does not say '%s'", err.text, why);
}

static void bad_environments_are_refused(void **state)
{
    (void)state;
    struct trainer_env env = hopworld(0.1);
    assert_int_equal(trainer_env_check(&env, NULL), TRAINER_OK);
#define REFUSED(member, value, why)                                                                                              \
    do {                                                                                                                         \
        struct trainer_env bad = env;                                                                                            \
        bad.member = (value);                                                                                                    \
        assert_refused(bad, why);                                                                                                \
    } while (0)
    REFUSED(kind, TRAINER_N_ENVS, "kind");
    REFUSED(k_min, 0, "k_min");
    REFUSED(k_min, 6, "k_min");
    REFUSED(k_max, TRAINER_HOPS_MAX + 1, "k_max");
    REFUSED(world.relations, 4, "k_max");
    REFUSED(max_turns, -1, "max_turns");
    REFUSED(max_turns, TRAINER_TURNS_MAX + 1, "max_turns");
    REFUSED(facts, 0, "facts");
    REFUSED(facts, TRAINER_FACTS_MAX + 1, "facts");
    REFUSED(p_fail, -0.1, "p_fail");
    REFUSED(p_fail, 1.1, "p_fail");
    REFUSED(p_fail, NAN, "p_fail");
    REFUSED(world.regions, 0, "regions");
    REFUSED(world.region_size, -1, "region_size");
    REFUSED(world.relations, 1, "relations");
    REFUSED(world.regions, 4097, "world");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solutions_solve_their_question),
        cmocka_unit_test(a_solution_keeps_to_its_turns),
        cmocka_unit_test(a_demonstration_is_of_its_seeds_question),
        cmocka_unit_test(a_question_is_asked_in_its_form),
        cmocka_unit_test(following_the_chain_is_rewarded),
        cmocka_unit_test(a_wrong_answer_earns_nothing),
        cmocka_unit_test(the_true_answer_ends_the_chain),
        cmocka_unit_test(relations_of_the_lower_half_stay_in_the_region),
        cmocka_unit_test(facts_are_the_questions_own),
        cmocka_unit_test(distractors_are_true_and_stand_anywhere),
        cmocka_unit_test(the_number_of_facts_is_the_environments),
        cmocka_unit_test(the_tool_fails_at_its_rate),
        cmocka_unit_test(a_failed_search_is_judged_by_what_it_asked),
        cmocka_unit_test(the_closing_turn_is_judged_by_its_reward),
        cmocka_unit_test(the_relation_of_a_hop_counts_for_its_entity_alone),
        cmocka_unit_test(a_malformed_turn_ends_the_episode),
        cmocka_unit_test(an_episode_that_is_done_stays_done),
        cmocka_unit_test(a_search_too_many_ends_the_episode),
        cmocka_unit_test(episodes_are_independent),
        cmocka_unit_test(a_reversed_string_is_rewarded),
        cmocka_unit_test(the_first_wrong_token_ends_it),
        cmocka_unit_test(no_episode_is_longer_than_max_tokens),
        cmocka_unit_test(no_demonstration_is_longer_than_max_tokens),
        cmocka_unit_test(demonstrations_follow_the_grammar),
        cmocka_unit_test(a_demonstrator_without_errors_is_mostly_right),
        cmocka_unit_test(each_error_makes_demonstrations_worse),
        cmocka_unit_test(belief_rows_train_the_true_answer_alone),
        cmocka_unit_test(demonstrations_are_those_of_their_seed),
        cmocka_unit_test(tokens_have_names),
        cmocka_unit_test(bad_environments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
