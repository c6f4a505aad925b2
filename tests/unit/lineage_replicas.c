/* Tests the settings in force for a trial, groups of replicas, and the noise that is estimated from them. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/replicas.h>

struct case_trial {
    const char *id, *parent, *hypothesis; /* an id that begins with k: the trial was kept */
    double score;           /* 0: the trial crashed */
    const char *params[3];  /* "lr=0.1" */
};

static struct lineage_ideas *set_of(const struct case_trial *trials, size_t n)
{
    struct lineage_ideas *ideas;
    struct lineage_error err;
    assert_int_equal(lineage_ideas_new(&ideas, &err), LINEAGE_OK);
    for (size_t i = 0; i < n; i++) {
        struct lineage_param params[3];
        char names[3][32];
        struct lineage_trial trial = {.exp_id = trials[i].id,
                                      .parent_exp = trials[i].parent,
                                      .hypothesis = trials[i].hypothesis,
                                      .notes = "",
                                      .status = trials[i].id[0] == 'k' ? LINEAGE_KEEP
                                                : trials[i].score != 0 ? LINEAGE_DISCARD
                                                                       : LINEAGE_CRASH,
                                      .score = {trials[i].score != 0, trials[i].score},
                                      .params = params};
        for (; trial.n_params < 3 && trials[i].params[trial.n_params]; trial.n_params++) {
            const char *text = trials[i].params[trial.n_params], *value = strchr(text, '=') + 1;
            snprintf(names[trial.n_params], sizeof names[0], "%.*s", (int)(value - 1 - text), text);
            params[trial.n_params] = (struct lineage_param){.name = names[trial.n_params], .value = atof(value)};
        }
        assert_int_equal(lineage_ideas_add(ideas, &trial, false, &err), LINEAGE_OK);
    }
    assert_int_equal(lineage_ideas_settle(ideas, &err), LINEAGE_OK);
    return ideas;
}

/* Compares the settings in force with "name=value:source:set_by ..." */
static void settings_are(struct lineage_ideas *ideas, const char *id, const char *wanted)
{
    struct lineage_effective found;
    struct lineage_error err;
    char text[1024] = "";
    size_t trial, length = 0;
    assert_true(lineage_ideas_find(&trial, ideas, id));
    assert_int_equal(lineage_effective_find(&found, ideas, trial, &err), LINEAGE_OK);
    for (size_t i = 0; i < found.n; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s=%s:%s:%s", i ? " " : "", found.items[i].name,
                                   found.items[i].value, lineage_change_source_name(found.items[i].source),
                                   lineage_ideas_get(ideas, found.items[i].set_by)->exp_id);
    if (strcmp(text, wanted) != 0)
        fail_msg("trial %s:\nfound  %s\nwanted %s", id, text, wanted);
    lineage_effective_release(&found);
}

static void settings_are_inherited(void **state)
{
    static const struct case_trial trials[] = {
        {"0", "", "Stock program", 1, {0}},      {"1", "0", "Raise warmup_steps 100→200", 1, {0}},
        {"2", "1", "Set clip_norm=0.5", 1, {0}}, {"3", "2", "Lower warmup_steps 200→150", 1, {0}},
        {"4", "1", "Set clip_norm=0.7", 1, {0}}, {"5", "9", "Set clip_norm=0.1", 1, {0}},
        {"6", "5", "", 1, {"lr=0.1", "beta=2"}}, {"7", "6", "", 1, {"lr=0.1", "beta=3"}},
        {"8", "7", "Set lr=0.4", 1, {"lr=0.2"}}, {"9", "8", "Set lr=0.3", 1, {0}},
    };
    struct lineage_ideas *ideas = set_of(trials, sizeof trials / sizeof *trials);
    struct lineage_effective none;
    struct lineage_error err;
    (void)state;
    settings_are(ideas, "0", "");
    settings_are(ideas, "3", "warmup_steps=150:stated:3 clip_norm=0.5:stated:2");
    settings_are(ideas, "4", "clip_norm=0.7:stated:4 warmup_steps=200:stated:1");
    settings_are(ideas, "5", "clip_norm=0.1:stated:5"); /* its parent comes later, so it is not an ancestor */
    settings_are(ideas, "7", "lr=0.1:declared:6 beta=3:declared:7 clip_norm=0.1:stated:5");
    settings_are(ideas, "8", "lr=0.2:declared:8 beta=3:declared:7 clip_norm=0.1:stated:5");
    settings_are(ideas, "9", "lr=0.3:stated:9 beta=3:declared:7 clip_norm=0.1:stated:5");
    assert_int_equal(lineage_effective_find(&none, ideas, 99, &err), LINEAGE_EINVAL);
    lineage_ideas_release(ideas);
}

