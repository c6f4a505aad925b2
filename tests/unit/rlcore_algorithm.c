/* rlcore_algorithm.c: tests the samples and streams of each named algorithm, and the inputs that are refused. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/adca.h>
#include <rlcore/advantage.h>
#include <rlcore/samples.h>

#include "support/random_batch.h"
#include "support/rollout_case.h"

/* The algorithms that work on message trees. */
static const char *const all[] = {"grpo", "max_rl", "hierarchical_grpo", "rae", "reward", "custom", "echo", "opd", "opsd", "sft"};
enum { ALL = sizeof all / sizeof *all };

static const struct rl_algorithm *find(const char *name)
{
    const struct rl_algorithm *algorithm = NULL;
    assert_int_equal(rl_algorithm_find(name, &algorithm, NULL), RL_OK);
    return algorithm;
}

static void ok(struct rollout_case *c, const char *algorithm)
{
    enum rl_status status = rollout_case_run(c, algorithm);
    if (status != RL_OK)
        print_error("%s: %s\n", algorithm, c->err.text);
    assert_int_equal(status, RL_OK);
}

static void refused(struct rollout_case *c, enum rl_status got, enum rl_status want, const char *text)
{
    assert_int_equal(got, want);
    assert_non_null(strstr(c->err.text, text));
}

static struct rl_pack_sample view(const struct rollout_case *c, size_t i)
{
    struct rl_pack_sample sample;
    rl_samples_view(&c->samples, i, &sample);
    return sample;
}

static void assert_reals(const double *got, const double *want, size_t n)
{
    assert_non_null(got);
    for (size_t t = 0; t < n; t++)
        assert_true(fabs(got[t] - want[t]) < 1e-12);
}

/* Asserts the advantages of sample i: a at the sampled tokens of node 1, and b at those of node 3 or 5. */
static void assert_advantages(const struct rollout_case *c, size_t i, double a, double b)
{
    double first[FIRST_LENGTH] = {0, 0, 0, a, a, 0, 0, 0, b, 0};
    double second[SECOND_LENGTH] = {0, 0, 0, a, a, 0, 0, b, b};
    struct rl_pack_sample s = view(c, i);
    assert_reals(s.advantages, s.n_tokens == FIRST_LENGTH ? first : second, s.n_tokens);
}

static void names_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < RL_N_ALGORITHMS; i++) {
        const struct rl_algorithm *row = rl_algorithm_at(i);
        assert_ptr_equal(find(row->name), row);
        assert_true(*row->summary && *row->source && row->code);
    }
    for (size_t i = 0; i < ALL; i++)
        assert_string_equal(find(all[i])->name, all[i]);
    assert_null(rl_algorithm_at(RL_N_ALGORITHMS));
}

