/*
 * Tests that the bytes of a log do not change when they are exported from a store and imported into another, whatever
 * they contain and whichever process is killed.
 */
#include "support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lineage/move.h>

#include "files/fs.h"
#include "support/file_fault.h"
#include "support/files.h"
#include "support/rows.h"

/* Rows with every kind of damage, a last row without line end, and more bytes than one read returns. */
#define DAMAGED "short\trow\r\n\n\xff\xfe\t\tno text\nexp\t\"a cell\nof two lines\"\n\ttoo\tmany\rlone\n\"never closed\ttorn"

struct places {
    char *from, *to;
};

static struct lineage_error err;

static int set_up(void **state)
{
    struct places *p = malloc(sizeof *p);
    *p = (struct places){make_dir(), make_dir()};
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct places *p = *state;
    remove_dir(p->from);
    remove_dir(p->to);
    free(p);
    return 0;
}

static void fill(const char *dir, unsigned rows)
{
    static const struct row row[] = {{.id = "x", .specialist = "s", .status = "keep", .metric = "1.0", .notes = "alpha=0.3"},
                                     {.id = NULL}};
    for (unsigned i = 0; i < rows; i++)
        add_rows(dir, row);
    add_bytes(dir, DAMAGED);
}

static void assert_same_bytes(const char *a, const char *b)
{
    size_t n, m;
    char *one = read_file(a, &n), *other = read_file(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(one, other, n);
    free(one);
    free(other);
}

static void export_into(const char *dir, const char *path)
{
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_export_file(store, path, &err), LINEAGE_OK);
    lineage_store_close(store);
}

static enum lineage_status import_from(const char *dir, const char *path, uint64_t *n)
{
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    enum lineage_status status = lineage_import_exact(store, path, n, &err);
    lineage_store_close(store);
    return status;
}

static void all_of_it_comes_back(void **state)
{
    struct places *p = *state;
    uint64_t n;
    fill(p->from, 30000); /* too long for one read */
    char *copy = join(p->to, "copy"), *there = join(p->to, "results.tsv"), *here = join(p->from, "results.tsv");
    export_into(p->from, copy);
    assert_same_bytes(here, copy);
    assert_int_equal(import_from(p->to, copy, &n), LINEAGE_OK);
    assert_same_bytes(here, there);
    assert_true(n > 1 << 20);
    assert_int_equal(import_from(p->to, copy, &n), LINEAGE_OK);
    assert_int_equal(n, 0);
    free(copy);
    free(there);
    free(here);
}

/* Only new rows are added, after the existing ones. A store with rows of its own is a different store, so the import
 * fails. */
static void the_rest_is_added_and_nothing_else(void **state)
{
    struct places *p = *state;
    uint64_t n;
    char *there = join(p->to, "results.tsv"), *here = join(p->from, "results.tsv");
    fill(p->from, 1);
    assert_int_equal(import_from(p->to, here, &n), LINEAGE_OK);
    add_bytes(p->from, " and its rest\"\nmore\n");
    assert_int_equal(import_from(p->to, here, &n), LINEAGE_OK);
    assert_int_equal(n, 20);
    assert_same_bytes(here, there);
    add_bytes(p->to, "its own\n");
    assert_int_equal(import_from(p->to, here, &n), LINEAGE_EEXIST);
    add_bytes(p->from, "another\n");
    assert_int_equal(import_from(p->to, here, &n), LINEAGE_EEXIST);
    assert_int_equal(n, 0);
    free(there);
    free(here);
}

