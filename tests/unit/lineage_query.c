/* Best, find, queries, sweeps, tried and SQL, on stores written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;

static void assert_best(const char *dir, enum lineage_direction direction, const char *id)
{
    struct lineage_store *store = open_store(dir, direction, NULL);
    struct lineage_trial best;
    enum lineage_status status = lineage_best(store, &best, &err);
    if (id) {
        assert_int_equal(status, LINEAGE_OK);
        assert_string_equal(best.exp_id, id);
    } else {
        assert_int_equal(status, LINEAGE_ENOTFOUND);
    }
    lineage_trial_release(&best);
    lineage_store_close(store);
}

static void first_in_file_wins_a_tie(void **state)
{
    (void)state;
    const struct row rows[] = {{"a", .status = "keep", .metric = "2"},
                               {"b", .status = "baseline", .metric = "1"},
                               {"c", .status = "keep", .metric = "1.0"},
                               {"d", .status = "keep", .metric = "2e0"},
                               {.id = NULL}};
    char *dir = make_dir();
    add_rows(dir, rows);
    assert_best(dir, LINEAGE_LOWER, "b");
    assert_best(dir, LINEAGE_HIGHER, "a");
    remove_dir(dir);
}

static void only_kept_trials_with_finite_scores_rank(void **state)
{
    (void)state;
    const struct row rows[] = {{"nan", .status = "keep", .metric = "nan"},
                               {"low", .status = "keep", .metric = "-inf"},
                               {"high", .status = "keep", .metric = "inf"},
                               {"none", .status = "keep"},
                               {"disc", .status = "discard", .metric = "-5"},
                               {"big", .status = "size_blocked", .metric = "9"},
                               {.id = NULL}};
    char *dir = make_dir();
    add_rows(dir, rows);
    assert_best(dir, LINEAGE_LOWER, NULL);
    assert_best(dir, LINEAGE_HIGHER, NULL);
    add_rows(dir, (const struct row[]){{"x", .status = "keep", .metric = "-0.0"},
                                       {"y", .status = "baseline", .metric = "0.0"},
                                       {.id = NULL}});
    assert_best(dir, LINEAGE_LOWER, "x");
    assert_best(dir, LINEAGE_HIGHER, "x");
    remove_dir(dir);
}

static void ids_resolve_with_and_without_prefix(void **state)
{
    (void)state;
    const struct row rows[] = {{"014", .status = "keep"},
                               {"exp_7", .status = "keep"},
                               {"exp_014", .status = "discard"},
                               {"014", .status = "crash"},
                               {.id = NULL}};
    struct lineage_trial trial;
    char *dir = make_dir();
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_find(store, "014", &trial, &err), LINEAGE_OK);
    assert_int_equal(trial.seq, 4); /* the last row of a duplicate id */
    lineage_trial_release(&trial);
    assert_int_equal(lineage_find(store, "exp_014", &trial, &err), LINEAGE_OK);
    assert_int_equal(trial.seq, 3); /* as given comes first */
    lineage_trial_release(&trial);
    assert_int_equal(lineage_find(store, "7", &trial, &err), LINEAGE_OK);
    assert_string_equal(trial.exp_id, "exp_7");
    lineage_trial_release(&trial);
    assert_int_equal(lineage_find(store, "exp_exp_7", &trial, &err), LINEAGE_OK);
    lineage_trial_release(&trial);
    assert_int_equal(lineage_find(store, "8", &trial, &err), LINEAGE_ENOTFOUND);
    lineage_store_close(store);
    remove_dir(dir);
}

static const struct row sweep_rows[] = {
    {"0", "s", .status = "baseline", .metric = "10", .timestamp = "2026-01-01T00:00:00Z"},
    {"1", "s", .status = "keep", .metric = "9", .notes = "alpha=0.3; gamma=1.0",
     .timestamp = "2026-01-02T00:00:00Z"},
    {"2", "t", .status = "discard", .metric = "11", .notes = "alpha=0.1; gamma=0.9",
     .timestamp = "2026-01-03T00:00:00Z"},
    {"3", "t", .status = "crash", .notes = "alpha=0.9; gamma=1.0",
     .timestamp = "2026-01-04T00:00:00Z"},
    {"4", "s", .status = "keep", .metric = "nan", .notes = "α=0.3; gamma=0.9; lr=1e-4",
     .timestamp = "2026-01-05T00:00:00Z"},
    {"5", "s", .status = "discard", .metric = "9", .notes = "alpha=nan; gamma=0.5",
     .timestamp = "2026-01-06T00:00:00Z"},
    {.id = NULL}};

