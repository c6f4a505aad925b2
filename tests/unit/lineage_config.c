/* Tests lineage.json: which files are accepted, which are refused with which message, and how the file is written. */
#include "support/unit.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files/fs.h"
#include "format/config.h"
#include "support/files.h"

static void assert_refused(const char *text, const char *why)
{
    struct lineage_config config;
    struct lineage_error err;
    assert_int_equal(config_parse(&config, NULL, text, strlen(text), &err), LINEAGE_ECORRUPT);
    if (!strstr(err.text, why))
        fail_msg("'%s' does not say '%s'", err.text, why);
}

static void wrong_settings_are_refused(void **state)
{
    (void)state;
    assert_refused("{", "lineage.json:1");
    assert_refused("[]", "not an object");
    assert_refused("{\"direction\": \"up\"}", "direction");
    assert_refused("{\"direktion\": \"lower\"}", "unknown key 'direktion'");
    assert_refused("{\"min_delta\": -1}", "min_delta");
    assert_refused("{\"noise_seeds\": 1.5}", "noise_seeds");
    assert_refused("{\"metric\": 3}", "metric");
    assert_refused("{\"score\": 3}", "score must be a string");
    assert_refused("{\"score\": \"\"}", "score must be a name of 1 to 63 bytes");
    assert_refused("{\"metric\": \"0123456789012345678901234567890123456789012345678901234567890123\"}", "at most 63");
    assert_refused("{\"direction\": 1}", "direction");
    assert_refused("{\"min_delta\": \"much\"}", "min_delta");
    assert_refused("{\"noise_std\": true}", "noise_std");
    assert_refused("{\"noise_seeds\": -1}", "noise_seeds");
    assert_refused("{\"noise_seeds\": 4294967296}", "noise_seeds");
    assert_refused("{\"noise_seeds\": \"four\", \"min_delta\": 1}", "noise_seeds");
    assert_refused("{\"metric\": \"a\", \"metric\": \"b\"}", "duplicate");
    static const char *const knobs[] = {
        "[]",
        "1",
        "\"a\"",
        "null",
        "{\"same\": 1}",
        "{\"same\": [\"a\", \"b\"]}",
        "{\"same\": [[]]}",
        "{\"same\": [[\"a\"]]}",
        "{\"same\": [[\"a\", 1]]}",
        "{\"same\": [[\"a\", \"\"]]}",
        "{\"equal\": [[\"a\", \"b\"]]}",
        "{\"different\": {}}",
        "{\"same\": [[\"a\", \"0123456789012345678901234567890123456789012345678901234567890123\"]]}"};
    for (size_t i = 0; i < sizeof knobs / sizeof *knobs; i++) {
        char text[200];
        snprintf(text, sizeof text, "{\"knobs\": %s}", knobs[i]);
        assert_refused(text, "knobs must be");
    }
}

static void settings_come_round(void **state)
{
    struct lineage_config config = {.direction = LINEAGE_HIGHER,
                                    .metric = "val \"x\" é",
                                    .metric_label = "x",
                                    .min_delta = 0.1,
                                    .noise_std = 1e-5,
                                    .noise_seeds = 4},
                          back;
    struct buf text = {0};
    (void)state;
    config_write(&text, &config, NULL);
    assert_int_equal(config_parse(&back, NULL, text.data, text.length, NULL), LINEAGE_OK);
    assert_string_equal(back.metric, config.metric);
    assert_string_equal(back.metric_label, "x");
    assert_int_equal(back.direction, LINEAGE_HIGHER);
    assert_true(back.min_delta == 0.1 && back.noise_std == 1e-5 && back.noise_seeds == 4);
    buf_release(&text);
}

static void rules_of_knobs_come_round(void **state)
{
    static const char text[] = "{\"knobs\": {\"different\": [[\"wd\", \"embed_wd\"]], \"same\": [[\"lr\", \"a \\\"q\\\"\"],"
                               " [\"x\", \"y\", \"z\"]]}, \"noise_std\": 1}";
    struct lineage_config config;
    struct config_more more, back;
    struct buf written = {0};
    (void)state;
    assert_int_equal(config_parse(&config, &more, text, strlen(text), NULL), LINEAGE_OK);
    assert_int_equal(more.n_rules, 3);
    config_write(&written, &config, &more);
    assert_int_equal(config_parse(&config, &back, written.data, written.length, NULL), LINEAGE_OK);
    assert_int_equal(back.n_rules, 3);
    assert_true(config.noise_std == 1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(back.rules[i].relation, i < 2 ? LINEAGE_KNOBS_SAME : LINEAGE_KNOBS_DIFFERENT);
        assert_int_equal(back.rules[i].n, i == 1 ? 3 : 2);
        for (size_t k = 0; k < back.rules[i].n; k++)
            assert_string_equal(back.rules[i].names[k], more.rules[i].names[k]);
    }
    assert_string_equal(back.rules[0].names[1], "a \"q\"");
    buf_release(&written);
    config_more_release(&more);
    config_more_release(&back);
}

