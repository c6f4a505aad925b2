/* rlcore_process.c: tests process rewards, episodes and ADCA-GRPO: identities, edge cases and bad input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include <rlcore/adca.h>
#include <rlcore/process.h>

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.17g is not %.17g", a, b);
}

static void utilities_sum_to_the_whole(void **state)
{
    (void)state;
    const double values[] = {-3, -1, -1.5, 0}, bad[] = {0, NAN};
    double u[3];
    assert_int_equal(rl_marginal_utility(4, values, u, NULL), RL_OK);
    assert_near(u[0] + u[1] + u[2], 3, 1e-15);
    assert_int_equal(rl_marginal_utility(0, values, u, NULL), RL_EINVAL);
    assert_int_equal(rl_marginal_utility(2, bad, u, NULL), RL_EVALUE);
}

/* One token per byte. */
static size_t episodes_of(const char *text, size_t max_tokens, size_t *starts)
{
    size_t token[128], n = strlen(text), count = 99;
    struct rl_episode_options options;
    rl_episode_options_init(&options);
    options.max_tokens = max_tokens;
    for (size_t i = 0; i <= n; i++)
        token[i] = i;
    assert_int_equal(rl_episode_starts(text, n, token, &options, starts, &count, NULL), RL_OK);
    return count;
}

static void episodes_begin_at_markers(void **state)
{
    (void)state;
    size_t starts[128];
    assert_int_equal(episodes_of("", 0, starts), 0);
    assert_int_equal(episodes_of("x = 1. Wait, no. So x = 2", 0, starts), 3);
    assert_int_equal(starts[1], 7);
    assert_int_equal(starts[2], 17);
    assert_int_equal(episodes_of("Wait, Wait", 0, starts), 1);
}

static void long_stretches_are_cut_at_sentences(void **state)
{
    (void)state;
    size_t starts[128];
    assert_int_equal(episodes_of("One. Two. Three", 10, starts), 2);
    assert_int_equal(starts[1], 10);
    assert_int_equal(episodes_of("no end at all here", 4, starts), 1);
    assert_int_equal(episodes_of("a long one. b", 4, starts), 2);
    assert_int_equal(starts[1], 11);
}

static void sets_of_one_or_of_equal_values_give_0(void **state)
{
    (void)state;
    const uint8_t mask[] = {1, 0, 1, 0, 0, 1}, event[] = {1, 0, 2, 0, 0, 2}, response[] = {1, 1, 1, 0, 0, 1};
    const int64_t group[] = {5, 5};
    const double rewards[] = {0.9, NAN, 0.9, NAN, NAN, 0.9};
    const struct rl_batch batch = {2, 3, mask, NULL, group};
    _Alignas(64) unsigned char memory[512];
    struct rl_workspace ws = {.data = memory, .size = sizeof memory};
    double advantages[6];
    assert_int_equal(rl_process_advantage(&batch, event, rewards, advantages, &ws, NULL), RL_OK);
    for (size_t i = 0; i < 6; i++)
        assert_near(advantages[i], 0, 0);
    const struct rl_batch unknown = {2, 3, response, NULL, group}; /* NaN at a response token is not "no reward" */
    assert_int_equal(rl_process_advantage(&unknown, event, rewards, advantages, &ws, NULL), RL_EVALUE);
    const uint8_t wrong[] = {1, 3, 2, 0, 0, 2};
    assert_int_equal(rl_process_advantage(&batch, wrong, rewards, advantages, &ws, NULL), RL_EVALUE);
}

/* Two rows of one group; the first has three steps, the second two. */
struct prm {
    int32_t step_id[10];
    size_t start[3], flag_start[3];
    uint8_t flags[5];
    int64_t group[2];
    double rewards[10];
    double step_rewards[5], step_advantages[5], advantages[10];
    struct rl_adca_metrics metrics;
    struct rl_adca_options options;
    struct rl_error err;
};

static struct prm prm_new(void)
{
    struct prm p = {.step_id = {-1, 0, 0, 1, 2, 0, -1, 1, 1, -1},
                    .flag_start = {0, 3, 5},
                    .flags = {1, 0, 1, 0, 0},
                    .rewards = {0, 0, 0, 0, 1, 0, 0, 0, 0, 0}};
    rl_adca_options_init(&p.options);
    assert_int_equal(rl_adca_step_starts(2, 5, p.step_id, p.start, NULL), RL_OK);
    return p;
}

static enum rl_status run_prm(struct prm *p)
{
    _Alignas(64) unsigned char memory[2048];
    struct rl_workspace ws = {.data = memory, .size = sizeof memory};
    const struct rl_adca_input in = {2, 5, p->group, p->step_id, p->start, p->flags, p->flag_start};
    const struct rl_adca_output out = {NULL, p->step_rewards, p->step_advantages, &p->metrics};
    return rl_adca_advantage(&in, &p->options, p->rewards, p->advantages, &out, &ws, &p->err);
}

static void allocation_shares_out_one(void **state)
{
    (void)state;
    struct prm p = prm_new();
    p.options.scheme = RL_ADCA_ALLOCATION;
    p.options.do_batch_norm = false;
    assert_int_equal(run_prm(&p), RL_OK);
    double o = 0.5 / (0.5 + 1e-12); /* the outcomes 1 and 0 have mean and deviation 0.5 */
    assert_near(p.step_advantages[0], 1 + o, 1e-14);
    assert_near(p.step_advantages[3], -1 - o, 1e-14);
    assert_near(p.advantages[0], 0, 0);
    assert_near(p.advantages[2], p.step_advantages[0], 0);
    assert_near(p.advantages[8], p.step_advantages[4], 0);
    p.options.outcome_weight = 0.25;
    assert_int_equal(run_prm(&p), RL_OK);
    assert_near(p.step_advantages[0], 1 + 0.25 * o, 1e-14);
    assert_near(p.metrics.outcome_share_last_mean, 0.25 * o / (0.25 * o + 1 + 1e-12), 1e-12);
    p.options.outcome_weight = NAN;
    assert_int_equal(run_prm(&p), RL_EINVAL);
    p.options.outcome_weight = 1;
    p.options.outcome = RL_ADCA_ONLY;
    assert_int_equal(run_prm(&p), RL_EINVAL);
}

