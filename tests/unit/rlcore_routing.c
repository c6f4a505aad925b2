/* rlcore_routing.c: tests the comparison and the moving of routes, the choice of a replay, and the decision tree. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/compose.h>
#include <rlcore/correction_plan.h>
#include <rlcore/routing.h>

#include "support/random_batch.h"

static void agreement_matches_hand_computed_values(void **state)
{
    (void)state;
    /* 1 row, 3 tokens, 2 layers, 2 experts per token. The last token was not written by the policy. */
    const uint8_t mask[] = {1, 1, 0};
    const uint16_t a[] = {0, 1, 2, 3, 4, 5, 6, 7, 9999, 9999, 9999, 9999};
    const uint16_t b[] = {1, 0, 2, 4, 5, 6, 0, 1, 0, 0, 0, 0};
    const struct rl_batch batch = {.n_rows = 1, .n_tokens = 3, .mask = mask};
    const struct rl_routes x = {2, 2, 8, a}, y = {2, 2, 8, b};
    double layer[2], token[3];
    struct rl_route_agreement out;
    struct rl_workspace ws = {0};
    enum rl_status status;
    do
        status = rl_routes_compare(&batch, &x, &y, layer, token, &out, &ws, NULL);
    while (test_again(&ws, status));
    assert_int_equal(status, RL_OK);
    assert_true(out.share == 0.5 && out.exact == 0.25 && out.n_places == 4);
    assert_true(layer[0] == 0.75 && layer[1] == 0.25);
    assert_true(token[0] == 0.75 && token[1] == 0.25 && token[2] == 0);
    free(ws.data);
}

static void bad_routes_are_named(void **state)
{
    (void)state;
    const uint8_t mask[] = {0, 1};
    uint16_t a[] = {9, 9, 9, 9, 0, 1, 2, 8};
    const struct rl_batch batch = {.n_rows = 1, .n_tokens = 2, .mask = mask};
    struct rl_routes routes = {2, 2, 8, a};
    struct rl_error err;
    assert_int_equal(rl_routes_check("routes", &routes, &batch, &err), RL_EVALUE);
    assert_non_null(strstr(err.text, "routes[0][1][1][1] is 8, not an expert"));
    a[7] = 2;
    assert_int_equal(rl_routes_check("routes", &routes, &batch, &err), RL_EVALUE);
    assert_non_null(strstr(err.text, "listed twice"));
    a[7] = 3;
    assert_int_equal(rl_routes_check("routes", &routes, &batch, &err), RL_OK);
    routes.top_k = 9;
    assert_int_equal(rl_routes_check("routes", &routes, &batch, &err), RL_EINVAL);
}

/* Moving routes to a packed layout with padding, and back, leaves them unchanged. */
static void carrying_and_back_is_the_identity(void **state)
{
    (void)state;
    enum { TOKENS = 50, SIZE = 6, PACKED = 64 };
    uint16_t experts[TOKENS * SIZE], packed[PACKED * SIZE], back[TOKENS * SIZE];
    size_t source[PACKED], home[TOKENS];
    for (size_t i = 0; i < PACKED; i++)
        source[i] = SIZE_MAX;
    for (size_t i = 0; i < TOKENS; i++) {
        home[i] = (i * 37 + 5) % PACKED; /* 37 and 64 have no common factor */
        source[home[i]] = i;
        for (size_t k = 0; k < SIZE; k++)
            experts[i * SIZE + k] = (uint16_t)(i * 10 + k);
    }
    const struct rl_routes routes = {3, 2, 1000, experts}, moved = {3, 2, 1000, packed};
    assert_int_equal(rl_routes_carry(&routes, TOKENS, source, PACKED, packed, NULL), RL_OK);
    assert_int_equal(rl_routes_carry(&moved, PACKED, home, TOKENS, back, NULL), RL_OK);
    assert_memory_equal(back, experts, sizeof experts);
    for (size_t i = 0; i < PACKED; i++)
        assert_int_equal(packed[i * SIZE] == RL_NO_EXPERT, source[i] == SIZE_MAX);
    source[0] = TOKENS;
    struct rl_error err;
    assert_int_equal(rl_routes_carry(&routes, TOKENS, source, 1, packed, &err), RL_EINVAL);
    assert_non_null(strstr(err.text, "source[0]"));
}

