/*
 * trainer_tool_env.c: tests slots, ledger and sums: their questions, answers, rewards and judgements, and how often
 * their demonstrators err. trainer_env.c tests what all environments share.
 */
#include "support/unit.h"

#include <stdlib.h>
#include <string.h>

#include <trainer/env.h>

#include "support/rng.h"

struct game {
    struct trainer_env env;
    struct trainer_episode episode;
    int32_t prompt[TRAINER_PROMPT_MAX], text[TRAINER_OBSERVATION_MAX];
    size_t n_prompt, n, length;
};

static struct game begin(enum trainer_env_kind kind, double p_fail, uint64_t question, uint64_t noise)
{
    struct game game = {.n = 0};
    trainer_env_init(&game.env, kind);
    game.env.p_fail = p_fail;
    game.env.max_turns = TRAINER_TURNS_MAX;
    assert_int_equal(trainer_env_check(&game.env, NULL), TRAINER_OK);
    game.length = game.n_prompt = trainer_env_reset(&game.env, question, noise, &game.episode, game.prompt);
    return game;
}

static int32_t relation_token(int32_t relation)
{
    return TRAINER_N_MARKERS + relation;
}

static int32_t entity_token(const struct game *game, int32_t entity)
{
    return TRAINER_N_MARKERS + game->env.world.relations + entity;
}

static enum trainer_turn write_token(struct game *game, int32_t token)
{
    enum trainer_turn turn = trainer_env_step(&game->env, &game->episode, token, game->text, &game->n);
    game->length += 1 + game->n;
    return turn;
}

static enum trainer_turn call(struct game *game, int32_t first, int32_t second)
{
    (void)write_token(game, TRAINER_S);
    (void)write_token(game, first);
    (void)write_token(game, second);
    return write_token(game, TRAINER_END_S);
}

/* Looks up a relation and returns the entity that the tool gives, or -1 if the tool found nothing. */
static int32_t look_up(struct game *game, int32_t entity, int32_t relation)
{
    int32_t value = -1;
    assert_int_equal(call(game, entity_token(game, entity), relation_token(relation)), TRAINER_TURN_OBSERVED);
    for (size_t i = 1; game->text[1] != TRAINER_NONE && i + 1 < game->n; i += 2)
        if (game->text[i] == relation_token(relation))
            value = game->text[i + 1] - entity_token(game, 0);
    return value;
}

/* Returns the sum that the tool shows, or -1. */
static int32_t add(struct game *game, int32_t a, int32_t b)
{
    assert_int_equal(call(game, entity_token(game, a), entity_token(game, b)), TRAINER_TURN_OBSERVED);
    if (game->text[1] == TRAINER_NONE)
        return -1;
    assert_int_equal(game->n, 4);
    assert_int_equal(game->text[1], entity_token(game, b));
    return game->text[2] - entity_token(game, 0);
}

static enum trainer_turn answer(struct game *game, const int32_t *values)
{
    enum trainer_turn turn = write_token(game, TRAINER_ANS);
    for (int32_t i = 0; i < game->episode.k; i++) {
        assert_int_equal(turn, TRAINER_TURN_GOES_ON);
        (void)write_token(game, relation_token(game->episode.relations[i]));
        turn = write_token(game, entity_token(game, values[i]));
    }
    return turn;
}

static int32_t subject(const struct game *game)
{
    return game->prompt[1] - entity_token(game, 0);
}

/* ---- slots ---- */

static void a_filled_form_is_rewarded(void **state)
{
    (void)state;
    for (uint64_t q = 0; q < 200; q++) {
        struct game game = begin(TRAINER_SLOTS, 0, q, q);
        int32_t values[TRAINER_HOPS_MAX], k = game.episode.k;
        assert_in_range(k, 3, 5);
        assert_int_equal(game.n_prompt, (size_t)k + 3);
        for (int32_t i = k - 1; i >= 0; i--) { /* in any order */
            values[i] = look_up(&game, subject(&game), game.prompt[2 + i] - TRAINER_N_MARKERS);
            assert_int_equal(values[i], game.episode.path[i + 1]);
        }
        assert_int_equal(answer(&game, values), TRAINER_TURN_DONE);
        assert_true(game.episode.reward == 1 && !game.episode.malformed);
        for (int32_t t = 0; t <= k; t++)
            assert_true(trainer_env_judge(&game.episode, t));
    }
}

