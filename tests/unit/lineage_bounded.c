/* Tests that questions with a bounded answer take a bounded number of steps of SQLite's machine, and that the way by which they
 * find their rows does not change the answer. */
#include "support/unit.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/compare.h>
#include <lineage/evidence.h>
#include <lineage/ideas.h>
#include <lineage/replicas.h>

#include "internal.h"
#include "mirror/statement.h"
#include "questions/questions.h"
#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;

enum { FEW = 3000, MANY = 24000 };

/* ---- stores ---- */

/* Every tenth trial is kept. In a deep store each trial has the last kept one as its parent, in a wide one the first one. Each
 * trial states a change, and each hundredth cites another one. */
static char *make_store(size_t n, bool deep)
{
    char *dir = make_dir();
    add_rows(dir, &(struct row){.id = NULL});
    FILE *out = fopen(in_dir(dir, "results.tsv"), "ab");
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "%03zu\t2026-05-%02zuT00:00:00Z\t%s\t", i, 1 + i * 28 / n, i % 3 ? "opt" : "arch");
        if (i)
            fprintf(out, "%03zu", deep ? (i - 1) / 10 * 10 : 0);
        fprintf(out, "\t\t\tRaise knob_%zu from %zu to %zu", i % 7, i, i + 1);
        if (i % 100 == 50)
            fprintf(out, ", as in exp_%03zu", i / 2);
        fprintf(out, "\t\t%s\t%g\t\t\t\t\t\t\t%s\n",
                !i       ? "baseline"
                : i % 10 ? "discard"
                         : "keep",
                1 + (double)(i * 7919 % n) / (double)n, i % 1000 == 500 ? "replicates 010" : "");
    }
    assert_int_equal(fclose(out), 0);
    return dir;
}

static int count_step(void *context)
{
    ++*(size_t *)context;
    return 0;
}

/* ---- queries ---- */

static const struct lineage_query queries[] = {
    {.limit = 5},
    {.since = "2099-01-01"},
    {.until = "2000-01-01"},
    {.labels = 1u << LINEAGE_TRAIN_BUDGET_OVERRUN},
    {.labels = 1u << LINEAGE_TRAIN_BUDGET_OVERRUN, .limit = 5},
    {.specialist = "nobody"},
    {.labels = 1u << LINEAGE_KEEP, .since = "2099-01-01", .limit = 5},
    {.sort = "core_metric", .limit = 5},
    {.sort = "-core_metric", .limit = 5},
    {.sort = "-core_metric", .labels = 1u << LINEAGE_DISCARD, .limit = 5},
};

static size_t steps_of_query(const char *dir, const struct lineage_query *query)
{
    size_t steps = 0;
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(mirror_sync(store->mirror, &err), LINEAGE_OK);
    struct mirror_seqs found = {0};
    sqlite3_progress_handler(mirror_db(store->mirror), 10, count_step, &steps);
    assert_int_equal(mirror_query(store->mirror, query, &found, &err), LINEAGE_OK);
    sqlite3_progress_handler(mirror_db(store->mirror), 0, NULL, NULL);
    free(found.items);
    lineage_store_close(store);
    return steps;
}

static void queries_take_few_steps(void **state)
{
    (void)state;
    for (int deep = 0; deep < 2; deep++) {
        char *few = make_store(FEW, deep), *many = make_store(MANY, deep);
        for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
            size_t a = steps_of_query(few, &queries[i]), b = steps_of_query(many, &queries[i]);
            if (b > 2 * a + 50)
                fail_msg("query %zu takes %zu0 steps in %d rows and %zu0 in %d", i, a, FEW, b, MANY);
        }
        remove_dir(few);
        remove_dir(many);
    }
}

