/*
 * Tests waiting for other workers' trials, in a directory: what ends the wait and what does not. A wait that nothing
 * should end has a timeout longer than the test may take.
 */
#include "support/last_words.h"
#include "support/unit.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lineage/queue.h>

#include "files/fs.h"
#include "support/files.h"

static const double never = 100000;

static struct lineage_error err;
static const uint64_t keys[] = {1, 2, 3};

struct place {
    char *dir;
    struct lineage_store *store, *others;
    struct lineage_queue *queue, *other;
    struct lineage_claim held; /* claimed by the other worker */
};

static int set_up(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    const struct lineage_claim_request request = {"s", keys, 1, never, 0};
    size_t which;
    assert_non_null(p);
    p->dir = make_dir();
    assert_int_equal(lineage_store_open(&p->store, p->dir, NULL, &err), LINEAGE_OK);
    assert_int_equal(lineage_store_open(&p->others, p->dir, NULL, &err), LINEAGE_OK);
    assert_int_equal(lineage_queue_open(&p->queue, p->store, &err), LINEAGE_OK);
    assert_int_equal(lineage_queue_open(&p->other, p->others, &err), LINEAGE_OK);
    assert_int_equal(lineage_queue_claim(p->other, &request, &which, &p->held, &err), LINEAGE_OK);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    fs_set_fault(NULL, NULL);
    lineage_queue_leave(&p->held);
    lineage_queue_close(p->queue);
    lineage_queue_close(p->other);
    lineage_store_close(p->store);
    lineage_store_close(p->others);
    remove_dir(p->dir);
    free(p);
    return 0;
}

static bool has_news(struct place *p, double seconds)
{
    bool news;
    assert_int_equal(lineage_queue_wait(p->queue, seconds, NULL, 0, &news, &err), LINEAGE_OK);
    return news;
}

static void add_row(struct place *p)
{
    const struct lineage_trial trial = {.specialist = "x", .hypothesis = "h", .status = LINEAGE_CRASH};
    struct lineage_append_options options = {.no_sync = true};
    assert_int_equal(lineage_store_append(p->others, &trial, &options, NULL, &err), LINEAGE_OK);
}

static void a_row_is_news(void **state)
{
    struct place *p = *state;
    assert_true(has_news(p, never)); /* the first wait starts listening */
    assert_false(has_news(p, 0));
    assert_false(has_news(p, 0.05));
    add_row(p); /* the first row creates the file */
    assert_true(has_news(p, never));
    add_row(p);
    assert_true(has_news(p, never));
    assert_false(has_news(p, 0));
}

static void so_is_another_file_in_the_place_of_the_log(void **state)
{
    struct place *p = *state;
    char *results = join(p->dir, "results.tsv"), *other = join(p->dir, "other");
    add_row(p);
    has_news(p, 0);
    copy_file(results, other);
    assert_false(has_news(p, 0)); /* changes of other files are ignored */
    assert_int_equal(rename(other, results), 0);
    assert_true(has_news(p, never));
    add_row(p);
    assert_true(has_news(p, never));
    free(results);
    free(other);
}

static void a_claim_that_is_released_is_news(void **state)
{
    struct place *p = *state;
    const struct lineage_claim_request request = {"s", keys, 1, never, 0};
    size_t which;
    has_news(p, 0);
    assert_int_equal(lineage_queue_renew(p->other, &p->held, never, "at step 3", &err), LINEAGE_OK);
    assert_false(has_news(p, 0.05)); /* a renewed claim is not news */
    assert_int_equal(lineage_queue_release(p->other, &p->held, LINEAGE_CLAIM_GIVEN_UP, &err), LINEAGE_OK);
    assert_true(has_news(p, never));
    assert_int_equal(lineage_queue_claim(p->other, &request, &which, &p->held, &err), LINEAGE_OK);
    while (has_news(p, 0.05))
        ; /* skip the news of the claim */
    assert_int_equal(lineage_queue_release(p->other, &p->held, LINEAGE_CLAIM_DONE, &err), LINEAGE_OK);
    assert_true(has_news(p, never));
}