static void an_answer_names_every_slot(void **state)
{
    (void)state;
    int32_t tokens[TRAINER_HOPS_MAX];
    struct game game = begin(TRAINER_SLOTS, 0, 7, 0);
    assert_int_equal(trainer_env_answer(&game.env, &game.episode, tokens), 2 * (size_t)game.episode.k);
    for (int32_t i = 0; i < game.episode.k; i++) {
        assert_int_equal(tokens[2 * i], game.prompt[2 + i]);
        assert_int_equal(tokens[2 * i + 1], entity_token(&game, game.episode.path[i + 1]));
    }
}

/* A wrong token of the right kind is a wrong answer; a token of any other kind is malformed. */
static void a_wrong_answer_is_not_a_malformed_one(void **state)
{
    (void)state;
    for (int kind = TRAINER_SLOTS; kind <= TRAINER_LEDGER; kind++) {
        struct game fresh = begin((enum trainer_env_kind)kind, 0, 5, 0), game = fresh;
        int32_t right = relation_token(fresh.episode.relations[0]);
        int32_t value = entity_token(&fresh, fresh.episode.path[1]);
        const struct {
            int32_t first, second;
            bool malformed;
        } cases[] = {{right, value == entity_token(&fresh, 0) ? value + 1 : value - 1, false},
                     {right, right, true},
                     {right, TRAINER_NONE, true},
                     {value, 0, true},
                     {relation_token(fresh.episode.relations[1]), 0, false},
                     {TRAINER_ANS, 0, true},
                     {-3, 0, true},
                     {INT32_MAX, 0, true}};
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            game = fresh;
            (void)write_token(&game, TRAINER_ANS);
            enum trainer_turn turn = write_token(&game, cases[i].first);
            if (turn == TRAINER_TURN_GOES_ON)
                turn = write_token(&game, cases[i].second);
            assert_int_equal(turn, TRAINER_TURN_DONE);
            assert_true(game.episode.reward == 0);
            assert_int_equal(game.episode.malformed, cases[i].malformed);
        }
    }
}

/* Otherwise a single search could fill two slots. */
static void distractors_never_have_an_asked_relation(void **state)
{
    (void)state;
    for (uint64_t noise = 0; noise < 300; noise++) {
        struct game game = begin(TRAINER_SLOTS, 0, noise % 7, noise);
        int32_t asked = game.episode.relations[0];
        (void)look_up(&game, subject(&game), asked);
        assert_int_equal(game.n, 2 + 2 * (size_t)game.env.facts);
        for (size_t i = 1; i + 1 < game.n; i += 2)
            for (int32_t j = 1; j < game.episode.k; j++)
                assert_int_not_equal(game.text[i], relation_token(game.episode.relations[j]));
        assert_int_equal(game.episode.found, 1);
    }
}

static void searches_that_fill_no_slot_are_useless(void **state)
{
    (void)state;
    struct game game = begin(TRAINER_SLOTS, 0, 3, 0);
    const int32_t *asked = game.episode.relations, other = (subject(&game) + 1) % 96;
    int32_t nobodys = 0;
    while (nobodys == asked[0] || nobodys == asked[1] || nobodys == asked[2] || nobodys == asked[3] || nobodys == asked[4])
        nobodys++;
    (void)look_up(&game, subject(&game), asked[1]);
    (void)look_up(&game, subject(&game), asked[1]); /* again */
    (void)look_up(&game, other, asked[0]);
    (void)look_up(&game, subject(&game), nobodys);
    (void)look_up(&game, subject(&game), asked[0]);
    assert_int_equal(game.episode.good, 1u << 0 | 1u << 4);
    assert_int_equal(game.episode.found, 3);
}

