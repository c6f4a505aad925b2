/* Tests that every place that publishes a command trial's settings agrees with their table: the schema of a sweep, the
 * schema of run.json, and the environment of the command. */
#include "support/unit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "run/command_trial.h"
#include "run/run_parts.h"
#include "support/files.h"

static json_t *schema(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", SCHEMA_DIR, name);
    json_t *root = json_load_file(path, 0, NULL);
    assert_non_null(root);
    return root;
}

/* What a schema must contain for a setting of this kind: the value of `type`, or the name of a reference. */
static const char *type_in_sweep(enum command_setting_kind kind)
{
    switch (kind) {
    case SETTING_TEXT: return "string";
    case SETTING_TEXTS:
    case SETTING_FILES: return "array";
    case SETTING_AMOUNT: return "#/$defs/amount";
    case SETTING_COUNT:
    case SETTING_SEED: return "integer";
    case SETTING_FLAG: return "boolean";
    case SETTING_PARAMS:
    case SETTING_ENVIRONMENT:
    case SETTING_ARTIFACTS: return "object";
    case SETTING_WORDS:
    case SETTING_RECORDED: break;
    }
    return NULL;
}

static const char *type_in_provenance(enum command_setting_kind kind)
{
    switch (kind) {
    case SETTING_TEXT: return "string";
    case SETTING_TEXTS:
    case SETTING_FILES:
    case SETTING_WORDS:
    case SETTING_ARTIFACTS: return "array";
    case SETTING_AMOUNT:
    case SETTING_COUNT: return "number";
    case SETTING_SEED: return "integer";
    case SETTING_FLAG: return "boolean";
    case SETTING_PARAMS:
    case SETTING_ENVIRONMENT:
    case SETTING_RECORDED: return "object";
    }
    return NULL;
}

static void assert_type(const json_t *properties, const char *key, const char *type)
{
    const json_t *property = json_object_get(properties, key);
    if (!property)
        fail_msg("the schema has no '%s'", key);
    const char *said = json_string_value(json_object_get(property, "type"));
    if (!said)
        said = json_string_value(json_object_get(property, "$ref"));
    if (type && strcmp(key, "parent") != 0 && (!said || strcmp(said, type) != 0))
        fail_msg("'%s' is %s in the schema and %s in the table", key, said ? said : "nothing", type);
}

static void sweeps_have_the_settings_of_the_table(void **state)
{
    (void)state;
    const struct command_setting *setting;
    json_t *root = schema("sweep.schema.json");
    json_t *properties = json_object_get(json_object_get(json_object_get(root, "$defs"), "run"), "properties"), *value;
    const char *key;
    for (size_t i = 0; (setting = command_setting_at(i)); i++)
        if (setting->key)
            assert_type(properties, setting->key, type_in_sweep(setting->kind));
    json_object_foreach(properties, key, value)
        if (!command_setting_by_key(key))
            fail_msg("the schema of a sweep has '%s', which is not in the table", key);
    json_decref(root);
}

static bool is_recorded(const char *key)
{
    const struct command_setting *setting;
    for (size_t i = 0; (setting = command_setting_at(i)); i++)
        if (setting->recorded && strcmp(setting->recorded, key) == 0)
            return true;
    return false;
}

static void provenance_has_the_settings_of_the_table(void **state)
{
    /* The other members of run.json, which say where the command ran. */
    static const char *const others[] = {"directory", "rerun_of",       "masked",         "host",         "system",
                                         "processor", "vector_level",   "processors",     "memory_bytes", "gpus",
                                         "git",       "sandbox_layers", "sandbox_hidden", "conditions",   NULL};
    (void)state;
    const struct command_setting *setting;
    json_t *root = schema("provenance.schema.json"), *properties = json_object_get(root, "properties"), *value;
    const char *key;
    for (size_t i = 0; (setting = command_setting_at(i)); i++)
        if (setting->recorded)
            assert_type(properties, setting->recorded, type_in_provenance(setting->kind));
    json_object_foreach(properties, key, value) {
        size_t i = 0;
        while (others[i] && strcmp(others[i], key) != 0)
            i++;
        if (!others[i] && !is_recorded(key))
            fail_msg("the schema of run.json has '%s', which is not in the table", key);
    }
    json_decref(root);
}

/* Every setting can be set in a sweep and is recorded. The options listed here are the intended exceptions. */
static void settings_are_everywhere_or_listed(void **state)
{
    static const char *const identity[] = {"specialist", "domain", "hypothesis", "expected-delta", "parent", NULL};
    static const char *const only_here[] = {"keep-env", "version-of", NULL};
    (void)state;
    const struct command_setting *setting;
    for (size_t i = 0; (setting = command_setting_at(i)); i++) {
        bool is_identity = false, is_only_here = false;
        for (size_t k = 0; identity[k]; k++)
            is_identity = is_identity || (setting->option && strcmp(identity[k], setting->option) == 0);
        for (size_t k = 0; only_here[k]; k++)
            is_only_here = is_only_here || (setting->option && strcmp(only_here[k], setting->option) == 0);
        assert_true(is_identity || setting->recorded);
        assert_true(is_only_here || setting->key);
        assert_true(setting->kind == SETTING_WORDS || (setting->option && setting->help));
    }
}

