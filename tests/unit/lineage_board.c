/* Tests that a report reads a store like the blackboard's own program: rows, the links between them, and best.json. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/report.h>

#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;

static struct lineage_report *load(const char *dir, const char *best_json, enum lineage_status wanted)
{
    struct lineage_report_options options;
    struct lineage_report *report = NULL;
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    lineage_report_options_init(&options);
    options.rules = LINEAGE_RULES_BOARD;
    options.best_json = best_json;
    assert_int_equal(lineage_report_load(&report, store, &options, &err), wanted);
    lineage_store_close(store);
    return report;
}

/* Values of best.json are printed as Python's str() prints them. */
static void best_json_is_printed_value_by_value(void **state)
{
    static const struct {
        const char *json, *id, *hypothesis;
    } cases[] = {{"{\"exp_id\": \"005\", \"hypothesis\": \"why\"}", "005", "why"},
                 {"{\"exp_id\": 5, \"hypothesis\": null}", "5", "None"},
                 {"{\"exp_id\": -123456789012345678, \"hypothesis\": true}", "-123456789012345678", "True"},
                 {"{\"exp_id\": 0.1, \"hypothesis\": false}", "0.1", "False"},
                 {"{\"other\": 1}", "?", ""}};
    char *dir = make_dir();
    (void)state;
    add_rows(dir, (const struct row[]){{"005", .status = "keep", .metric = "1"}, {.id = NULL}});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file(in_dir(dir, "best.json"), cases[i].json, strlen(cases[i].json));
        struct lineage_report *report = load(dir, NULL, LINEAGE_OK);
        assert_true(report->board->best.present);
        assert_string_equal(report->board->best.id, cases[i].id);
        assert_string_equal(report->board->best.hypothesis, cases[i].hypothesis);
        assert_string_equal(report->board->best.score, "?");
        lineage_report_release(report);
    }
    remove_dir(dir);
}

static void without_an_object_there_is_no_best(void **state)
{
    static const char *const texts[] = {"", "{}", "[]", "{", "3"};
    char *dir = make_dir(), *elsewhere = join(dir, "elsewhere.json");
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_file(in_dir(dir, "best.json"), texts[i], strlen(texts[i]));
        struct lineage_report *report = load(dir, NULL, LINEAGE_OK);
        assert_false(report->board->best.present);
        lineage_report_release(report);
    }
    assert_null(load(dir, elsewhere, LINEAGE_ENOTFOUND)); /* a missing file that the caller named is an error */
    write_file(elsewhere, "{\"exp_id\": \"7\"}", 15);
    struct lineage_report *report = load(dir, elsewhere, LINEAGE_OK);
    assert_string_equal(report->board->best.id, "7");
    lineage_report_release(report);
    free(elsewhere);
    remove_dir(dir);
}

/* Cells are not changed. A row that is too short has no status, a row that is not UTF-8 is dropped, and a malformed
 * score sorts last. */
static void rows_are_taken_as_they_stand(void **state)
{
    static const char log[] = "exp_id\tparent_exp\tstatus\tcore_metric\tspecialist\n"
                              "a\t\tkeep\t2.5\ts\n"
                              "b\ta\n"
                              "\n"
                              "c\ta\t\xff\t1\ts\n"
                              "a\tnone\twhatever\tnan\t\n"
                              "d\ta\tkeep\tmuch\ts\n";
    char *dir = make_dir();
    (void)state;
    add_bytes(dir, log);
    struct lineage_report *report = load(dir, NULL, LINEAGE_OK);
    const struct lineage_board *board = report->board;
    assert_int_equal(board->n, 4);
    assert_true(board->rows[0].key == 2.5 && isinf(board->rows[1].key) && isinf(board->rows[2].key) && isinf(board->rows[3].key));
    assert_null(board->rows[1].status);
    assert_string_equal(board->rows[1].score, "");
    assert_string_equal(board->rows[2].status, "whatever");
    assert_string_equal(board->rows[3].hypothesis, ""); /* no such column */
    assert_int_equal(board->last_row[0], 2); /* a later row replaces an earlier one with its id */
    assert_int_equal(board->parent_row[1], 2);
    assert_true(board->parent_row[0] == LINEAGE_BOARD_NONE && board->parent_row[2] == LINEAGE_BOARD_NONE);
    assert_int_equal(board->by_parent[0], 1);
    assert_int_equal(board->by_parent[1], 3);
    lineage_report_release(report);
    remove_dir(dir);
}

static void more_rows_than_there_is_room_for_at_first(void **state)
{
    char *dir = make_dir(), id[8];
    (void)state;
    for (int i = 0; i < 100; i++) {
        snprintf(id, sizeof id, "%03d", i);
        add_rows(dir, (const struct row[]){{id, .status = "keep", .metric = "1"}, {.id = NULL}});
    }
    struct lineage_report *report = load(dir, NULL, LINEAGE_OK);
    assert_int_equal(report->board->n, 100);
    assert_string_equal(report->board->rows[99].id, "099");
    lineage_report_release(report);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_json_is_printed_value_by_value),
        cmocka_unit_test(without_an_object_there_is_no_best),
        cmocka_unit_test(rows_are_taken_as_they_stand),
        cmocka_unit_test(more_rows_than_there_is_room_for_at_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
