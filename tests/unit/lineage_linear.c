/*
 * Tests that a hostile log does not cost the square of its size: each case is read at two sizes, and the larger one, of
 * twice the size, may take at most three times the work. Work is counted and not timed: comparisons of texts, steps of
 * SQLite's machine, and look-ups of ids.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/evidence.h>
#include <lineage/insights.h>
#include <lineage/query.h>
#include <lineage/render.h>
#include <lineage/verify.h>

#include "append/id_set.h"
#include "support/files.h"

static size_t work;

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);
int __real_sqlite3_step(sqlite3_stmt *stmt);
int __wrap_sqlite3_step(sqlite3_stmt *stmt);
bool __real_id_set_has(const struct id_set *set, const char *id);
bool __wrap_id_set_has(const struct id_set *set, const char *id);

int __wrap_strcmp(const char *a, const char *b)
{
    work++;
    return __real_strcmp(a, b);
}

int __wrap_sqlite3_step(sqlite3_stmt *stmt)
{
    int result = __real_sqlite3_step(stmt);
    work += (size_t)sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 1);
    return result;
}

bool __wrap_id_set_has(const struct id_set *set, const char *id)
{
    work++;
    return __real_id_set_has(set, id);
}

/* ---- logs ---- */

static const char header[] =
    "exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\tstatus\t"
    "core_metric\tval_bpb\tdelta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes";

static void row(FILE *out, const char *id, const char *parent, const char *hypothesis, const char *status, const char *job)
{
    fprintf(out, "%s\tT\ts\t%s\t\t\t%s\t\t%s\t1.5\t\t\t\t\t%s\t\t", id, parent, hypothesis, status, job);
}

static void columns(FILE *out, size_t n)
{
    fputs(header, out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "\tc%zu", i);
    for (size_t k = 0; k < 2; k++) {
        fputc('\n', out);
        row(out, k ? "001" : "000", k ? "000" : "", "h", "keep", "");
        for (size_t i = 0; i < n; i++)
            fprintf(out, "\t%zu", i);
    }
    fputc('\n', out);
}

static void settings(FILE *out, size_t n)
{
    fprintf(out, "%s\n", header);
    for (size_t k = 0; k < 2; k++) {
        row(out, k ? "001" : "000", "", "h", "keep", "");
        for (size_t i = 0; i < n; i++)
            fprintf(out, k ? "%sq%zu=word" : "%sp%zu=1", i ? "; " : "", i);
        fputc('\n', out);
    }
}

static void metrics(FILE *out, size_t n)
{
    fprintf(out, "%s\n", header);
    row(out, "000", "", "h", "keep", "");
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%sm%zu=1", i ? ", " : "metrics ", i);
    fputc('\n', out);
}

static void one_id(FILE *out, size_t n)
{
    fprintf(out, "%s\n", header);
    for (size_t i = 0; i < n; i++) {
        row(out, "000", "", "h", "keep", "");
        fputc('\n', out);
    }
}

static void two_spellings(FILE *out, size_t n)
{
    fprintf(out, "%s\n", header);
    for (size_t i = 0; i < n; i++) {
        row(out, i % 2 ? "000" : "exp_000", "", "h", "keep", "");
        fputc('\n', out);
    }
}

static void numbered(FILE *out, size_t n, const char *status, const char *job, size_t (*parent)(size_t i, size_t n))
{
    fprintf(out, "%s\n", header);
    for (size_t i = 0; i < n; i++) {
        char id[32], above[32] = "";
        snprintf(id, sizeof id, "%06zu", i);
        if (parent(i, n) != SIZE_MAX)
            snprintf(above, sizeof above, "%06zu", parent(i, n));
        row(out, id, above, "as exp_000000 and exp_000001", i ? status : "keep", i ? job : "");
        fputc('\n', out);
    }
}

static size_t first(size_t i, size_t n)
{
    (void)n;
    return i ? 0 : SIZE_MAX;
}

static size_t one_before(size_t i, size_t n)
{
    (void)n;
    return i ? i - 1 : SIZE_MAX;
}

static size_t one_behind(size_t i, size_t n)
{
    return (i + 1) % n;
}

static void one_parent(FILE *out, size_t n)
{
    numbered(out, n, "keep", "", first);
}

static void deep_chain(FILE *out, size_t n)
{
    numbered(out, n, "keep", "", one_before);
}

static void cycle(FILE *out, size_t n)
{
    numbered(out, n, "keep", "", one_behind);
}

static void voids(FILE *out, size_t n)
{
    numbered(out, n, "harness_abort", "lineage-void", first);
}

static void nights(FILE *out, size_t n)
{
    fprintf(out, "%s\n", header);
    for (size_t i = 0; i < n; i++) {
        char id[32];
        snprintf(id, sizeof id, "%06zu", i);
        row(out, id, "", "h", "keep", "");
        fprintf(out, "night n%zu, trial t%zu, key %016zx; program %016zx\n", i, i, i, i);
    }
}

/* One of many trials that were compared with their common parent is void, so that all behind it are judged again. */
static void judged_again(FILE *out, size_t n)
{
    fprintf(out, "%s\n", header);
    row(out, "000000", "", "h", "keep", "");
    fputc('\n', out);
    for (size_t i = 1; i < n; i++)
        fprintf(out, "%06zu\tT\ts\t000000\t000000\t\th\t\tdiscard\t1.6\t\t0.1\t\t\t\t\t\n", i);
    row(out, "v", "000001", "h", "harness_abort", "lineage-void");
    fputc('\n', out);
}