/* The environment variable that the table names holds the setting's value. */
static void the_command_finds_its_settings(void **state)
{
    (void)state;
    static const char *const words[] = {"true", NULL};
    const struct lineage_param param = {.name = "lr", .value = 0.5};
    const struct command_values values = {&param, 1, 7, "/work"};
    const struct command_setting *setting;
    struct command_environment made;
    assert_true(command_environment_make(&made, words, NULL, &values, "/params.json", NULL));
    for (size_t i = 0; (setting = command_setting_at(i)); i++) {
        bool found = !setting->variable;
        for (size_t k = 0; made.environment[k] && !found; k++)
            found = strncmp(made.environment[k], setting->variable, strlen(setting->variable)) == 0 &&
                    made.environment[k][strlen(setting->variable)] == '=';
        if (!found)
            fail_msg("the command does not find %s", setting->variable);
    }
    command_environment_release(&made);
}

/* A JSON value of each plain kind, read by every line of the table, sets the member of that line and no other. */
static void each_line_sets_its_own_member(void **state)
{
    (void)state;
    const struct command_setting *setting;
    for (size_t i = 0; (setting = command_setting_at(i)); i++) {
        struct command_trial trial = {0};
        json_t *value = setting->kind == SETTING_TEXT                                      ? json_string("x")
                        : setting->kind == SETTING_AMOUNT                                  ? json_real(2.5)
                        : setting->kind == SETTING_COUNT                                   ? json_integer(3)
                        : setting->kind == SETTING_FLAG                                    ? json_true()
                        : setting->kind == SETTING_TEXTS || setting->kind == SETTING_FILES ? json_pack("[s]", "x")
                                                                                           : NULL;
        if (!value)
            continue;
        assert_true(command_setting_from_json(&trial, setting, value, &(struct command_source){0}));
        struct command_trial rest = trial;
        const void *member = command_setting_value(&trial, setting);
        size_t size = setting->kind == SETTING_AMOUNT  ? sizeof(double)
                      : setting->kind == SETTING_COUNT ? sizeof(size_t)
                      : setting->kind == SETTING_FLAG  ? sizeof(bool)
                                                       : sizeof(void *);
        static const struct command_trial nothing;
        assert_memory_not_equal(member, command_setting_value(&nothing, setting), size);
        memset(command_setting_member(&rest, setting), 0, size);
        rest.owned = NULL;
        rest.n_owned = 0;
        assert_memory_equal(&rest, &nothing, sizeof rest);
        command_trial_release(&trial);
        json_decref(value);
    }
}

/* A setting that run.json lacks reads as its default; a setting of the wrong type counts as missing. */
static void write_lines(const char *dir, const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0 && fclose(out) == 0);
}

/* The forms of the two drivers: the first node of AMD's topology is the processor. */
static void gpus_of_both_drivers_are_known(void **state)
{
    (void)state;
    char *dir = make_dir(), nvidia[PATH_MAX], amd[PATH_MAX];
    write_lines(dir, "n0", "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 127\n");
    write_lines(dir, "a0", "cpu_cores_count 64\nsimd_count 0\ngfx_target_version 0\ndevice_id 0\n");
    write_lines(dir, "a1",
                "cpu_cores_count 0\nsimd_count 440\nsimd_per_cu 4\ngfx_target_version 90010\nvendor_id 4098\ndevice_id 29704\n");
    snprintf(nvidia, sizeof nvidia, "%s/n*", dir);
    snprintf(amd, sizeof amd, "%s/a*", dir);
    json_t *list = conditions_gpus(nvidia, amd);
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(json_string_value(json_array_get(list, 0)), "NVIDIA H100 80GB HBM3");
    assert_string_equal(json_string_value(json_array_get(list, 1)), "AMD gfx90a 0x7408");
    json_decref(list);
    remove_dir(dir);
}

static void a_bare_provenance_reads_as_defaults(void **state)
{
    (void)state;
    struct command_trial trial;
    json_t *run = json_pack("{s:[s,s], s:s, s:i}", "command", "true", "x", "train_seconds", "ten", "eval", 3);
    assert_true(command_from_provenance(&trial, run, "/"));
    assert_string_equal(trial.argv[1], "x");
    assert_null(trial.argv[2]);
    assert_true(trial.settings.train_seconds == 0 && !trial.eval && trial.seeds == 0 && !trial.has_seed);
    assert_int_equal(trial.first_seed, 1);
    assert_null(trial.protect[0]);
    command_trial_release(&trial);
    json_decref(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweeps_have_the_settings_of_the_table), cmocka_unit_test(provenance_has_the_settings_of_the_table),
        cmocka_unit_test(settings_are_everywhere_or_listed),     cmocka_unit_test(the_command_finds_its_settings),
        cmocka_unit_test(each_line_sets_its_own_member),         cmocka_unit_test(gpus_of_both_drivers_are_known),
        cmocka_unit_test(a_bare_provenance_reads_as_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