/* Short ranges are read from an index and sorted, long ones in the order of the log. */
static void the_way_to_rows_does_not_change_the_answer(void **state)
{
    (void)state;
    static const struct {
        struct lineage_query query;
        const char *where;
    } cases[] = {
        {{.since = "2026-05-28"}, "timestamp >= '2026-05-28'"},
        {{.since = "2026-05-02"}, "timestamp >= '2026-05-02'"},
        {{.until = "2026-05-02"}, "timestamp < '2026-05-02'"},
        {{.since = "2026-05-27", .until = "2026-05-28"}, "timestamp >= '2026-05-27' AND timestamp < '2026-05-28'"},
        {{.labels = 1u << LINEAGE_KEEP}, "status = 'keep'"},
        {{.labels = 1u << LINEAGE_BASELINE}, "status = 'baseline'"},
        {{.labels = 1u << LINEAGE_KEEP | 1u << LINEAGE_DISCARD}, "status IN ('keep', 'discard')"},
        {{.labels = 1u << LINEAGE_KEEP, .specialist = "arch"}, "status = 'keep' AND specialist = 'arch'"},
        {{.labels = 1u << LINEAGE_KEEP, .since = "2026-05-28"}, "status = 'keep' AND timestamp >= '2026-05-28'"},
        {{.specialist = "opt"}, "specialist = 'opt'"},
    };
    char *dir = make_store(MANY, true);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char sql[400];
        struct mirror_seqs found = {0};
        struct buf ids = {0};
        assert_int_equal(mirror_sync(store->mirror, &err), LINEAGE_OK);
        assert_int_equal(mirror_query(store->mirror, &cases[i].query, &found, &err), LINEAGE_OK);
        for (size_t k = 0; k < found.n; k++)
            buf_printf(&ids, "%s%lld", k ? "," : "", (long long)found.items[k]);
        snprintf(sql, sizeof sql, "SELECT group_concat(seq) FROM (SELECT seq FROM trials NOT INDEXED WHERE %s ORDER BY seq)",
                 cases[i].where);
        sqlite3_stmt *stmt;
        assert_int_equal(sqlite3_prepare_v2(mirror_db(store->mirror), sql, -1, &stmt, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        assert_true(found.n > 0);
        assert_string_equal(ids.data, (const char *)sqlite3_column_text(stmt, 0));
        sqlite3_finalize(stmt);
        buf_release(&ids);
        free(found.items);
    }
    lineage_store_close(store);
    remove_dir(dir);
}

/* ---- the trials near one ---- */

static struct lineage_ideas *near_ideas(struct lineage_store *store, const char *id, size_t *steps)
{
    struct lineage_ideas *ideas;
    assert_int_equal(mirror_sync(store->mirror, &err), LINEAGE_OK);
    assert_int_equal(lineage_ideas_new(&ideas, &err), LINEAGE_OK);
    sqlite3_progress_handler(mirror_db(store->mirror), 10, count_step, steps);
    assert_int_equal(lineage_ideas_add_near(ideas, store, id, NULL, 0, &err), LINEAGE_OK);
    sqlite3_progress_handler(mirror_db(store->mirror), 0, NULL, NULL);
    assert_int_equal(lineage_ideas_settle(ideas, &err), LINEAGE_OK);
    return ideas;
}

static void add_ids(struct buf *out, const struct lineage_ideas *ideas, const size_t *trials, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_printf(out, " %s", lineage_ideas_get(ideas, trials[i])->exp_id);
    buf_puts(out, "\n");
}

/* What `show` prints of a set; the caller frees it. */
static char *described(struct lineage_ideas *ideas, const char *id)
{
    struct buf out = {0};
    struct lineage_effective settings;
    size_t at = 0;
    assert_true(lineage_ideas_find(&at, ideas, id));
    const struct lineage_idea *idea = lineage_ideas_get(ideas, at);
    struct lineage_change change;
    for (size_t i = 0; lineage_ideas_change_at(&change, ideas, at, i); i++)
        buf_printf(&out, "%s %s: %s -> %s\n", change.name, change.knob, change.from ? change.from : "", change.to);
    assert_int_equal(lineage_effective_find(&settings, ideas, at, &err), LINEAGE_OK);
    for (size_t i = 0; i < settings.n; i++)
        buf_printf(&out, "%s = %s by %s\n", settings.items[i].name, settings.items[i].value,
                   lineage_ideas_get(ideas, settings.items[i].set_by)->exp_id);
    lineage_effective_release(&settings);
    add_ids(&out, ideas, idea->cites, idea->n_cites);
    return out.data;
}

static void a_trial_is_described_from_the_trials_near_it(void **state)
{
    (void)state;
    for (int deep = 0; deep < 2; deep++) {
        char *few = make_store(FEW, deep), *many = make_store(MANY, deep);
        struct lineage_store *store = open_store(few, LINEAGE_LOWER, NULL), *larger = open_store(many, LINEAGE_LOWER, NULL);
        struct lineage_ideas *all;
        size_t a = 0, b = 0;
        assert_int_equal(lineage_ideas_load(&all, store, &err), LINEAGE_OK);
        static const char *const ids[] = {"000", "007", "250", "1050", "1999", "2950", "2999"};
        for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
            struct lineage_ideas *near = near_ideas(store, ids[i], &a);
            char *is = described(near, ids[i]), *should = described(all, ids[i]);
            assert_string_equal(is, should);
            assert_true(lineage_ideas_count(near) <=
                        2 + 2 * LINEAGE_IDEAS_NEAR_AROUND + LINEAGE_IDEAS_NEAR_ANCESTORS + LINEAGE_IDEAS_CITES);
            free(is);
            free(should);
            lineage_ideas_release(near);
        }
        lineage_ideas_release(all);
        a = 0;
        lineage_ideas_release(near_ideas(store, "2950", &a));
        lineage_ideas_release(near_ideas(larger, "23950", &b));
        assert_true(b < 2 * a + 50);
        lineage_store_close(store);
        lineage_store_close(larger);
        remove_dir(few);
        remove_dir(many);
    }
}