/* Measuring the noise writes lineage.json again. */
static void setting_the_noise_keeps_the_rules(void **state)
{
    static const char text[] = "{\"knobs\": {\"same\": [[\"lr\", \"rate\"]]}}";
    char *dir = make_dir(), *path = join(dir, "lineage.json");
    struct lineage_store *store;
    struct lineage_error err;
    size_t length;
    (void)state;
    write_file(path, text, strlen(text));
    assert_int_equal(lineage_store_open(&store, dir, NULL, &err), LINEAGE_OK);
    assert_int_equal(lineage_store_set_noise(store, 0.5, 2, &err), LINEAGE_OK);
    lineage_store_close(store);
    char *now = read_file(path, &length);
    assert_non_null(strstr(now, "\"same\": [[\"lr\", \"rate\"]]"));
    assert_non_null(strstr(now, "noise_std"));
    free(now);
    free(path);
    remove_dir(dir);
}

static void a_store_is_created_once(void **state)
{
    struct lineage_config config = {.direction = LINEAGE_HIGHER};
    struct lineage_error err;
    struct lineage_store *store;
    char *dir = make_dir();
    (void)state;
    assert_int_equal(lineage_store_create(dir, &config, &err), LINEAGE_OK);
    assert_int_equal(lineage_store_create(dir, &config, &err), LINEAGE_OK);
    config.direction = LINEAGE_LOWER;
    assert_int_equal(lineage_store_create(dir, &config, &err), LINEAGE_EEXIST);
    assert_int_equal(lineage_store_open(&store, dir, NULL, &err), LINEAGE_OK);
    assert_int_equal(lineage_store_config(store)->direction, LINEAGE_HIGHER);
    lineage_store_close(store);
    remove_dir(dir);
}

/* init refuses settings that it could not read again, because the store could then never be opened. */
static void what_could_not_be_read_back_is_not_written(void **state)
{
    struct lineage_config long_name = {0}, no_text = {.metric_label = "\xff"};
    struct lineage_error err;
    char *dir = make_dir(), *file = join(dir, "lineage.json");
    (void)state;
    memset(long_name.metric, 'x', sizeof long_name.metric);
    const struct lineage_config wrong[] = {
        {.min_delta = -1}, {.min_delta = (double)INFINITY}, {.noise_std = (double)NAN}, long_name, no_text};
    static const char *const why[] = {"min_delta", "min_delta", "noise_std", "metric must", "metric_label must"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(lineage_store_create(dir, &wrong[i], &err), LINEAGE_EINVAL);
        assert_non_null(strstr(err.text, why[i]));
        assert_false(file_exists(file));
    }
    free(file);
    remove_dir(dir);
}

/* A difference in any member makes the settings different from the existing ones. */
static void other_settings_are_not_written_over(void **state)
{
    const struct lineage_config there = {
        .direction = LINEAGE_LOWER, .metric = "a", .metric_label = "b", .min_delta = 1, .noise_std = 2, .noise_seeds = 3};
    struct lineage_config other[6];
    struct lineage_error err;
    char *dir = make_dir();
    (void)state;
    assert_int_equal(lineage_store_create(dir, &there, &err), LINEAGE_OK);
    assert_int_equal(lineage_store_create(dir, &there, &err), LINEAGE_OK);
    for (size_t i = 0; i < 6; i++)
        other[i] = there;
    other[0].direction = LINEAGE_HIGHER;
    strcpy(other[1].metric, "c");
    strcpy(other[2].metric_label, "c");
    other[3].min_delta = other[4].noise_std = 9;
    other[5].noise_seeds = 9;
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(lineage_store_create(dir, &other[i], &err), LINEAGE_EEXIST);
    remove_dir(dir);
}

/* A handle can override the name of the score's column. An impossible name is refused before it is compared with the
 * columns. */
static void an_override_is_a_possible_name(void **state)
{
    char name[LINEAGE_NAME_MAX + 1] = "";
    struct lineage_store *store;
    struct lineage_error err;
    char *dir = make_dir();
    (void)state;
    memset(name, 'x', LINEAGE_NAME_MAX);
    const struct lineage_open_options options = {.metric = name};
    assert_int_equal(lineage_store_open(&store, dir, &options, &err), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "too long"));
    remove_dir(dir);
}

