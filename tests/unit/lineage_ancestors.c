/* Tests the table of ancestors: that it is the same whenever the mirror read the rows, and that chains read from it are those
 * of a walk from parent to parent. */
#include "support/unit.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"
#include "mirror/statement.h"
#include "questions/questions.h"
#include "support/files.h"
#include "support/rows.h"
#include "support/test_rng.h"

static struct lineage_error err;

/* ---- logs as texts ---- */

struct log_text {
    char bytes[1 << 16];
    size_t length;
};

static void add_line(struct log_text *log, const char *id, const char *parent, const char *status, const char *job)
{
    int n = snprintf(log->bytes + log->length, sizeof log->bytes - log->length, "%s\tT\ts\t%s\t\t\th\t\t%s\t%s\t\t\t\t\t%s\t\t\n",
                     id, parent, status, strcmp(status, "keep") == 0 || strcmp(status, "baseline") == 0 ? "1" : "", job);
    assert_true(n > 0 && (size_t)n < sizeof log->bytes - log->length);
    log->length += (size_t)n;
}

/* An id in one of its spellings. There are few numbers, so that ids repeat and rows come before the rows that they name. */
static const char *some_id(char out[32], struct test_rng *rng, size_t numbers)
{
    size_t number = test_rng_below(rng, numbers);
    snprintf(out, 32, test_rng_below(rng, 4) ? "%zu" : "exp_%zu", number);
    return out;
}

static void add_random_line(struct log_text *log, struct test_rng *rng, size_t numbers, bool with_parents)
{
    static const char *const labels[] = {"keep", "keep", "discard", "baseline", "crash"};
    char id[32], parent[32] = "";
    size_t what = test_rng_below(rng, 12);
    if (with_parents && test_rng_below(rng, 8))
        some_id(parent, rng, numbers + 2);
    some_id(id, rng, numbers);
    if (what == 0)
        add_line(log, id, some_id(parent, rng, numbers), "harness_abort", "lineage-void");
    else if (what == 1)
        add_line(log, id, some_id(parent, rng, numbers), "harness_abort", "lineage-unvoid");
    else
        add_line(log, id, parent, labels[test_rng_below(rng, 5)], "");
}

/* ---- tables ---- */

static const char columns[] = "SELECT seq, parent, kept, above, passed_over, depth, jump, top, "
                              "kind FROM ancestors ORDER BY seq";

/* The whole table as text; the caller frees it. */
static char *table_of(struct lineage_store *store)
{
    struct buf out = {0};
    sqlite3_stmt *stmt;
    assert_int_equal(mirror_sync(store->mirror, &err), LINEAGE_OK);
    assert_int_equal(sqlite3_prepare_v2(mirror_db(store->mirror), columns, -1, &stmt, NULL), SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW)
        for (int i = 0; i < 9; i++)
            buf_printf(&out, "%lld%s", (long long)sqlite3_column_int64(stmt, i), i < 8 ? " " : "\n");
    sqlite3_finalize(stmt);
    buf_puts(&out, "");
    assert_non_null(out.data);
    return out.data;
}

/* A mirror in memory reads the whole log at once. */
static char *table_built_at_once(const char *dir)
{
    struct lineage_store *store;
    const struct lineage_open_options options = {.no_mirror = true};
    assert_int_equal(lineage_store_open(&store, dir, &options, &err), LINEAGE_OK);
    char *table = table_of(store);
    lineage_store_close(store);
    return table;
}

static void assert_same_table(struct lineage_store *store, const char *dir, size_t round)
{
    char *is = table_of(store), *should = table_built_at_once(dir);
    if (strcmp(is, should) != 0)
        fail_msg("round %zu: the table is\n%s\nand not\n%s", round, is, should);
    free(is);
    free(should);
}

/* ---- a walk from parent to parent, over the rows of `trials` ---- */

struct walked {
    int64_t seqs[64];
    size_t passed_over[64], n;
    enum lineage_chain_end end;
};

static void walk(struct walked *walked, struct lineage_store *store, int64_t seq)
{
    bool seen[512] = {false};
    *walked = (struct walked){.n = 0};
    for (;;) {
        struct lineage_trial trial;
        assert_true(seq > 0 && seq < 512 && !seen[seq]);
        seen[seq] = true;
        assert_int_equal(mirror_load(store->mirror, seq, &trial, &err), LINEAGE_OK);
        if (!walked->n || trial.status == LINEAGE_KEEP || trial.status == LINEAGE_BASELINE) {
            assert_true(walked->n < 64);
            walked->seqs[walked->n++] = seq;
        } else {
            walked->passed_over[walked->n - 1]++;
        }
        enum lineage_status status = *trial.parent_exp ? mirror_find(store->mirror, trial.parent_exp, &seq, &err) : LINEAGE_OK;
        walked->end = status == LINEAGE_ENOTFOUND ? LINEAGE_CHAIN_MISSING : LINEAGE_CHAIN_ROOT;
        bool last = status == LINEAGE_ENOTFOUND || !*trial.parent_exp;
        lineage_trial_release(&trial);
        if (!last && seen[seq]) {
            walked->end = LINEAGE_CHAIN_CYCLE;
            last = true;
        }
        if (last)
            return;
    }
}

