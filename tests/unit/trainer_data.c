/*
 * trainer_data.c: tests that a run's token streams can be the data set of another run, and that a data set which does not fit
 * its environment is refused with its line.
 */
#include "support/unit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trainer/train.h>

#include "rollout/data_set.h"
#include "support/files.h"
#include "support/small_recipe.h"

enum { GROUP = 4, QUESTIONS = 3 };

static void print_list(FILE *out, const char *name, const struct trainer_rollout *r, bool tokens)
{
    fprintf(out, ", \"%s\": [", name);
    for (int32_t t = 0; t < r->length; t++)
        if (tokens)
            fprintf(out, "%s%" PRId32, t ? "," : "", r->tokens[t]);
        else
            fprintf(out, "%s%.9g", t ? "," : "", (double)r->log_prob[t]);
    fputs("]", out);
}

/* Writes rollouts as a data set, with the fault in the line of row `wrong`. */
static void write_rows(const char *path, const struct trainer_rollouts *rollouts, const char *fault, size_t wrong)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    for (size_t i = 0; i < trainer_rollouts_count(rollouts); i++) {
        struct trainer_rollout r = trainer_rollouts_get(rollouts, i);
        const char *now = fault && i == wrong ? fault : "";
        uint64_t question = r.episode.question ^ (strcmp(now, "question") == 0);
        double reward = strcmp(now, "reward") == 0 ? 1 - r.reward : r.reward;
        r.length -= strcmp(now, "short") == 0;
        int32_t group = r.group - (strcmp(now, "group") == 0);
        fprintf(out,
                "{\"group\": %" PRId32 ", \"question\": \"%016" PRIx64 "\", \"noise\": \"%016" PRIx64 "\", \"reward\": %.17g",
                group, question, r.episode.noise, reward);
        print_list(out, "tokens", &r, true);
        if (strcmp(now, "log_prob") != 0)
            print_list(out, "log_prob", &r, false);
        if (strcmp(now, "advantage") != 0)
            fprintf(out, ", \"advantage\": %d.5", (int)i);
        fputs(strcmp(now, "json") == 0 ? "\n" : "}\n", out);
    }
    assert_int_equal(fclose(out), 0);
}

struct made {
    struct trainer_recipe recipe;
    struct trainer_rollouts *rollouts;
    char *dir, *path;
};

static struct made make(void)
{
    struct made m = {.recipe = small_recipe(TRAINER_HOPWORLD), .dir = make_dir()};
    m.path = join(m.dir, "data.jsonl");
    m.recipe.training.group_size = GROUP;
    m.recipe.tasks[0].questions = QUESTIONS;
    check_recipe(&m.recipe);
    float *params = warm_policy(&m.recipe, 60);
    m.rollouts = sample(&m.recipe, params, QUESTIONS, 5);
    free(params);
    snprintf(m.recipe.tasks[0].data, sizeof m.recipe.tasks[0].data, "%s", m.path);
    return m;
}

static void release(struct made *m)
{
    trainer_rollouts_free(m->rollouts);
    remove_dir(m->dir);
    free(m->path);
}

