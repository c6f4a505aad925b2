/* rlcore_group_advantage.c: tests properties of the advantages of whole rollouts. */
#include "support/unit.h"

#include <math.h>
#include <string.h>

#include <rlcore/group_advantage.h>

#include "support/random_batch.h"

enum { MAX_TRACES = 12, KINDS = 4 };
enum { GRPO, MAX_RL, HIERARCHICAL, RAE };

struct group {
    size_t n;
    struct rl_trace traces[MAX_TRACES];
    double advantages[MAX_TRACES];
    uint8_t counted[MAX_TRACES];
    struct rl_baseline baselines[4];
    size_t n_baselines;
    struct rl_error err;
};

static const char *const agents[] = {"proposer", "solver"}, *const episodes[] = {"a", "b", "c"};

static struct group random_group(struct test_rng *rng)
{
    struct group g = {.n = test_rng_below(rng, MAX_TRACES + 1)};
    for (size_t i = 0; i < g.n; i++) {
        double output = (double)test_rng_below(rng, 50);
        g.traces[i] = (struct rl_trace){.reward = test_rng_normal(rng),
                                        .agent = agents[test_rng_below(rng, 2)],
                                        .episode = episodes[test_rng_below(rng, 3)],
                                        .has_error = test_rng_below(rng, 6) == 0,
                                        .not_trainable = test_rng_below(rng, 6) == 0,
                                        .n_output_tokens = output,
                                        .n_total_tokens = output + (double)test_rng_below(rng, 50),
                                        .n_turns = (double)test_rng_below(rng, 5)};
    }
    return g;
}

static const struct rl_length_weights penalty = {.output = 0.25, .input = 0.1, .turns = 0.1};

static enum rl_status run(struct group *g, int kind)
{
    switch (kind) {
    case GRPO: return rl_group_grpo(g->traces, g->n, &penalty, g->advantages, g->counted, &g->err);
    case MAX_RL: return rl_group_max_rl(g->traces, g->n, g->advantages, g->counted, &g->err);
    case HIERARCHICAL: return rl_group_hierarchical(g->traces, g->n, agents + 1, 1, g->advantages, g->counted, &g->err);
    default: break;
    }
    return rl_group_rae(g->traces, g->n, 0.9, g->baselines, &g->n_baselines, 4, g->advantages, g->counted, &g->err);
}

static void relative_advantages_sum_to_0(void **state)
{
    (void)state;
    struct test_rng rng = {1};
    for (size_t round = 0; round < 200; round++)
        for (int kind = GRPO; kind <= HIERARCHICAL; kind++) {
            struct group g = random_group(&rng);
            double sum = 0, largest = 1;
            assert_int_equal(run(&g, kind), RL_OK);
            for (size_t i = 0; i < g.n; i++) {
                sum += g.advantages[i];
                largest = fmax(largest, fabs(g.advantages[i]));
            }
            assert_true(fabs(sum) < 1e-13 * largest * MAX_TRACES);
        }
}

static void traces_that_do_not_count_change_nothing(void **state)
{
    (void)state;
    struct test_rng rng = {2};
    for (size_t round = 0; round < 200; round++)
        for (int kind = GRPO; kind <= HIERARCHICAL; kind++) {
            struct group g = random_group(&rng), less = {0};
            size_t k = 0;
            for (size_t i = 0; i < g.n; i++)
                if (!g.traces[i].has_error && !g.traces[i].not_trainable)
                    less.traces[less.n++] = g.traces[i];
                else
                    g.traces[i].reward = NAN;
            assert_int_equal(run(&g, kind), RL_OK);
            assert_int_equal(run(&less, kind), RL_OK);
            for (size_t i = 0; i < g.n; i++) {
                assert_int_equal(g.counted[i], !g.traces[i].has_error && !g.traces[i].not_trainable);
                assert_true(g.advantages[i] == (g.counted[i] ? less.advantages[k++] : 0));
            }
        }
}