/* Compares both ends of every chain, for every number of trials at the ends. */
static void assert_chains_are_walks(struct lineage_store *store)
{
    int64_t rows = strtoll(sql_value(store, "SELECT max(seq) FROM trials"), NULL, 10);
    bool parents =
        strcmp(sql_value(
                   store,
                   "SELECT count(*) FROM trials WHERE parent_exp <> '' AND job_name NOT IN ('lineage-void', 'lineage-unvoid')"),
               "0") != 0;
    for (int64_t seq = 1; parents && seq <= rows; seq++) {
        struct walked walked;
        walk(&walked, store, seq);
        for (size_t first = 0; first < 4; first++)
            for (size_t last = 1; last < 4; last++) {
                struct mirror_chain_ends ends;
                struct arena arena = {0};
                assert_int_equal(mirror_chain_ends(store->mirror, seq, MIRROR_CHAIN_KEPT, first, last, &ends, &arena, &err),
                                 LINEAGE_OK);
                assert_int_equal(ends.total, walked.n);
                assert_int_equal(ends.end, walked.end);
                assert_int_equal(ends.n, first + last < walked.n ? first + last : walked.n);
                for (size_t i = 0; i < ends.n; i++) {
                    size_t from_root = i < ends.first ? i : walked.n - ends.n + i, at = walked.n - 1 - from_root;
                    assert_int_equal(ends.trials[i].seq, walked.seqs[at]);
                    assert_int_equal(ends.passed_over[i], walked.passed_over[at]);
                }
                arena_release(&arena);
            }
    }
}

/* ---- random stores ---- */

/* Turns a last record without a line end into line ends, as the next writer does after it has moved that record aside. */
static void blank_last_record(const char *dir)
{
    size_t length;
    const char *path = in_dir(dir, "results.tsv");
    char *bytes = read_file(path, &length);
    for (size_t i = length; i-- > 0 && bytes[i] != '\n';)
        bytes[i] = '\n';
    FILE *out = fopen(path, "r+b");
    assert_int_equal(fwrite(bytes, 1, length, out), length);
    fclose(out);
    free(bytes);
}

/* Writes the log in pieces, and lets the mirror follow some of them. A piece may end within a line; and one that ends before a
 * line end may be taken back. */
static void follow_in_pieces(const char *dir, const struct log_text *log, struct test_rng *rng, size_t round)
{
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    for (size_t at = 0, n; at < log->length; at += n) {
        char piece[400];
        n = 1 + test_rng_below(rng, test_rng_below(rng, 3) ? 60 : 300);
        n = n < log->length - at ? n : log->length - at;
        bool whole = !test_rng_below(rng, 3);
        while (whole && log->bytes[at + n] != '\n' && at + n < log->length)
            n++;
        memcpy(piece, log->bytes + at, n);
        piece[n] = '\0';
        add_bytes(dir, piece);
        if (whole || test_rng_below(rng, 2))
            assert_same_table(store, dir, round);
        if (whole && !test_rng_below(rng, 2)) {
            blank_last_record(dir);
            n++; /* the line end of that record */
            add_bytes(dir, "\n");
        }
    }
    assert_same_table(store, dir, round);
    assert_chains_are_walks(store);
    lineage_store_close(store);
}

static void the_table_does_not_depend_on_when_rows_were_read(void **state)
{
    (void)state;
    static struct log_text log;
    for (size_t round = 0; round < 60; round++) {
        struct test_rng rng = {round};
        char *dir = make_dir();
        size_t lines = 1 + test_rng_below(&rng, 40), numbers = 1 + test_rng_below(&rng, 60);
        size_t parents_from = test_rng_below(&rng, 3) ? 0 : test_rng_below(&rng, lines + 8);
        add_rows(dir, &(struct row){.id = NULL});
        log.length = 0;
        for (size_t i = 0; i < lines; i++)
            add_random_line(&log, &rng, numbers, i >= parents_from);
        follow_in_pieces(dir, &log, &rng, round);
        remove_dir(dir);
    }
}

