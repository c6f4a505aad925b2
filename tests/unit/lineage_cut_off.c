/*
 * Tests appends that were cut off: what happens to writers that wait for the lock, to other tools, and to a mirror
 * that has read their rows. The marathon test found each of these cases.
 */
#include "support/last_words.h"
#include "support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lineage/query.h>
#include <lineage/store.h>
#include <lineage/verify.h>

#include "files/fs.h"
#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;

static const struct row first[] = {{"000", "s", .status = "keep", .metric = "3"}, {.id = NULL}};

static void add(const char *path, const char *how, const char *bytes, size_t n)
{
    FILE *out = fopen(path, how);
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
}

/* Leaves DIR/results.tsv as if an append_many of `staged` had been killed after writing `there` of its bytes. */
static void cut_off(const char *dir, const char *staged, size_t there)
{
    char *path = join(dir, "results.tsv"), *import = join(dir, "results.tsv.import"), head[32];
    size_t size;
    free(read_file(path, &size));
    snprintf(head, sizeof head, "%020zu\n", size);
    add(import, "wb", head, 21);
    add(import, "ab", staged, strlen(staged));
    add(path, "ab", staged, there);
    free(path);
    free(import);
}

static char *row_text(const char *id, const char *hypothesis)
{
    char *text = malloc(strlen(id) + strlen(hypothesis) + 80);
    assert_non_null(text);
    sprintf(text, "%s\t2026-01-01T00:00:00Z\ts\t\t\t\t%s\t\tdiscard\t0.5\t\t\t\t\t\t\tn\n", id, hypothesis);
    return text;
}

static enum lineage_status append(struct lineage_store *store, const char *hypothesis, struct lineage_trial *row)
{
    struct lineage_trial trial = {.hypothesis = hypothesis, .status = LINEAGE_DISCARD, .core_metric = {true, 1}};
    return lineage_store_append(store, &trial, NULL, row, &err);
}

/* ---- a writer that waits ----------------------------------------------------------------------------------------- */

static const char longer[] = "another process writes a row that is longer than those of the import were, so that where they "
                             "ended is in the middle of it, and nothing that can be read begins there";

static int others_come_first(void *context, const char *call)
{
    const char *dir = context;
    int state;
    if (strcmp(call, "flock") != 0)
        return 0;
    fs_set_fault(NULL, NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct lineage_store *store;
        bool ok = lineage_store_open(&store, dir, NULL, &err) == LINEAGE_OK;
        ok = ok && append(store, longer, NULL) == LINEAGE_OK;
        if (ok)
            lineage_store_close(store);
        leave(!ok);
    }
    assert_int_equal(waitpid(child, &state, 0), child);
    assert_int_equal(state, 0);
    return 0;
}

/* The handle has read rows of an import that was killed. While the handle waits for the lock, those rows are taken
 * back and other rows are written in their place. The handle must then use the ids of the new log and look for a torn
 * end in the new log. */
static void rows_taken_back_while_waiting_are_forgotten(void **state)
{
    (void)state;
    char *dir = make_dir(), *staged = row_text("b", "imported"), *torn = join(dir, "results.tsv.torn-1");
    char *two = malloc(2 * strlen(staged) + 1);
    struct lineage_trial row = {0};
    size_t n;
    assert_non_null(two);
    sprintf(two, "%s%s", staged, staged);
    two[strlen(staged)] = 'c';
    add_rows(dir, first);
    cut_off(dir, two, strlen(staged) + 9);
    struct lineage_store *store = open_store(dir, LINEAGE_HIGHER, NULL);
    assert_string_equal(ids_of(store, &(struct lineage_query){0}), "000 b ");
    fs_set_fault(others_come_first, dir);
    assert_int_equal(append(store, "waited", &row), LINEAGE_OK);
    fs_set_fault(NULL, NULL);
    assert_string_equal(row.exp_id, "002");
    assert_string_equal(ids_of(store, &(struct lineage_query){0}), "000 001 002 ");
    assert_false(file_exists(torn));
    assert_int_equal(lineage_verify(store, &n, NULL, NULL, &err), LINEAGE_OK);
    assert_int_equal(n, 0);
    lineage_trial_release(&row);
    lineage_store_close(store);
    remove_dir(dir);
    free(torn);
    free(two);
    free(staged);
}