/* The judge rates the search, not the tool's luck: a failed search is GOOD, but its slot is still empty. */
static void a_failed_search_is_good_and_fills_nothing(void **state)
{
    (void)state;
    for (int kind = TRAINER_SLOTS; kind <= TRAINER_LEDGER; kind++) {
        struct game game = begin((enum trainer_env_kind)kind, 1, 4, 0);
        for (int t = 0; t < 3; t++)
            assert_int_equal(look_up(&game, subject(&game), game.episode.relations[0]), -1);
        assert_int_equal(game.episode.good, 7);
        assert_int_equal(game.episode.found, 0);
        assert_int_equal(game.episode.hop, 0);
    }
}

/* Answering is GOOD if everything is known or no call is left, whatever the answer is. */
static void answering_is_judged_by_what_was_left_to_do(void **state)
{
    (void)state;
    int32_t wrong[TRAINER_HOPS_MAX] = {0};
    struct game early = begin(TRAINER_SLOTS, 0, 9, 0), full = early, spent = early, cut = early;
    for (int32_t i = 0; i < full.episode.k; i++)
        (void)look_up(&full, subject(&full), full.episode.relations[i]);
    cut = full;
    for (int32_t t = 0; t < TRAINER_TURNS_MAX; t++)
        (void)look_up(&spent, subject(&spent), spent.episode.relations[0]);
    wrong[0] = (full.episode.path[1] + 1) % 96;
    struct game *const games[] = {&early, &full, &spent};
    for (size_t i = 0; i < 3; i++) {
        (void)write_token(games[i], TRAINER_ANS);
        (void)write_token(games[i], relation_token(full.episode.relations[0]));
        assert_int_equal(write_token(games[i], entity_token(&full, wrong[0])), TRAINER_TURN_DONE);
        assert_true(games[i]->episode.reward == 0 && !games[i]->episode.malformed);
        assert_int_equal(trainer_env_judge(&games[i]->episode, games[i]->episode.turn), i > 0);
    }
    (void)write_token(&cut, TRAINER_ANS);
    (void)write_token(&cut, TRAINER_S);
    assert_true(cut.episode.malformed);
    assert_false(trainer_env_judge(&cut.episode, cut.episode.turn));
}

/* ---- ledger ---- */

static void balances_are_added_up(void **state)
{
    (void)state;
    for (uint64_t q = 0; q < 200; q++) {
        struct game game = begin(TRAINER_LEDGER, 0, q, q);
        int32_t k = game.episode.k, entry[TRAINER_HOPS_MAX], balance[TRAINER_HOPS_MAX];
        for (int32_t i = 0; i < k; i++) {
            entry[i] = look_up(&game, subject(&game), game.episode.relations[i]);
            assert_in_range(entry[i], 0, 95);
            balance[i] = i == 0 ? entry[0] : i % 2 ? add(&game, balance[i - 1], entry[i]) : add(&game, entry[i], balance[i - 1]);
            assert_int_equal(balance[i], i == 0 ? entry[0] : (balance[i - 1] + entry[i]) % 96);
            assert_int_equal(game.episode.hop, i + 1);
        }
        assert_int_equal(game.episode.good, (1u << (2 * k - 1)) - 1);
        assert_int_equal(answer(&game, balance), TRAINER_TURN_DONE);
        assert_true(game.episode.reward == 1 && trainer_env_judge(&game.episode, 2 * k - 1));
    }
}