static void so_is_one_whose_holder_was_killed(void **state)
{
    struct place *p = *state;
    const struct lineage_claim_request request = {"s", keys + 1, 1, never, 0};
    int ready[2];
    char held = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct lineage_store *store;
        struct lineage_queue *queue;
        struct lineage_claim claim;
        size_t which;
        bool has = lineage_store_open(&store, p->dir, NULL, NULL) == LINEAGE_OK &&
                   lineage_queue_open(&queue, store, NULL) == LINEAGE_OK &&
                   lineage_queue_claim(queue, &request, &which, &claim, NULL) == LINEAGE_OK;
        if (write(ready[1], has ? "+" : "-", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &held, 1), 1);
    assert_int_equal(held, '+');
    has_news(p, 0);
    while (has_news(p, 0.05))
        ;
    kill(pid, SIGKILL);
    assert_true(has_news(p, never));
    waitpid(pid, NULL, 0);
    close(ready[0]);
    close(ready[1]);
}

static void the_end_of_a_lease_is_news(void **state)
{
    struct place *p = *state;
    const struct lineage_claim_request request = {"s", keys, 1, never, 0};
    struct lineage_claim claim;
    size_t which;
    has_news(p, 0);
    assert_int_equal(lineage_queue_renew(p->other, &p->held, 0.2, NULL, &err), LINEAGE_OK);
    assert_true(has_news(p, never));
    assert_int_equal(lineage_queue_claim(p->queue, &request, &which, &claim, &err), LINEAGE_OK);
    lineage_queue_leave(&claim);
}

/* Taking a claim stops listening. The next wait therefore listens anew and returns news. */
static void what_happened_during_a_trial_is_asked_for(void **state)
{
    struct place *p = *state;
    const struct lineage_claim_request request = {"s", keys + 1, 1, never, 0};
    struct lineage_claim claim;
    size_t which;
    has_news(p, 0);
    assert_false(has_news(p, 0));
    assert_int_equal(lineage_queue_claim(p->queue, &request, &which, &claim, &err), LINEAGE_OK);
    assert_true(has_news(p, never));
    lineage_queue_leave(&claim);
}

static void descriptors_of_the_caller_end_it_too(void **state)
{
    struct place *p = *state;
    int ends[2], others[2];
    bool news;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(others), 0);
    struct pollfd fds[] = {{.fd = others[0], .events = POLLIN}, {.fd = ends[0], .events = POLLIN}};
    has_news(p, 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(lineage_queue_wait(p->queue, INFINITY, fds, 2, &news, &err), LINEAGE_OK);
    assert_false(news);
    assert_int_equal(fds[0].revents, 0);
    assert_int_equal(fds[1].revents, POLLIN);
    add_row(p); /* a row and a descriptor at once */
    assert_int_equal(lineage_queue_wait(p->queue, INFINITY, fds, 2, &news, &err), LINEAGE_OK);
    assert_int_equal(fds[1].revents, POLLIN);
    for (int i = 0; i < 2; i++)
        assert_int_equal(close(ends[i]) | close(others[i]), 0);
}

static int no_inotify(void *context, const char *call)
{
    (void)context;
    return strcmp(call, "watch") == 0 ? ENOSYS : 0;
}

/* Without inotify the wait ends after a second and reports news, whether or not anything changed. */
static void it_ends_without_inotify_too(void **state)
{
    struct place *p = *state;
    fs_set_fault(no_inotify, NULL);
    assert_true(has_news(p, never));
    assert_false(has_news(p, 0));
    assert_true(has_news(p, never));
}

static void a_child_may_not_wait_on_its_parents_handle(void **state)
{
    struct place *p = *state;
    pid_t pid = fork();
    bool news;
    if (pid == 0)
        leave(lineage_queue_wait(p->queue, 0, NULL, 0, &news, &err) == LINEAGE_EINVAL ? 0 : 1);
    int ended;
    waitpid(pid, &ended, 0);
    assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_row_is_news, set_up, tear_down),
        cmocka_unit_test_setup_teardown(so_is_another_file_in_the_place_of_the_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_claim_that_is_released_is_news, set_up, tear_down),
        cmocka_unit_test_setup_teardown(so_is_one_whose_holder_was_killed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_end_of_a_lease_is_news, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_happened_during_a_trial_is_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(descriptors_of_the_caller_end_it_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_ends_without_inotify_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_child_may_not_wait_on_its_parents_handle, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