static void rows_are_played_again(void **state)
{
    (void)state;
    struct made m = make();
    struct data_set data = {0};
    struct trainer_error err;
    write_rows(m.path, m.rollouts, NULL, 0);
    if (data_set_open(&data, &m.recipe, 0, DATA_LOG_PROBS | DATA_ADVANTAGES, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    assert_int_equal(data.n_groups, QUESTIONS);
    assert_int_equal(data.rows->n, QUESTIONS * GROUP);
    struct trainer_rollouts *r = rollouts_new(QUESTIONS * GROUP, (size_t)m.recipe.model.max_tokens);
    const struct rollouts_plan plan = {.env = &m.recipe.tasks[0].env, .questions = QUESTIONS, .group_size = GROUP, .first = 1};
    data_set_add(&data, r, &plan, 0); /* begins with the second group, and ends with the first one */
    for (size_t i = 0; i < r->n; i++) {
        struct trainer_rollout is = trainer_rollouts_get(r, i),
                               was = trainer_rollouts_get(m.rollouts, (i + GROUP) % (QUESTIONS * GROUP));
        assert_int_equal(is.length, was.length);
        assert_int_equal(is.prompt, was.prompt);
        assert_int_equal(is.n_turns, was.n_turns);
        assert_int_equal(is.malformed, was.malformed);
        const float *given = r->rewards + i * r->width;
        assert_true(given[was.prompt] == (float)((i + GROUP) % (QUESTIONS * GROUP)) + 0.5f);
        assert_true(is.reward == was.reward && is.group == (int32_t)(i / GROUP));
        assert_memory_equal(is.tokens, was.tokens, (size_t)was.length * sizeof *was.tokens);
        assert_memory_equal(is.mask, was.mask, (size_t)was.length);
        assert_memory_equal(is.turn, was.turn, (size_t)was.length * sizeof *was.turn);
        for (int32_t t = 0; t < was.length; t++)
            assert_true(!was.mask[t] || is.log_prob[t] == was.log_prob[t]);
    }
    trainer_rollouts_free(r);
    data_set_close(&data);
    release(&m);
}

/* Cross entropy knows no groups: rows are taken in order, and a file may end within what training would call a group. */
static void rows_without_groups_are_taken_in_order(void **state)
{
    (void)state;
    struct made m = make();
    struct data_set data = {0};
    struct trainer_error err;
    const size_t n = QUESTIONS * GROUP;
    write_rows(m.path, m.rollouts, "group", 5);
    m.recipe.tasks[0].questions = QUESTIONS - 1;
    if (data_set_open(&data, &m.recipe, 0, 0, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    assert_int_equal(data.rows->n, n);
    data.rows->n = n - 1; /* the last one is left out */
    struct trainer_rollouts *r = rollouts_new(2 * GROUP, (size_t)m.recipe.model.max_tokens);
    const struct rollouts_plan plan = {
        .env = &m.recipe.tasks[0].env, .questions = 2, .group_size = GROUP, .first = QUESTIONS - 1};
    data_set_add(&data, r, &plan, 0);
    assert_int_equal(r->n, 2 * GROUP);
    for (size_t i = 0; i < r->n; i++) {
        struct trainer_rollout is = trainer_rollouts_get(r, i),
                               was = trainer_rollouts_get(m.rollouts, ((QUESTIONS - 1) * GROUP + i) % (n - 1));
        assert_int_equal(is.length, was.length);
        assert_memory_equal(is.tokens, was.tokens, (size_t)was.length * sizeof *was.tokens);
    }
    trainer_rollouts_free(r);
    data_set_close(&data);
    data = (struct data_set){0};
    m.recipe.tasks[0].questions = QUESTIONS + 1;
    assert_int_equal(data_set_open(&data, &m.recipe, 0, 0, &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "rollouts, but an iteration has"));
    data_set_close(&data);
    release(&m);
}

static void what_does_not_fit_is_refused(void **state)
{
    static const char *const faults[][2] = {{"question", "the prompt is not that of its question"},
                                            {"reward", "the reward is not that of the environment"},
                                            {"short", "the rollout is not finished"},
                                            {"log_prob", "log_prob is not a list"},
                                            {"json", "data.jsonl:6: "},
                                            {"advantage", "advantage is not a number"},
                                            {"group", "another number of rollouts than training.group_size"}};
    (void)state;
    struct made m = make();
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct data_set data = {0};
        struct trainer_error err = {0};
        write_rows(m.path, m.rollouts, faults[i][0], 5);
        assert_int_equal(data_set_open(&data, &m.recipe, 0, DATA_LOG_PROBS | DATA_ADVANTAGES, &err), TRAINER_EINVAL);
        if (!strstr(err.text, faults[i][1]) || !strstr(err.text, "data.jsonl:"))
            fail_msg("%s: %s", faults[i][0], err.text);
        data_set_close(&data);
    }
    struct data_set data = {0};
    struct trainer_error err;
    write_rows(m.path, m.rollouts, NULL, 0);
    m.recipe.tasks[0].questions = QUESTIONS + 1;
    assert_int_equal(data_set_open(&data, &m.recipe, 0, DATA_LOG_PROBS, &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "has 3 groups, but an iteration has 4 questions"));
    data_set_close(&data);
    data = (struct data_set){0};
    m.recipe.tasks[0].env.p_fail = 1;
    m.recipe.tasks[0].questions = QUESTIONS;
    assert_int_equal(data_set_open(&data, &m.recipe, 0, DATA_LOG_PROBS, &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "a tool answers otherwise"));
    data_set_close(&data);
    data = (struct data_set){0};
    assert_int_equal(remove(m.path), 0);
    assert_int_equal(data_set_open(&data, &m.recipe, 0, DATA_LOG_PROBS, &err), TRAINER_EIO);
    data_set_close(&data);
    release(&m);
}

static double train(struct trainer_recipe *recipe, enum rl_algorithm_name name, enum trainer_correction_name correction)
{
    struct trainer_error err;
    trainer_algorithm_init(&recipe->tasks[0].algorithm, name);
    recipe->correction.name = correction;
    recipe->warm_start.steps = 20;
    recipe->training.iterations = 2;
    recipe->evaluation.questions = 4;
    check_recipe(recipe);
    enum trainer_status status = trainer_run(recipe, &(struct trainer_run_options){.event = NULL}, &err);
    if (status != TRAINER_OK)
        fail_msg("%s", err.text);
    return trainer_memory_bound(recipe);
}

/* sft without a teacher, and an algorithm that compares, with gains from the live policy. */
static void a_data_set_is_trained_on(void **state)
{
    (void)state;
    struct made m = make();
    write_rows(m.path, m.rollouts, NULL, 0);
    double bound = train(&m.recipe, RL_ALGORITHM_SFT, TRAINER_CORRECTION_NONE);
    train(&m.recipe, RL_ALGORITHM_CUSTOM, TRAINER_CORRECTION_TIS);
    train(&m.recipe, RL_ALGORITHM_GRPO, TRAINER_CORRECTION_TIS);
    train(&m.recipe, RL_ALGORITHM_TURN_GROUP, TRAINER_CORRECTION_BYPASS);
    m.recipe.tasks[0].data[0] = '\0';
    assert_true(bound > trainer_memory_bound(&m.recipe));
    release(&m);
}

/* A ratio to the sampler needs the file's log-probs even where a component does not. */
static void a_penalty_with_a_ratio_needs_log_probs(void **state)
{
    (void)state;
    struct made m = make();
    trainer_algorithm_init(&m.recipe.tasks[0].algorithm, RL_ALGORITHM_SFT);
    m.recipe.warm_start.steps = 20;
    m.recipe.training.iterations = 1;
    m.recipe.evaluation.questions = 4;
    m.recipe.loss.kl_coef = 0.1;
    check_recipe(&m.recipe);
    for (int place = TRAINER_KL_LOSS; place <= TRAINER_KL_UNBIASED; place++) {
        struct trainer_error err = {0};
        bool ratio = place == TRAINER_KL_UNBIASED || place == TRAINER_KL_WEIGHTED;
        m.recipe.loss.kl_place = (enum trainer_kl_place)place;
        write_rows(m.path, m.rollouts, "log_prob", 5);
        assert_int_equal(trainer_run(&m.recipe, &(struct trainer_run_options){.event = NULL}, &err),
                         ratio ? TRAINER_EINVAL : TRAINER_OK);
        assert_true(!ratio || strstr(err.text, "log_prob is not a list with a number for each token"));
        write_rows(m.path, m.rollouts, NULL, 0);
        assert_int_equal(trainer_run(&m.recipe, &(struct trainer_run_options){.event = NULL}, &err), TRAINER_OK);
    }
    release(&m);
}

static void algorithms_that_sample_are_refused(void **state)
{
    static const struct {
        enum rl_algorithm_name name;
        enum trainer_correction_name correction;
        const char *why;
    } cases[] = {{RL_ALGORITHM_OPSD, TRAINER_CORRECTION_NONE, "samples with the live policy"},
                 {RL_ALGORITHM_PPO, TRAINER_CORRECTION_TIS, "samples with the live policy"},
                 {RL_ALGORITHM_REMAX, TRAINER_CORRECTION_TIS, "samples with the live policy"},
                 {RL_ALGORITHM_CUSTOM, TRAINER_CORRECTION_NONE, "needs a correction for rollouts of another policy"},
                 {RL_ALGORITHM_GRPO, TRAINER_CORRECTION_NONE, "needs a correction for rollouts of another policy"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
        struct trainer_error err;
        trainer_algorithm_init(&recipe.tasks[0].algorithm, cases[i].name);
        recipe.correction.name = cases[i].correction;
        strcpy(recipe.tasks[0].data, "data.jsonl");
        assert_int_equal(trainer_recipe_check(&recipe, &err), TRAINER_EINVAL);
        if (!strstr(err.text, cases[i].why))
            fail_msg("%s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_played_again),
                                       cmocka_unit_test(rows_without_groups_are_taken_in_order),
                                       cmocka_unit_test(what_does_not_fit_is_refused),
                                       cmocka_unit_test(a_data_set_is_trained_on),
                                       cmocka_unit_test(a_penalty_with_a_ratio_needs_log_probs),
                                       cmocka_unit_test(algorithms_that_sample_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