/* The only useful sum adds the next entry to the latest balance, after the tool has shown that entry. */
static void sums_that_lead_nowhere_are_useless(void **state)
{
    (void)state;
    struct game game = begin(TRAINER_LEDGER, 0, 6, 0);
    const struct game fresh = game;
    const int32_t *asked = game.episode.relations;
    struct game peek = fresh;
    int32_t a = look_up(&peek, subject(&peek), asked[0]);
    int32_t b = look_up(&peek, subject(&peek), asked[1]);
    int32_t c = look_up(&peek, subject(&peek), asked[2]);
    (void)add(&game, a, b); /* call 0: neither number was shown */
    (void)look_up(&game, subject(&game), asked[0]);
    (void)add(&game, a, b); /* call 2: b was not shown */
    (void)look_up(&game, subject(&game), asked[2]);
    (void)add(&game, a, c); /* call 4: c is not the next entry */
    (void)look_up(&game, subject(&game), asked[1]);
    (void)add(&game, b, a);            /* call 6: the balance of two entries */
    (void)add(&game, b, a);            /* call 7: again */
    (void)add(&game, (a + b) % 96, c); /* call 8: the balance of three entries */
    assert_int_equal(game.episode.good, 1u << 1 | 1u << 3 | 1u << 5 | 1u << 6 | 1u << 8);
    assert_int_equal(game.episode.hop, 3);
}

static void a_look_up_takes_no_number_and_hopworld_no_sum(void **state)
{
    (void)state;
    struct game slots = begin(TRAINER_SLOTS, 0, 1, 0), hop = begin(TRAINER_HOPWORLD, 0, 1, 0),
                ledger = begin(TRAINER_LEDGER, 0, 1, 0);
    struct game *const games[] = {&slots, &hop, &ledger};
    for (size_t i = 0; i < 3; i++) {
        (void)write_token(games[i], TRAINER_S);
        (void)write_token(games[i], entity_token(games[i], 3));
        (void)write_token(games[i], entity_token(games[i], 4));
        assert_int_equal(games[i]->episode.malformed, i < 2);
    }
    (void)write_token(&ledger, TRAINER_END_S);
    assert_int_equal(ledger.text[2], entity_token(&ledger, 7));
}

/* ---- sums ---- */

/* Writes the answer: for each sum its second number and the sum, in the required order. */
static enum trainer_turn answer_sums(struct game *game, const int32_t *queue)
{
    enum trainer_turn turn = write_token(game, TRAINER_ANS);
    for (int32_t i = 0; i < game->episode.k; i++) {
        assert_int_equal(turn, TRAINER_TURN_GOES_ON);
        (void)write_token(game, entity_token(game, queue[2 * i + 1]));
        turn = write_token(game, entity_token(game, queue[game->episode.k + 1 + i]));
    }
    return turn;
}

/* Reads the list of k + 1 numbers in the prompt. */
static void read_list(const struct game *game, int32_t *queue)
{
    assert_int_equal(game->n_prompt, (size_t)game->episode.k + 3);
    for (int32_t i = 0; i <= game->episode.k; i++)
        queue[i] = game->prompt[1 + i] - entity_token(game, 0);
}

static void a_list_is_added_up(void **state)
{
    (void)state;
    for (uint64_t q = 0; q < 200; q++) {
        struct game game = begin(TRAINER_SUMS, 0, q, q);
        int32_t queue[TRAINER_HOPS_MAX + 1], k = game.episode.k;
        read_list(&game, queue);
        for (int32_t i = 0; i <= k; i++)
            for (int32_t j = 0; j < i; j++)
                assert_int_not_equal(queue[i], queue[j]);
        for (int32_t i = 0; i < k; i++) {
            int32_t a = queue[2 * i], b = queue[2 * i + 1];
            queue[k + 1 + i] = i % 2 ? add(&game, a, b) : add(&game, b, a);
            assert_int_equal(queue[k + 1 + i], (a + b) % 96);
        }
        assert_int_equal(game.episode.good, (1u << k) - 1);
        assert_int_equal(answer_sums(&game, queue), TRAINER_TURN_DONE);
        assert_true(game.episode.reward == 1 && trainer_env_judge(&game.episode, k));
    }
}