static struct lineage_range range(const char *text)
{
    struct lineage_range out;
    assert_int_equal(lineage_range_parse(&out, text, &err), LINEAGE_OK);
    return out;
}

static void assert_query(struct lineage_store *store, const char *a, const char *a_range,
                         const char *b, const char *b_range, const char *sort, size_t limit,
                         const char *ids)
{
    const struct lineage_condition conditions[] = {
        {a, a ? range(a_range) : (struct lineage_range){{0}, {0}}},
        {b, b ? range(b_range) : (struct lineage_range){{0}, {0}}}};
    const struct lineage_query query = {.conditions = conditions,
                                        .n_conditions = (a != NULL) + (size_t)(b != NULL),
                                        .sort = sort,
                                        .limit = limit};
    assert_string_equal(ids_of(store, &query), ids);
}

static void ranges_are_closed_and_never_match_nan(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_rows(dir, sweep_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_query(store, "alpha", "0.1:0.3", NULL, NULL, NULL, 0, "1 2 4 ");
    assert_query(store, "alpha", "0.3", NULL, NULL, NULL, 0, "1 4 ");
    assert_query(store, "alpha", ":", NULL, NULL, NULL, 0, "1 2 3 4 ");
    assert_query(store, "α", "0.2:", "gamma", "1.0:", NULL, 0, "1 3 ");
    assert_query(store, "adv_rescale_alpha", ":0.5", "gamma", ":0.9", NULL, 0, "2 4 ");
    assert_query(store, "gamma", "0.9", "alpha", "0.1:0.3", NULL, 1, "2 ");
    assert_query(store, "core_metric", ":", NULL, NULL, NULL, 0, "0 1 2 5 ");
    assert_query(store, "score", "9:10", NULL, NULL, NULL, 0, "0 1 5 ");
    assert_query(store, "lr", "1e-4", NULL, NULL, NULL, 0, "4 ");
    assert_query(store, "beta", ":", NULL, NULL, NULL, 0, "");
    lineage_store_close(store);
    remove_dir(dir);
}

static void sorting_keeps_file_order_in_ties(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_rows(dir, sweep_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_query(store, NULL, NULL, NULL, NULL, "core_metric", 0, "1 5 0 2 ");
    assert_query(store, NULL, NULL, NULL, NULL, "-core_metric", 0, "2 0 1 5 ");
    assert_query(store, NULL, NULL, NULL, NULL, "alpha", 0, "2 1 4 3 ");
    assert_query(store, NULL, NULL, NULL, NULL, "-alpha", 3, "3 1 4 ");
    assert_query(store, "gamma", "0.9:", NULL, NULL, "-alpha", 0, "3 1 4 2 ");
    assert_query(store, "gamma", ":", NULL, NULL, "-gamma", 0, "1 3 2 4 5 ");
    assert_query(store, NULL, NULL, NULL, NULL, "-specialist", 2, "2 3 ");
    assert_query(store, NULL, NULL, NULL, NULL, "job_name", 0,
                 ""); /* rows without a value are left out */
    lineage_store_close(store);
    remove_dir(dir);
}

static void labels_specialists_and_dates_filter(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_rows(dir, sweep_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(ids_of(store, &(struct lineage_query){.labels = 1u << LINEAGE_KEEP}),
                        "1 4 ");
    assert_string_equal(ids_of(store, &(struct lineage_query){.labels = 1u << LINEAGE_KEEP |
                                                                        1u << LINEAGE_BASELINE}),
                        "0 1 4 ");
    assert_string_equal(
        ids_of(store, &(struct lineage_query){.labels = 1u << LINEAGE_CRASH | 1u << LINEAGE_KEEP,
                                              .specialist = "t"}),
        "3 ");
    assert_string_equal(ids_of(store, &(struct lineage_query){.since = "2026-01-04"}), "3 4 5 ");
    assert_string_equal(ids_of(store, &(struct lineage_query){.since = "2026-01-02T00:00:00Z",
                                                              .until = "2026-01-04T00:00:00Z"}),
                        "1 2 ");
    lineage_store_close(store);
    remove_dir(dir);
}

static void unknown_names_are_refused_with_the_known_ones(void **state)
{
    (void)state;
    struct lineage_cursor *cursor;
    struct lineage_sweep sweep;
    char *dir = make_dir();
    add_rows(dir, sweep_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    const char *const names[] = {"aplha", "t.seq", "score; DROP TABLE trials", "", "hypothesis"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct lineage_condition condition = {names[i], range(":")};
        const struct lineage_query query = {.conditions = &condition, .n_conditions = 1};
        assert_int_equal(lineage_query_open(&cursor, store, &query, &err), LINEAGE_EINVAL);
        assert_null(cursor);
    }
    const struct lineage_query query = {.sort = "-aplha"};
    assert_int_equal(lineage_query_open(&cursor, store, &query, &err), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "aplha"));
    assert_non_null(strstr(err.text, "core_metric"));
    assert_non_null(strstr(err.text, "gamma"));
    assert_int_equal(lineage_sweep_load(store, "aplha", NULL, &sweep, &err), LINEAGE_EINVAL);
    lineage_store_close(store);
    remove_dir(dir);
}

static void ranges_parse(void **state)
{
    (void)state;
    struct lineage_range r;
    const char *const bad[] = {"", "x", "1:x", "2:1", "nan", "nan:1", "1:2:3", "0x1", "1,2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(lineage_range_parse(&r, bad[i], &err), LINEAGE_EINVAL);
    assert_int_equal(lineage_range_parse(&r, "1e-4:", &err), LINEAGE_OK);
    assert_true(r.low.present && r.low.value == 1e-4 && !r.high.present);
    assert_int_equal(lineage_range_parse(&r, ":-.5", &err), LINEAGE_OK);
    assert_true(!r.low.present && r.high.present && r.high.value == -.5);
    assert_int_equal(lineage_range_parse(&r, "-inf:inf", &err), LINEAGE_OK);
}

static void a_sweep_shows_cells_and_what_lacks_them(void **state)
{
    (void)state;
    struct lineage_sweep sweep;
    char *dir = make_dir();
    add_rows(dir, sweep_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_sweep_load(store, "alpha", "gamma", &sweep, &err), LINEAGE_OK);
    assert_int_equal(sweep.n_cells, 4);
    assert_int_equal(sweep.n_xs, 3);
    assert_int_equal(sweep.n_ys, 2);
    assert_int_equal(sweep.without, 2); /* 0 has neither, 5 has no alpha that is a number */
    assert_true(sweep.cells[1].x == 0.3 && sweep.cells[1].y == 0.9 && sweep.cells[1].count == 1);
    assert_false(sweep.cells[1].best.present); /* nan is no score */
    assert_true(sweep.cells[2].best.present && sweep.cells[2].best.value == 9);
    assert_string_equal(sweep.cells[2].best_id, "1");
    assert_int_equal(sweep.cells[3].labels[LINEAGE_CRASH], 1);
    lineage_sweep_release(&sweep);
    assert_int_equal(lineage_sweep_load(store, "gamma", NULL, &sweep, &err), LINEAGE_OK);
    assert_int_equal(sweep.n_cells, 3);
    assert_true(sweep.n_ys == 1 && sweep.ys[0] == 0);
    assert_int_equal(sweep.without, 1);
    lineage_sweep_release(&sweep);
    lineage_store_close(store);
    remove_dir(dir);
}

static void tried_finds_what_lies_within_tolerance(void **state)
{
    (void)state;
    struct lineage_cursor *cursor;
    char *dir = make_dir();
    add_rows(dir, sweep_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    const struct lineage_param near[] = {{"alpha", 0.31}, {"gamma", 0.95}};
    assert_int_equal(lineage_tried(&cursor, store, near, 2, 0.05, &err), LINEAGE_OK);
    assert_string_equal(ids_of_cursor(cursor), "1 4 ");
    assert_int_equal(lineage_tried(&cursor, store, near, 2, 0.001, &err), LINEAGE_OK);
    assert_string_equal(ids_of_cursor(cursor), "");
    const struct lineage_param never[] = {{"dropout", 0.1}};
    assert_int_equal(lineage_tried(&cursor, store, never, 1, 1, &err), LINEAGE_OK);
    assert_string_equal(ids_of_cursor(cursor), "");
    assert_int_equal(lineage_tried(&cursor, store, near, 0, 1, &err), LINEAGE_EINVAL);
    assert_int_equal(lineage_tried(&cursor, store, near, 1, NAN, &err), LINEAGE_EINVAL);
    lineage_store_close(store);
    remove_dir(dir);
}

static void a_cursor_survives_other_calls_on_its_store(void **state)
{
    (void)state;
    struct lineage_cursor *cursor;
    struct lineage_trial trial, other;
    char *dir = make_dir();
    add_rows(dir, sweep_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_query_open(&cursor, store, &(struct lineage_query){0}, &err),
                     LINEAGE_OK);
    assert_int_equal(lineage_cursor_next(cursor, &trial, &err), LINEAGE_OK);
    add_rows(dir, (const struct row[]){{"6", .status = "keep", .metric = "1"}, {.id = NULL}});
    assert_int_equal(lineage_best(store, &other, &err), LINEAGE_OK);
    assert_string_equal(other.exp_id, "6");
    lineage_trial_release(&other);
    assert_string_equal(trial.exp_id, "0");
    assert_string_equal(ids_of_cursor(cursor), "1 2 3 4 5 ");
    lineage_store_close(store);
    remove_dir(dir);
}

static bool count_row(void *context, size_t n, const char *const *names, const char *const *texts)
{
    (void)n, (void)names, (void)texts;
    ++*(unsigned *)context;
    return true;
}

static void sql_cannot_write(void **state)
{
    (void)state;
    unsigned n = 0;
    char *dir = make_dir();
    const char *const refused[] = {"DELETE FROM trials",
                                   "SELECT 1; DELETE FROM trials",
                                   "DROP TABLE trials",
                                   "ATTACH 'x.db' AS x",
                                   "PRAGMA user_version = 5",
                                   "PRAGMA writable_schema = 1",
                                   "CREATE TEMP TABLE t (a)",
                                   "VACUUM INTO 'copy.db'",
                                   "BEGIN",
                                   "SELECT load_extension('x')",
                                   "WITH a AS (SELECT 1) INSERT INTO trials SELECT * FROM trials",
                                   "",
                                   "nonsense",
                                   "EXPLAIN DELETE FROM trials",
                                   "INSERT INTO meta DEFAULT VALUES RETURNING *"};
    add_rows(dir, sweep_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_int_equal(lineage_sql(store, refused[i], count_row, &n, &err), LINEAGE_EINVAL);
    assert_int_equal(n, 0);
    assert_int_equal(
        lineage_sql(store,
                    "SELECT exp_id FROM params WHERE key = 'gamma' AND value >= 0.9 -- all\n ; ",
                    count_row, &n, &err),
        LINEAGE_OK);
    assert_int_equal(n, 4);
    assert_string_equal(
        sql_value(store,
                  "WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM c WHERE x < 9)"
                  " SELECT sum(x) FROM c"),
        "45");
    assert_string_equal(sql_value(store, "SELECT core_metric FROM trials WHERE exp_id = '4'"),
                        "NULL");
    lineage_store_close(store);
    remove_dir(dir);
}

static void extra_columns_are_queryable_in_file_order(void **state)
{
    (void)state;
    struct lineage_trial trial;
    struct lineage_cursor *cursor;
    struct lineage_open_options options = {.metric = "val_bpb"};
    struct lineage_store *store;
    char *dir = make_dir();
    add_bytes(dir, "zeta\texp_id\tstatus\tval_bpb\tbytes\n"
                   "z 1\ta\tkeep\t1.081000\t100\nz 2\tb\tdiscard\t1.0\t\nz 3\tc\tkeep\t1.2\t300\n");
    assert_int_equal(lineage_store_open(&store, dir, &options, &err), LINEAGE_OK);
    assert_string_equal(lineage_store_metric(store), "val_bpb");
    assert_int_equal(lineage_find(store, "a", &trial, &err), LINEAGE_OK);
    assert_int_equal(trial.n_extras, 2);
    assert_string_equal(trial.extras[0].column, "zeta");
    assert_string_equal(trial.extras[0].text, "z 1");
    assert_string_equal(trial.extras[1].column, "bytes");
    assert_true(trial.score.present && trial.score.value == 1.081);
    lineage_trial_release(&trial);
    assert_query(store, "bytes", "50:", NULL, NULL, "-bytes", 0, "c a ");
    assert_query(store, "bytes", "300", "val_bpb", "1.1:", NULL, 0, "c ");
    assert_query(store, NULL, NULL, NULL, NULL, "bytes", 1, "a ");
    const struct lineage_query by_status = {.sort = "status"};
    assert_int_equal(lineage_query_open(&cursor, store, &by_status, &err), LINEAGE_OK);
    assert_string_equal(ids_of_cursor(cursor), "b a c ");
    lineage_store_close(store);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_in_file_wins_a_tie),
        cmocka_unit_test(only_kept_trials_with_finite_scores_rank),
        cmocka_unit_test(ids_resolve_with_and_without_prefix),
        cmocka_unit_test(ranges_are_closed_and_never_match_nan),
        cmocka_unit_test(sorting_keeps_file_order_in_ties),
        cmocka_unit_test(labels_specialists_and_dates_filter),
        cmocka_unit_test(unknown_names_are_refused_with_the_known_ones),
        cmocka_unit_test(ranges_parse),
        cmocka_unit_test(a_sweep_shows_cells_and_what_lacks_them),
        cmocka_unit_test(tried_finds_what_lies_within_tolerance),
        cmocka_unit_test(a_cursor_survives_other_calls_on_its_store),
        cmocka_unit_test(sql_cannot_write),
        cmocka_unit_test(extra_columns_are_queryable_in_file_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