/* ---- a mirror that has read them ----------------------------------------------------------------------------------- */

static void assert_in_step(const char *dir, const char *ids)
{
    struct heard heard = {0};
    struct lineage_store *store = open_store(dir, LINEAGE_HIGHER, &heard);
    size_t n;
    assert_string_equal(ids_of(store, &(struct lineage_query){0}), ids);
    assert_int_equal(lineage_verify(store, &n, hear_finding, &heard, &err), LINEAGE_OK);
    assert_string_equal(heard.text, "");
    assert_int_equal(n, 0);
    lineage_store_close(store);
}

/* A reader shows the rows of an import that was killed, so the mirror contains them from then on. */
static void let_a_reader_see_a_cut_import(const char *dir, const char *ids)
{
    char *staged = row_text("b", "imported");
    char *two = malloc(2 * strlen(staged) + 1);
    assert_non_null(two);
    sprintf(two, "%s%s", staged, staged);
    two[strlen(staged)] = 'c';
    cut_off(dir, two, strlen(staged) + 9);
    struct lineage_store *reader = open_store(dir, LINEAGE_HIGHER, NULL);
    assert_string_equal(ids_of(reader, &(struct lineage_query){0}), ids);
    lineage_store_close(reader);
    free(two);
    free(staged);
}

/* After the rows are taken back, the log ends exactly where a handle that appends single rows left it. The handle must
 * write its next row like an import; otherwise it would erase the traces of the killed import. */
static void a_handle_that_left_the_log_so_makes_the_mirror_anew(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_rows(dir, first);
    struct lineage_store *store = open_store(dir, LINEAGE_HIGHER, NULL);
    assert_int_equal(append(store, "one", NULL), LINEAGE_OK);
    let_a_reader_see_a_cut_import(dir, "000 001 b ");
    assert_int_equal(append(store, "two\nlines", NULL), LINEAGE_OK);
    lineage_store_close(store);
    assert_in_step(dir, "000 001 002 ");
    remove_dir(dir);
}

/* A process that cannot rebuild the mirror leaves the rebuild to the next process that can, whatever is written in
 * between. */
static void a_mirror_that_others_hold_is_made_anew_later(void **state)
{
    (void)state;
    static const char *const texts[] = {"two\nlines", "plain"};
    for (size_t i = 0; i < 2; i++) {
        char *dir = make_dir();
        add_rows(dir, first);
        let_a_reader_see_a_cut_import(dir, "000 b ");
        struct lineage_open_options options = {.busy_ms = 1};
        struct lineage_store *store;
        sqlite3 *other;
        assert_int_equal(sqlite3_open(in_dir(dir, "lineage.db"), &other), SQLITE_OK);
        assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(lineage_store_open(&store, dir, &options, &err), LINEAGE_OK);
        assert_int_equal(append(store, texts[i], NULL), LINEAGE_OK);
        lineage_store_close(store);
        sqlite3_close(other);
        store = open_store(dir, LINEAGE_HIGHER, NULL);
        assert_int_equal(append(store, "the next", NULL), LINEAGE_OK);
        lineage_store_close(store);
        assert_in_step(dir, "000 001 002 ");
        remove_dir(dir);
    }
}

/* The row that replaces a cut row begins with the same bytes, but is a different row and stays. */
static void a_row_in_the_place_of_a_cut_one_stays(void **state)
{
    (void)state;
    static const char staged[] = "001\t2026-01-01T00:00:00Z\ts\t\t000\t\t\"two\nlines\"\t\tcrash\t\t\t\t\t\t\t\tn\n";
    char *dir = make_dir();
    struct lineage_trial trial = {
        .timestamp = "2026-01-01T00:00:00Z", .specialist = "s", .hypothesis = "two \"words\"", .status = LINEAGE_CRASH};
    const struct lineage_open_options no_mirror = {.no_mirror = true};
    struct lineage_store *store;
    add_rows(dir, first);
    cut_off(dir, staged, sizeof staged - 6);
    assert_int_equal(lineage_store_open(&store, dir, &no_mirror, &err), LINEAGE_OK);
    assert_int_equal(lineage_store_append(store, &trial, NULL, NULL, &err), LINEAGE_OK);
    lineage_store_close(store);
    store = open_store(dir, LINEAGE_HIGHER, NULL);
    assert_int_equal(append(store, "the next", NULL), LINEAGE_OK);
    lineage_store_close(store);
    assert_in_step(dir, "000 001 002 ");
    remove_dir(dir);
}