static void normalised_steps_have_mean_zero(void **state)
{
    (void)state;
    struct prm p = prm_new();
    p.options.outcome = RL_ADCA_ONLY;
    p.options.equal_trajectory_weight = false;
    assert_int_equal(run_prm(&p), RL_OK);
    assert_near(p.metrics.attr_mean, 0, 1e-14);
    assert_near(p.metrics.attr_std, 1, 1e-10);
    assert_near(p.step_advantages[0] + p.step_advantages[3], 0, 1e-14);
}

static void bad_steps_are_named(void **state)
{
    (void)state;
    struct prm p = prm_new();
    p.rewards[7] = INFINITY;
    assert_int_equal(run_prm(&p), RL_EVALUE);
    assert_non_null(strstr(p.err.text, "token_level_rewards[1][2]"));
    p.step_id[3] = -2;
    assert_int_equal(rl_adca_step_starts(2, 5, p.step_id, p.start, &p.err), RL_EVALUE);
    assert_non_null(strstr(p.err.text, "step_ids[0][3]"));
    const int32_t ids[] = {0, 2};
    const size_t start[] = {0, 2};
    const double values[] = {1, 2};
    double out[2];
    assert_int_equal(rl_adca_spread(1, 2, ids, start, values, out, &p.err), RL_EVALUE);
}

static void the_schedule_ends(void **state)
{
    (void)state;
    struct rl_adca_schedule s = {
        .enable = true, .global_step = 9, .prm_steps = 10, .alpha = 0.5, .cosine_decay = true, .alpha_min = 0.1, .progress = 1.5};
    bool applied;
    double alpha;
    assert_int_equal(rl_adca_schedule_at(&s, &applied, &alpha, NULL), RL_OK);
    assert_true(applied);
    assert_near(alpha, 0.1, 1e-15);
    s.global_step = 10;
    s.progress = NAN;
    assert_int_equal(rl_adca_schedule_at(&s, &applied, &alpha, NULL), RL_OK);
    assert_false(applied);
    assert_near(alpha, 0.5, 1e-15);
}

static void rows_that_skip_the_judge(void **state)
{
    (void)state;
    const double overall[] = {0, 1, -1e-9, 0.5}, outcomes[] = {1, 0.5, 0, -1};
    bool skipped[4];
    uint8_t flag[4];
    assert_int_equal(rl_adca_skip_rows(RL_ADCA_SKIP_SMALL_ADV, 4, overall, outcomes, skipped, flag, NULL), RL_OK);
    assert_true(skipped[0] && !skipped[1] && skipped[2] && !skipped[3]);
    assert_true(flag[0] == 1 && flag[1] == 0);
    assert_int_equal(rl_adca_skip_rows(RL_ADCA_SKIP_ALL_NEG, 4, NULL, outcomes, skipped, flag, NULL), RL_OK);
    assert_true(!skipped[0] && !skipped[1] && skipped[2] && skipped[3]);
}

/* A row that was not judged keeps its outcome. The other rows get the values that they would have without this row. */
static void a_row_that_was_not_judged_keeps_its_outcome(void **state)
{
    (void)state;
    struct prm p = prm_new(), alone = prm_new();
    for (int scheme = 0; scheme < 2; scheme++) {
        p = prm_new();
        alone = prm_new();
        p.options.scheme = alone.options.scheme = (enum rl_adca_scheme)scheme;
        p.flags[3] = p.flags[4] = RL_ADCA_UNJUDGED;
        assert_int_equal(run_prm(&p), RL_OK);
        double o = 0.5 / (0.5 + 1e-12); /* the outcomes 1 and 0 have mean and deviation 0.5 */
        assert_near(p.step_advantages[3], -o, 1e-14);
        assert_near(p.step_advantages[4], -o, 1e-14);
        /* The first row is the only judged one of its group, so its attribution adds up to 0. */
        assert_near(p.step_advantages[0], o, 1e-12);
        assert_true(fabs(p.step_rewards[1] - p.step_rewards[0]) > 0.1);
        assert_near(p.metrics.neg_traj_bad_majority_rate, 0, 0);
        assert_near(p.metrics.out_mean, o, 1e-14);
    }
    const double outcomes[] = {1, 0};
    struct rl_adca_flag_rates rates;
    assert_int_equal(rl_adca_count_flags(2, outcomes, p.flags, p.flag_start, &rates, NULL), RL_OK);
    assert_near(rates.good_total, 2, 0);
    assert_near(rates.bad_total, 1, 0);
    assert_near(rates.neg_good, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utilities_sum_to_the_whole),
        cmocka_unit_test(episodes_begin_at_markers),
        cmocka_unit_test(long_stretches_are_cut_at_sentences),
        cmocka_unit_test(sets_of_one_or_of_equal_values_give_0),
        cmocka_unit_test(allocation_shares_out_one),
        cmocka_unit_test(normalised_steps_have_mean_zero),
        cmocka_unit_test(bad_steps_are_named),
        cmocka_unit_test(the_schedule_ends),
        cmocka_unit_test(rows_that_skip_the_judge),
        cmocka_unit_test(a_row_that_was_not_judged_keeps_its_outcome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
