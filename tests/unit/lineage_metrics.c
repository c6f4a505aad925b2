/* Tests the metrics of rows: the grammar of notes, the columns of JSON, the plans of queries, and that metrics cost
 * nothing in a store without them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include <lineage/notes.h>

#include "format/row.h"
#include "mirror/statement.h"
#include "support/files.h"
#include "support/rows.h"

/* Counts the rows that statements of the store read or write, and among them those of the table of metrics. */
static size_t statements, on_metrics;

int __real_sqlite3_step(sqlite3_stmt *stmt);
int __wrap_sqlite3_step(sqlite3_stmt *stmt);

int __wrap_sqlite3_step(sqlite3_stmt *stmt)
{
    statements++;
    on_metrics += strstr(sqlite3_sql(stmt), "metric_rows") != NULL;
    return __real_sqlite3_step(stmt);
}

/* Writes "name=value,.." of the metrics, then of the parameters behind a bar. */
static const char *said(const char *notes)
{
    static char text[512];
    struct lineage_trial trial = {0};
    size_t n = 0;
    assert_int_equal(lineage_notes_parse(&trial, notes, NULL), LINEAGE_OK);
    text[0] = '\0';
    for (size_t i = 0; i < trial.n_metrics; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s=%g,", trial.metrics[i].name, trial.metrics[i].value);
    n += (size_t)snprintf(text + n, sizeof text - n, "|");
    for (size_t i = 0; i < trial.n_params; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s=%g,", trial.params[i].name, trial.params[i].value);
    lineage_trial_release(&trial);
    return text;
}

static void notes_hold_metrics(void **state)
{
    (void)state;
    assert_string_equal(said("metrics loss=2.5, acc=0.5"), "acc=0.5,loss=2.5,|");
    assert_string_equal(said("lr=1; metrics loss=2,acc=3 ; beta=2"), "acc=3,loss=2,|beta=2,lr=1,");
    assert_string_equal(said("metrics a=1; prose; metrics a=2; lr=1"), "a=2,|");
    assert_string_equal(said("metrics\ta=1"), "a=1,|");
    assert_string_equal(said("metrics"), "|");
    assert_string_equal(said("metrics "), "|");
    assert_string_equal(said("metrics a=1,"), "|");
    assert_string_equal(said("metrics a=1 good; lr=1"), "|");
    assert_string_equal(said("metrics a=1 b=2"), "|");
    assert_string_equal(said("metrics a=word"), "|");
    assert_string_equal(said("metrics a=1e999"), "|");
    assert_string_equal(said("metrics: a=1"), "|");
    assert_string_equal(said("the metrics a=1"), "|");
    assert_string_equal(said("reverted: lr=5 was silly; batch=9"), "|");
}

/* A cell with ten thousand metrics costs no more than its length allows, and the last value of a name counts. */
static void many_metrics(void **state)
{
    static char notes[200000];
    struct lineage_trial trial = {0};
    size_t n = (size_t)sprintf(notes, "metrics ");
    (void)state;
    for (int i = 0; i < 10000; i++)
        n += (size_t)sprintf(notes + n, "%sm%d=%d", i ? ", " : "", i % 5000, i);
    assert_int_equal(lineage_notes_parse(&trial, notes, NULL), LINEAGE_OK);
    assert_int_equal(trial.n_metrics, 5000);
    double value = 0;
    assert_true(lineage_trial_metric(&value, &trial, "m4999"));
    assert_true(value == 9999);
    assert_false(lineage_trial_metric(&value, &trial, "m5000"));
    lineage_trial_release(&trial);
}

static void json_repeats_the_notes(void **state)
{
    struct buf out = {0};
    struct arena arena = {0};
    struct lineage_trial trial = {0};
    (void)state;
    json_column_write(&out, "params", "lr=0.1, opt='say \"a\"'; metrics loss=2.5");
    json_column_write(&out, "params", "lr=0.1; opt='say \"a\"'; metrics loss=2.5");
    json_column_write(&out, "metrics", "lr=0.1; metrics loss=2.5, acc=1");
    json_column_write(&out, "metrics", "lr=0.1");
    buf_put(&out, '\0');
    assert_string_equal(out.data, "{\"lr\": 0.1, \"opt\": \"say \\\"a\\\"\"}{\"lr\": 0.1, \"opt\": \"say \\\"a\\\"\"}"
                                  "{\"acc\": 1.0, \"loss\": 2.5}");
    buf_release(&out);
    assert_int_equal(notes_parse(&trial, "lr=1; b=2", &arena, NULL), LINEAGE_OK);
    assert_true(json_params_read(&trial, "{\"\xce\xb1\": 3, \"lr\": 4, \"x y\": 1, \"t\": \"sgd\", \"n\": null}", &arena));
    assert_int_equal(trial.n_params, 4);
    assert_string_equal(trial.params[0].name, "alpha");
    assert_true(trial.params[2].value == 4 && strcmp(trial.params[3].text, "sgd") == 0);
    assert_true(json_params_read(&trial, "{\"lr\": ", &arena));
    assert_true(json_params_read(&trial, NULL, &arena));
    assert_int_equal(trial.n_params, 4);
    arena_release(&arena);
}

static struct lineage_error err;

/* Opens the store, asks for a parameter, sorts by it and counts; returns how many steps of statements that took. */
static size_t ask(const char *dir, const char *ids)
{
    struct lineage_condition condition = {.name = "lr", .range = {{true, 0.15}, {true, 1}}};
    const struct lineage_query query = {.conditions = &condition, .n_conditions = 1, .sort = "-lr"};
    struct lineage_trial row = {0}, trial = {.status = LINEAGE_DISCARD, .core_metric = {true, 1}, .notes = "seen"};
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    statements = on_metrics = 0;
    assert_string_equal(ids_of(store, &query), ids);
    assert_int_equal(lineage_store_append(store, &trial, NULL, &row, &err), LINEAGE_OK);
    lineage_trial_release(&row);
    assert_string_equal(ids_of(store, &query), ids);
    lineage_store_close(store);
    return statements;
}

static void stores_without_metrics_pay_nothing(void **state)
{
    static const struct row plain[] = {{"000", "s", .status = "baseline", .metric = "3", .notes = "lr=0.1; seen once"},
                                       {"001", "s", "000", .status = "keep", .metric = "2", .notes = "lr=0.2; seen twice"},
                                       {"002", "s", "000", .status = "keep", .metric = "2", .notes = "lr=0.3"},
                                       {.id = NULL}};
    static const struct row measured[] = {
        {"000", "s", .status = "baseline", .metric = "3", .notes = "lr=0.1; metrics loss=1, acc=2"},
        {"001", "s", "000", .status = "keep", .metric = "2", .notes = "lr=0.2; metrics loss=2"},
        {"002", "s", "000", .status = "keep", .metric = "2", .notes = "lr=0.3"},
        {.id = NULL}};
    char *dirs[] = {make_dir(), make_dir()};
    (void)state;
    add_rows(dirs[0], plain);
    add_rows(dirs[1], measured);
    size_t without = ask(dirs[0], "002 001 ");
    assert_int_equal(on_metrics, 0); /* neither reading, nor appending, nor asking touches the table */
    size_t with = ask(dirs[1], "002 001 ");
    assert_int_equal(on_metrics, 3); /* one for each metric that was read */
    assert_int_equal(with, without + 3);
    remove_dir(dirs[0]);
    remove_dir(dirs[1]);
}

static void queries_use_the_index(void **state)
{
    static const struct row rows[] = {{"000", "s", .status = "keep", .metric = "3", .notes = "metrics loss=1"}, {.id = NULL}};
    static const char *const sqls[] = {
        "SELECT l.seq FROM metric_rows l CROSS JOIN trials t ON t.seq = l.seq WHERE l.name = 'loss' AND l.number >= 1",
        "SELECT seq FROM metric_rows WHERE name = 'loss' ORDER BY number, seq"};
    char *dir = make_dir();
    sqlite3 *db;
    sqlite3_stmt *stmt;
    (void)state;
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(all_ids(store), "000 ");
    lineage_store_close(store);
    assert_int_equal(sqlite3_open(in_dir(dir, "lineage.db"), &db), SQLITE_OK);
    for (size_t i = 0; i < 2; i++) {
        char sql[256];
        snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", sqls[i]);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        assert_non_null(strstr((const char *)sqlite3_column_text(stmt, 3), "metrics_by_number"));
        sqlite3_finalize(stmt);
    }
    sqlite3_close(db);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_hold_metrics),     cmocka_unit_test(many_metrics),
        cmocka_unit_test(json_repeats_the_notes), cmocka_unit_test(stores_without_metrics_pay_nothing),
        cmocka_unit_test(queries_use_the_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