static void replay_follows_off_policiness(void **state)
{
    (void)state;
    const struct {
        double global, mini, n;
        enum rl_replay replay;
    } cases[] = {{64, 64, 1, RL_REPLAY_NONE}, {64, 32, 2, RL_REPLAY_R2},  {96, 32, 3, RL_REPLAY_R2},
                 {96, 64, 1.5, RL_REPLAY_R2}, {128, 32, 4, RL_REPLAY_R3}, {112, 32, 3.5, RL_REPLAY_R3},
                 {1024, 32, 32, RL_REPLAY_R3}};
    enum rl_replay replay;
    double n;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(rl_replay_choose(cases[i].global, cases[i].mini, &replay, &n, NULL), RL_OK);
        assert_int_equal(replay, cases[i].replay);
        assert_true(n == cases[i].n);
    }
    assert_int_equal(rl_replay_choose(32, 64, &replay, &n, NULL), RL_EINVAL);
    assert_int_equal(rl_replay_choose(32, 0, &replay, &n, NULL), RL_EINVAL);
    assert_int_equal(rl_replay_choose(NAN, 1, &replay, &n, NULL), RL_EINVAL);
    assert_string_equal(rl_replay_name(RL_REPLAY_R3), "R3");
}

/* Compares the decision tree with its rule in one line, for all settings. */
static void the_tree_over_all_settings(void **state)
{
    (void)state;
    for (int s = 0; s < 16; s++)
        for (int n = 1; n <= 5; n++) {
            const struct rl_setting setting = {.other_engine = s & 1,
                                               .asynchronous = s & 2,
                                               .mixture = s & 4,
                                               .agentic = s & 8,
                                               .global_batch = 60.0 * n,
                                               .mini_batch = 60};
            struct rl_correction_plan p;
            assert_int_equal(rl_correction_plan(&setting, &p, NULL), RL_OK);
            bool moe = setting.mixture, ahead = setting.asynchronous;
            const bool expected[RL_CORRECTIONS] = {
                [RL_CORRECT_WEIGHTS] = setting.other_engine || moe,
                [RL_CORRECT_CLIP] = n > 1 || ahead,
                [RL_CORRECT_ADMISSION] = ahead,
                [RL_CORRECT_DECOUPLED] = ahead,
                [RL_CORRECT_R2] = moe && (n == 2 || n == 3),
                [RL_CORRECT_R3] = moe && n >= 4,
                [RL_CORRECT_TOOL_MASK] = setting.agentic,
                [RL_CORRECT_TURN_RATIOS] = setting.agentic,
            };
            for (int i = 0; i < RL_CORRECTIONS; i++) {
                assert_int_equal(p.advice[i].needed, expected[i]);
                assert_true(p.advice[i].reason && *p.advice[i].reason);
            }
            assert_true(p.off_policiness == n);
        }
}

static void a_plan_becomes_options(void **state)
{
    (void)state;
    const struct rl_setting setting = {.mixture = true, .agentic = true, .global_batch = 8, .mini_batch = 4};
    struct rl_correction_plan plan;
    struct rl_compose_options options;
    assert_int_equal(rl_correction_plan(&setting, &plan, NULL), RL_OK);
    rl_compose_options_of(&options, &plan);
    assert_true(options.per_turn && options.replay == RL_REPLAY_R2 && options.backend_cap == 2);
    rl_compose_options_of(&options, NULL);
    assert_true(!options.per_turn && options.replay == RL_REPLAY_NONE);
}

static void turns_are_renumbered_without_tools(void **state)
{
    (void)state;
    const uint8_t mask[] = {0, 1, 1, 1, 1, 1, 1}, tool[] = {1, 0, 1, 1, 1, 0, 0};
    const int32_t turn[] = {-1, 0, 0, 1, 1, 2, 3}, expected[] = {-1, 0, -1, -1, -1, 1, 2};
    int32_t disordered[] = {-1, 2, 2, 2, 2, 1, 3};
    const uint8_t left[] = {0, 1, 0, 0, 0, 1, 1};
    struct rl_batch batch = {.n_rows = 1, .n_tokens = 7, .mask = mask, .turn = turn};
    uint8_t out[7];
    int32_t numbered[7];
    struct rl_error err;
    assert_int_equal(rl_mask_tools(&batch, tool, out, numbered, NULL), RL_OK);
    assert_memory_equal(out, left, 7);
    assert_memory_equal(numbered, expected, sizeof expected);
    batch.turn = disordered;
    assert_int_equal(rl_mask_tools(&batch, tool, out, numbered, &err), RL_EVALUE);
    assert_non_null(strstr(err.text, "turn id[0][5]"));
    assert_int_equal(rl_mask_tools(&batch, (const uint8_t[]){0, 0, 2, 0, 0, 0, 0}, out, NULL, &err), RL_EVALUE);
    assert_non_null(strstr(err.text, "tool[0][2]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agreement_matches_hand_computed_values),
        cmocka_unit_test(bad_routes_are_named),
        cmocka_unit_test(carrying_and_back_is_the_identity),
        cmocka_unit_test(replay_follows_off_policiness),
        cmocka_unit_test(the_tree_over_all_settings),
        cmocka_unit_test(a_plan_becomes_options),
        cmocka_unit_test(turns_are_renumbered_without_tools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
