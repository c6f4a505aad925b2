/* trainer_sweep.c: tests how a sweep is expanded into recipes, and what identifies a trial. */
#include "support/unit.h"

#include <glob.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/algorithm.h>
#include <trainer/sweep.h>

#include "support/files.h"
#include "support/quotes.h"
#include "recipe/sweep_merge.h"

/* Parses JSON that is written with single quotes. */
static enum trainer_status read_sweep(struct trainer_sweep **sweep, const char *text, struct trainer_error *err)
{
    char *json = quotes(text);
    enum trainer_status status = trainer_sweep_parse(sweep, "s.json", json, strlen(json), NULL, err);
    free(json);
    return status;
}

static struct trainer_sweep *parse(const char *text)
{
    struct trainer_sweep *sweep;
    struct trainer_error err = {0};
    if (read_sweep(&sweep, text, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    return sweep;
}

static void assert_refused(const char *text, const char *why)
{
    struct trainer_sweep *sweep;
    struct trainer_error err = {0};
    assert_int_equal(read_sweep(&sweep, text, &err), TRAINER_EINVAL);
    assert_null(sweep);
    if (!strstr(err.text, why) || strncmp(err.text, "s.json:", 7) != 0)
        fail_msg("'%s' does not say '%s'", err.text, why);
}

static void assert_names(const struct trainer_sweep *sweep, const char *const *names)
{
    size_t n = 0;
    for (; names[n]; n++) {
        assert_true(n < trainer_sweep_count(sweep));
        assert_string_equal(trainer_sweep_trial(sweep, n)->name, names[n]);
    }
    assert_int_equal(trainer_sweep_count(sweep), n);
    assert_null(trainer_sweep_trial(sweep, n));
}

static uint64_t key_of(const char *text, size_t i)
{
    struct trainer_sweep *sweep = parse(text);
    uint64_t key = trainer_sweep_trial(sweep, i)->key;
    trainer_sweep_free(sweep);
    return key;
}

/* ---- expansion ---- */

static void a_sweep_without_trials_is_its_base(void **state)
{
    (void)state;
    struct trainer_sweep *sweep = parse("{'base': {'seed': 7, 'name': 'x'}}");
    assert_string_equal(trainer_sweep_name(sweep), "sweep");
    assert_names(sweep, (const char *const[]){"x", NULL});
    const struct trainer_trial *trial = trainer_sweep_trial(sweep, 0);
    assert_int_equal(trial->recipe.seed, 7);
    assert_int_equal(trial->recipe.model.tokens, 121);
    assert_int_equal(trial->parent, TRAINER_PARENT_BASE);
    trainer_sweep_free(sweep);
}

static void a_trial_is_merged_into_the_base(void **state)
{
    (void)state;
    struct trainer_sweep *sweep = parse("{'name': 's',"
                                        " 'base': {'environments': [{'k_max': 4, 'algorithm': {'name': 'joint', 'gamma': 0.5}},"
                                        "                              {'name': 'reverse'}], 'loss': {'name': 'turn'}},"
                                        " 'trials': [{'name': 'a'},"
                                        "  {'name': 'b', 'environments': [{'algorithm': {'name': 'separate'}}], 'loss': "
                                        "{'clip_low': 0.1}},"
                                        "  {'name': 'c', 'environments': [{}, {'questions': 3}, {'k_min': 4}]}]}");
    assert_string_equal(trainer_sweep_name(sweep), "s");
    assert_names(sweep, (const char *const[]){"a", "b", "c", NULL});
    const struct trainer_recipe *b = &trainer_sweep_trial(sweep, 1)->recipe;
    assert_int_equal(b->n_tasks, 2);
    assert_int_equal(b->tasks[0].algorithm.name, RL_ALGORITHM_SEPARATE);
    assert_true(b->tasks[0].algorithm.gamma == 0.5 && b->tasks[0].env.k_max == 4);
    assert_int_equal(b->tasks[1].env.kind, TRAINER_REVERSE);
    assert_true(b->loss.name == TRAINER_LOSS_TURN && b->loss.clip_low == 0.1);
    const struct trainer_recipe *c = &trainer_sweep_trial(sweep, 2)->recipe;
    assert_int_equal(c->n_tasks, 3);
    assert_int_equal(c->tasks[0].algorithm.name, RL_ALGORITHM_JOINT);
    assert_int_equal(c->tasks[1].questions, 3);
    assert_int_equal(c->tasks[2].env.k_min, 4);
    trainer_sweep_free(sweep);
}

static const char grid[] = "{'base': {'environments': [{'algorithm': {'name': 'turn-group-v1d'}}]},"
                           " 'trials': [{'name': 'a'}, {'name': 'b', 'loss': {'clip_low': 0.1}, 'parent': 'a'}],"
                           " 'grid': {'environments[0].algorithm.alpha': [0.1, 0.5], 'seed': [1, 2, 3]}";

static struct trainer_sweep *parse_grid(const char *rest)
{
    char text[1024];
    snprintf(text, sizeof text, "%s%s", grid, rest);
    return parse(text);
}

static void all_trials_run_at_one_grid_point_before_the_next(void **state)
{
    (void)state;
    struct trainer_sweep *sweep = parse_grid("}");
    assert_names(sweep, (const char *const[]){"a alpha=0.1 seed=1", "b alpha=0.1 seed=1", "a alpha=0.1 seed=2",
                                              "b alpha=0.1 seed=2", "a alpha=0.1 seed=3", "b alpha=0.1 seed=3",
                                              "a alpha=0.5 seed=1", "b alpha=0.5 seed=1", "a alpha=0.5 seed=2",
                                              "b alpha=0.5 seed=2", "a alpha=0.5 seed=3", "b alpha=0.5 seed=3", NULL});
    const struct trainer_trial *trial = trainer_sweep_trial(sweep, 9);
    assert_string_equal(trial->recipe.name, "b");
    assert_true(trial->recipe.tasks[0].algorithm.alpha == 0.5 && trial->recipe.loss.clip_low == 0.1);
    assert_int_equal(trial->recipe.seed, 2);
    assert_int_equal(trial->recipe.tasks[0].algorithm.name, RL_ALGORITHM_TURN_GROUP_V1D);
    assert_int_equal(trial->parent, TRAINER_PARENT_TRIAL);
    assert_int_equal(trial->parent_trial, 8);
    trainer_sweep_free(sweep);
}

static void each_trial_runs_at_all_points_with_the_other_order(void **state)
{
    (void)state;
    struct trainer_sweep *sweep = parse_grid(", 'order': 'grid'}");
    struct trainer_sweep *other = parse_grid(", 'order': 'trials'}");
    assert_string_equal(trainer_sweep_trial(sweep, 1)->name, "a alpha=0.1 seed=2");
    assert_string_equal(trainer_sweep_trial(sweep, 10)->name, "b alpha=0.5 seed=2");
    assert_int_equal(trainer_sweep_trial(sweep, 10)->parent_trial, 4);
    assert_true(trainer_sweep_trial(sweep, 10)->key == trainer_sweep_trial(other, 9)->key);
    trainer_sweep_free(sweep);
    trainer_sweep_free(other);
}

static void axes_that_end_alike_are_named_in_full(void **state)
{
    (void)state;
    struct trainer_sweep *sweep = parse("{'grid': {'training.learning_rate': [3e-4], 'start.warm_start.learning_rate': [0.001],"
                                        " 'model.previous_token': [false], 'loss.name': ['gspo']}}");
    assert_names(sweep, (const char *const[]){"trial lr=0.0003 start.warm_start.lr=0.001 "
                                              "previous_token=false name=gspo",
                                              NULL});
    assert_false(trainer_sweep_trial(sweep, 0)->recipe.model.previous_token);
    assert_true(trainer_sweep_trial(sweep, 0)->recipe.warm_start.learning_rate == 0.001);
    trainer_sweep_free(sweep);
}

/* ---- parents ---- */

static void parents_are_base_a_trial_or_a_name(void **state)
{
    (void)state;
    struct trainer_sweep *sweep = parse("{'parent': 'best', 'trials': [{'name': 'a'}, {'name': 'b', 'parent': 'base'},"
                                        " {'name': 'c', 'parent': 'b'}, {'name': 'd', 'parent': '017'}]}");
    assert_int_equal(trainer_sweep_trial(sweep, 0)->parent, TRAINER_PARENT_OTHER);
    assert_int_equal(trainer_sweep_trial(sweep, 1)->parent, TRAINER_PARENT_BASE);
    assert_int_equal(trainer_sweep_trial(sweep, 2)->parent, TRAINER_PARENT_TRIAL);
    assert_int_equal(trainer_sweep_trial(sweep, 2)->parent_trial, 1);
    assert_int_equal(trainer_sweep_trial(sweep, 3)->parent, TRAINER_PARENT_OTHER);
    assert_string_equal(trainer_sweep_trial(sweep, 3)->parent_name, "017");
    trainer_sweep_free(sweep);
}

static void a_parent_comes_before_its_child(void **state)
{
    (void)state;
    assert_refused("{'trials': [{'name': 'a', 'parent': 'b'}, {'name': 'b'}]}",
                   "s.json: trial 'a': its parent 'b' does not come before it");
    assert_refused("{'trials': [{'name': 'a', 'parent': 'a'}]}", "does not come before");
    assert_refused("{'trials': [{'name': 'a', 'parent': 3}]}", "trial 'a': parent is 3");
    assert_refused("{'parent': ''}", "parent is \"\"");
}

/* ---- keys ---- */

/* A narrower range of a setting must not refuse what was measured with the wider one: fixtures/experiments has the rows. */
static void every_shipped_sweep_is_read(void **state)
{
    glob_t found;
    (void)state;
    assert_int_equal(glob(FIXTURES_DIR "/recipes/*.json", 0, NULL, &found), 0);
    assert_true(found.gl_pathc > 50);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct trainer_sweep *sweep;
        struct trainer_recipe recipe;
        struct trainer_error err = {0};
        if (trainer_recipe_load(&recipe, found.gl_pathv[i], NULL) == TRAINER_OK)
            continue;
        if (trainer_sweep_load(&sweep, found.gl_pathv[i], &err) != TRAINER_OK)
            fail_msg("%s", err.text);
        trainer_sweep_free(sweep);
    }
    globfree(&found);
}

/*
 * Keys that an earlier version gave. A new setting must not change the text of recipes without it, or every night is repeated.
 * The bound of ipo is the exception: its default was 0.2.
 */
static void keys_are_those_of_earlier_versions(void **state)
{
    (void)state;
    assert_true(key_of("{'trials': [{'name': 'a'}]}", 0) == 0x44202f2afff9532d);
    assert_true(key_of("{'trials': [{'name': 'a', 'loss': {'name': 'dppo'}}]}", 0) == 0x8c2f6c2f6ae162ae);
    uint64_t ipo = key_of("{'trials': [{'name': 'a', 'loss': {'name': 'ipo'}}]}", 0);
    assert_true(ipo != 0xfd2ad1d08e4bc448);
    assert_true(ipo == key_of("{'trials': [{'name': 'a', 'loss': {'name': 'ipo'}, 'ipo': {'threshold': 0.1}}]}", 0));
}

static void a_key_identifies_what_decides_the_result(void **state)
{
    uint64_t key = key_of("{'trials': [{'name': 'a'}]}", 0);
    (void)state;
    assert_true(key == key_of("{'name': 'other', 'base': {'name': 'a'}}", 0));
    assert_true(key == key_of("{'trials': [{'name': 'a', 'hypothesis': 'x', 'expected_delta': '+1',"
                              " 'threads': 4, 'seed': 1, 'parent': 'base'}]}",
                              0));
    assert_true(key != key_of("{'trials': [{'name': 'a', 'seed': 2}]}", 0));
    assert_true(key != key_of("{'trials': [{'name': 'b'}]}", 0));
    assert_true(key != key_of("{'trials': [{'name': 'a', 'parent': 'best'}]}", 0));
    assert_true(key_of("{'trials': [{'name': 'a', 'parent': '1'}]}", 0) !=
                key_of("{'trials': [{'name': 'a', 'parent': '2'}]}", 0));
}

static void a_child_is_another_trial_if_its_parent_is(void **state)
{
    (void)state;
    assert_true(key_of("{'trials': [{'name': 'a', 'seed': 1}, {'name': 'b', 'parent': 'a'}]}", 1) !=
                key_of("{'trials': [{'name': 'a', 'seed': 2}, {'name': 'b', 'parent': 'a'}]}", 1));
}

static void two_trials_of_one_name_or_recipe_are_refused(void **state)
{
    (void)state;
    assert_refused("{'trials': [{'name': 'a'}, {'name': 'b'}, {'name': 'a', 'seed': 2}]}", "'a', have the same name");
    assert_refused("{'trials': [{}, {}]}", "have the same name");
    assert_refused("{'grid': {'seed': [1, 1]}}", "'trial seed=1', have the same name");
    assert_refused("{'grid': {'seed': [1, 1.0]}}", "have the same name");
    assert_refused("{'grid': {'threads': [1, 2]}}", "have the same recipe");
    assert_refused("{'base': {'environments': [{'algorithm': {'name': 'adca'}}],"
                   "  'judge': {'endpoint': 'http://h', 'model': 'm'}},"
                   " 'grid': {'judge.deadline': [1, 2]}}",
                   "have the same recipe"); /* because judge.deadline changes no flag of the judge */
}

/* ---- refusals ---- */

static void bad_sweeps_are_refused(void **state)
{
    (void)state;
    assert_refused("{\n\n'trials'}", "s.json:3:");
    assert_refused("[]", "must be a JSON object");
    assert_refused("{'trails': []}", "unknown key \"trails\"; the nearest known one is trials");
    assert_refused("{'trials': [{'name': 'b', 'beta': 0.04}]}", "turn-group-v1d (TRL's beta is loss.kl_coef)");
    assert_refused("{'environments': []}", "unknown key \"environments\"");
    assert_refused("{'name': ''}", "name is \"\"");
    assert_refused("{'base': []}", "base is [], but must be an object");
    assert_refused("{'recipe': 1}", "recipe is 1");
    assert_refused("{'trials': []}", "trials is [], but must be a list of objects");
    assert_refused("{'trials': {}}", "trials is {}");
    assert_refused("{'trials': [{}, 2]}", "trials is 2");
    assert_refused("{'grid': []}", "grid is [], but must be an object");
    assert_refused("{'grid': {'seed': 1}}", "grid: seed is 1, but must be a list of numbers, texts or booleans");
    assert_refused("{'grid': {'seed': []}}", "grid: seed is []");
    assert_refused("{'grid': {'seed': [[1]]}}", "grid: seed is [[1]]");
    assert_refused("{'order': 'up'}", "order is \"up\", but must be \"trials\" or \"grid\"");
    assert_refused("{'base': {'parent': 'best'}}", "unknown key \"parent\"");
}

static void a_trial_at_fault_is_named(void **state)
{
    (void)state;
    assert_refused("{'trials': [{'name': 'a'}, {'name': 'b', 'loss': {'nam': 1}}]}",
                   "s.json: trial 'b': loss: unknown key \"nam\"; the nearest known one is loss.name");
    assert_refused("{'trials': [{'name': 'a'}], 'grid': {'seed': [1, -1]}}", "trial 'a': seed is -1");
    assert_refused("{'grid': {'environments[0].algorithm.alhpa': [1]}}",
                   "grid: unknown setting 'environments[0].algorithm.alhpa': no such place in the "
                   "recipe; the nearest known one is algorithm.alpha");
}

static void a_grid_path_must_lead_somewhere(void **state)
{
    static const char *const paths[] = {"environments[1].questions",
                                        "environments[x].questions",
                                        "environments[0]",
                                        "environments[0]questions",
                                        "",
                                        ".seed",
                                        "environments.questions",
                                        NULL};
    (void)state;
    for (size_t i = 0; paths[i]; i++) {
        char text[256];
        snprintf(text, sizeof text, "{'grid': {'%s': [1]}, 'base': {'environments': [{}]}}", paths[i]);
        assert_refused(text, "no such place in the recipe");
    }
    assert_refused("{'grid': {'seed.x': [1]}, 'base': {'seed': 1}}", "unknown setting 'seed.x'");
}

static char *with_seeds(size_t n)
{
    char *text = malloc(n * 8 + 64), *at = text;
    at += sprintf(at, "{'grid': {'seed': [0");
    for (size_t i = 1; i < n; i++)
        at += sprintf(at, ",%zu", i);
    strcpy(at, "]}}");
    return text;
}

static void too_many_trials_are_refused(void **state)
{
    char *most = with_seeds(TRAINER_SWEEP_TRIALS_MAX), *more = with_seeds(TRAINER_SWEEP_TRIALS_MAX + 1);
    (void)state;
    struct trainer_sweep *sweep = parse(most);
    assert_int_equal(trainer_sweep_count(sweep), TRAINER_SWEEP_TRIALS_MAX);
    trainer_sweep_free(sweep);
    assert_refused(more, "more than 10000 trials");
    free(most);
    free(more);
}

static void a_name_that_is_too_long_is_refused(void **state)
{
    char text[1024], value[300];
    (void)state;
    memset(value, 'x', sizeof value);
    value[299] = 0;
    snprintf(text, sizeof text, "{'grid': {'start.checkpoint': ['%s']}}", value);
    assert_refused(text, "name would be too long");
    value[230] = 0;
    snprintf(text, sizeof text, "{'base': {'name': '%.60s'}, 'grid': {'start.checkpoint': ['%s']}}", value, value);
    assert_refused(text, "name would be too long");
}

/* ---- merging ---- */

static json_t *json_of(const char *text)
{
    char *json = quotes(text);
    json_t *value = json_loads(json, 0, NULL);
    free(json);
    return value;
}

static void merging_replaces_values_of_another_kind(void **state)
{
    json_t *a = json_of("{'a': [1, {'b': 1}, [1]], 'c': {'d': 1}, 'e': 1}");
    json_t *b = json_of("{'a': [{}, {'f': 2}, [2, 3], 4], 'c': 5, 'e': {'g': [6]}}");
    json_t *sum = json_of("{'a': [{}, {'b': 1, 'f': 2}, [2, 3], 4], 'c': 5, 'e': {'g': [6]}}");
    (void)state;
    assert_true(sweep_lay_over(a, b));
    assert_true(json_equal(a, sum));
    json_object_set_new(json_object_get(a, "e"), "g", json_null());
    assert_true(
        /* b is unchanged, because its value was copied */
        json_is_array(json_object_get(json_object_get(b, "e"), "g")));
    json_decref(a);
    json_decref(b);
    json_decref(sum);
}

/* ---- files ---- */

static void a_recipe_is_found_beside_the_sweep(void **state)
{
    struct trainer_sweep *sweep;
    struct trainer_error err;
    char *dir = make_dir(), *path = join(dir, "s.json"), *recipe = join(dir, "r.json");
    char *text = quotes("{'recipe': 'r.json', 'base': {'seed': 3}}");
    char *base = quotes("{'name': 'r', 'seed': 1}");
    (void)state;
    write_file(path, text, strlen(text));
    assert_int_equal(trainer_sweep_load(&sweep, path, &err), TRAINER_ENOTFOUND);
    assert_non_null(strstr(err.text, "r.json: No such file"));
    write_file(recipe, "{", 1);
    assert_int_equal(trainer_sweep_load(&sweep, path, &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "r.json:1:"));
    write_file(recipe, base, strlen(base));
    assert_int_equal(trainer_sweep_load(&sweep, path, &err), TRAINER_OK);
    assert_string_equal(trainer_sweep_trial(sweep, 0)->name, "r");
    assert_int_equal(trainer_sweep_trial(sweep, 0)->recipe.seed, 3);
    trainer_sweep_free(sweep);
    free(base);
    free(text);
    free(recipe);
    free(path);
    remove_dir(dir);
    assert_int_equal(trainer_sweep_load(&sweep, "/nonexistent/s.json", NULL), TRAINER_ENOTFOUND);
    assert_null(sweep);
}

static void the_published_ladder_has_six_rungs(void **state)
{
    static const enum rl_algorithm_name algorithms[] = {RL_ALGORITHM_GRPO,           RL_ALGORITHM_JOINT,
                                                        RL_ALGORITHM_SEPARATE,       RL_ALGORITHM_TURN_GROUP,
                                                        RL_ALGORITHM_TURN_GROUP_V1D, RL_ALGORITHM_TURN_GROUP_V1D};
    struct trainer_sweep *sweep;
    struct trainer_error err;
    (void)state;
    if (trainer_sweep_load(&sweep, FIXTURES_DIR "/recipes/ladder.json", &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    assert_names(sweep,
                 (const char *const[]){"grpo", "joint", "separate", "turn-group", "turn-group-v1d", "v1d-alpha-0.9", NULL});
    for (size_t i = 0; i < 6; i++) {
        const struct trainer_recipe *recipe = &trainer_sweep_trial(sweep, i)->recipe;
        assert_int_equal(recipe->tasks[0].algorithm.name, algorithms[i]);
        assert_int_equal(recipe->loss.name, i == 0 ? TRAINER_LOSS_PPO : TRAINER_LOSS_TURN);
        assert_true(recipe->loss.clip_low == (i == 0 ? 0.2 : 0.1) && recipe->loss.clip_high == (i == 0 ? 0.28 : 0.13));
        assert_int_equal(recipe->loss.aggregation, i == 0 ? TRAINER_TOKEN_MEAN : TRAINER_SEQ_MEAN_TOKEN_MEAN);
        assert_true(recipe->tasks[0].algorithm.alpha == (i == 5 ? 0.9 : 0.3));
        assert_int_equal(recipe->training.iterations, trainer_sweep_trial(sweep, 0)->recipe.training.iterations);
        assert_true(recipe->hypothesis[0]);
    }
    trainer_sweep_free(sweep);
}

static void the_published_schema_knows_the_keys(void **state)
{
    json_t *schema = read_json(FIXTURES_DIR "/../schema/sweep.schema.json"), *value;
    const char *key;
    (void)state;
    json_t *keys = json_object_get(json_object_get(json_object_get(schema, "$defs"), "recipes"), "properties");
    size_t n = 0; /* the trainer's keys, so that another key of the night does not fail this test by its number */
    json_object_foreach(keys, key, value) {
        char text[64];
        struct trainer_sweep *sweep;
        struct trainer_error err;
        /* `night` reads these keys itself, and removes them before the trainer reads the sweep. */
        static const char *const nights[] = {"ranges", "confirm", "propose", "require", "prune"};
        bool of_night = false;
        for (size_t i = 0; i < sizeof nights / sizeof *nights; i++)
            of_night = of_night || strcmp(key, nights[i]) == 0;
        if (of_night)
            continue;
        n++;
        snprintf(text, sizeof text, "{'%s': null}", key);
        assert_int_equal(read_sweep(&sweep, text, &err), TRAINER_EINVAL);
        assert_null(strstr(err.text, "unknown"));
    }
    assert_int_equal(n, 7);
    json_decref(schema);
}

/* ---- memory ---- */

static long allocations_left;

static void *failing_malloc(size_t size)
{
    return allocations_left-- > 0 ? malloc(size) : NULL;
}

/* If any allocation of the JSON library fails, the sweep is refused. The sanitizer reports leaks. */
static void memory_that_runs_out_is_reported(void **state)
{
    static const char text[] = "{'base': {'name': 'a', 'loss': {'clip_low': 0.1}}, 'trials': [{}, {'name': 'b'}],"
                               " 'grid': {'seed': [1, 2]}}";
    enum trainer_status status = TRAINER_EINVAL;
    size_t failures = 0;
    (void)state;
    for (long n = 0; status != TRAINER_OK; n++, failures++) {
        struct trainer_sweep *sweep;
        struct trainer_error err = {0};
        assert_true(n < 10000);
        allocations_left = n;
        json_set_alloc_funcs(failing_malloc, free);
        status = read_sweep(&sweep, text, &err);
        json_set_alloc_funcs(malloc, free);
        assert_true(status == TRAINER_OK ? trainer_sweep_count(sweep) == 4 : !sweep && err.text[0]);
        trainer_sweep_free(sweep);
    }
    assert_true(failures > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sweep_without_trials_is_its_base),
        cmocka_unit_test(a_trial_is_merged_into_the_base),
        cmocka_unit_test(all_trials_run_at_one_grid_point_before_the_next),
        cmocka_unit_test(each_trial_runs_at_all_points_with_the_other_order),
        cmocka_unit_test(axes_that_end_alike_are_named_in_full),
        cmocka_unit_test(parents_are_base_a_trial_or_a_name),
        cmocka_unit_test(a_parent_comes_before_its_child),
        cmocka_unit_test(every_shipped_sweep_is_read),
        cmocka_unit_test(keys_are_those_of_earlier_versions),
        cmocka_unit_test(a_key_identifies_what_decides_the_result),
        cmocka_unit_test(a_child_is_another_trial_if_its_parent_is),
        cmocka_unit_test(two_trials_of_one_name_or_recipe_are_refused),
        cmocka_unit_test(bad_sweeps_are_refused),
        cmocka_unit_test(a_trial_at_fault_is_named),
        cmocka_unit_test(a_grid_path_must_lead_somewhere),
        cmocka_unit_test(too_many_trials_are_refused),
        cmocka_unit_test(a_name_that_is_too_long_is_refused),
        cmocka_unit_test(merging_replaces_values_of_another_kind),
        cmocka_unit_test(a_recipe_is_found_beside_the_sweep),
        cmocka_unit_test(the_published_ladder_has_six_rungs),
        cmocka_unit_test(the_published_schema_knows_the_keys),
        cmocka_unit_test(memory_that_runs_out_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
