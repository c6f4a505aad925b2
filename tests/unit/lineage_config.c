/* lineage.json: what is accepted, what is refused with which words, and the way round. */
#include "support/unit.h"

#include <stdlib.h>
#include <string.h>

#include "format/config.h"
#include "support/files.h"

static void assert_refused(const char *text, const char *why)
{
    struct lineage_config config;
    struct lineage_error err;
    assert_int_equal(config_parse(&config, text, strlen(text), &err), LINEAGE_ECORRUPT);
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
    assert_refused("{\"metric\": \"a\", \"metric\": \"b\"}", "duplicate");
}

static void settings_come_round(void **state)
{
    struct lineage_config config = {.direction = LINEAGE_HIGHER, .metric = "val \"x\" é", .metric_label = "x",
                                    .min_delta = 0.1, .noise_std = 1e-5, .noise_seeds = 4}, back;
    struct buf text = {0};
    (void)state;
    config_write(&text, &config);
    assert_int_equal(config_parse(&back, text.data, text.length, NULL), LINEAGE_OK);
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_settings_are_refused), cmocka_unit_test(settings_come_round),
                                       cmocka_unit_test(a_store_is_created_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
