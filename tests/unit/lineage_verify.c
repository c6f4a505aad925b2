/* Tests what verify and findings report, and which rows they leave alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <lineage/report.h>

#include "mirror/checked_pages.h"
#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;

static const struct row sound[] = {{"000", "s", .status = "baseline", .metric = "3", .notes = "alpha=1"},
                                   {"001", "s", "exp_000", .status = "keep", "2", "alpha=2"},
                                   {"002", "t", "001", .status = "discard", "4"},
                                   {.id = NULL}};

static const char *findings(struct lineage_store *store)
{
    static struct heard heard;
    size_t n;
    heard = (struct heard){0};
    assert_int_equal(lineage_verify(store, &n, hear_finding, &heard, &err), LINEAGE_OK);
    assert_int_equal(n, heard.n);
    return heard.kinds;
}

static const char *findings_in(const char *dir)
{
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    const char *kinds = findings(store);
    lineage_store_close(store);
    return kinds;
}

static void a_sound_store_has_no_findings(void **state)
{
    (void)state;
    char *dir = make_dir();
    assert_string_equal(findings_in(dir), "");
    add_rows(dir, sound);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(findings(store), ""); /* the mirror is still empty */
    assert_string_equal(ids_of(store, &(struct lineage_query){0}), "000 001 002 ");
    add_rows(dir, (const struct row[]){{"003", "t", "002", .status = "crash"}, {.id = NULL}});
    assert_string_equal(findings(store),
                        /* The mirror lacks the last row, but the rest is right. */
                        "");
    lineage_store_close(store);
    remove_dir(dir);
}

static void each_fault_is_named_with_its_line(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_rows(dir, sound);
    add_rows(dir, (const struct row[]){{"001", "s", "000", .status = "keep", "1"},
                                       {"003", "s", "nowhere", .status = "keep", "1"},
                                       {"004", "s", "005", .status = "keep", "nan"},
                                       {"005", "s", "004", .status = "keep", "inf"},
                                       {.id = NULL}});
    add_bytes(dir, "006\ttoo\tshort\n");
    add_bytes(dir, "\t\t\t\t\t\t\t\tkeep\t\t\t\t\t\t\t\t\n");
    add_rows(dir, (const struct row[]){
                      {"007", "s", "000", .status = "kept", "1"}, {"008", "s", "000", .status = "keep", "1x"}, {.id = NULL}});
    add_bytes(dir, "009\t\xff\t\t\t\t\t\t\tkeep\t\t\t\t\t\t\t\t\n010\t\t\t\t\t\t\t\tkeep\t\t\t\t\t\t\t\t");
    assert_string_equal(findings_in(dir), "short:9 status:11 number:12 utf8:13 id:10 id:5 parent:6 torn:14 cycle:7 cycle:8 ");
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    struct heard heard = {0};
    assert_int_equal(lineage_findings(store, hear_finding, &heard, &err), LINEAGE_OK);
    assert_string_equal(heard.kinds, "short:9 status:11 number:12 utf8:13 ");
    assert_string_equal(ids_of(store, &(struct lineage_query){0}), "000 001 002 001 003 004 005  010 ");
    lineage_store_close(store);
    remove_dir(dir);
}

