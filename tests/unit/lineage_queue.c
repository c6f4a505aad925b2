/* Tests claims in a directory: a worker takes, keeps, loses or gives up the claim of a trial of a night. */
#include "support/last_words.h"
#include "support/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <lineage/queue.h>

#include "support/files.h"

enum { LONG = 1000 };

static struct lineage_error err;
static const uint64_t keys[] = {0xfedcba9876543210, 2, 3};

struct place {
    char *dir;
    struct lineage_store *store;
    /* Two workers of one process. The files do not show that they share a process. */
    struct lineage_queue *a, *b;
};

static int set_up(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->dir = make_dir();
    assert_int_equal(lineage_store_open(&p->store, p->dir, NULL, &err), LINEAGE_OK);
    assert_int_equal(lineage_queue_open(&p->a, p->store, &err), LINEAGE_OK);
    assert_int_equal(lineage_queue_open(&p->b, p->store, &err), LINEAGE_OK);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    lineage_queue_close(p->a);
    lineage_queue_close(p->b);
    lineage_queue_close(NULL);
    lineage_store_close(p->store);
    remove_dir(p->dir);
    free(p);
    return 0;
}

static void pause_for(double seconds)
{
    const struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

static enum lineage_status take_of(struct lineage_queue *queue, double lease, size_t at_most, size_t n, size_t *which,
                                   struct lineage_claim *claim)
{
    const struct lineage_claim_request request = {"s", keys, n, lease, at_most};
    return lineage_queue_claim(queue, &request, which, claim, &err);
}

/* Claims the only key that is requested, and checks the number of the attempt. */
static struct lineage_claim take(struct lineage_queue *queue, double lease, uint64_t attempt)
{
    struct lineage_claim claim;
    size_t which = 9;
    assert_int_equal(take_of(queue, lease, 0, 1, &which, &claim), LINEAGE_OK);
    assert_int_equal(which, 0);
    assert_int_equal(claim.attempt, attempt);
    return claim;
}

static void refuse(struct lineage_queue *queue)
{
    struct lineage_claim claim;
    size_t which;
    assert_int_equal(take_of(queue, LONG, 0, 1, &which, &claim), LINEAGE_ENOTFOUND);
}

static bool add_line(void *context, const struct lineage_claim *claim)
{
    char *out = context, line[320];
    snprintf(line, sizeof line, "%llx %s %llu %s%s%.40s|", (unsigned long long)claim->key, claim->night,
             (unsigned long long)claim->attempt, claim->free ? "free" : "held", *claim->about ? " " : "", claim->about);
    strcat(out, line);
    return true;
}

static void assert_claims(struct lineage_queue *queue, const char *want)
{
    char got[2048] = "";
    assert_int_equal(lineage_queue_each(queue, add_line, got, &err), LINEAGE_OK);
    assert_string_equal(got, want);
}

static void each_worker_has_its_own_trial(void **state)
{
    struct place *p = *state;
    struct lineage_claim first, second, third, none;
    char name[LINEAGE_WORKER_MAX] = "", pid[24];
    size_t which;
    char *checkpoints = join(p->dir, "checkpoints");
    assert_claims(p->a, "");
    assert_false(file_exists(checkpoints)); /* asking creates no directory */
    free(checkpoints);
    assert_int_equal(take_of(p->a, LONG, 0, 3, &which, &first), LINEAGE_OK);
    assert_int_equal(which, 0);
    assert_int_equal(take_of(p->b, LONG, 0, 3, &which, &second), LINEAGE_OK);
    assert_int_equal(which, 1);
    assert_int_equal(take_of(p->a, LONG, 0, 3, &which, &third), LINEAGE_OK);
    assert_int_equal(which, 2);
    assert_int_equal(take_of(p->b, LONG, 0, 3, &which, &none), LINEAGE_ENOTFOUND);
    assert_claims(p->b, "2 s 1 held|3 s 1 held|fedcba9876543210 s 1 held|");
    gethostname(name, sizeof name - 1);
    snprintf(pid, sizeof pid, ":%d", (int)getpid());
    assert_string_equal(strcat(name, pid), first.worker);
    assert_int_equal(lineage_queue_release(p->b, &second, LINEAGE_CLAIM_DONE, &err), LINEAGE_OK);
    assert_int_equal(lineage_queue_release(p->a, &third, LINEAGE_CLAIM_GIVEN_UP, &err), LINEAGE_OK);
    assert_claims(p->b, "3 s 1 free|fedcba9876543210 s 1 held|");
    assert_int_equal(take_of(p->b, LONG, 0, 3, &which, &second), LINEAGE_OK);
    assert_int_equal(which, 1);
    assert_int_equal(second.attempt, 1);
    assert_int_equal(take_of(p->b, LONG, 0, 3, &which, &third), LINEAGE_OK);
    assert_int_equal(third.attempt, 2); /* an attempt had begun */
    lineage_queue_leave(&first);
    lineage_queue_leave(&second);
    lineage_queue_leave(&third);
}

static void no_more_are_held_than_asked_for(void **state)
{
    struct place *p = *state;
    struct lineage_claim first, second, other;
    size_t which;
    const struct lineage_claim_request of_another = {"another", keys + 1, 1, LONG, 1};
    assert_int_equal(take_of(p->a, LONG, 1, 3, &which, &first), LINEAGE_OK);
    assert_int_equal(take_of(p->b, LONG, 1, 3, &which, &second), LINEAGE_ENOTFOUND);
    assert_int_equal(lineage_queue_claim(p->b, &of_another, &which, &other, &err), LINEAGE_OK);
    assert_int_equal(take_of(p->b, LONG, 2, 3, &which, &second), LINEAGE_OK);
    assert_int_equal(which, 2);
    lineage_queue_leave(&first); /* as if the worker had been killed */
    assert_int_equal(take_of(p->b, LONG, 2, 3, &which, &first), LINEAGE_OK);
    assert_int_equal(which, 0);
    lineage_queue_leave(&first);
    lineage_queue_leave(&second);
    lineage_queue_leave(&other);
}

/* The worker was only stopped. When it continues, it notices that its lease ended, and takes nothing away from the
 * worker that claimed the trial after it. */
static void a_lease_that_ended_is_anothers(void **state)
{
    struct place *p = *state;
    struct lineage_claim late = take(p->a, 0.02, 1), next;
    pause_for(0.05);
    assert_claims(p->b, "fedcba9876543210 s 1 free|");
    assert_int_equal(lineage_queue_renew(p->a, &late, LONG, NULL, &err), LINEAGE_OK); /* no other worker came */
    refuse(p->b);
    assert_int_equal(lineage_queue_renew(p->a, &late, 0.02, NULL, &err), LINEAGE_OK);
    pause_for(0.05);
    next = take(p->b, LONG, 2);
    assert_int_equal(lineage_queue_renew(p->a, &late, LONG, NULL, &err), LINEAGE_ENOTFOUND);
    assert_int_equal(lineage_queue_release(p->a, &late, LINEAGE_CLAIM_DONE, &err), LINEAGE_OK);
    assert_int_equal(late.hold, -1);
    assert_claims(p->a, "fedcba9876543210 s 2 held|");
    assert_int_equal(lineage_queue_renew(p->b, &next, LONG, "{\"name\": \"t\"}", &err), LINEAGE_OK);
    assert_claims(p->a, "fedcba9876543210 s 2 held {\"name\": \"t\"}|");
    assert_int_equal(lineage_queue_release(p->b, &next, LINEAGE_CLAIM_DONE, &err), LINEAGE_OK);
    assert_claims(p->a, "");
}

static _Noreturn void hold_until_killed(const char *dir, int ready)
{
    struct lineage_store *store;
    struct lineage_queue *queue;
    struct lineage_claim claim;
    const struct lineage_claim_request request = {"s", keys, 1, LONG, 0};
    size_t which;
    bool held = lineage_store_open(&store, dir, NULL, NULL) == LINEAGE_OK &&
                lineage_queue_open(&queue, store, NULL) == LINEAGE_OK &&
                lineage_queue_claim(queue, &request, &which, &claim, NULL) == LINEAGE_OK;
    if (write(ready, held ? "+" : "-", 1) == 1)
        pause();
    _exit(1);
}

static void who_was_killed_holds_nothing(void **state)
{
    struct place *p = *state;
    int ready[2];
    char held = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0)
        hold_until_killed(p->dir, ready[1]);
    assert_int_equal(read(ready[0], &held, 1), 1);
    assert_int_equal(held, '+');
    refuse(p->a);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_claims(p->a, "fedcba9876543210 s 1 free|");
    struct lineage_claim claim = take(p->a, LONG, 2);
    lineage_queue_leave(&claim);
    close(ready[0]);
    close(ready[1]);
}

