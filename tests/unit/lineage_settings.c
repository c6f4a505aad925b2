/* Tests the values of settings in words: found in any spelling, inherited along parents or the log, and for how long an
 * answer about them is kept. */
#include "support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/query.h>
#include <lineage/settings.h>

#include "support/files.h"

struct row {
    const char *id, *parent, *hypothesis;
    enum lineage_label label;
    bool running;
};

static struct lineage_ideas *set_of(const struct row *rows, size_t n)
{
    struct lineage_ideas *ideas;
    struct lineage_error err;
    assert_int_equal(lineage_ideas_new(&ideas, &err), LINEAGE_OK);
    for (size_t i = 0; i < n; i++) {
        const struct lineage_trial trial = {.exp_id = rows[i].id,
                                            .parent_exp = rows[i].parent,
                                            .hypothesis = rows[i].hypothesis,
                                            .notes = "",
                                            .status = rows[i].label,
                                            .seq = rows[i].running ? 0 : i + 1};
        assert_int_equal(lineage_ideas_add(ideas, &trial, rows[i].running, &err), LINEAGE_OK);
    }
    assert_int_equal(lineage_ideas_settle(ideas, &err), LINEAGE_OK);
    return ideas;
}

static struct lineage_settings find(struct lineage_ideas *ideas, const char *const *names, size_t n)
{
    struct lineage_settings settings;
    struct lineage_error err;
    assert_int_equal(lineage_settings_find(&settings, ideas, names, n, &err), LINEAGE_OK);
    assert_int_equal(settings.n, n);
    lineage_ideas_release(ideas); /* the answer owns its texts */
    return settings;
}

/* "64 own 001", "4 - " for the first value, "none" */
static const char *value(char out[80], const struct lineage_settings *settings, uint64_t seq, size_t name, size_t i)
{
    const struct lineage_setting *setting = lineage_settings_get(settings, seq, name, i);
    if (setting)
        snprintf(out, 80, "%s %s %s", setting->text, setting->own ? "own" : "-", setting->set_by);
    else
        strcpy(out, "none");
    return out;
}

static const struct row with_parents[] = {{"000", "", "Stock", LINEAGE_BASELINE, false},
                                          {"001", "000", "Raise work_mem 4 → 64", LINEAGE_DISCARD, false},
                                          {"002", "001", "Raise cache 1 → 2", LINEAGE_KEEP, false},
                                          {"003", "000", "Lower WORK-MEM from 4 to 1, then work_mem 1 → 2", LINEAGE_KEEP, false},
                                          {"004", "005", "Raise cache 2 → 3", LINEAGE_KEEP, false},
                                          {"005", "003", "Vacuum", LINEAGE_KEEP, false},
                                          {"next", "003", "Raise work_mem 2 → 16", LINEAGE_KEEP, true}};

static void a_trial_has_what_it_set_or_inherits(void **state)
{
    static const char *const names[] = {"work_mem", "CACHE"};
    char out[80];
    (void)state;
    struct lineage_settings s = find(set_of(with_parents, 7), names, 2);
    assert_int_equal(s.names[0].trials, 2); /* the running trial is not counted */
    assert_int_equal(s.names[0].sources[LINEAGE_CHANGE_STATED], 2);
    assert_int_equal(s.names[1].trials, 2);
    assert_string_equal(value(out, &s, 1, 0, 0), "4 - "); /* the log begins with it */
    assert_string_equal(value(out, &s, 2, 0, 0), "64 own 001");
    assert_string_equal(value(out, &s, 2, 0, 1), "none");
    assert_string_equal(value(out, &s, 3, 0, 0), "64 - 001"); /* from a discarded parent, too */
    assert_string_equal(value(out, &s, 4, 1, 0), "1 - ");
    assert_string_equal(value(out, &s, 5, 0, 0), "4 - "); /* a parent that comes later in the log is not followed */
    assert_string_equal(value(out, &s, 7, 0, 0), "none"); /* no such row */
    assert_string_equal(value(out, &s, 0, 0, 0), "none");
    assert_string_equal(value(out, &s, 1, 2, 0), "none");
    lineage_settings_release(&s);
    assert_null(lineage_settings_get(&s, 1, 0, 0));
}

static void several_values_of_a_trial_are_all_there(void **state)
{
    static const char *const names[] = {"work_mem"};
    char first[80], second[80], third[80];
    (void)state;
    struct lineage_settings s = find(set_of(with_parents, 7), names, 1);
    value(first, &s, 4, 0, 0);
    value(second, &s, 4, 0, 1);
    assert_true(strcmp(first, "1 own 003") == 0 || strcmp(first, "2 own 003") == 0);
    assert_string_equal(value(third, &s, 4, 0, strcmp(second, "none") == 0 ? 1 : 2), "none");
    lineage_settings_release(&s);
}

