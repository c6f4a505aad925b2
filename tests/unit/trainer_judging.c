/* trainer_judging.c: tests which rows the judge is asked about, how its answers are used, and when they end a run. */
#include "support/unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rlcore/algorithm.h>
#include <trainer/train.h>

#include "support/small_recipe.h"

/* A judge for these tests, and what it observes of the run. */
struct court {
    enum trainer_judge_mark verdict; /* the mark that it gives to rows .. */
    size_t every;                    /* .. except every N-th, which is judged; 0: none */
    bool asleep;                     /* true: leaves the marks unchanged */
    size_t calls, asked, skipped;
    struct trainer_judge_counts last, total;
    double reward[8];
    int32_t n;
};

static void judge_row(struct trainer_judge_batch *batch, size_t i)
{
    struct trainer_rollout r = trainer_rollouts_get(batch->rollouts, batch->first + i);
    assert_int_equal(batch->start[i + 1] - batch->start[i], (size_t)r.n_turns + 1);
    for (int32_t k = 0; k <= r.n_turns; k++)
        batch->flags[batch->start[i] + (size_t)k] = trainer_env_judge(&r.episode, k);
}

static enum trainer_status sit(void *context, struct trainer_judge_batch *batch, struct trainer_error *err)
{
    struct court *court = context;
    (void)err;
    court->calls++;
    for (size_t i = 0; i < batch->n; i++) {
        if (batch->mark[i] == TRAINER_JUDGE_SKIPPED) {
            court->skipped++;
            continue;
        }
        assert_int_equal(batch->mark[i], TRAINER_JUDGE_FAILED);
        bool judged = court->every && court->asked++ % court->every == 0;
        if (!court->asleep)
            batch->mark[i] = judged ? TRAINER_JUDGED : court->verdict;
        judge_row(batch, i);
    }
    batch->prompt_tokens = 7;
    batch->completion_tokens = 3;
    strcpy(batch->why, "it rained");
    return TRAINER_OK;
}

static bool listen(void *context, const struct trainer_event *event)
{
    struct court *court = context;
    if (event->kind == TRAINER_EVENT_ITERATION) {
        court->last = event->iteration->judge;
        court->reward[court->n++] = event->iteration->reward;
    } else if (event->kind == TRAINER_EVENT_DONE) {
        court->total = event->judge;
    }
    return true;
}

/*
 * Makes questions of one hop and a demonstrator without errors, so that a policy which is sometimes right improves
 * fast.
 */
static void make_easy(struct trainer_recipe *recipe)
{
    recipe->world = (struct trainer_world){.regions = 2, .region_size = 2, .relations = 2};
    recipe->tasks[0].env.k_max = recipe->warm_start.k_max = 1;
    recipe->tasks[0].env.facts = 1;
    recipe->tasks[0].env.p_fail = 0;
    recipe->warm_start.demo = (struct trainer_demo_options){.p_hindsight = 1};
    recipe->training.temperature = 1.3;
}

/* A checkpoint that all tests start from. */
static char policy[] = "/tmp/lineage-judging-XXXXXX";

static int train_policy(void **state)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    (void)state;
    make_easy(&recipe);
    check_recipe(&recipe);
    int fd = mkstemp(policy);
    assert_true(fd >= 0);
    close(fd);
    warm_checkpoint(&recipe, 150, policy);
    return 0;
}

static int forget_policy(void **state)
{
    (void)state;
    return unlink(policy);
}

static struct trainer_recipe judged_recipe(bool by_somebody)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    trainer_algorithm_init(&recipe.tasks[0].algorithm, RL_ALGORITHM_ADCA);
    make_easy(&recipe);
    strcpy(recipe.checkpoint, policy);
    recipe.training.learning_rate = 0.01;
    recipe.judge.skip = TRAINER_JUDGE_ALL;
    if (by_somebody) {
        strcpy(recipe.judge.endpoint, "http://127.0.0.1:1/v1");
        strcpy(recipe.judge.model, "nobody");
    }
    check_recipe(&recipe);
    return recipe;
}