struct seen {
    const char *dir;
    int answer;
    bool done;
};

/* A reader reads between the write and the sync of a row, and then the sync fails. */
static int read_and_fail(void *context, const char *call)
{
    struct seen *seen = context;
    if (seen->done || strcmp(call, "fdatasync") != 0)
        return 0;
    seen->done = true;
    fs_set_fault(NULL, NULL);
    struct lineage_store *reader = open_store(seen->dir, LINEAGE_HIGHER, NULL);
    assert_string_equal(ids_of(reader, &(struct lineage_query){0}), "000 001 ");
    lineage_store_close(reader);
    return seen->answer;
}

static void a_refused_row_that_was_seen_is_forgotten(void **state)
{
    (void)state;
    char *dir = make_dir();
    struct seen seen = {.dir = dir, .answer = 5};
    add_rows(dir, first);
    struct lineage_store *store = open_store(dir, LINEAGE_HIGHER, NULL);
    fs_set_fault(read_and_fail, &seen);
    assert_int_equal(append(store, "refused", NULL), LINEAGE_EIO);
    fs_set_fault(NULL, NULL);
    assert_true(seen.done);
    assert_int_equal(append(store, "another", NULL), LINEAGE_OK);
    lineage_store_close(store);
    assert_in_step(dir, "000 001 ");
    remove_dir(dir);
}

/* ---- another tool behind it ---------------------------------------------------------------------------------------- */

struct watch {
    const char *import;
    bool staged;
};

static int look_at_writes(void *context, const char *call)
{
    struct watch *watch = context;
    watch->staged = watch->staged || (strcmp(call, "write") == 0 && file_exists(watch->import));
    return 0;
}

/* A row with a line end in a cell is staged like an import, because a kill could cut it right after that line end. Any
 * other row needs only one write. */
static void a_row_with_a_line_end_in_it_is_staged(void **state)
{
    (void)state;
    char *dir = make_dir(), *import = join(dir, "results.tsv.import");
    struct lineage_store *store = open_store(dir, LINEAGE_HIGHER, NULL);
    const char *const texts[] = {"two\nlines", "a \"quote\" and a\ttab"};
    for (size_t i = 0; i < 2; i++) {
        struct watch watch = {.import = import};
        fs_set_fault(look_at_writes, &watch);
        assert_int_equal(append(store, texts[i], NULL), LINEAGE_OK);
        fs_set_fault(NULL, NULL);
        assert_true(watch.staged == (i == 0));
        assert_false(file_exists(import));
    }
    lineage_store_close(store);
    remove_dir(dir);
    free(import);
}

/* Cuts our append after `there` bytes and lets a tool that ignores the unfinished line write the bytes `behind` after
 * it. */
static void assert_theirs_survives(const char *ours, size_t there, const char *behind, const char *ids)
{
    char *dir = make_dir();
    add_rows(dir, first);
    cut_off(dir, ours, there);
    add_bytes(dir, behind);
    struct lineage_store *store = open_store(dir, LINEAGE_HIGHER, NULL);
    assert_int_equal(append(store, "next", NULL), LINEAGE_OK);
    assert_string_equal(ids_of(store, &(struct lineage_query){0}), ids);
    lineage_store_close(store);
    remove_dir(dir);
}