static void an_unknown_name_is_refused_with_the_nearest_one(void **state)
{
    static const char *const cases[][2] = {{"grp", "grpo"},
                                           {"GRPO", "grpo"},
                                           {"v1d", "turn-group-v1d"},
                                           {"rlo", "rloo"},
                                           {"turn-goup", "turn-group"},
                                           {"ecko", "echo"},
                                           {"reinforce_plus", "reinforce_plus_plus"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rl_algorithm *algorithm = find("grpo");
        struct rl_error err;
        char expected[128];
        assert_int_equal(rl_algorithm_find(cases[i][0], &algorithm, &err), RL_EINVAL);
        assert_null(algorithm);
        snprintf(expected, sizeof expected, "'%s'; the nearest known one is %s", cases[i][0], cases[i][1]);
        if (!strstr(err.text, expected))
            fail_msg("%s, not %s", err.text, expected);
    }
}

static void distances_count_letters(void **state)
{
    (void)state;
    assert_int_equal(rl_name_distance("alpha", "alpha"), 0);
    assert_int_equal(rl_name_distance("alhpa", "alpha"), 1);
    assert_int_equal(rl_name_distance("alpa", "alpha"), 1);
    assert_int_equal(rl_name_distance("alphaa", "alpha"), 1);
    assert_int_equal(rl_name_distance("a", "alpha"), 1);       /* "a" begins the name "alpha" */
    assert_int_equal(rl_name_distance("v1d", "group-v1d"), 1); /* "v1d" is the last word of the name */
    assert_int_equal(rl_name_distance("pha", "alpha"), 2);
    assert_int_equal(rl_name_distance("kitten", "sitting"), 3);
    assert_int_equal(rl_name_distance("clip_high", "clip"), 5);
    assert_int_equal(rl_name_distance("", "abc"), 3);
}

/* Every setting that a row of the table reads exists, and its default is that of the kernel. */
static void settings_have_defaults(void **state)
{
    struct rl_algorithm_options options;
    struct rl_a2tgpo_options gains;
    struct rl_adca_options steps;
    (void)state;
    for (size_t i = 0; i < RL_N_ALGORITHMS; i++) {
        const struct rl_algorithm *row = rl_algorithm_at(i);
        size_t read = 0, words = 0;
        const char *name;
        for (const char *c = row->reads; *c; c++)
            words += *c != ' ' && (c[1] == ' ' || !c[1]);
        for (size_t k = 0; (name = rl_algorithm_setting_name(k)); k++) {
            read += rl_algorithm_reads(row, name);
            assert_true(isfinite(rl_algorithm_default(row, name)));
        }
        assert_int_equal(read, words);
    }
    assert_false(rl_algorithm_reads(find("turn-group-v1d"), "alph"));
    assert_true(rl_algorithm_reads(find("turn-group-v1d"), "alpha"));
    assert_false(rl_algorithm_reads(find("grpo"), "alpha"));
    assert_true(isnan(rl_algorithm_default(NULL, "lr")));
    rl_a2tgpo_options_init(&gains);
    rl_algorithm_options_init(&options, find("turn-group-v1d"));
    assert_true(options.alpha == gains.alpha && options.beta == gains.clip_beta && options.gamma == gains.gamma &&
                options.epsilon == gains.epsilon && options.norm_by_std == gains.norm_adv_by_std);
    rl_adca_options_init(&steps);
    rl_algorithm_options_init(&options, find("adca"));
    assert_true(options.alpha == steps.alpha && options.echo_weight == options.roles[0].weight);
}

/* The batch has two groups of two rows with one turn each; `want` holds the advantages that its outcomes must give. */
static void rows_and_trees_use_the_same_values(void **state)
{
    enum { B = 4, T = 3 };
    const uint8_t mask[B * T] = {1, 1, 0, 1, 0, 0, 1, 1, 1, 1, 1, 0};
    const int32_t turn[B * T] = {0, 0, -1, 0, -1, -1, 0, 0, 0, 0, 0, -1};
    const int64_t group[B] = {5, 5, 9, 9};
    const double outcome[B] = {1, 0, 0.5, 1.5}, want[B] = {1, -1, -0.5, 0.5};
    const size_t starts[B + 1] = {0, 1, 2, 3, 4};
    const struct rl_batch batch = {B, T, mask, turn, group};
    const struct rl_algorithm_input in = {.batch = &batch, .outcome = outcome, .turn_start = starts};
    double rewards[B * T], advantages[B * T], scale[B * T];
    float rewardsf[B * T], advantagesf[B * T], scalef[B * T];
    struct rl_a2tgpo_stats stats;
    struct rl_algorithm_options options;
    _Alignas(64) char memory[4096];
    struct rl_workspace ws = {memory, sizeof memory, 0}, none = {NULL, 0, 0};
    struct rl_error err;
    const struct rl_algorithm *max_rl = find("max_rl");
    (void)state;
    rl_algorithm_options_init(&options, max_rl);
    assert_int_equal(rl_algorithm_rows(max_rl, &in, &options, rewards, advantages, scale, &stats, &none, &err), RL_EWORKSPACE);
    assert_true(none.needed > 0 && none.needed <= sizeof memory);
    assert_int_equal(rl_algorithm_rows(max_rl, &in, &options, rewards, advantages, scale, &stats, &ws, &err), RL_OK);
    assert_int_equal(rl_algorithm_rowsf(max_rl, &in, &options, rewardsf, advantagesf, scalef, &stats, &ws, &err), RL_OK);
    for (size_t i = 0; i < B * T; i++) {
        assert_true(advantages[i] == (mask[i] ? want[i / T] : 0));
        assert_true((double)advantagesf[i] == advantages[i] && scale[i] == 1);
    }
    assert_true(rewards[1] == 1 && rewards[0] == 0 && rewards[8] == 0.5 && rewards[10] == 1.5);
    assert_true(stats.ig_clip_scale_mean == 1 && stats.ig_clip_scale_std == 0);
    const struct {
        const char *name, *text;
    } refused_rows[] = {{"custom", "works on message trees"}, {"hierarchical_grpo", "hierarchical_grpo needs episodes"},
                        {"ppo", "ppo needs values"},          {"remax", "remax needs baselines"},
                        {"joint", "joint needs gains"},       {"adca", "adca needs flags"}};
    for (size_t i = 0; i < sizeof refused_rows / sizeof *refused_rows; i++) {
        assert_int_equal(
            rl_algorithm_rows(find(refused_rows[i].name), &in, &options, rewards, advantages, scale, &stats, &ws, &err),
            RL_EINVAL);
        assert_non_null(strstr(err.text, refused_rows[i].text));
    }
}

/* The algorithms of the table must give the results of the kernels that they call, in both precisions. */
static void rows_with_values_and_baselines_are_the_kernels(void **state)
{
    enum { B = 3, T = 4 };
    const uint8_t mask[B * T] = {1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0};
    const int32_t turn[B * T] = {0, -1, 1, 1, 0, 0, -1, -1, 0, 0, 0, -1};
    const int64_t group[B] = {1, 1, 2};
    const double outcome[B] = {1, 0, 0.5}, baseline[B] = {0.25, 0.25, 1};
    const double values[B * T] = {0.5, 0, 0.25, 0.75, 0.125, 0.5, 0, 0, 1, 0.5, 0.25, 0};
    const size_t starts[B + 1] = {0, 2, 3, 4};
    const struct rl_batch batch = {B, T, mask, turn, group};
    double returns[B * T], rewards[B * T], advantages[B * T], scale[B * T], want[B * T], to[B * T];
    float rewardsf[B * T], advantagesf[B * T], scalef[B * T];
    const struct rl_algorithm_input in = {
        .batch = &batch, .outcome = outcome, .turn_start = starts, .values = values, .returns = returns, .baseline = baseline};
    struct rl_a2tgpo_stats stats;
    struct rl_algorithm_options options;
    _Alignas(64) char memory[4096];
    struct rl_workspace ws = {memory, sizeof memory, 0}, none = {NULL, 0, 0};
    struct rl_error err;
    (void)state;
    rl_algorithm_options_init(&options, find("ppo"));
    assert_true(options.lam == 1 && rl_algorithm_reads(find("ppo"), "lam"));
    options.gamma = 0.9;
    options.lam = 0.5;
    assert_int_equal(rl_algorithm_rows(find("ppo"), &in, &options, rewards, advantages, scale, &stats, &none, &err),
                     RL_EWORKSPACE);
    assert_true(none.needed > 0 && none.needed <= sizeof memory);
    assert_int_equal(rl_algorithm_rows(find("ppo"), &in, &options, rewards, advantages, scale, &stats, &ws, &err), RL_OK);
    assert_true(rewards[3] == 1 && rewards[5] == 0 && rewards[10] == 0.5 && rewards[0] == 0);
    assert_int_equal(rl_gae(&batch, 0.9, 0.5, rewards, values, want, to, &ws, &err), RL_OK);
    assert_reals(advantages, want, B * T);
    assert_reals(returns, to, B * T);
    assert_int_equal(rl_algorithm_rowsf(find("ppo"), &in, &options, rewardsf, advantagesf, scalef, &stats, &ws, &err), RL_OK);
    for (size_t i = 0; i < B * T; i++)
        assert_true(fabs((double)advantagesf[i] - want[i]) < 1e-5 && fabs(returns[i] - to[i]) < 1e-6);
    assert_int_equal(rl_algorithm_rows(find("remax"), &in, &options, rewards, advantages, scale, &stats, &ws, &err), RL_OK);
    assert_int_equal(rl_remax(&batch, rewards, baseline, want, NULL, &err), RL_OK);
    assert_reals(advantages, want, B * T);
    const struct rl_outcome_options opo = {RL_OPO, true, 1e-6};
    assert_int_equal(rl_algorithm_rows(find("opo"), &in, &options, rewards, advantages, scale, &stats, &ws, &err), RL_OK);
    assert_int_equal(rl_outcome_advantage(&batch, &opo, rewards, want, &ws, &err), RL_OK);
    assert_reals(advantages, want, B * T);
}

static void trees_refuse_algorithms_of_rows(void **state)
{
    (void)state;
    struct rollout_case *c = rollout_case_new(2);
    refused(c, rollout_case_run(c, "turn-group-v1d"), RL_EINVAL, "works on rows of a batch");
    rollout_case_free(c);
}

/* Merges the statistics of two sets, and those of an empty set with another. */
static void statistics_merge(void **state)
{
    (void)state;
    struct rl_turn_stat a = {2, 1.5, sqrt(0.5)}, b = {3, 5, 1}, none = {0}; /* 1 2; 4 5 6 */
    rl_turn_stat_merge(&a, &b);
    assert_int_equal(a.count, 5);
    assert_true(fabs(a.mean - 3.6) < 1e-12 && fabs(a.std - sqrt(17.2 / 4)) < 1e-12);
    rl_turn_stat_merge(&none, &b);
    assert_true(none.count == 3 && none.mean == 5 && none.std == 1);
    none = (struct rl_turn_stat){0};
    rl_turn_stat_merge(&b, &none);
    assert_true(b.count == 3 && b.mean == 5 && b.std == 1);
}

static void settings_without_effect_are_refused(void **state)
{
    (void)state;
    const enum rl_model policy = RL_MODEL_POLICY, frozen = RL_MODEL_FROZEN, none = RL_MODEL_NONE;
    const struct {
        const char *name;
        struct rl_algorithm_setting setting;
        const char *text; /* NULL: accepted */
    } cases[] = {
        {"grpo", {1, policy, none}, "grpo needs groups of at least 2 rollouts, not 1"},
        {"max_rl", {1, policy, none}, "max_rl needs groups of at least 2"},
        {"hierarchical_grpo", {1, policy, none}, "hierarchical_grpo needs groups of at least 2"},
        {"echo", {1, policy, none}, "echo needs groups of at least 2"},
        {"rae", {1, policy, none}, NULL},
        {"reward", {1, policy, none}, NULL},
        {"custom", {1, policy, none}, NULL},
        {"reward", {0, policy, none}, "at least 1"},
        {"grpo", {2, policy, none}, NULL},
        {"opd", {1, policy, policy}, "opd needs a frozen model as reference, not the live policy"},
        {"opd", {1, policy, none}, "opd needs a frozen model as reference, not none"},
        {"opd", {1, policy, frozen}, NULL},
        {"opsd", {1, policy, frozen}, "opsd needs the live policy as reference, not a frozen"},
        {"opsd", {1, policy, policy}, NULL},
        {"sft", {1, policy, none}, "sft needs a frozen model as source"},
        {"sft", {1, frozen, none}, NULL},
        {"grpo", {2, frozen, none}, "grpo needs the live policy as source of its rollouts, not a frozen"},
        {"max_rl", {2, frozen, none}, "max_rl needs the live policy as source"},
        {"reward", {1, frozen, none}, "reward needs the live policy as source"},
        {"echo", {2, frozen, none}, "echo needs the live policy as source"},
        {"rae", {1, frozen, none}, "rae needs the live policy as source"},
        {"opd", {1, frozen, frozen}, "opd needs the live policy as source"},
        {"reward", {1, none, none}, "reward needs the live policy as source of its rollouts, not none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rl_error err = {.text = ""};
        enum rl_status status = rl_algorithm_check(find(cases[i].name), &cases[i].setting, &err);
        assert_int_equal(status, cases[i].text ? RL_EINVAL : RL_OK);
        if (cases[i].text)
            assert_non_null(strstr(err.text, cases[i].text));
    }
}

static void a_shared_node_trains_once(void **state)
{
    (void)state;
    static const uint8_t first[FIRST_LENGTH] = {0, 0, 0, 1, 1, 0, 0, 0, 1, 0};
    static const uint8_t second[SECOND_LENGTH] = {0, 0, 0, 0, 0, 0, 0, 1, 1};
    struct rollout_case *c = rollout_case_new(2);
    assert_int_equal(rollout_case_cut(c), RL_OK);
    assert_int_equal(c->samples.n, 4);
    for (size_t i = 0; i < 4; i++) {
        struct rl_pack_sample s = view(c, i);
        assert_int_equal(c->samples.rollout[i], i / 2);
        assert_int_equal(c->samples.branch[i], i % 2);
        assert_int_equal(s.n_tokens, i % 2 ? SECOND_LENGTH : FIRST_LENGTH);
        assert_memory_equal(s.mask, i % 2 ? second : first, s.n_tokens);
        assert_int_equal(s.token_ids[3], 1000 * (i / 2) + 3);
        assert_int_equal(s.token_ids[5], 1000 * (i / 2) + (i % 2 ? 10 : 5));
        assert_true(s.logprobs[4] == c->logprobs[i / 2][4]);
        assert_true(s.logprobs[0] == 0 && s.logprobs[5] == 0);
    }
    rollout_case_free(c);
}

static void failed_rollouts_give_no_samples(void **state)
{
    (void)state;
    struct rollout_case *c = rollout_case_new(4);
    c->traces[0].has_error = true;
    c->traces[2].not_trainable = true;
    ok(c, "grpo");
    assert_int_equal(c->samples.n, 4);
    assert_int_equal(c->samples.rollout[0], 1);
    assert_int_equal(c->samples.rollout[2], 3);
    assert_advantages(c, 0, -1, -1);
    assert_advantages(c, 2, 1, 1);
    rollout_case_free(c);
}

static void trees_without_trainable_tokens_give_no_samples(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALL; i++) {
        struct rollout_case *c = rollout_case_new(2);
        struct rl_baseline baselines[1];
        size_t n_baselines = 0;
        c->options.baselines = baselines;
        c->options.n_baselines = &n_baselines;
        c->options.max_baselines = 1;
        memset(c->masks, 0, sizeof c->masks);
        if (strcmp(all[i], "custom") != 0)
            ok(c, all[i]);
        assert_int_equal(c->samples.n, 0);
        rollout_case_free(c);
    }
}

static void an_empty_group_is_fine(void **state)
{
    (void)state;
    struct rollout_case *c = rollout_case_new(0);
    ok(c, "grpo");
    assert_int_equal(c->samples.n, 0);
    ok(c, "echo");
    ok(c, "opd");
    assert_int_equal(c->samples.start[0], 0);
    rollout_case_free(c);
}

static void group_advantages_reach_the_tokens(void **state)
{
    (void)state;
    static const char *const names[] = {"grpo", "max_rl", "hierarchical_grpo", "reward"};
    static const double wanted[4][3] = {{-1, 0, 1}, {-1, 0, 1}, {-1, 0, 1}, {0, 1, 2}};
    for (size_t k = 0; k < 4; k++) {
        struct rollout_case *c = rollout_case_new(3);
        ok(c, names[k]);
        for (size_t i = 0; i < 6; i++) {
            assert_advantages(c, i, wanted[k][i / 2], wanted[k][i / 2]);
            assert_int_equal(c->samples.streams[i], RL_SAMPLE_ADVANTAGES);
        }
        rollout_case_free(c);
    }
}

static void options_reach_the_advantages(void **state)
{
    (void)state;
    struct rollout_case *c = rollout_case_new(2);
    const struct rl_length_weights penalty = {.output = 0.5};
    c->options.length_penalty = &penalty;
    c->traces[0].n_output_tokens = c->traces[0].n_total_tokens = 10;
    c->traces[1].n_output_tokens = c->traces[1].n_total_tokens = 20;
    ok(c, "grpo"); /* the rewards minus their penalties: 0 - 0.125 and 1 - 0.25 */
    assert_advantages(c, 0, -0.4375, -0.4375);
    ok(c, "echo");
    assert_advantages(c, 2, 0.4375, 0.4375);
    static const char *const agents[] = {"solver"};
    c->options.episode_agents = agents;
    c->options.n_episode_agents = 1;
    c->traces[0].agent = c->traces[1].agent = "solver";
    c->traces[0].episode = "a";
    c->traces[1].episode = "b";
    ok(c, "hierarchical_grpo");
    assert_advantages(c, 2, 0, 0);
    rollout_case_free(c);
}

static void rae_keeps_baselines_over_groups(void **state)
{
    (void)state;
    struct rollout_case *c = rollout_case_new(1);
    struct rl_baseline baselines[2];
    size_t n_baselines = 0;
    c->options.decay = 0.5;
    refused(c, rollout_case_run(c, "rae"), RL_EINVAL, "rae needs baselines");
    c->options.baselines = baselines;
    c->options.n_baselines = &n_baselines;
    c->options.max_baselines = 2;
    c->traces[0].reward = 4;
    ok(c, "rae");
    assert_advantages(c, 0, 4, 4);
    ok(c, "rae");
    assert_advantages(c, 0, 2, 2);
    assert_true(baselines[0].value == 3);
    rollout_case_free(c);
}

/*
 * The callback of the algorithm `custom`: writes 1, 2, 3, .. to the sampled tokens of the group and returns *context.
 */
static int count_up(void *context, const struct rl_rollouts *rollouts, const size_t *start, double *credit)
{
    for (size_t k = 0; k < start[rollouts->n]; k++)
        credit[k] = (double)(k + 1);
    return *(const int *)context;
}

static int give_nan(void *context, const struct rl_rollouts *rollouts, const size_t *start, double *credit)
{
    (void)context;
    credit[start[rollouts->n - 1] + 2] = NAN;
    return 0;
}

static void custom_has_a_value_per_token(void **state)
{
    (void)state;
    static const double first[FIRST_LENGTH] = {0, 0, 0, 6, 7, 0, 0, 0, 8, 0};
    static const double second[SECOND_LENGTH] = {0, 0, 0, 6, 7, 0, 0, 9, 10};
    struct rollout_case *c = rollout_case_new(2);
    int answer = 0;
    c->options.credit = count_up;
    c->options.credit_context = &answer;
    ok(c, "custom");
    assert_reals(view(c, 2).advantages, first, FIRST_LENGTH);
    assert_reals(view(c, 3).advantages, second, SECOND_LENGTH);
    answer = 3;
    refused(c, rollout_case_run(c, "custom"), RL_ECALLBACK, "returned 3");
    c->options.credit = give_nan;
    refused(c, rollout_case_run(c, "custom"), RL_EVALUE, "rollout 1 is nan at sampled token 2");
    c->options.credit = NULL;
    refused(c, rollout_case_run(c, "custom"), RL_EINVAL, "custom needs a credit callback");
    rollout_case_free(c);
}

static void opd_pulls_towards_the_reference(void **state)
{
    (void)state;
    static const char *const names[] = {"opd", "opsd"};
    static const double weights[FIRST_LENGTH] = {0, 0, 0, 1, 1, 0, 0, 0, 1, 0}, zeros[FIRST_LENGTH];
    static const double later[SECOND_LENGTH] = {0, 0, 0, 0, 0, 0, 0, 1, 1};
    /* A node shared by both samples is trained in the first one, with the values of that sample. */
    static const double first[FIRST_LENGTH] = {0, 0, 0, -4, -5, 0, 0, 0, -9, 0};
    static const double second[SECOND_LENGTH] = {0, 0, 0, -4, -5, 0, 0, -18, -19};
    double ref[FIRST_LENGTH + SECOND_LENGTH];
    for (size_t t = 0; t < FIRST_LENGTH + SECOND_LENGTH; t++)
        ref[t] = -1 - (double)t;
    ref[0] = NAN; /* not a sampled token, so never read */
    for (size_t k = 0; k < 2; k++) {
        struct rollout_case *c = rollout_case_new(1);
        c->scores.ref_logprobs = ref;
        ok(c, names[k]);
        struct rl_pack_sample a = view(c, 0), b = view(c, 1);
        assert_reals(a.rl_weights, zeros, FIRST_LENGTH);
        assert_reals(a.ref_kl_weights, weights, FIRST_LENGTH);
        assert_reals(a.ref_logprobs, first, FIRST_LENGTH);
        assert_reals(b.ref_kl_weights, later, SECOND_LENGTH);
        assert_reals(b.ref_logprobs, second, SECOND_LENGTH);
        assert_true(!a.advantages && !a.ce_weights && !b.advantages && !b.ce_weights);
        rollout_case_free(c);
    }
}

static void missing_reference_is_refused(void **state)
{
    (void)state;
    struct rollout_case *c = rollout_case_new(1);
    double ref[FIRST_LENGTH + SECOND_LENGTH] = {0};
    refused(c, rollout_case_run(c, "opd"), RL_EINVAL, "opd: token 3 of rollout 0, branch 0 has no reference log-prob");
    c->scores.ref_logprobs = ref;
    ref[8] = -INFINITY;
    refused(c, rollout_case_run(c, "opsd"), RL_EVALUE, "ref_logprobs is -inf at token 8");
    rollout_case_free(c);
}

static void sft_copies_its_sampler(void **state)
{
    (void)state;
    static const double weights[FIRST_LENGTH] = {0, 0, 0, 1, 1, 0, 0, 0, 1, 0}, zeros[FIRST_LENGTH];
    struct rollout_case *c = rollout_case_new(1);
    ok(c, "sft");
    struct rl_pack_sample s = view(c, 0);
    assert_reals(s.rl_weights, zeros, FIRST_LENGTH);
    assert_reals(s.ce_weights, weights, FIRST_LENGTH);
    assert_true(!s.advantages && !s.ref_kl_weights && !s.ref_logprobs);
    rollout_case_free(c);
}

static void echo_trains_on_the_answers_of_tools(void **state)
{
    (void)state;
    static const double first[FIRST_LENGTH] = {0, 0, 0, 0, 0, 0, 0.1, 0.1, 0, 0};
    static const double second[SECOND_LENGTH] = {0, 0, 0, 0, 0, 0.1, 0.1, 0, 0};
    struct rollout_case *c = rollout_case_new(2);
    ok(c, "echo");
    for (size_t i = 0; i < 4; i++) {
        struct rl_pack_sample s = view(c, i);
        assert_reals(s.ce_weights, i % 2 ? second : first, s.n_tokens);
        assert_true(!s.rl_weights && !s.ref_kl_weights);
        assert_advantages(c, i, i < 2 ? -0.5 : 0.5, i < 2 ? -0.5 : 0.5);
    }
    rollout_case_free(c);
}

static void echo_reads_its_role_table(void **state)
{
    (void)state;
    static const struct rl_role_weight roles[] = {{"user", 0.5}, {"assistant", 0.25}};
    static const struct rl_role_weight nothing[] = {{"tool", 0}}, bad[] = {{"tool", -1}};
    struct rollout_case *c = rollout_case_new(2);
    c->options.roles = roles;
    c->options.n_roles = 2;
    ok(c, "echo"); /* trains nothing: the user's node is the prompt, and the assistant's are sampled */
    assert_null(view(c, 0).ce_weights);
    c->nodes[0][4].role = "user";
    ok(c, "echo");
    assert_null(view(c, 0).ce_weights);
    assert_true(view(c, 1).ce_weights[5] == 0.5);
    static const struct rl_role_weight own[] = {{"environment", 0.25}};
    c->nodes[0][4].role = "environment";
    c->options.roles = own;
    c->options.n_roles = 1;
    ok(c, "echo");
    assert_true(view(c, 1).ce_weights[5] == 0.25);
    c->nodes[0][4].role = "user";
    refused(c, rollout_case_run(c, "echo"), RL_EINVAL, "role 'environment' has a weight, but no message has this role");
    c->options.roles = nothing;
    ok(c, "echo");
    assert_null(view(c, 0).ce_weights);
    c->options.n_roles = 0;
    ok(c, "echo");
    assert_null(view(c, 0).ce_weights);
    c->options.roles = bad;
    c->options.n_roles = 1;
    refused(c, rollout_case_run(c, "echo"), RL_EVALUE, "weight of role 'tool' is -1");
    rollout_case_free(c);
}

static void echo_keeps_what_its_filter_keeps(void **state)
{
    (void)state;
    uint8_t keep[2 * (FIRST_LENGTH + SECOND_LENGTH)] = {0};
    static const double first[FIRST_LENGTH] = {0, 0, 0, 0, 0, 0, 0, 0.1, 0, 0};
    struct rollout_case *c = rollout_case_new(2);
    c->scores.keep = keep;
    ok(c, "echo");
    for (size_t i = 0; i < 4; i++)
        assert_null(view(c, i).ce_weights);
    keep[0] = keep[5] = keep[7] = 1; /* tokens of the prompt, of the template and of the tool's body */
    ok(c, "echo");
    assert_reals(view(c, 0).ce_weights, first, FIRST_LENGTH);
    assert_null(view(c, 1).ce_weights);
    keep[7] = 2;
    refused(c, rollout_case_run(c, "echo"), RL_EVALUE, "keep at token 7 is 2");
    rollout_case_free(c);
}

/* Both branches contain node 2, the tool's answer. One branch's filter keeps one token of it, the other's keeps two. */
static void echo_trains_a_shared_answer_once(void **state)
{
    (void)state;
    static const size_t longer[] = {0, 1, 2, 5};
    static const double first[FIRST_LENGTH] = {0, 0, 0, 0, 0, 0, 0.1, 0.1, 0, 0};
    uint8_t keep[4 * FIRST_LENGTH] = {0};
    struct rollout_case *c = rollout_case_new(2);
    c->branches[0][1].nodes = longer;
    keep[6] = keep[FIRST_LENGTH + 6] = keep[FIRST_LENGTH + 7] = 1;
    c->scores.keep = keep;
    ok(c, "echo");
    assert_reals(view(c, 0).ce_weights, first, FIRST_LENGTH);
    assert_null(view(c, 1).ce_weights);
    rollout_case_free(c);
}

static void groups_of_one_are_refused(void **state)
{
    (void)state;
    static const char *const relative[] = {"grpo", "max_rl", "hierarchical_grpo", "echo"};
    struct rollout_case *c = rollout_case_new(1);
    for (size_t i = 0; i < 4; i++)
        refused(c, rollout_case_run(c, relative[i]), RL_EINVAL, "this group has only 1");
    ok(c, "reward");
    rollout_case_free(c);
}

static void missing_advantages_are_refused(void **state)
{
    (void)state;
    struct rollout_case *c = rollout_case_new(2);
    double credit[2 * CASE_SAMPLED] = {0};
    refused(c, rollout_case_route(c, "grpo", NULL), RL_EINVAL,
            "grpo: token 3 of rollout 0, branch 0 trains with rl, but has no advantage");
    assert_int_equal(rollout_case_route(c, "sft", NULL), RL_OK);
    assert_int_equal(rollout_case_route(c, "grpo", credit), RL_OK);
    credit[CASE_SAMPLED] = INFINITY;
    refused(c, rollout_case_route(c, "grpo", credit), RL_EVALUE, "rollout 1 is inf at sampled token 0");
    rollout_case_free(c);
}

static void given_advantages_are_kept_with_ce_only(void **state)
{
    (void)state;
    static const double credit[CASE_SAMPLED] = {1, 2, 3, 4, 5};
    static const double first[FIRST_LENGTH] = {0, 0, 0, 1, 2, 0, 0, 0, 3, 0};
    double ref[FIRST_LENGTH + SECOND_LENGTH] = {0};
    struct rollout_case *c = rollout_case_new(1);
    c->scores.ref_logprobs = ref;
    assert_int_equal(rollout_case_route(c, "sft", credit), RL_OK);
    assert_reals(view(c, 0).advantages, first, FIRST_LENGTH);
    assert_int_equal(rollout_case_route(c, "opd", credit), RL_OK);
    assert_null(view(c, 0).advantages);
    rollout_case_free(c);
}

static void rewards_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"grpo", "max_rl", "hierarchical_grpo", "reward", "echo"};
    struct rollout_case *c = rollout_case_new(2);
    c->traces[1].reward = NAN;
    for (size_t i = 0; i < 5; i++)
        refused(c, rollout_case_run(c, names[i]), RL_EVALUE, "reward of trace 1 is nan");
    c->traces[1].has_error = true;
    ok(c, "reward");
    rollout_case_free(c);
}