/* ---- questions about all trials ---- */

/* A store whose mirror is many times larger than the cache of this test. Values are spread over the whole log. */
static char *make_settings(void)
{
    char *dir = make_dir(), long_text[600];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    add_rows(dir, &(struct row){.id = NULL});
    FILE *out = fopen(in_dir(dir, "results.tsv"), "ab");
    for (size_t i = 0; i < FEW; i++)
        fprintf(out, "%03zu\t2026-05-01T00:00:00Z\topt\t\t\t\t%s\t\tdiscard\t%g\t\t\t\t\t\t\talpha=%zu; beta=%zu; seed=%zu\n", i,
                long_text, 1 + (double)(i % 100), i % 10, i % 7, i % 3);
    assert_int_equal(fclose(out), 0);
    return dir;
}

static size_t pragma(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    size_t n = sqlite3_step(stmt) == SQLITE_ROW ? (size_t)sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_finalize(stmt);
    return n;
}

/* Pages that were read from the file since the last call. */
static size_t pages_read(sqlite3 *db)
{
    int misses = 0, most;
    assert_int_equal(sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_MISS, &misses, &most, 1), SQLITE_OK);
    return (size_t)misses;
}

/* The values of a parameter are in the order of its index. Rows that are read in that order are read once for each value. */
static void questions_about_all_trials_read_each_page_once(void **state)
{
    (void)state;
    char *dir = make_settings();
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    struct lineage_comparison comparison;
    struct lineage_sweep sweep;
    assert_int_equal(mirror_sync(store->mirror, &err), LINEAGE_OK);
    sqlite3 *db = mirror_db(store->mirror);
    size_t pages = pragma(db, "PRAGMA page_count"), read;
    (void)pragma(db, "PRAGMA cache_size = 20");
    assert_true(pages > 400);

    (void)pages_read(db);
    assert_int_equal(lineage_compare(store, &(struct lineage_compare_options){.by = "alpha"}, &comparison, &err), LINEAGE_OK);
    assert_int_equal(comparison.n_variants, 10);
    lineage_comparison_release(&comparison);
    read = pages_read(db);
    if (read > pages + pages / 2)
        fail_msg("a comparison reads %zu of %zu pages", read, pages);

    assert_int_equal(lineage_sweep_load(store, "alpha", "beta", &sweep, &err), LINEAGE_OK);
    assert_int_equal(sweep.n_cells, 70);
    assert_string_equal(sweep.cells[0].best_id, "000");
    assert_true(sweep.cells[0].count == FEW / 70 + 1 && sweep.cells[0].best.value == 1);
    lineage_sweep_release(&sweep);
    read = pages_read(db);
    if (read > pages / 2)
        fail_msg("a sweep of two parameters reads %zu of %zu pages", read, pages);
    lineage_store_close(store);
    remove_dir(dir);
}

/* ---- runs ---- */

static void a_trial_that_ran_again_is_known(void **state)
{
    (void)state;
    static const char *const ids[] = {"010", "500", "011", "1500"};
    char *dir = make_store(FEW, true);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    for (size_t i = 0; i < 4; i++) {
        struct lineage_trial trial;
        bool again = false;
        assert_int_equal(lineage_find(store, ids[i], &trial, &err), LINEAGE_OK);
        assert_int_equal(lineage_ran_again(&again, store, &trial, &err), LINEAGE_OK);
        assert_int_equal(again, i != 2);
        lineage_trial_release(&trial);
    }
    lineage_store_close(store);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_take_few_steps),
        cmocka_unit_test(the_way_to_rows_does_not_change_the_answer),
        cmocka_unit_test(a_trial_is_described_from_the_trials_near_it),
        cmocka_unit_test(questions_about_all_trials_read_each_page_once),
        cmocka_unit_test(a_trial_that_ran_again_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