/*
 * A call is GOOD if it adds two known numbers whose sum is asked for and not yet known. Pairs of the list may be
 * added in any order.
 */
static void additions_of_other_numbers_are_useless(void **state)
{
    (void)state;
    struct game game = begin(TRAINER_SUMS, 0, 3, 0);
    int32_t queue[TRAINER_HOPS_MAX + 1];
    read_list(&game, queue);
    assert_int_equal(game.episode.k, 4); /* five numbers: the third sum adds the last number and the first sum */
    int32_t first = (queue[0] + queue[1]) % 96, second = (queue[2] + queue[3]) % 96;
    (void)add(&game, queue[4], first);    /* call 0: the tool has not yet shown the first sum */
    (void)add(&game, queue[1], queue[2]); /* call 1: not a pair */
    (void)add(&game, queue[2], queue[3]); /* call 2 */
    (void)add(&game, queue[3], queue[2]); /* call 3: again */
    (void)add(&game, queue[0], queue[1]); /* call 4 */
    (void)add(&game, second, first);      /* call 5: not a pair */
    (void)add(&game, first, queue[4]);    /* call 6 */
    (void)add(&game, second, (first + queue[4]) % 96);
    assert_int_equal(game.episode.good, 1u << 2 | 1u << 4 | 1u << 6 | 1u << 7);
    assert_int_equal(game.episode.found, 15);
}

static void a_failed_addition_is_good_and_tells_nothing(void **state)
{
    (void)state;
    struct game game = begin(TRAINER_SUMS, 1, 4, 0);
    for (int t = 0; t < 3; t++)
        assert_int_equal(add(&game, game.episode.path[0], game.episode.path[1]), -1);
    assert_int_equal(game.episode.good, 7);
    assert_int_equal(game.episode.found, 0);
}

/* Answering while sums are missing is BAD, even if the answer is right. If no sum is missing, answering is GOOD. */
static void a_list_is_answered_when_it_is_added_up(void **state)
{
    (void)state;
    struct game early = begin(TRAINER_SUMS, 0, 9, 0), full = early;
    int32_t queue[TRAINER_HOPS_MAX + 1], k = full.episode.k;
    read_list(&full, queue);
    for (int32_t i = 0; i < k; i++)
        queue[k + 1 + i] = add(&full, queue[2 * i], queue[2 * i + 1]);
    struct game *const games[] = {&early, &full};
    for (size_t i = 0; i < 2; i++) {
        (void)write_token(games[i], TRAINER_ANS);
        assert_int_equal(write_token(games[i], entity_token(&full, queue[0])), TRAINER_TURN_DONE);
        assert_true(games[i]->episode.reward == 0 && !games[i]->episode.malformed);
        assert_int_equal(trainer_env_judge(&games[i]->episode, games[i]->episode.turn), i);
    }
    struct game cut = begin(TRAINER_SUMS, 0, 9, 0);
    (void)write_token(&cut, TRAINER_ANS);
    (void)write_token(&cut, relation_token(0));
    assert_true(cut.episode.malformed);
}

static void a_calculator_takes_no_relation(void **state)
{
    (void)state;
    struct game game = begin(TRAINER_SUMS, 0, 1, 0);
    (void)write_token(&game, TRAINER_S);
    (void)write_token(&game, entity_token(&game, 3));
    assert_int_equal(write_token(&game, relation_token(0)), TRAINER_TURN_DONE);
    assert_true(game.episode.malformed);
}

static void facts_and_relations_do_not_matter_to_sums(void **state)
{
    (void)state;
    struct trainer_env env = begin(TRAINER_SUMS, 0, 0, 0).env;
    size_t most = trainer_env_max_tokens(&env);
    env.facts = TRAINER_FACTS_MAX;
    env.world.relations = 2;
    assert_int_equal(trainer_env_check(&env, NULL), TRAINER_OK);
    assert_int_equal(trainer_env_max_tokens(&env), most);
}