/* Changes the mirror with correct page digests, as another version of the library would. */
static void edit_mirror(const char *dir, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(in_dir(dir, "lineage.db"), &db, SQLITE_OPEN_READWRITE, checked_pages_vfs()), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void an_edited_mirror_is_found_out_and_not_mended(void **state)
{
    (void)state;
    static const struct {
        const char *sql, *finding;
    } edits[] = {
        {"UPDATE trials SET score = 1 WHERE seq = 2", "mirror:3 "},
        {"UPDATE trials SET notes = 'alpha=3' WHERE seq = 3", "mirror:4 "},
        {"UPDATE trials SET digest = digest + 1 WHERE seq = 1", "mirror:2 "},
        {"DELETE FROM trials WHERE seq = 3", "mirror:4 "},
        {"DELETE FROM param_rows WHERE value = 2", "mirror:3 "},
        {"INSERT INTO param_rows VALUES ('beta', 1, 2)", "mirror:3 "},
        {"UPDATE label_counts SET n = n + 1", "mirror:0 "},
        {"UPDATE param_values SET n = n + 1 WHERE value = 2", "mirror:0 "},
        {"UPDATE param_values SET low = low - 1 WHERE low IS NOT NULL", "mirror:0 "},
        {"UPDATE param_values SET high = high + 1 WHERE high IS NOT NULL", "mirror:0 "},
        {"UPDATE param_values SET low = NULL", "mirror:0 "},
        {"UPDATE param_values SET status = 'splendid' WHERE value = 2", "mirror:0 "},
        {"UPDATE param_values SET status = 'crash' WHERE value = 2", "mirror:0 "},
        {"UPDATE param_values SET key = 'alphb'", "mirror:0 "},
        {"UPDATE param_values SET value = 'two' WHERE value = 2", "mirror:0 "},
        {"UPDATE param_rows SET value = 'two' WHERE value = 2", "mirror:3 "},
        {"UPDATE param_rows SET seq = 900 WHERE seq = 2", "mirror:3 "},
        {"UPDATE param_rows SET seq = -1 WHERE seq = 2", "mirror:3 "},
        {"UPDATE param_rows SET seq = 3 WHERE seq = 2", "mirror:3 "},
        {"DELETE FROM param_values WHERE value = 2", "mirror:0 "},
        {"INSERT INTO param_values VALUES ('zeta', 1, 'keep', 1, NULL, NULL)", "mirror:0 "},
        {"DELETE FROM calibration; INSERT INTO calibration VALUES ('s', 1, 1, 1, 1, 1)", "mirror:0 "},
        {"UPDATE ancestors SET depth = depth + 1 WHERE seq = 3", "mirror:4 "},
        {"DELETE FROM ancestors WHERE seq = 2", "mirror:3 "},
        {"INSERT INTO ancestors VALUES (4, 0, 0, 0, 0, 0, 0, 4, 0)", "mirror:0 "},
        {"INSERT INTO again_rows VALUES (2, '000', NULL)", "mirror:3 "},
        {"INSERT INTO findings VALUES (3, 1, 1, 2, 0, 'short', '', '')", "mirror:2 "},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        char *dir = make_dir();
        add_rows(dir, sound);
        struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
        assert_string_equal(ids_of(store, &(struct lineage_query){0}), "000 001 002 ");
        lineage_store_close(store);
        edit_mirror(dir, edits[i].sql);
        assert_string_equal(findings_in(dir), edits[i].finding);
        assert_string_equal(findings_in(dir), edits[i].finding); /* still reported the second time */
        store = open_store(dir, LINEAGE_LOWER, NULL);
        assert_int_equal(lineage_rebuild(store, &err), LINEAGE_OK);
        lineage_store_close(store);
        assert_string_equal(findings_in(dir), "");
        remove_dir(dir);
    }
}

/* If the mirror contradicts itself, the answers come from the log, a notice is given, and the mirror is rebuilt. */
static void a_mirror_that_contradicts_itself_is_made_anew(void **state)
{
    (void)state;
    static const struct row rows[] = {{"000", "s", .status = "keep", .metric = "3", .notes = "alpha=1; w=a"},
                                      {"001", "s", .status = "keep", .metric = "2", .notes = "alpha=1; w=a"},
                                      {"002", "s", .status = "keep", .metric = "4", .notes = "alpha=1; w=a"},
                                      {"003", "s", .status = "keep", .metric = "5", .notes = "alpha=1; w=a"},
                                      {.id = NULL}};
    static const struct {
        const char *sql, *asked;
    } edits[] = {
        {"UPDATE trials SET status = 'splendid'", "000"},          {"UPDATE trials SET status = 'splendid'", "alpha w"},
        {"UPDATE label_counts SET status = 'splendid'", "report"}, {"UPDATE param_values SET status = 'splendid'", "report"},
        {"UPDATE param_values SET status = 'splendid'", "alpha"},  {"UPDATE param_values SET low = 1", "alpha"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        char *dir = make_dir();
        struct heard heard = {0};
        struct lineage_sweep sweep;
        struct lineage_report *report;
        struct lineage_trial trial;
        add_rows(dir, rows);
        struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
        assert_string_equal(ids_of(store, &(struct lineage_query){0}), "000 001 002 003 ");
        lineage_store_close(store);
        edit_mirror(dir, edits[i].sql);
        store = open_store(dir, LINEAGE_LOWER, &heard);
        if (strcmp(edits[i].asked, "000") == 0) {
            assert_int_equal(lineage_find(store, "000", &trial, &err), LINEAGE_OK);
            assert_int_equal(trial.status, LINEAGE_KEEP);
            lineage_trial_release(&trial);
        } else if (strcmp(edits[i].asked, "report") == 0) {
            assert_int_equal(lineage_report_load(&report, store, NULL, &err), LINEAGE_OK);
            assert_int_equal(report->labels[LINEAGE_KEEP], 4);
            assert_int_equal(report->params[0].values[0].labels[LINEAGE_KEEP], 4);
            lineage_report_release(report);
        } else {
            const char *y = strchr(edits[i].asked, ' ');
            assert_int_equal(lineage_sweep_load(store, "alpha", y ? y + 1 : NULL, &sweep, &err), LINEAGE_OK);
            assert_int_equal(sweep.n_cells, 1);
            assert_int_equal(sweep.cells[0].labels[LINEAGE_KEEP], 4);
            assert_string_equal(sweep.cells[0].best_id, "001");
            lineage_sweep_release(&sweep);
        }
        assert_non_null(strstr(heard.text, "making it anew"));
        lineage_store_close(store);
        assert_string_equal(findings_in(dir), "");
        remove_dir(dir);
    }
}

/* A setting may be a number in some rows and text in others, without a finding. */
static void mixed_settings_are_sound(void **state)
{
    (void)state;
    static const struct row rows[] = {{"000", "s", .status = "keep", .metric = "3", .notes = "w=1"},
                                      {"001", "s", .status = "keep", .metric = "2", .notes = "w=a"},
                                      {"002", "s", .status = "crash", .notes = "w=2"},
                                      {"003", "s", .status = "keep", .metric = "inf", .notes = "w=b"},
                                      {.id = NULL}};
    char *dir = make_dir();
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(ids_of(store, &(struct lineage_query){0}), "000 001 002 003 ");
    assert_string_equal(findings(store), "");
    lineage_store_close(store);
    edit_mirror(dir, "UPDATE param_values SET high = 1 WHERE high IS NULL");
    assert_string_equal(findings_in(dir), "mirror:0 ");
    remove_dir(dir);
}

static void a_changed_row_is_named(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_rows(dir, sound);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    ids_of(store, &(struct lineage_query){0});
    edit_bytes(dir, "h 001", "H 001");
    assert_string_equal(findings(store), "mirror:3 ");
    ids_of(store, &(struct lineage_query){0}); /* now the handle has noticed the change too, and answers from memory */
    assert_string_equal(findings(store), "mirror:3 ");
    lineage_store_close(store);
    remove_dir(dir);
}

static void snapshots_and_telemetry_must_be_there(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_bytes(dir, "exp_id\tstatus\tsnapshot_path\n1\tkeep\tsnapshots/1_s\n2\tkeep\tsnapshots/"
                   "2_s\n3\tkeep\t\n");
    assert_int_equal(mkdir(in_dir(dir, "snapshots"), 0755), 0);
    assert_int_equal(mkdir(in_dir(dir, "snapshots/2_s"), 0755), 0);
    assert_int_equal(mkdir(in_dir(dir, "telemetry"), 0755), 0);
    static const char steps[] = "{\"steps\": [{\"step\": 1, \"loss\": 0.5}]}";
    write_file(in_dir(dir, "telemetry/1.json"), steps, strlen(steps));
    write_file(in_dir(dir, "telemetry/3.json"), "{\"steps\": [", 11);
    write_file(in_dir(dir, "telemetry/9.json"), "{}", 2);
    write_file(in_dir(dir, "telemetry/README"), "x", 1);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    struct heard heard = {0};
    size_t n;
    assert_int_equal(lineage_verify(store, &n, hear_finding, &heard, &err), LINEAGE_OK);
    assert_int_equal(n, 2); /* telemetry/9.json, which a kill may leave, is a note */
    assert_non_null(strstr(heard.kinds, "snapshot:2 "));
    assert_non_null(strstr(heard.kinds, "telemetry:0 "));
    assert_non_null(strstr(heard.kinds, "note:0 "));
    assert_string_equal(sql_value(store, "SELECT exp_id || ' ' || step || ' ' || key || ' ' || value FROM step_metrics"),
                        "1 1 loss 0.5");
    lineage_store_close(store);
    remove_dir(dir);
}

static void a_newer_mirror_is_a_finding(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_rows(dir, sound);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    ids_of(store, &(struct lineage_query){0});
    lineage_store_close(store);
    edit_mirror(dir, "PRAGMA user_version = 99");
    assert_string_equal(findings_in(dir), "mirror:0 ");
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_store_has_no_findings),
        cmocka_unit_test(each_fault_is_named_with_its_line),
        cmocka_unit_test(an_edited_mirror_is_found_out_and_not_mended),
        cmocka_unit_test(a_mirror_that_contradicts_itself_is_made_anew),
        cmocka_unit_test(mixed_settings_are_sound),
        cmocka_unit_test(a_changed_row_is_named),
        cmocka_unit_test(snapshots_and_telemetry_must_be_there),
        cmocka_unit_test(a_newer_mirror_is_a_finding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