/* Compares groups with "1 2, 3 4 5": ids, in the order of the log. */
static struct lineage_replicas groups_are(const struct case_trial *trials, size_t n, const char *wanted)
{
    struct lineage_ideas *ideas = set_of(trials, n);
    struct lineage_replicas found, numbers;
    struct lineage_error err;
    char text[512] = "";
    size_t length = 0;
    assert_int_equal(lineage_replicas_find(&found, ideas, &err), LINEAGE_OK);
    for (size_t i = 0; i < found.n; i++)
        for (size_t k = 0; k < found.groups[i].n; k++)
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%s",
                                       k   ? " "
                                       : i ? ", "
                                           : "",
                                       lineage_ideas_get(ideas, found.groups[i].trials[k])->exp_id);
    if (strcmp(text, wanted) != 0)
        fail_msg("found '%s' instead of '%s'", text, wanted);
    numbers = found;
    lineage_replicas_release(&found);
    lineage_ideas_release(ideas);
    return numbers;
}
#define GROUPS(trials, wanted) groups_are(trials, sizeof(trials) / sizeof *(trials), wanted)

static void equal_changes_on_one_base_are_replicas(void **state)
{
    static const struct case_trial trials[] = {
        {"0", "", "Stock program", 3, {0}},
        {"1", "0", "Raise warmup_steps 100→200", 2, {0}},
        {"2", "0", "Set warmup_steps=200", 2.2, {0}},
        {"3", "0", "Set warmup_steps=300", 9, {0}},
        {"4", "1", "Set clip_norm=0.5", 4, {0}},
        {"5", "2", "clip_norm → 0.5", 5, {0}},
        {"6", "3", "Set clip_norm=0.5", 9, {0}},
        {"7", "0", "Set clip_norm=0.5", 9, {0}},
        {"8", "7", "Raise warmup_steps 100→200", 6, {0}}, /* the same settings in another order */
        {"9", "0", "warmup_steps 100→200", 0, {0}},
    };
    (void)state;
    struct lineage_replicas found = GROUPS(trials, "1 2 9, 4 5 8");
    assert_int_equal(found.scored, 5);
    assert_int_equal(found.freedom, 3);
    /* squares: 2·0.01 around 2.1, and 1 + 0 + 1 around 5 */
    assert_true(fabs(found.noise - sqrt(2.02 / 3)) < 1e-12);
}

/* Trials of a night name no parent: one that lacks a parameter does not repeat one that has it. */
static void trials_without_parents_are_compared_by_all_parameters(void **state)
{
    static const struct case_trial nights[] = {
        {"k0", "", "", 3, {"lr=0.1", "drop=0.2"}},
        {"1", "", "", 2, {"lr=0.2", "drop=0.2"}},
        {"2", "", "", 2.5, {"lr=0.2"}},
        {"3", "", "", 2.2, {"lr=0.2", "drop=0.2"}},
        {"k4", "", "", 2, {"lr=0.3", "drop=0.1"}},
        {"5", "", "", 2, {"lr=0.2", "drop=0.1"}},
        {"6", "", "", 2, {"lr=0.2", "drop=0.2"}},
    };
    struct case_trial mixed[sizeof nights / sizeof *nights + 1] = {{.id = NULL}};
    (void)state;
    GROUPS(nights, "1 3 6");
    /* The same rows in a log where some other row names its parent. */
    memcpy(mixed, nights, sizeof nights);
    mixed[sizeof nights / sizeof *nights] = (struct case_trial){"7", "k4", "", 1, {"lr=0.9"}};
    GROUPS(mixed, "1 3 6");
}

static void setting_a_value_back_recreates_the_base(void **state)
{
    static const struct case_trial trials[] = {
        {"0", "", "Stock program", 3, {0}},
        {"1", "0", "Raise warmup_steps 100→200", 2, {0}},
        {"2", "1", "Revert warmup_steps 200→100", 3.1, {0}},
        {"3", "1", "Set clip_norm=0.5", 2, {0}},
        {"4", "3", "Restore warmup_steps from 200 to 100", 5, {0}},
        {"5", "2", "Set clip_norm=0.5", 5, {0}},
    };
    (void)state;
    GROUPS(trials, "0 2, 4 5");
}

