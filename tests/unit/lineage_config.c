/* Tests lineage.json: which files are accepted, which are refused with which message, and how the file is written. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    assert_refused("{\"metric\": \"0123456789012345678901234567890123456789012345678901234567890123\"}", "at most 63");
    assert_refused("{\"direction\": 1}", "direction");
    assert_refused("{\"min_delta\": \"much\"}", "min_delta");
    assert_refused("{\"noise_std\": true}", "noise_std");
    assert_refused("{\"noise_seeds\": -1}", "noise_seeds");
    assert_refused("{\"noise_seeds\": 4294967296}", "noise_seeds");
    assert_refused("{\"noise_seeds\": \"four\", \"min_delta\": 1}", "noise_seeds");
    assert_refused("{\"metric\": \"a\", \"metric\": \"b\"}", "duplicate");
}

static void settings_come_round(void **state)
{
    struct lineage_config config = {.direction = LINEAGE_HIGHER, .metric = "val \"x\" é", .metric_label = "x",
                                    .min_delta = 0.1, .noise_std = 1e-5, .noise_seeds = 4}, back;
    struct buf text = {0};
    (void)state;
    config_write(&text, &config);
    assert_int_equal(config_parse(&back, NULL, text.data, text.length, NULL), LINEAGE_OK);
    assert_string_equal(back.metric, config.metric);
    assert_string_equal(back.metric_label, "x");
    assert_int_equal(back.direction, LINEAGE_HIGHER);
    assert_true(back.min_delta == 0.1 && back.noise_std == 1e-5 && back.noise_seeds == 4);
    buf_release(&text);
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
    const struct lineage_config wrong[] = {{.min_delta = -1}, {.min_delta = (double)INFINITY}, {.noise_std = (double)NAN},
                                           long_name, no_text};
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
    const struct lineage_config there = {.direction = LINEAGE_LOWER, .metric = "a", .metric_label = "b", .min_delta = 1,
                                         .noise_std = 2, .noise_seeds = 3};
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_settings_are_refused), cmocka_unit_test(settings_come_round),
                                       cmocka_unit_test(a_store_is_created_once),
                                       cmocka_unit_test(what_could_not_be_read_back_is_not_written),
                                       cmocka_unit_test(other_settings_are_not_written_over),
                                       cmocka_unit_test(an_override_is_a_possible_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