/* In a night with several jobs, the child process that runs the trial takes over its claim. */
static void a_claim_goes_over_to_a_child(void **state)
{
    struct place *p = *state;
    struct lineage_claim claim = take(p->a, LONG, 1);
    int over[2];
    assert_int_equal(pipe(over), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct lineage_store *store;
        struct lineage_queue *queue;
        char go;
        bool told = lineage_queue_renew(p->a, &claim, LONG, NULL, &err) == LINEAGE_EINVAL; /* the parent's handle */
        bool renewed = lineage_store_open(&store, p->dir, NULL, NULL) == LINEAGE_OK &&
                       lineage_queue_open(&queue, store, NULL) == LINEAGE_OK &&
                       lineage_queue_renew(queue, &claim, LONG, "mine", NULL) == LINEAGE_OK;
        close(over[1]);
        if (read(over[0], &go, 1) == 0)
            leave(told && renewed ? 0 : 1);
        leave(2);
    }
    lineage_queue_leave(&claim);
    for (int i = 0; i < 1000; i++) {
        char got[2048] = "";
        assert_int_equal(lineage_queue_each(p->a, add_line, got, &err), LINEAGE_OK);
        if (strcmp(got, "fedcba9876543210 s 1 held mine|") == 0)
            break;
        pause_for(0.01);
    }
    assert_claims(p->a, "fedcba9876543210 s 1 held mine|");
    refuse(p->b);
    int state_of_child;
    close(over[0]);
    close(over[1]);
    waitpid(pid, &state_of_child, 0);
    assert_true(WIFEXITED(state_of_child) && WEXITSTATUS(state_of_child) == 0);
    claim = take(p->b, LONG, 2);
    lineage_queue_leave(&claim);
}