static void credit_alone_equals_the_credit_of_a_run(void **state)
{
    (void)state;
    struct rollout_case *c = rollout_case_new(3);
    struct rl_workspace ws = {0};
    enum rl_status status;
    double credit[3 * CASE_SAMPLED];
    bool assigned;
    c->traces[0].has_error = true;
    do
        status = rl_algorithm_credit(find("reward"), &c->rollouts, &c->options, credit, &assigned, &ws, &c->err);
    while (test_again(&ws, status));
    assert_int_equal(status, RL_OK);
    assert_true(assigned);
    for (size_t k = 0; k < 3 * CASE_SAMPLED; k++)
        assert_true(credit[k] == (double)(k / CASE_SAMPLED));
    assert_int_equal(rl_algorithm_credit(find("opd"), &c->rollouts, &c->options, credit, &assigned, &ws, &c->err), RL_OK);
    assert_false(assigned);
    free(ws.data);
    rollout_case_free(c);
}

static void broken_trees_are_named(void **state)
{
    (void)state;
    static const size_t strange[] = {0, 6};
    struct rollout_case *c = rollout_case_new(2);
    c->branches[1][1] = (struct rl_branch){strange, 2};
    refused(c, rollout_case_cut(c), RL_EINVAL, "rollout 1, branch 1: node 6 does not exist, the tree has 6");
    rollout_case_free(c);
    c = rollout_case_new(2);
    c->masks[1][0] = 1;
    refused(c, rollout_case_cut(c), RL_EVALUE, "rollout 1, node 0: mask is 1, but the node is not sampled");
    rollout_case_free(c);
    c = rollout_case_new(2);
    c->masks[0][8] = 2;
    refused(c, rollout_case_cut(c), RL_EVALUE, "rollout 0, node 3: mask[0] is 2");
    rollout_case_free(c);
    c = rollout_case_new(2);
    c->content[0][1] = 7;
    refused(c, rollout_case_cut(c), RL_EVALUE, "rollout 0, node 2: is_content[1] is 7");
    rollout_case_free(c);
}

