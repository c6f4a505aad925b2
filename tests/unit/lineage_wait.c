/* Tests waiting for a log to change, and what is reported as new: with inotify and without, and whatever happens to
 * the file. */
#include "support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <lineage/move.h>

#include "files/fs.h"
#include "support/files.h"
#include "support/last_words.h"
#include "support/rows.h"

struct waiting {
    char *dir;
    struct lineage_store *store;
};

static const struct row one[] = {{.id = "x", .status = "keep", .metric = "1.0"}, {.id = NULL}};
static struct lineage_error err;

static int set_up(void **state)
{
    struct waiting *w = malloc(sizeof *w);
    w->dir = make_dir();
    w->store = open_store(w->dir, LINEAGE_LOWER, NULL);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct waiting *w = *state;
    lineage_store_close(w->store);
    remove_dir(w->dir);
    free(w);
    return 0;
}

static int no_inotify(void *context, const char *call)
{
    (void)context;
    return strcmp(call, "watch") == 0 ? EMFILE : 0;
}

static int set_up_without_inotify(void **state)
{
    fs_set_fault(no_inotify, NULL);
    return set_up(state);
}

static int tear_down_without_inotify(void **state)
{
    fs_set_fault(NULL, NULL);
    return tear_down(state);
}

static bool has_news(struct waiting *w, double seconds)
{
    bool news;
    assert_int_equal(lineage_store_wait(w->store, seconds, &news, &err), LINEAGE_OK);
    return news;
}

static void the_first_call_answers_at_once(void **state)
{
    assert_true(has_news(*state, -1));
    assert_false(has_news(*state, 0));
    assert_false(has_news(*state, 0.02));
}

static void each_change_is_news_once(void **state)
{
    struct waiting *w = *state;
    char *results = join(w->dir, "results.tsv"), *other = join(w->dir, "other");
    has_news(w, 0);
    add_rows(w->dir, one); /* the first row creates the file */
    assert_true(has_news(w, 30));
    assert_false(has_news(w, 0));
    add_rows(w->dir, one);
    assert_true(has_news(w, 30));
    copy_file(results, other);
    assert_int_equal(rename(other, results), 0); /* another file with the same bytes */
    assert_true(has_news(w, 30));
    add_rows(w->dir, one); /* appended to the new file */
    assert_true(has_news(w, 30));
    assert_int_equal(remove(results), 0);
    assert_true(has_news(w, 30));
    assert_false(has_news(w, 0));
    free(results);
    free(other);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Another process appends a row while this one waits, once in each round. */
static void a_row_ends_the_wait(void **state)
{
    struct waiting *w = *state;
    has_news(w, 0);
    for (int i = 0; i < 2; i++) {
        fflush(stdout);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
            add_rows(w->dir, one);
            leave(0);
        }
        double start = now();
        assert_true(has_news(w, 60));
        assert_true(now() - start < 30);
        assert_int_equal(waitpid(child, NULL, 0), child);
        /* The header and the row may arrive as two changes. */
        while (has_news(w, 0))
            ;
    }
}

static void a_forked_child_does_not_wait(void **state)
{
    struct waiting *w = *state;
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        bool news;
        leave(lineage_store_wait(w->store, 0, &news, &err) == LINEAGE_EINVAL ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- what is new ---- */

static const char *new_ids(struct waiting *w, uint64_t *after)
{
    struct lineage_cursor *cursor;
    uint64_t rows;
    assert_int_equal(lineage_new_trials(&cursor, w->store, *after, &rows, &err), LINEAGE_OK);
    *after = rows;
    return ids_of_cursor(cursor);
}

static void a_row_is_new_once(void **state)
{
    static const struct row more[] = {
        {.id = "y", .status = "keep", .metric = "1.0"}, {.id = "z", .status = "crash"}, {.id = NULL}};
    struct waiting *w = *state;
    uint64_t after = 0;
    assert_string_equal(new_ids(w, &after), "");
    add_rows(w->dir, one);
    assert_string_equal(new_ids(w, &after), "x ");
    assert_string_equal(new_ids(w, &after), "");
    add_rows(w->dir, more);
    assert_string_equal(new_ids(w, &after), "y z ");
    assert_int_equal(after, 3);
}

static void half_a_row_is_not_new(void **state)
{
    struct waiting *w = *state;
    uint64_t after = 0;
    add_rows(w->dir, one);
    add_bytes(w->dir, "y\t2026-01-01T00:00:00Z\t\t\t\t\thalf");
    assert_string_equal(new_ids(w, &after), "x ");
    add_bytes(w->dir, " a row\t\tkeep\t1.0\t\t\t\t\t\t\t\n");
    assert_string_equal(new_ids(w, &after), "y ");
}

static void rows_that_went_are_told_by_their_number(void **state)
{
    struct waiting *w = *state;
    uint64_t after = 9;
    add_rows(w->dir, one);
    assert_string_equal(new_ids(w, &after), "");
    assert_int_equal(after, 1);
    add_rows(w->dir, one);
    assert_string_equal(new_ids(w, &after), "x ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_call_answers_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_change_is_news_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_row_ends_the_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_first_call_answers_at_once, set_up_without_inotify, tear_down_without_inotify),
        cmocka_unit_test_setup_teardown(each_change_is_news_once, set_up_without_inotify, tear_down_without_inotify),
        cmocka_unit_test_setup_teardown(a_row_ends_the_wait, set_up_without_inotify, tear_down_without_inotify),
        cmocka_unit_test_setup_teardown(a_forked_child_does_not_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_row_is_new_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(half_a_row_is_not_new, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_that_went_are_told_by_their_number, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