static enum trainer_status try(const struct trainer_recipe *recipe, struct court *court, struct trainer_error *err)
{
    const struct trainer_run_options options = {.event = listen, .context = court, .judge = sit, .judge_context = court};
    return trainer_run(recipe, &options, err);
}

static struct court must_run(const struct trainer_recipe *recipe, struct court court)
{
    struct trainer_error err = {0};
    if (try(recipe, &court, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    return court;
}

static void the_same_flags_give_the_same_run(void **state)
{
    (void)state;
    struct trainer_recipe rules = judged_recipe(false), asked = judged_recipe(true);
    struct court a = must_run(&rules, (struct court){0});
    struct court b = must_run(&asked, (struct court){.verdict = TRAINER_JUDGED});
    /* the policy is neither always right nor always wrong, so it can learn */
    assert_true(a.reward[0] > 0.1 && a.reward[0] < 0.9);
    assert_int_equal(a.calls, 0);
    assert_int_equal(b.calls, 3);
    assert_memory_equal(a.reward, b.reward, sizeof a.reward);
    assert_memory_equal(a.total.good, b.total.good, sizeof a.total.good);
    assert_int_equal(a.total.rows[TRAINER_JUDGED], 3 * 16);
    assert_int_equal(b.total.rows[TRAINER_JUDGED], 3 * 16);
    assert_true(b.total.compared > 0 && b.total.compared == b.total.agreed);
    assert_int_equal(b.total.prompt_tokens, 21);
    assert_int_equal(b.total.completion_tokens, 9);
    struct court c = must_run(&asked, (struct court){.verdict = TRAINER_JUDGE_CACHED});
    assert_memory_equal(a.reward, c.reward, sizeof a.reward);
    assert_int_equal(c.total.rows[TRAINER_JUDGE_CACHED], 3 * 16);
}

/* The flags[] of a row without a judgement are ignored. */
static void rows_without_flags_are_neutral_or_take_the_outcomes(void **state)
{
    (void)state;
    struct trainer_recipe recipe = judged_recipe(true);
    recipe.judge.max_failed_share = 1;
    struct court none = must_run(&recipe, (struct court){.verdict = TRAINER_JUDGE_TRUNCATED});
    assert_int_equal(none.total.rows[TRAINER_JUDGE_TRUNCATED], 3 * 16);
    assert_int_equal(none.total.good[0] + none.total.good[1] + none.total.bad[0] + none.total.bad[1], 0);
    assert_int_equal(none.total.compared, 0);
    struct trainer_recipe only = recipe;
    only.tasks[0].algorithm.alpha = 0; /* the core then uses only the outcome */
    struct court outcome = must_run(&only, (struct court){.verdict = TRAINER_JUDGED});
    assert_memory_equal(none.reward, outcome.reward, sizeof none.reward);
    recipe.judge.unjudged = TRAINER_UNJUDGED_OUTCOME;
    struct court other = must_run(&recipe, (struct court){.verdict = TRAINER_JUDGE_FAILED});
    assert_int_equal(other.total.bad[1] + other.total.good[0], 0);
    assert_true(other.total.good[1] > 0 && other.total.bad[0] > 0);
    assert_int_equal(other.total.compared, 0);
}

static void too_many_failures_end_the_run(void **state)
{
    (void)state;
    struct trainer_recipe recipe = judged_recipe(true);
    struct trainer_error err = {0};
    struct court court = {.verdict = TRAINER_JUDGE_REFUSED, .every = 2};
    recipe.judge.max_failed_share = 0.5;
    assert_int_equal(try(&recipe, &court, &err), TRAINER_OK);
    court = (struct court){.verdict = TRAINER_JUDGE_REFUSED, .every = 2};
    recipe.judge.max_failed_share = 0.49;
    assert_int_equal(try(&recipe, &court, &err), TRAINER_EJUDGE);
    assert_string_equal(err.text, "iteration 1: the judge left 8 of 16 rollouts without flags (8 refused, 0 truncated, "
                                  "0 failed), judge.max_failed_share is 0.49: it rained");
    court = (struct court){.asleep = true};
    /* A judge that leaves all marks unchanged counts as failed. */
    assert_int_equal(try(&recipe, &court, &err), TRAINER_EJUDGE);
}

static void skipped_rows_are_not_asked_about(void **state)
{
    (void)state;
    struct trainer_recipe recipe = judged_recipe(true);
    recipe.judge.skip = TRAINER_JUDGE_ALL_NEG;
    struct court court = must_run(&recipe, (struct court){.verdict = TRAINER_JUDGED, .every = 1});
    assert_int_equal(court.asked + court.skipped, 3 * 16);
    assert_int_equal(court.total.rows[TRAINER_JUDGE_SKIPPED], court.skipped);
    assert_true(court.skipped > 0);
    assert_int_equal(court.total.good[0] + court.total.bad[0], 0);
    recipe.judge.skip = TRAINER_JUDGE_SMALL_ADV;
    recipe.training.group_size = 1; /* a row alone in its group has no advantage */
    recipe.training.minibatch = 4;
    court = must_run(&recipe, (struct court){.verdict = TRAINER_JUDGED, .every = 1});
    assert_int_equal(court.asked, 0);
    assert_int_equal(court.skipped, 3 * 4);
}

static void no_judge_is_asked_after_prm_steps(void **state)
{
    (void)state;
    struct trainer_recipe recipe = judged_recipe(true);
    recipe.tasks[0].algorithm.prm_steps = 2;
    struct court court = must_run(&recipe, (struct court){.verdict = TRAINER_JUDGED});
    assert_int_equal(court.calls, 2);
    assert_int_equal(court.last.rows[TRAINER_JUDGED], 0);
    assert_int_equal(court.total.rows[TRAINER_JUDGED], 2 * 16);
}

static void a_share_of_flags_is_inverted(void **state)
{
    (void)state;
    struct trainer_recipe recipe = judged_recipe(false);
    recipe.training.iterations = 6;
    struct court right = must_run(&recipe, (struct court){0});
    assert_int_equal(right.total.agreed, right.total.compared);
    recipe.judge.wrong = 0.3;
    struct court wrong = must_run(&recipe, (struct court){0});
    assert_near((double)wrong.total.agreed / (double)wrong.total.compared, 0.7, 0.12);
    struct court again = must_run(&recipe, (struct court){0});
    assert_int_equal(wrong.total.agreed, again.total.agreed);
    assert_memory_equal(wrong.reward, again.reward, sizeof wrong.reward);
    recipe.judge.wrong = 1;
    wrong = must_run(&recipe, (struct court){0});
    assert_int_equal(wrong.total.agreed, 0);
}

static void an_endpoint_without_a_callback_is_refused(void **state)
{
    (void)state;
    struct trainer_recipe recipe = judged_recipe(true);
    struct trainer_error err = {0};
    assert_int_equal(trainer_run(&recipe, NULL, &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "judge.endpoint"));
    float *params = warm_policy(&recipe, 0);
    trainer_rollouts_free(sample(&recipe, params, 2, 1)); /* judged by the rules */
    free(params);
}

static void marks_have_names(void **state)
{
    (void)state;
    assert_string_equal(trainer_judge_mark_name(TRAINER_JUDGED), "judged");
    assert_string_equal(trainer_judge_mark_name(TRAINER_JUDGE_FAILED), "failed");
    assert_string_equal(trainer_judge_mark_name(TRAINER_N_JUDGE_MARKS), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_flags_give_the_same_run),
        cmocka_unit_test(rows_without_flags_are_neutral_or_take_the_outcomes),
        cmocka_unit_test(too_many_failures_end_the_run),
        cmocka_unit_test(skipped_rows_are_not_asked_about),
        cmocka_unit_test(no_judge_is_asked_after_prm_steps),
        cmocka_unit_test(a_share_of_flags_is_inverted),
        cmocka_unit_test(an_endpoint_without_a_callback_is_refused),
        cmocka_unit_test(marks_have_names),
    };
    return cmocka_run_group_tests(tests, train_policy, forget_policy);
}