/* ---- all ---- */

/* Writes a call that is well-formed but useless. */
static int32_t waste(struct game *game)
{
    return game->env.kind == TRAINER_SUMS ? add(game, 1, 1) : look_up(game, 1, 1);
}

static void a_call_too_many_ends_the_episode(void **state)
{
    (void)state;
    for (int kind = TRAINER_SLOTS; kind <= TRAINER_SUMS; kind++) {
        struct game game = begin((enum trainer_env_kind)kind, 0, 1, 0);
        for (int32_t t = 0; t < TRAINER_TURNS_MAX; t++)
            (void)waste(&game);
        assert_int_equal(write_token(&game, TRAINER_S), TRAINER_TURN_DONE);
        assert_true(game.episode.malformed && game.episode.reward == 0);
        assert_false(trainer_env_judge(&game.episode, game.episode.turn));
    }
}

static void what_the_tool_says_is_the_questions_and_the_turns(void **state)
{
    (void)state;
    for (int kind = TRAINER_SLOTS; kind <= TRAINER_SUMS; kind++) {
        struct game a = begin((enum trainer_env_kind)kind, 0.5, 2, 8), b = begin((enum trainer_env_kind)kind, 0.5, 2, 8),
                    c = begin((enum trainer_env_kind)kind, 0.5, 2, 9);
        bool differs = false;
        for (int32_t t = 0; t < 10; t++) {
            int32_t of_a = waste(&a), of_b = waste(&b), of_c = waste(&c);
            assert_int_equal(of_a, of_b);
            assert_int_equal(a.n, b.n);
            assert_memory_equal(a.text, b.text, a.n * sizeof *a.text);
            differs = differs || a.n != c.n || of_a != of_c;
        }
        assert_true(differs);
    }
}

static void assert_refused(struct trainer_env env, const char *why)
{
    struct trainer_error err = {TRAINER_OK, ""};
    assert_int_equal(trainer_env_check(&env, &err), TRAINER_EINVAL);
    if (!strstr(err.text, why))
        fail_msg("'%s' does not say '%s'", err.text, why);
}

static void bad_environments_are_refused(void **state)
{
    (void)state;
    for (int kind = TRAINER_SLOTS; kind <= TRAINER_SUMS; kind++) {
        struct trainer_env env = begin((enum trainer_env_kind)kind, 0, 0, 0).env, bad = env;
        bad.k_max = 7;
        assert_refused(bad, "14 tokens");
        bad = env;
        if (kind == TRAINER_SUMS)
            bad.world.regions = bad.world.region_size = 2;
        else
            bad.world.relations = 5;
        assert_refused(bad, kind == TRAINER_SUMS ? "6 distinct numbers" : "distractors");
        bad = env;
        bad.max_turns = TRAINER_TURNS_MAX + 1;
        assert_refused(bad, "max_turns");
        bad = env;
        bad.p_fail = 2;
        assert_refused(bad, "p_fail");
    }
}

/* ---- the demonstrator ---- */

struct tally {
    double right, turns, useless, malformed, beliefs;
};