static void tokens_without_logprobs_are_named(void **state)
{
    (void)state;
    struct rollout_case *c = rollout_case_new(2);
    c->nodes[1][3].logprobs = NULL;
    refused(c, rollout_case_cut(c), RL_EINVAL, "rollout 1, node 3 has no logprobs");
    rollout_case_free(c);
    c = rollout_case_new(2);
    c->logprobs[1][4] = NAN;
    refused(c, rollout_case_cut(c), RL_EVALUE, "rollout 1, node 1: logprobs[1] is nan");
    rollout_case_free(c);
    c = rollout_case_new(2);
    c->nodes[0][0].token_ids = NULL;
    refused(c, rollout_case_cut(c), RL_EINVAL, "rollout 0, node 0 has no token_ids");
    rollout_case_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_found),
                                       cmocka_unit_test(an_unknown_name_is_refused_with_the_nearest_one),
                                       cmocka_unit_test(distances_count_letters),
                                       cmocka_unit_test(settings_have_defaults),
                                       cmocka_unit_test(rows_and_trees_use_the_same_values),
                                       cmocka_unit_test(rows_with_values_and_baselines_are_the_kernels),
                                       cmocka_unit_test(trees_refuse_algorithms_of_rows),
                                       cmocka_unit_test(statistics_merge),
                                       cmocka_unit_test(settings_without_effect_are_refused),
                                       cmocka_unit_test(a_shared_node_trains_once),
                                       cmocka_unit_test(failed_rollouts_give_no_samples),
                                       cmocka_unit_test(trees_without_trainable_tokens_give_no_samples),
                                       cmocka_unit_test(an_empty_group_is_fine),
                                       cmocka_unit_test(group_advantages_reach_the_tokens),
                                       cmocka_unit_test(options_reach_the_advantages),
                                       cmocka_unit_test(rae_keeps_baselines_over_groups),
                                       cmocka_unit_test(custom_has_a_value_per_token),
                                       cmocka_unit_test(opd_pulls_towards_the_reference),
                                       cmocka_unit_test(missing_reference_is_refused),
                                       cmocka_unit_test(sft_copies_its_sampler),
                                       cmocka_unit_test(echo_trains_on_the_answers_of_tools),
                                       cmocka_unit_test(echo_reads_its_role_table),
                                       cmocka_unit_test(echo_keeps_what_its_filter_keeps),
                                       cmocka_unit_test(echo_trains_a_shared_answer_once),
                                       cmocka_unit_test(groups_of_one_are_refused),
                                       cmocka_unit_test(missing_advantages_are_refused),
                                       cmocka_unit_test(given_advantages_are_kept_with_ce_only),
                                       cmocka_unit_test(rewards_that_are_not_finite_are_refused),
                                       cmocka_unit_test(credit_alone_equals_the_credit_of_a_run),
                                       cmocka_unit_test(broken_trees_are_named),
                                       cmocka_unit_test(tokens_without_logprobs_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