static void an_empty_store_is_an_empty_file(void **state)
{
    struct places *p = *state;
    uint64_t n;
    struct stat st;
    char *copy = join(p->to, "copy");
    export_into(p->from, copy);
    assert_int_equal(stat(copy, &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(import_from(p->to, copy, &n), LINEAGE_OK);
    assert_false(file_exists(in_dir(p->to, "results.tsv")));
    free(copy);
}

static void the_log_itself_is_no_place_for_it(void **state)
{
    struct places *p = *state;
    fill(p->from, 1);
    char *here = join(p->from, "results.tsv"), *link_there = join(p->to, "link");
    struct lineage_store *store = open_store(p->from, LINEAGE_LOWER, NULL);
    assert_int_equal(symlink(here, link_there), 0);
    assert_int_equal(lineage_export_file(store, here, &err), LINEAGE_EINVAL);
    assert_int_equal(lineage_export_file(store, link_there, &err), LINEAGE_EINVAL);
    assert_int_equal(lineage_export_file(store, in_dir(p->to, "no/dir"), &err), LINEAGE_EIO);
    lineage_store_close(store);
    free(here);
    free(link_there);
}

static void a_file_that_is_there_keeps_its_mode(void **state)
{
    struct places *p = *state;
    struct stat st;
    fill(p->from, 1);
    char *copy = join(p->to, "copy"), *link_there = join(p->to, "link");
    write_file(copy, "old", 3);
    assert_int_equal(chmod(copy, 0640), 0);
    assert_int_equal(symlink("copy", link_there), 0);
    export_into(p->from, link_there);
    assert_int_equal(lstat(link_there, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(copy, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_true(st.st_size > 3);
    free(copy);
    free(link_there);
}

static bool stop_at_once(void *context, const void *bytes, size_t n)
{
    (void)context;
    (void)bytes;
    (void)n;
    return false;
}

static void a_reader_may_stop(void **state)
{
    struct places *p = *state;
    fill(p->from, 1);
    struct lineage_store *store = open_store(p->from, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_export(store, stop_at_once, NULL, &err), LINEAGE_ECANCELLED);
    lineage_store_close(store);
}

static bool cut_the_log(void *context, const void *bytes, size_t n)
{
    (void)bytes;
    (void)n;
    return truncate(context, 100) == 0;
}

static void a_log_that_shrinks_is_a_failure(void **state)
{
    struct places *p = *state;
    fill(p->from, 30000);
    char *here = join(p->from, "results.tsv");
    struct lineage_store *store = open_store(p->from, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_export(store, cut_the_log, here, &err), LINEAGE_EIO);
    lineage_store_close(store);
    free(here);
}

/* ---- each call failing, doing half its work, or being the last ---- */

enum { SOUND, REFUSED, NOT_HIT, KILLED };

/* Runs in a child, with the mirror in memory, because other tests cover the mirror on disk. */
static int move_with_fault(const char *dir, const char *path, bool in, struct file_fault fault)
{
    int state;
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct lineage_store *store = NULL;
        const struct lineage_open_options options = {.no_mirror = true};
        uint64_t n;
        enum lineage_status status = lineage_store_open(&store, dir, &options, &err);
        fs_set_fault(file_fault_strike, &fault);
        if (status == LINEAGE_OK)
            status = in ? lineage_import_exact(store, path, &n, &err) : lineage_export_file(store, path, &err);
        fs_set_fault(NULL, NULL);
        lineage_store_close(store);
        leave(!fault.hit ? NOT_HIT : status == LINEAGE_OK ? SOUND : REFUSED);
    }
    assert_int_equal(waitpid(child, &state, 0), child);
    return WIFEXITED(state) ? WEXITSTATUS(state) : KILLED;
}

static const int whats[] = {0, EIO, FS_FAULT_SHORT};

static void an_export_is_whole_or_as_it_was(void **state)
{
    struct places *p = *state;
    fill(p->from, 3);
    char *copy = join(p->to, "copy"), *here = join(p->from, "results.tsv");
    for (size_t w = 0; w < sizeof whats / sizeof *whats; w++)
        for (unsigned n = 1;; n++) {
            size_t length;
            write_file(copy, "old", 3);
            int outcome = move_with_fault(p->from, copy, false, (struct file_fault){n, whats[w], false});
            char *text = read_file(copy, &length);
            bool old = length == 3 && memcmp(text, "old", 3) == 0;
            free(text);
            if (!old)
                assert_same_bytes(here, copy);
            assert_false(old && (outcome == SOUND || outcome == NOT_HIT));
            char **left = list_dir(p->to, "copy.");
            /* Only a killed process may leave a temporary file. */
            assert_true(outcome == KILLED || !left[0]);
            for (size_t i = 0; left[i]; i++)
                remove(in_dir(p->to, left[i]));
            free_list(left);
            if (outcome == NOT_HIT)
                break;
        }
    free(copy);
    free(here);
}

static void an_import_is_whole_or_nothing(void **state)
{
    struct places *p = *state;
    uint64_t added;
    fill(p->from, 3);
    char *here = join(p->from, "results.tsv");
    for (size_t w = 0; w < sizeof whats / sizeof *whats; w++)
        for (unsigned n = 1;; n++) {
            char *to = make_dir();
            int outcome = move_with_fault(to, here, true, (struct file_fault){n, whats[w], false});
            if (outcome == SOUND || outcome == NOT_HIT) {
                char *there = join(to, "results.tsv");
                assert_same_bytes(here, there);
                free(there);
            }
            /* First takes back a partial import. */
            assert_int_equal(import_from(to, here, &added), LINEAGE_OK);
            char *there = join(to, "results.tsv");
            assert_same_bytes(here, there);
            free(there);
            remove_dir(to);
            if (outcome == NOT_HIT)
                break;
        }
    free(here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_of_it_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_rest_is_added_and_nothing_else, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_store_is_an_empty_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_log_itself_is_no_place_for_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_is_there_keeps_its_mode, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reader_may_stop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_log_that_shrinks_is_a_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_export_is_whole_or_as_it_was, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_import_is_whole_or_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