static void reversing_the_rows_reverses_the_advantages(void **state)
{
    (void)state;
    struct test_rng rng = {3};
    for (size_t round = 0; round < 200; round++)
        for (int kind = GRPO; kind <= HIERARCHICAL; kind++) {
            struct group g = random_group(&rng), turned = {.n = g.n};
            for (size_t i = 0; i < g.n; i++)
                turned.traces[g.n - 1 - i] = g.traces[i];
            assert_int_equal(run(&g, kind), RL_OK);
            assert_int_equal(run(&turned, kind), RL_OK);
            for (size_t i = 0; i < g.n; i++)
                assert_true(fabs(g.advantages[i] - turned.advantages[g.n - 1 - i]) < 1e-12 * fmax(1, fabs(g.advantages[i])));
        }
}

/*
 * The first trace of episode a comes before episode b but has an error, so it does not count. The trace of a that
 * counts comes last.
 */
static void rae_takes_episodes_as_they_first_appear(void **state)
{
    (void)state;
    struct group g = {.n = 3};
    g.traces[0] = (struct rl_trace){.reward = 5, .agent = "x", .episode = "a", .has_error = true};
    g.traces[1] = (struct rl_trace){.reward = 1, .agent = "x", .episode = "b"};
    g.traces[2] = (struct rl_trace){.reward = 2, .agent = "x", .episode = "a"};
    assert_int_equal(rl_group_rae(g.traces, 3, 0.5, g.baselines, &g.n_baselines, 4, g.advantages, g.counted, NULL), RL_OK);
    /* a comes first, with baseline 0; the baseline is then 1 */
    assert_true(g.advantages[2] == 2 && g.advantages[1] == 0);
    assert_true(g.n_baselines == 1 && g.baselines[0].value == 1);
}

static void rae_keeps_a_baseline_per_agent(void **state)
{
    (void)state;
    struct group g = {.n = 2};
    g.traces[0] = (struct rl_trace){.reward = 1, .agent = "x"};
    g.traces[1] = (struct rl_trace){.reward = -1, .agent = "y"};
    for (size_t round = 0; round < 60; round++)
        assert_int_equal(run(&g, RAE), RL_OK);
    assert_int_equal(g.n_baselines, 2);
    assert_true(fabs(g.baselines[0].value - 1) < 0.01 && fabs(g.baselines[1].value + 1) < 0.01);
    g.traces[0].agent = "z";
    assert_int_equal(rl_group_rae(g.traces, 2, 0.5, g.baselines, &g.n_baselines, 2, g.advantages, g.counted, &g.err), RL_EINVAL);
    assert_non_null(strstr(g.err.text, "agent 'z'"));
}

static void max_rl_of_failures_is_0(void **state)
{
    (void)state;
    struct group g = {.n = 3};
    assert_int_equal(run(&g, MAX_RL), RL_OK);
    for (size_t i = 0; i < 3; i++)
        assert_true(g.advantages[i] == 0);
}

static void bad_values_are_named(void **state)
{
    (void)state;
    for (int kind = GRPO; kind < KINDS; kind++) {
        struct group g = {.n = 2};
        g.traces[1].reward = INFINITY;
        assert_int_equal(run(&g, kind), RL_EVALUE);
        assert_non_null(strstr(g.err.text, "trace 1 is inf"));
    }
    struct group g = {.n = 2};
    g.traces[1].n_output_tokens = 3;
    g.traces[1].n_total_tokens = 2;
    assert_int_equal(run(&g, GRPO), RL_EVALUE);
    assert_non_null(strstr(g.err.text, "trace 1: 3 output tokens of only 2"));
    g = (struct group){.n = 2, .traces = {{.reward = 1.7e308}, {.reward = 1.7e308}}};
    assert_int_equal(run(&g, MAX_RL), RL_EVALUE);
    assert_non_null(strstr(g.err.text, "advantage of trace 0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(relative_advantages_sum_to_0),
                                       cmocka_unit_test(traces_that_do_not_count_change_nothing),
                                       cmocka_unit_test(reversing_the_rows_reverses_the_advantages),
                                       cmocka_unit_test(rae_takes_episodes_as_they_first_appear),
                                       cmocka_unit_test(rae_keeps_a_baseline_per_agent),
                                       cmocka_unit_test(max_rl_of_failures_is_0),
                                       cmocka_unit_test(bad_values_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