static void without_parents_the_last_kept_trial_is_the_base(void **state)
{
    static const struct row rows[] = {{"000", "", "Stock", LINEAGE_BASELINE, false},
                                      {"001", "", "Raise work_mem 4 → 64", LINEAGE_KEEP, false},
                                      {"002", "", "Raise work_mem 64 → 128", LINEAGE_DISCARD, false},
                                      {"003", "", "Vacuum", LINEAGE_DISCARD, false}};
    static const char *const names[] = {"work_mem"};
    char out[80];
    (void)state;
    struct lineage_settings s = find(set_of(rows, 4), names, 1);
    assert_string_equal(value(out, &s, 4, 0, 0), "64 - 001");
    lineage_settings_release(&s);
}

static void unknown_names_get_the_nearest(void **state)
{
    static const char *const names[] = {"wrok_mem", "colour", "", "work_mem 1 → 2; rm -rf /"};
    (void)state;
    struct lineage_settings s = find(set_of(with_parents, 7), names, 4);
    assert_int_equal(s.names[0].trials, 0);
    assert_string_equal(s.names[0].nearest, "work_mem");
    assert_null(s.names[1].nearest);
    assert_int_equal(s.names[2].trials, 0);
    lineage_settings_release(&s);

    struct lineage_ideas *ideas = set_of(with_parents, 7);
    struct lineage_error err;
    const char *many[LINEAGE_SETTINGS_NAMES + 1];
    for (size_t i = 0; i < LINEAGE_SETTINGS_NAMES + 1; i++)
        many[i] = "work_mem";
    assert_int_equal(lineage_settings_find(&s, ideas, many, LINEAGE_SETTINGS_NAMES + 1, &err), LINEAGE_ELIMIT);
    lineage_settings_release(&s);
    assert_int_equal(lineage_settings_find(&s, ideas, many, LINEAGE_SETTINGS_NAMES, &err), LINEAGE_OK);
    lineage_settings_release(&s);
    assert_int_equal(lineage_settings_find(&s, ideas, NULL, 0, &err), LINEAGE_OK);
    lineage_settings_release(&s);
    lineage_ideas_release(ideas);
}

/* ---- the store ---- */

static size_t count(struct lineage_store *store, const char *name, double low)
{
    const struct lineage_condition condition = {.name = name, .range = {{true, low}, {false, 0}}};
    const struct lineage_query query = {.conditions = &condition, .n_conditions = 1};
    struct lineage_error err;
    size_t n = 0;
    assert_int_equal(lineage_query_count(&n, store, &query, &err), LINEAGE_OK);
    return n;
}

static void the_store_tells_which_names_were_words(void **state)
{
    static const char log[] =
        "exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\tstatus\t"
        "core_metric\tval_bpb\tdelta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes\n"
        "000\t2026-01-01\ta\t\t\t\tRaise work_mem 4 → 64\t\tbaseline\t1\t\t\t\t\t\t\t\n";
    static const char next[] = "001\t2026-01-01\ta\t\t\t\tRaise work_mem 64 → 128\t\tdiscard\t2\t\t\t\t\t\t\t\n";
    struct lineage_store *store;
    struct lineage_error err;
    const char *dir = *state;
    char *path = join(dir, "results.tsv");
    write_file(path, log, strlen(log));
    assert_int_equal(lineage_store_open(&store, dir, NULL, &err), LINEAGE_OK);
    assert_null(lineage_store_settings(store));
    assert_int_equal(count(store, "work_mem", 64), 1);
    assert_non_null(lineage_store_settings(store));
    assert_string_equal(lineage_store_settings(store)->names[0].name, "work_mem");
    assert_int_equal(count(store, "core_metric", 0), 1);
    assert_null(lineage_store_settings(store));
    /* The settings are kept for the next question, but not beyond a new row. */
    assert_int_equal(count(store, "work_mem", 64), 1);
    FILE *more = fopen(path, "a");
    assert_non_null(more);
    fputs(next, more);
    fclose(more);
    assert_int_equal(count(store, "work_mem", 64), 2);
    assert_int_equal(lineage_store_settings(store)->names[0].trials, 2);
    lineage_store_close(store);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trial_has_what_it_set_or_inherits),
        cmocka_unit_test(several_values_of_a_trial_are_all_there),
        cmocka_unit_test(without_parents_the_last_kept_trial_is_the_base),
        cmocka_unit_test(unknown_names_get_the_nearest),
        cmocka_unit_test_setup_teardown(the_store_tells_which_names_were_words, set_up_dir, tear_down_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
