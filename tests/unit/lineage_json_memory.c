/*
 * Tests JSON functions while Jansson runs out of memory, one allocation later in each round. The result is the usual
 * one or LINEAGE_ENOMEM, never a result with something missing.
 */
#include "support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/remarks.h>
#include <lineage/report.h>

#include "format/json_text.h"
#include "support/files.h"
#include "support/rows.h"

static unsigned countdown;
static bool struck;

/* An allocator that fails once. It sets errno, as malloc does. */
static void *scarce(size_t size)
{
    if (countdown && !--countdown) {
        struck = true;
        errno = ENOMEM;
        return NULL;
    }
    return malloc(size);
}

static char *dir;
static struct lineage_store *store;
static struct lineage_error err;
static char answer[4096];

static void say(const char *text)
{
    snprintf(answer + strlen(answer), sizeof answer - strlen(answer), "%s|", text);
}

/* ---- questions ---- */

static enum lineage_status ask_settings(void)
{
    struct lineage_store *opened;
    enum lineage_status status = lineage_store_open(&opened, dir, NULL, &err);
    if (status == LINEAGE_OK)
        say(lineage_store_config(opened)->direction == LINEAGE_HIGHER ? "higher" : "lower");
    lineage_store_close(opened);
    return status;
}

static bool hear_remark(void *context, const struct lineage_remark *remark)
{
    (void)context;
    say(remark->text);
    return true;
}

static enum lineage_status ask_remarks(void)
{
    return lineage_remarks_read(store, "000", hear_remark, NULL, &err);
}

static void hear_finding_text(void *context, const struct lineage_finding *finding)
{
    (void)context;
    say(finding->text);
}

static enum lineage_status ask_verify(void)
{
    size_t n;
    return lineage_verify(store, &n, hear_finding_text, NULL, &err);
}

static enum lineage_status ask_metrics(void)
{
    enum lineage_status status = lineage_rebuild(store, &err);
    if (status == LINEAGE_OK) {
        unsigned left = countdown;
        countdown = 0;
        say(sql_value(store, "SELECT count(*) || ' ' || total(value) FROM step_metrics"));
        countdown = left;
    }
    return status;
}

static enum lineage_status ask_best(void)
{
    struct lineage_report *report;
    const struct lineage_report_options options = {.rules = LINEAGE_RULES_BOARD};
    enum lineage_status status = lineage_report_load(&report, store, &options, &err);
    if (status == LINEAGE_OK)
        say(report->board->best.present ? report->board->best.score : "none");
    lineage_report_release(report);
    return status;
}

static enum lineage_status ask_append(void)
{
    static const char telemetry[] = "{\"steps\": [{\"step\": 1, \"a\": 2}]}";
    const struct lineage_trial trial = {.status = LINEAGE_CRASH};
    struct lineage_append_options options;
    lineage_append_options_init(&options);
    options.telemetry = telemetry;
    options.telemetry_length = sizeof telemetry - 1;
    options.no_mirror_sync = true;
    enum lineage_status status = lineage_store_append(store, &trial, &options, NULL, &err);
    if (status == LINEAGE_OK)
        say("appended");
    return status;
}

static const struct {
    const char *name;
    enum lineage_status (*ask)(void);
    const char *wanted;
} questions[] = {
    {"settings", ask_settings, "higher|"}, {"remarks", ask_remarks, "one|two|"}, {"verify", ask_verify, ""},
    {"metrics", ask_metrics, "2 5.0|"},    {"best", ask_best, "0.25|"},          {"append", ask_append, "appended|"},
};

static void put(const char *name, const char *text)
{
    write_file(in_dir(dir, name), text, strlen(text));
}

static void begin(void)
{
    static const struct row rows[] = {{"000", .status = "keep", .metric = "0.5"}, {.id = NULL}};
    static const char telemetry[] = "{\"steps\": [{\"step\": 1, \"a\": 2}, {\"step\": 2, \"a\": 3}]}";
    const struct lineage_trial trial = {.status = LINEAGE_CRASH};
    struct lineage_append_options options;
    dir = make_dir();
    add_rows(dir, rows);
    put("lineage.json", "{\"direction\": \"higher\", \"metric\": \"core_metric\"}\n");
    put("best.json", "{\"exp_id\": \"000\", \"acc\": 0.25, \"core_metric\": 0.25, \"val_bpb\": 0.25}\n");
    put("remarks.jsonl", "{\"exp_id\": \"000\", \"text\": \"one\"}\nno JSON\n{\"exp_id\": \"000\", \"text\": \"two\"}\n");
    assert_int_equal(lineage_store_open(&store, dir, NULL, &err), LINEAGE_OK);
    lineage_append_options_init(&options);
    options.telemetry = telemetry;
    options.telemetry_length = sizeof telemetry - 1;
    if (lineage_store_append(store, &trial, &options, NULL, &err) != LINEAGE_OK)
        fail_msg("%s", err.text);
}

static void an_answer_is_whole_or_says_that_memory_is_lacking(void **state)
{
    (void)state;
    begin();
    json_set_alloc_funcs(scarce, free);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        for (unsigned n = 1;; n++) {
            answer[0] = '\0';
            struck = false;
            countdown = n;
            enum lineage_status status = questions[i].ask();
            countdown = 0;
            if (status == LINEAGE_OK && strcmp(answer, questions[i].wanted) != 0)
                fail_msg("%s, allocation %u: '%s'", questions[i].name, n, answer);
            if (status != LINEAGE_OK && (!struck || status != LINEAGE_ENOMEM))
                fail_msg("%s, allocation %u: %s", questions[i].name, n, err.text);
            if (!struck) {
                assert_int_equal(status, LINEAGE_OK);
                assert_true(n > 1); /* Jansson allocated memory */
                break;
            }
        }
    json_set_alloc_funcs(malloc, free);
    lineage_store_close(store);
    remove_dir(dir);
}

static void bad_syntax_is_said_with_its_place(void **state)
{
    json_t *root;
    (void)state;
    assert_int_equal(json_text_parse(&root, "name", LINEAGE_ECORRUPT, "{\n  x", 5, 0, &err), LINEAGE_ECORRUPT);
    assert_null(root);
    assert_memory_equal(err.text, "name:2:3: ", 10);
    assert_int_equal(json_text_parse(&root, "name", LINEAGE_EINVAL, NULL, 0, 0, NULL), LINEAGE_EINVAL);
    assert_int_equal(json_text_parse(&root, "name", LINEAGE_EINVAL, "{\"a\": 1, \"a\": 2}", 16, JSON_REJECT_DUPLICATES, &err),
                     LINEAGE_EINVAL);
    assert_int_equal(json_text_parse(&root, "name", LINEAGE_EINVAL, "[]", 2, 0, &err), LINEAGE_OK);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_whole_or_says_that_memory_is_lacking),
        cmocka_unit_test(bad_syntax_is_said_with_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