static void leavings_of_kills_are_in_nobodys_way(void **state)
{
    struct place *p = *state;
    struct lineage_claim claim = take(p->a, LONG, 1);
    char *made = join(p->dir, "checkpoints/.claim-new"), *file = join(p->dir, "checkpoints/fedcba9876543210.claim"),
         *other = join(p->dir, "checkpoints/fedcba9876543210.ckpt");
    write_file(other, "x", 1);
    write_file(made, "half of", 7);
    lineage_queue_leave(&claim);
    write_file(file, "{\"worker\": \"cut off", 18);
    assert_claims(p->a, "fedcba9876543210  0 free|");
    claim = take(p->a, LONG, 1);
    assert_claims(p->a, "fedcba9876543210 s 1 held|");
    lineage_queue_leave(&claim);
    write_file(file, "", 0);
    claim = take(p->a, LONG, 1);
    lineage_queue_leave(&claim);
    claim = (struct lineage_claim){.key = keys[0], .attempt = 1, .free = true, .hold = -1};
    /* Removes the claim that was left. */
    assert_int_equal(lineage_queue_release(p->b, &claim, LINEAGE_CLAIM_DONE, &err), LINEAGE_OK);
    assert_claims(p->a, "");
    assert_true(file_exists(other));
    free(made);
    free(file);
    free(other);
}

/* A process that is stopped in the middle of a claim does not block the other workers for ever. */
static void nobody_waits_for_ever(void **state)
{
    struct place *p = *state;
    struct lineage_claim claim = take(p->a, LONG, 1), none;
    size_t which;
    char *path = join(p->dir, "checkpoints/.claims");
    int fd = open(path, O_RDWR);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(lineage_queue_renew(p->a, &claim, LONG, NULL, &err), LINEAGE_ELOCKED);
    assert_int_equal(take_of(p->b, LONG, 0, 3, &which, &none), LINEAGE_ELOCKED);
    assert_non_null(strstr(err.text, "by a process that does not go on"));
    assert_claims(p->b, "fedcba9876543210 s 1 held|"); /* readers do not wait */
    close(fd);
    assert_int_equal(lineage_queue_renew(p->a, &claim, LONG, NULL, &err), LINEAGE_OK);
    lineage_queue_leave(&claim);
    free(path);
}

static void what_is_no_request_is_refused(void **state)
{
    struct place *p = *state;
    struct lineage_claim claim;
    size_t which;
    char text[LINEAGE_CLAIM_ABOUT_MAX + 1];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(take_of(p->a, 0, 0, 1, &which, &claim), LINEAGE_EINVAL);
    assert_int_equal(claim.hold, -1);
    const struct lineage_claim_request request = {text, keys, 1, LONG, 0};
    assert_int_equal(lineage_queue_claim(p->a, &request, &which, &claim, &err), LINEAGE_EINVAL);
    const struct lineage_claim_request nothing = {"s", NULL, 0, LONG, 0};
    assert_int_equal(lineage_queue_claim(p->a, &nothing, &which, &claim, &err), LINEAGE_ENOTFOUND);
    const struct lineage_claim_request no_text = {"\xff", keys, 1, LONG, 0};
    assert_int_equal(lineage_queue_claim(p->a, &no_text, &which, &claim, &err), LINEAGE_EINVAL);
    assert_claims(p->a, "");
    claim = take(p->a, LONG, 1);
    assert_int_equal(lineage_queue_renew(p->a, &claim, LONG, text, &err), LINEAGE_EINVAL);
    text[LINEAGE_CLAIM_ABOUT_MAX - 1] = '\0';
    assert_int_equal(lineage_queue_renew(p->a, &claim, LONG, text, &err), LINEAGE_OK);
    assert_int_equal(strlen(claim.about), LINEAGE_CLAIM_ABOUT_MAX - 1);
    lineage_queue_leave(&claim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(each_worker_has_its_own_trial, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(no_more_are_held_than_asked_for, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(a_lease_that_ended_is_anothers, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(who_was_killed_holds_nothing, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(a_claim_goes_over_to_a_child, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(leavings_of_kills_are_in_nobodys_way, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(nobody_waits_for_ever, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(what_is_no_request_is_refused, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