static void rows_of_others_behind_a_cut_one_survive(void **state)
{
    (void)state;
    char *ours = row_text("ours", "\"one\ntwo\n\"\"three\"\"\""), *theirs = row_text("theirs", "\"with a \"\"quote\"\"\"");
    char *more = row_text("more", "plain"), *behind = malloc(strlen(theirs) + strlen(more) + 1);
    size_t line_end = (size_t)(strchr(ours, '\n') - ours) + 1, open = (size_t)(strchr(ours, '"') - ours) + 3;
    assert_non_null(behind);
    sprintf(behind, "%s%s", theirs, more);
    assert_theirs_survives(ours, line_end, behind, "000 theirs more 001 ");
    /* Their first row is written into our unfinished line, so every reader loses it. Their second row survives. */
    assert_theirs_survives(ours, open, behind, "000 more 001 ");
    assert_theirs_survives(ours, 0, behind, "000 theirs more 001 ");
    free(behind);
    free(more);
    free(theirs);
    free(ours);
}

/* The first write of a store was cut after its header, and another tool then wrote rows after that header. */
static void a_header_stays_for_the_rows_of_others(void **state)
{
    (void)state;
    char *ours = row_text("ours", "\"two\nlines\""), *theirs = row_text("theirs", "plain"), *header, *staged;
    size_t n;
    char *dir = make_dir(), *other = make_dir();
    add_rows(other, (const struct row[]){{.id = NULL}});
    header = read_file(in_dir(other, "results.tsv"), &n);
    staged = malloc(n + strlen(ours) + 1);
    assert_non_null(staged);
    sprintf(staged, "%s%s", header, ours);
    /* Either no byte of the row follows the header, or some bytes without a line end. */
    for (size_t more = 0; more < 12; more += 11) {
        write_file(in_dir(dir, "results.tsv"), "", 0);
        cut_off(dir, staged, n + more);
        add_bytes(dir, theirs);
        struct lineage_store *store = open_store(dir, LINEAGE_HIGHER, NULL);
        assert_int_equal(append(store, "next", NULL), LINEAGE_OK);
        assert_string_equal(ids_of(store, &(struct lineage_query){0}), more ? "001 " : "theirs 000 "); /* 000 was given */
        lineage_store_close(store);
    }
    remove_dir(other);
    remove_dir(dir);
    free(staged);
    free(header);
    free(theirs);
    free(ours);
}

/* ---- a header that was cut ------------------------------------------------------------------------------------------ */

static int empty_it(void *context, const char *call)
{
    if (strcmp(call, "flock") == 0)
        assert_int_equal(truncate(context, 0), 0);
    return 0;
}

/* The very first write was killed inside the header. The process that moved the partial header aside was killed too,
 * and the log is empty again. */
static void a_cut_header_is_forgotten_with_its_bytes(void **state)
{
    (void)state;
    char *dir = make_dir(), *path = join(dir, "results.tsv");
    struct lineage_trial trial = {.hypothesis = "h", .notes = "n", .status = LINEAGE_CRASH};
    write_file(path, "exp_id\tstatus\tcore_met", 22);
    struct lineage_store *store = open_store(dir, LINEAGE_HIGHER, NULL);
    assert_string_equal(ids_of(store, &(struct lineage_query){0}), "");
    fs_set_fault(empty_it, path);
    assert_int_equal(lineage_store_append(store, &trial, NULL, NULL, &err), LINEAGE_OK);
    fs_set_fault(NULL, NULL);
    assert_string_equal(ids_of(store, &(struct lineage_query){0}), "000 ");
    lineage_store_close(store);
    remove_dir(dir);
    free(path);
}

/* ---- an index that failed ------------------------------------------------------------------------------------------ */

static int second_read_fails(void *context, const char *call)
{
    int *n = context;
    return strcmp(call, "read") == 0 && ++*n == 2 ? 5 : 0;
}

/* If the first reading fails after the header, the handle must forget the header; otherwise the next reading would
 * take the header for a row. */