/* Rows that all run the first trial again. */
static void again(FILE *out, size_t n)
{
    fprintf(out, "%s\n", header);
    for (size_t i = 0; i < n; i++) {
        char id[32];
        snprintf(id, sizeof id, "%06zu", i);
        row(out, id, "", "h", "keep", "");
        fputs(i ? "replicates 000000\n" : "\n", out);
    }
}

/* ---- questions ---- */

static bool skip_insight(void *context, const struct lineage_insight *insight)
{
    (void)context;
    (void)insight;
    return true;
}

/* Opens a store, and asks what most commands ask. */
static void ask(const char *dir)
{
    struct lineage_store *store;
    struct lineage_error err;
    struct lineage_cursor *cursor;
    struct lineage_trial trial;
    struct lineage_evidence evidence;
    char *text;
    size_t n, length;
    assert_int_equal(lineage_store_open(&store, dir, NULL, &err), LINEAGE_OK);
    assert_int_equal(lineage_query_open(&cursor, store, &(struct lineage_query){0}, &err), LINEAGE_OK);
    while (lineage_cursor_next(cursor, &trial, &err) == LINEAGE_OK)
        continue;
    lineage_cursor_close(cursor);
    assert_int_equal(lineage_render(&text, &length, store, NULL, &err), LINEAGE_OK);
    lineage_free(text);
    assert_int_equal(lineage_verify(store, &n, NULL, NULL, &err), LINEAGE_OK);
    assert_int_equal(lineage_insights_read(store, skip_insight, NULL, &err), LINEAGE_OK);
    assert_int_equal(lineage_evidence_load(&evidence, store, NULL, &err), LINEAGE_OK);
    lineage_evidence_release(&evidence);
    lineage_store_close(store);
}

static size_t work_for(void (*make)(FILE *, size_t), size_t size)
{
    char *dir = make_dir(), *path = join(dir, "results.tsv");
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    make(out, size);
    assert_int_equal(fclose(out), 0);
    work = 0;
    ask(dir);
    free(path);
    remove_dir(dir);
    return work;
}

static void reading_does_not_cost_the_square(void **state)
{
    static const struct {
        const char *name;
        void (*make)(FILE *out, size_t n);
    } logs[] = {{"columns", columns},
                {"settings", settings},
                {"metrics", metrics},
                {"one id", one_id},
                {"two spellings", two_spellings},
                {"one parent", one_parent},
                {"deep chain", deep_chain},
                {"cycle", cycle},
                {"voids", voids},
                {"judged again", judged_again},
                {"nights", nights},
                {"again", again}};
    (void)state;
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        size_t once = work_for(logs[i].make, 1000), twice = work_for(logs[i].make, 2000);
        print_message("%-13s %8zu %8zu\n", logs[i].name, once, twice);
        assert_true(twice < 3 * once);
    }
}

/* ---- imports ---- */

static void one_commit(FILE *out, size_t n)
{
    fputs("commit\tval_bpb\tmemory_gb\tstatus\tdescription\n", out);
    for (size_t i = 0; i < n; i++)
        fputs("abc1234\t1.5\t10\tkeep\tagain\n", out);
}

static size_t work_of_import(void (*make)(FILE *, size_t), size_t size, bool convert, bool has_rows)
{
    char *dir = make_dir(), *path = join(dir, "other.tsv");
    struct lineage_store *store;
    struct lineage_import_stats stats;
    struct lineage_error err;
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    make(out, size);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(lineage_store_open(&store, dir, NULL, &err), LINEAGE_OK);
    if (has_rows)
        assert_int_equal(
            lineage_store_append(store, &(struct lineage_trial){.exp_id = "x", .status = LINEAGE_CRASH}, NULL, NULL, &err),
            LINEAGE_OK);
    work = 0;
    enum lineage_status status = convert ? lineage_import_log(store, path, NULL, &stats, NULL, NULL, &err)
                                         : lineage_import(store, path, NULL, &stats, NULL, NULL, &err);
    assert_int_equal(status, LINEAGE_OK);
    lineage_store_close(store);
    free(path);
    remove_dir(dir);
    return work;
}

static void importing_does_not_cost_the_square(void **state)
{
    static const struct {
        const char *name;
        void (*make)(FILE *out, size_t n);
        bool convert, has_rows;
    } logs[] = {{"one commit", one_commit, false, false},
                {"converted", one_commit, true, false},
                {"columns", columns, false, false},
                {"to metrics", columns, false, true},
                {"settings", settings, false, false}};
    (void)state;
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        size_t once = work_of_import(logs[i].make, 1000, logs[i].convert, logs[i].has_rows),
               twice = work_of_import(logs[i].make, 2000, logs[i].convert, logs[i].has_rows);
        print_message("%-13s %8zu %8zu\n", logs[i].name, once, twice);
        assert_true(twice < 3 * once);
    }
}

/* The numbers that repeated ids get are consecutive, so the search for a free one must find the least. */
static bool is_below(void *context, size_t n)
{
    return n < *(const size_t *)context;
}

static void the_least_free_number_is_found(void **state)
{
    (void)state;
    for (size_t n = 2; n < 300; n++)
        assert_int_equal(id_find_free_number(is_below, &n), n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_does_not_cost_the_square),
        cmocka_unit_test(importing_does_not_cost_the_square),
        cmocka_unit_test(the_least_free_number_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