/* Two handles that are open at the same time agree, the other settings stay, and the name outlives the handle. */
static void the_first_score_gives_its_name(void **state)
{
    char long_name[LINEAGE_NAME_MAX + 1] = "";
    const struct lineage_config there = {.direction = LINEAGE_HIGHER, .min_delta = 0.5};
    struct lineage_store *store, *other;
    struct lineage_error err;
    char *dir = make_dir();
    (void)state;
    memset(long_name, 'x', LINEAGE_NAME_MAX);
    assert_int_equal(lineage_store_create(dir, &there, &err), LINEAGE_OK);
    assert_int_equal(lineage_store_open(&store, dir, NULL, &err), LINEAGE_OK);
    assert_int_equal(lineage_store_open(&other, dir, NULL, &err), LINEAGE_OK);
    assert_null(lineage_store_score_name(store));
    static const char *const wrong[] = {"", "a\xff", NULL};
    for (size_t i = 0; wrong[i]; i++)
        assert_int_equal(lineage_store_name_score(store, wrong[i], &err), LINEAGE_EINVAL);
    assert_int_equal(lineage_store_name_score(store, long_name, &err), LINEAGE_EINVAL);
    assert_int_equal(lineage_store_name_score(store, "Val \"Loss\"", &err), LINEAGE_OK);
    assert_int_equal(lineage_store_name_score(store, "Val \"Loss\"", &err), LINEAGE_OK);
    assert_int_equal(lineage_store_name_score(other, "acc", &err), LINEAGE_EEXIST);
    assert_non_null(strstr(err.text, "`Val \"Loss\"`"));
    assert_int_equal(lineage_store_name_score(other, "Val \"Loss\"", &err), LINEAGE_OK);
    lineage_store_close(other);
    lineage_store_close(store);
    assert_int_equal(lineage_store_open(&store, dir, NULL, &err), LINEAGE_OK);
    assert_string_equal(lineage_store_score_name(store), "Val \"Loss\"");
    assert_true(lineage_store_config(store)->min_delta == 0.5 && lineage_store_config(store)->direction == LINEAGE_HIGHER);
    lineage_store_close(store);
    remove_dir(dir);
}

struct other {
    const char *dir;
    pid_t child;
    bool locked;
};

static int change_noise(const char *dir)
{
    struct lineage_store *store;
    struct lineage_error err;
    bool good =
        lineage_store_open(&store, dir, NULL, &err) == LINEAGE_OK && lineage_store_set_noise(store, 0.5, 2, &err) == LINEAGE_OK;
    lineage_store_close(store);
    return good ? 0 : 1;
}

/* Another process changes the settings just before they are replaced. Without a lock it would be ready before, so that its change would
 * be lost. */
static int meanwhile(void *context, const char *call)
{
    struct other *other = context;
    if (strcmp(call, "rename") != 0 || other->child)
        return 0;
    fs_set_fault(NULL, NULL);
    char *path = join(other->dir, "lineage.json");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    other->locked = flock(fd, LOCK_EX | LOCK_NB) != 0;
    close(fd);
    free(path);
    other->child = fork();
    if (other->child == 0)
        _exit(change_noise(other->dir));
    if (!other->locked)
        waitpid(other->child, NULL, 0);
    return 0;
}

static void two_processes_lose_no_change(void **state)
{
    (void)state;
    char *dir = make_dir();
    struct other other = {.dir = dir};
    struct lineage_store *store;
    struct lineage_error err;
    int status = -1;
    const struct lineage_config config = {.direction = LINEAGE_LOWER};
    assert_int_equal(lineage_store_create(dir, &config, &err), LINEAGE_OK);
    assert_int_equal(lineage_store_open(&store, dir, NULL, &err), LINEAGE_OK);
    lineage_store_plan_trials(store, 7);
    fs_set_fault(meanwhile, &other);
    assert_int_equal(lineage_store_keep_trials(store, &err), LINEAGE_OK);
    fs_set_fault(NULL, NULL);
    lineage_store_close(store);
    assert_true(other.locked);
    assert_int_equal(waitpid(other.child, &status, 0), other.child);
    assert_int_equal(status, 0);
    assert_int_equal(lineage_store_open(&store, dir, NULL, &err), LINEAGE_OK);
    assert_int_equal(lineage_store_config(store)->newest_night, 7);
    assert_true(lineage_store_config(store)->noise_std == 0.5);
    lineage_store_close(store);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_settings_are_refused),
                                       cmocka_unit_test(settings_come_round),
                                       cmocka_unit_test(rules_of_knobs_come_round),
                                       cmocka_unit_test(setting_the_noise_keeps_the_rules),
                                       cmocka_unit_test(a_store_is_created_once),
                                       cmocka_unit_test(what_could_not_be_read_back_is_not_written),
                                       cmocka_unit_test(other_settings_are_not_written_over),
                                       cmocka_unit_test(an_override_is_a_possible_name),
                                       cmocka_unit_test(the_first_score_gives_its_name),
                                       cmocka_unit_test(two_processes_lose_no_change)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