/* A line of thousands of kept trials, with a few changes at its beginning: most of it has to move. */
static void the_beginning_of_a_long_chain_may_change(void **state)
{
    (void)state;
    static struct log_text log;
    char *dir = make_dir(), id[32], parent[32] = "";
    add_rows(dir, &(struct row){.id = NULL});
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    for (size_t i = 0; i < 6000; i++) {
        snprintf(id, sizeof id, "%04zu", i);
        log.length = 0;
        add_line(&log, id, parent, i % 3 ? "keep" : "discard", "");
        log.bytes[log.length] = '\0';
        add_bytes(dir, log.bytes);
        strcpy(parent, id);
        if (i % 1500 == 0)
            assert_same_table(store, dir, i);
    }
    assert_same_table(store, dir, 0);
    static const char *const changes[][4] = {{"v1", "0004", "harness_abort", "lineage-void"},
                                             {"v2", "5990", "harness_abort", "lineage-void"},
                                             {"v3", "0004", "harness_abort", "lineage-unvoid"},
                                             {"5000", "", "keep", ""},      /* its children go on from this row now */
                                             {"0001", "5999", "keep", ""}}; /* a cycle */
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        log.length = 0;
        add_line(&log, changes[i][0], changes[i][1], changes[i][2], changes[i][3]);
        log.bytes[log.length] = '\0';
        add_bytes(dir, log.bytes);
        assert_same_table(store, dir, i);
    }
    lineage_store_close(store);
    remove_dir(dir);
}

/* ---- steps ---- */

static int count_step(void *context)
{
    ++*(size_t *)context;
    return 0;
}

/* Counts instructions of SQLite's machine in units of ten. */
static size_t steps_of_chain(struct lineage_store *store, int64_t seq)
{
    struct mirror_chain_ends ends;
    struct arena arena = {0};
    size_t steps = 0;
    sqlite3_progress_handler(mirror_db(store->mirror), 10, count_step, &steps);
    assert_int_equal(mirror_chain_ends(store->mirror, seq, MIRROR_CHAIN_KEPT, 7, 23, &ends, &arena, &err), LINEAGE_OK);
    sqlite3_progress_handler(mirror_db(store->mirror), 0, NULL, NULL);
    assert_int_equal(ends.total, seq);
    assert_int_equal(ends.trials[0].seq, 1);
    assert_int_equal(ends.trials[ends.n - 1].seq, seq);
    arena_release(&arena);
    return steps;
}

static void write_chain(const char *dir, size_t n)
{
    FILE *out = fopen(in_dir(dir, "results.tsv"), "ab");
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "%06zu\tT\ts\t", i);
        if (i)
            fprintf(out, "%06zu", i - 1);
        fputs("\t\t\th\t\tkeep\t1\t\t\t\t\t\t\t\n", out);
    }
    fclose(out);
}

/* A walk along the parents took thirty times as many steps in the longer chain. */
static void both_ends_of_a_chain_take_few_steps(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_rows(dir, &(struct row){.id = NULL});
    write_chain(dir, 30000);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(mirror_sync(store->mirror, &err), LINEAGE_OK);
    size_t shorter = steps_of_chain(store, 1000), longer = steps_of_chain(store, 30000);
    assert_true(longer < shorter * 2);
    assert_true(longer < 1000);
    bool descends = true;
    size_t steps = 0;
    sqlite3_progress_handler(mirror_db(store->mirror), 10, count_step, &steps);
    assert_int_equal(mirror_descends(store->mirror, "029999", "new", &descends, &err), LINEAGE_OK);
    assert_false(descends);
    assert_true(steps < 100);
    lineage_store_close(store);
    remove_dir(dir);
}

/* ---- kills ---- */

/* A process that is killed in the middle of a sync leaves the table of before or of after. */
static void a_killed_sync_leaves_a_table_that_is_right(void **state)
{
    (void)state;
    static struct log_text log;
    for (size_t round = 0; round < 12; round++) {
        struct test_rng rng = {1000 + round};
        char *dir = make_dir();
        add_rows(dir, &(struct row){.id = NULL});
        for (int piece = 0; piece < 4; piece++) {
            log.length = 0;
            for (size_t i = 0; i < 20; i++)
                add_random_line(&log, &rng, 30, true);
            log.bytes[log.length] = '\0';
            add_bytes(dir, log.bytes);
            pid_t child = fork();
            if (child == 0) {
                struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
                (void)!mirror_sync(store->mirror, &err);
                _exit(0);
            }
            usleep((useconds_t)test_rng_below(&rng, 4000));
            kill(child, SIGKILL);
            assert_int_equal(waitpid(child, NULL, 0), child);
        }
        struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
        assert_same_table(store, dir, round);
        lineage_store_close(store);
        remove_dir(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_does_not_depend_on_when_rows_were_read),
        cmocka_unit_test(the_beginning_of_a_long_chain_may_change),
        cmocka_unit_test(both_ends_of_a_chain_take_few_steps),
        cmocka_unit_test(a_killed_sync_leaves_a_table_that_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