/* Plays a demonstration in the environment. A belief (a demonstration trained only on its answer) is only counted. */
static void watch(struct tally *tally, enum trainer_env_kind kind, const struct trainer_demo_options *options, uint64_t seed)
{
    int32_t tokens[512];
    uint8_t mask[512];
    struct trainer_rng rng = {trainer_seed(seed, 'd', 0)};
    struct game game = begin(kind, 0.1, 0, 0);
    size_t most = trainer_env_max_tokens(&game.env);
    uint64_t question = trainer_rng_next(&rng), noise = trainer_rng_next(&rng);
    game.n_prompt = trainer_env_reset(&game.env, question, noise, &game.episode, game.prompt);
    size_t n = trainer_env_demonstrate(&game.env, options, seed, tokens, mask), trained = 0;
    assert_true(n <= most);
    assert_memory_equal(tokens, game.prompt, game.n_prompt * sizeof *tokens);
    for (size_t t = 0; t < n; t++)
        trained += mask[t];
    if (trained == 2 * (size_t)game.episode.k) {
        tally->beliefs++;
        return;
    }
    for (size_t t = game.n_prompt; t < n; t++) {
        if (!mask[t] || game.episode.done)
            continue;
        if (write_token(&game, tokens[t]) == TRAINER_TURN_OBSERVED)
            assert_memory_equal(tokens + t + 1, game.text, game.n * sizeof *tokens);
    }
    assert_true(game.episode.done);
    tally->right += game.episode.reward;
    tally->malformed += game.episode.malformed;
    tally->turns += game.episode.turn;
    for (int32_t t = 0; t < game.episode.turn; t++)
        tally->useless += !trainer_env_judge(&game.episode, t);
}

static struct tally watch_many(enum trainer_env_kind kind, struct trainer_demo_options options)
{
    struct tally tally = {0};
    for (uint64_t seed = 0; seed < 1000; seed++)
        watch(&tally, kind, &options, seed);
    assert_true(tally.malformed == 0);
    return tally;
}

static void each_error_makes_demonstrations_worse(void **state)
{
    (void)state;
    for (int k = TRAINER_SLOTS; k <= TRAINER_SUMS; k++) {
        enum trainer_env_kind kind = (enum trainer_env_kind)k;
        struct trainer_demo_options none = {0}, some = none;
        struct tally best = watch_many(kind, none);
        assert_true(best.right == 1000 && best.useless == 0);
        some.p_wrong = 0.3;
        struct tally tally = watch_many(kind, some);
        assert_true(tally.useless / tally.turns > 0.2 && tally.useless / tally.turns < 0.32);
        assert_true(tally.turns > 1.2 * best.turns);
        some = none;
        some.p_stop = 0.3;
        tally = watch_many(kind, some);
        assert_true(tally.turns < 0.7 * best.turns && tally.right < 600);
        some.p_hindsight = 1;
        assert_true(watch_many(kind, some).right == 1000);
        some = none;
        some.p_needless = 0.5;
        tally = watch_many(kind, some);
        assert_true(tally.right == 1000 && tally.useless > 800);
        some = none;
        some.p_belief = 0.25;
        tally = watch_many(kind, some);
        assert_true(tally.beliefs > 200 && tally.beliefs < 300);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filled_form_is_rewarded),
        cmocka_unit_test(an_answer_names_every_slot),
        cmocka_unit_test(a_wrong_answer_is_not_a_malformed_one),
        cmocka_unit_test(distractors_never_have_an_asked_relation),
        cmocka_unit_test(searches_that_fill_no_slot_are_useless),
        cmocka_unit_test(a_failed_search_is_good_and_fills_nothing),
        cmocka_unit_test(answering_is_judged_by_what_was_left_to_do),
        cmocka_unit_test(a_call_too_many_ends_the_episode),
        cmocka_unit_test(balances_are_added_up),
        cmocka_unit_test(sums_that_lead_nowhere_are_useless),
        cmocka_unit_test(a_look_up_takes_no_number_and_hopworld_no_sum),
        cmocka_unit_test(a_list_is_added_up),
        cmocka_unit_test(additions_of_other_numbers_are_useless),
        cmocka_unit_test(a_failed_addition_is_good_and_tells_nothing),
        cmocka_unit_test(a_list_is_answered_when_it_is_added_up),
        cmocka_unit_test(a_calculator_takes_no_relation),
        cmocka_unit_test(facts_and_relations_do_not_matter_to_sums),
        cmocka_unit_test(what_the_tool_says_is_the_questions_and_the_turns),
        cmocka_unit_test(bad_environments_are_refused),
        cmocka_unit_test(each_error_makes_demonstrations_worse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