/* Words of a text beside its settings are part of the trial. */
static void a_technique_is_not_a_replica_of_its_parent(void **state)
{
    static const struct case_trial trials[] = {
        {"0", "", "Stock program", 3, {0}},
        {"1", "0", "Replace the ring buffer by a lock-free queue", 3, {0}},
        {"2", "0", "Add a learned gate behind each block of the decoder", 3, {0}},
        {"3", "0", "", 3, {0}},
        {"4", "0", "Set warmup_steps=200", 3, {0}},
        {"5", "0", "Set warmup_steps=200 and replace the ring buffer by a lock-free queue with padding", 3, {0}},
        {"6", "1", "Set warmup_steps=200", 3, {0}},
        {"7", "4", "Fuse the kernels of the two projections", 3, {0}},
        {"8", "", "Stock program of another family", 3, {0}},
    };
    (void)state;
    assert_int_equal(GROUPS(trials, "").freedom, 0);
}

static void the_same_text_on_one_base_is_run_again(void **state)
{
    static const struct case_trial trials[] = {
        {"0", "", "Stock program", 3, {0}},
        {"1", "0", "Replace the ring buffer by a lock-free queue", 0, {0}},
        {"2", "0", "Retry of exp_1: replace the ring buffer by a lock-free queue", 3, {0}},
        {"3", "2", "Replace the ring buffer by a lock-free queue", 3, {0}},
        {"4", "0", "Replace the ring buffer by a lock-free queue", 3, {0}},
    };
    (void)state;
    GROUPS(trials, "1 2 4");
}

static void parameters_are_settings_and_seeds_are_not(void **state)
{
    static const struct case_trial trials[] = {
        {"0", "", "", 1.0, {"lr=0.1", "beta=2", "seed=1"}},
        {"1", "", "", 1.2, {"lr=0.1", "beta=2", "seed=2"}},
        {"2", "", "", 5.0, {"lr=0.1", "beta=3", "seed=1"}},
        {"3", "", "", 1.4, {"beta=2", "lr=0.1", "seed=3"}},
        {"4", "", "", 7.0, {"lr=0.1", "beta=2", "gamma=1"}},
        {"5", "", "wider clip of the outliers", 9.0, {"lr=0.1", "beta=2", "seed=4"}},
    };
    (void)state;
    struct lineage_replicas found = GROUPS(trials, "0 1 3");
    assert_int_equal(found.freedom, 2);
    assert_true(fabs(found.noise - 0.2) < 1e-12);
}

/* Each trial changes as many settings as are kept, on top of all others: the work for one trial has a limit. */
static void a_long_chain_of_many_changes_is_bounded(void **state)
{
    enum { TRIALS = 1500 };
    static char texts[TRIALS][1500], ids[TRIALS + 1][8];
    static struct case_trial trials[TRIALS];
    (void)state;
    for (size_t i = 0; i < TRIALS; i++) {
        size_t length = (size_t)snprintf(texts[i], sizeof texts[i], "Set");
        for (int k = 0; k < LINEAGE_IDEAS_CHANGES; k++)
            length += (size_t)snprintf(texts[i] + length, sizeof texts[i] - length, " k%c_%c=%zu,", 'a' + k % 8, 'a' + k / 8, i);
        snprintf(ids[i + 1], sizeof ids[i + 1], "%zu", i);
        trials[i] = (struct case_trial){.id = ids[i + 1], .parent = i ? ids[i] : "", .hypothesis = texts[i], .score = 1};
    }
    struct lineage_replicas found = GROUPS(trials, "");
    assert_int_equal(found.freedom, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_inherited),
        cmocka_unit_test(equal_changes_on_one_base_are_replicas),
        cmocka_unit_test(trials_without_parents_are_compared_by_all_parameters),
        cmocka_unit_test(setting_a_value_back_recreates_the_base),
        cmocka_unit_test(a_technique_is_not_a_replica_of_its_parent),
        cmocka_unit_test(the_same_text_on_one_base_is_run_again),
        cmocka_unit_test(parameters_are_settings_and_seeds_are_not),
        cmocka_unit_test(a_long_chain_of_many_changes_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