static void a_header_is_read_once(void **state)
{
    (void)state;
    char *dir = make_dir(), *long_text = malloc(5000001);
    struct lineage_open_options options = {.no_mirror = false};
    struct lineage_store *store;
    int reads = 0;
    size_t n;
    assert_non_null(long_text);
    memset(long_text, 'x', 5000000);
    long_text[5000000] = '\0';
    add_rows(dir, (const struct row[]){{"000", "s", .status = "keep", .metric = "3", .notes = long_text}, {.id = NULL}});
    assert_int_equal(lineage_store_open(&store, dir, &options, &err), LINEAGE_OK);
    fs_set_fault(second_read_fails, &reads);
    assert_int_not_equal(lineage_findings(store, NULL, NULL, &err), LINEAGE_OK);
    fs_set_fault(NULL, NULL);
    struct heard heard = {0};
    assert_int_equal(lineage_findings(store, hear_finding, &heard, &err), LINEAGE_OK);
    assert_int_equal(heard.n, 0);
    assert_int_equal(lineage_verify(store, &n, NULL, NULL, &err), LINEAGE_OK);
    assert_int_equal(n, 0);
    lineage_store_close(store);
    remove_dir(dir);
    free(long_text);
}

/* ---- the staged file after a crash of the machine ------------------------------------------------------------------ */

struct order {
    bool fail_append; /* the sync of the log fails, so the row is refused */
    bool removed, durable;
    const char *before;
};

/* Notes whether the next call after the removal of the staged file syncs the directory. */
static int note_order(void *context, const char *call)
{
    struct order *order = context;
    const bool unlinked = order->before && strcmp(order->before, "unlink") == 0;
    order->removed = order->removed || unlinked;
    order->durable = order->durable || (unlinked && strcmp(call, "fsync") == 0);
    order->before = call;
    return strcmp(call, "fdatasync") == 0 && order->fail_append ? EIO : 0;
}

/* Otherwise a crash could bring the staged file back after later rows were acknowledged at its place, and the next claim
 * would take these rows for a part of it. */
static void the_removal_of_a_staged_file_is_durable(void **state)
{
    (void)state;
    for (int refused = 0; refused < 2; refused++) {
        char *dir = make_dir();
        struct order order = {.fail_append = refused};
        add_rows(dir, first);
        struct lineage_store *store = open_store(dir, LINEAGE_HIGHER, NULL);
        fs_set_fault(note_order, &order);
        enum lineage_status status = append(store, "two\nlines", NULL);
        fs_set_fault(NULL, NULL);
        assert_int_equal(status, refused ? LINEAGE_EIO : LINEAGE_OK);
        assert_true(order.removed && order.durable);
        assert_false(file_exists(in_dir(dir, "results.tsv.import")));
        lineage_store_close(store);
        remove_dir(dir);
    }
}

/* The next claim removes the staged file of a killed append in the same way. */
static void a_claim_removes_a_staged_file_durably(void **state)
{
    (void)state;
    char *dir = make_dir(), *staged = row_text("b", "imported");
    struct order order = {.fail_append = false};
    add_rows(dir, first);
    cut_off(dir, staged, strlen(staged) - 9);
    struct lineage_store *store = open_store(dir, LINEAGE_HIGHER, NULL);
    fs_set_fault(note_order, &order);
    assert_int_equal(append(store, "later", NULL), LINEAGE_OK);
    fs_set_fault(NULL, NULL);
    assert_true(order.removed && order.durable);
    assert_false(file_exists(in_dir(dir, "results.tsv.import")));
    lineage_store_close(store);
    remove_dir(dir);
    free(staged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_taken_back_while_waiting_are_forgotten),
        cmocka_unit_test(a_handle_that_left_the_log_so_makes_the_mirror_anew),
        cmocka_unit_test(a_mirror_that_others_hold_is_made_anew_later),
        cmocka_unit_test(a_row_in_the_place_of_a_cut_one_stays),
        cmocka_unit_test(a_refused_row_that_was_seen_is_forgotten),
        cmocka_unit_test(a_row_with_a_line_end_in_it_is_staged),
        cmocka_unit_test(rows_of_others_behind_a_cut_one_survive),
        cmocka_unit_test(a_header_stays_for_the_rows_of_others),
        cmocka_unit_test(a_cut_header_is_forgotten_with_its_bytes),
        cmocka_unit_test(a_header_is_read_once),
        cmocka_unit_test(the_removal_of_a_staged_file_is_durable),
        cmocka_unit_test(a_claim_removes_a_staged_file_durably),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
