/* The watcher with each of its calls made to fail or to be interrupted, one further each time: whatever fails, it comes to an
 * end, leaves no process and no descriptor behind, and says what it did not see. Linked with --wrap of the calls. */
#include "support/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/files.h"
#include "trial/trial_watch.h"

static unsigned countdown;
static int error_given;
static bool *hit; /* shared with guardians, which are copies of this process */

/* Each call with the error that it can have: without memory, interrupted, without descriptors or processes. */
static bool strikes(int error)
{
    if (!countdown || error != error_given || --countdown)
        return false;
    *hit = true;
    errno = error_given;
    return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
int __real_pipe(int ends[2]);
int __real_pipe2(int ends[2], int flags);
pid_t __real_fork(void);
ssize_t __real_read(int fd, void *data, size_t length);
ssize_t __real_write(int fd, const void *data, size_t length);
int __real_poll(struct pollfd *fds, nfds_t n, int milliseconds);
pid_t __real_waitpid(pid_t pid, int *state, int options);
int __real_mkfifo(const char *path, mode_t mode);
DIR *__real_opendir(const char *path);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
int __wrap_pipe(int ends[2]);
int __wrap_pipe2(int ends[2], int flags);
pid_t __wrap_fork(void);
ssize_t __wrap_read(int fd, void *data, size_t length);
ssize_t __wrap_write(int fd, const void *data, size_t length);
int __wrap_poll(struct pollfd *fds, nfds_t n, int milliseconds);
pid_t __wrap_waitpid(pid_t pid, int *state, int options);
int __wrap_mkfifo(const char *path, mode_t mode);
DIR *__wrap_opendir(const char *path);

void *__wrap_malloc(size_t size) { return strikes(ENOMEM) ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t n, size_t size) { return strikes(ENOMEM) ? NULL : __real_calloc(n, size); }
void *__wrap_realloc(void *old, size_t size) { return strikes(ENOMEM) ? NULL : __real_realloc(old, size); }
int __wrap_pipe(int ends[2]) { return strikes(EMFILE) ? -1 : __real_pipe(ends); }
int __wrap_pipe2(int ends[2], int flags) { return strikes(EMFILE) ? -1 : __real_pipe2(ends, flags); }
pid_t __wrap_fork(void) { return strikes(EMFILE) ? -1 : __real_fork(); }
ssize_t __wrap_read(int fd, void *data, size_t length) { return strikes(EINTR) ? -1 : __real_read(fd, data, length); }
ssize_t __wrap_write(int fd, const void *data, size_t length) { return strikes(EINTR) ? -1 : __real_write(fd, data, length); }
int __wrap_poll(struct pollfd *fds, nfds_t n, int milliseconds) { return strikes(EINTR) ? -1 : __real_poll(fds, n, milliseconds); }
pid_t __wrap_waitpid(pid_t pid, int *state, int options) { return strikes(EINTR) ? -1 : __real_waitpid(pid, state, options); }
int __wrap_mkfifo(const char *path, mode_t mode) { return strikes(EMFILE) ? -1 : __real_mkfifo(path, mode); }
DIR *__wrap_opendir(const char *path) { return strikes(EMFILE) ? NULL : __real_opendir(path); }

static size_t open_files(void)
{
    DIR *dir = __real_opendir("/proc/self/fd");
    size_t n = 0;
    while (dir && readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static bool scored;

static void on_event(void *context, const struct trial_event *event)
{
    (void)context;
    scored = scored || event->has_score;
}

static void on_output(void *context, const char *bytes, size_t n)
{
    (void)context, (void)bytes, (void)n;
}

/* Nothing of the trial is left, neither as a child nor, adopted, as a grandchild. */
static void must_be_alone(unsigned at)
{
    int state;
    pid_t left = __real_waitpid(-1, &state, WNOHANG);
    if (left >= 0)
        fail_msg("fault %u: process %d is left", at, (int)left);
    assert_int_equal(errno, ECHILD);
}

static unsigned at_fault;

static void tell_where(int number)
{
    char text[80];
    (void)number;
    int length = snprintf(text, sizeof text, "hangs at fault %u, error %d\n", at_fault, error_given);
    if (__real_write(STDOUT_FILENO, text, (size_t)length) < 0)
        _exit(2);
    _exit(1);
}

static void try_all(struct trial_job *job, int error)
{
    struct interrupts interrupts = {.fd = -1};
    job->interrupts = &interrupts;
    job->event = on_event;
    error_given = error;
    signal(SIGALRM, tell_where);
    for (unsigned n = 1; n < 400; n++) {
        struct trial_outcome outcome = {0};
        size_t before = open_files();
        int stderr_before = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        scored = *hit = false;
        dup2(nowhere, STDERR_FILENO);
        countdown = n;
        at_fault = n;
        alarm(20); /* a watcher that hangs */
        bool watched = trial_watch(&outcome, job);
        alarm(0);
        countdown = 0;
        dup2(stderr_before, STDERR_FILENO);
        close(stderr_before);
        close(nowhere);
        must_be_alone(n);
        if (open_files() != before)
            fail_msg("fault %u: %zu descriptors, %zu before", n, open_files(), before);
        /* Without memory for its lines a trial ends without a score, which its row says. */
        if (watched && outcome.end == TRIAL_FINISHED && !scored && error != ENOMEM)
            fail_msg("fault %u: the score was lost without a word", n);
        if (!*hit) {
            assert_true(watched && outcome.end == TRIAL_FINISHED && scored);
            return;
        }
    }
    fail_msg("no end of calls");
}

static const char *const command[] = {
    "sh", "-c", "echo printed; { echo '{\"step\": 1}'; echo '{\"phase\": \"done\", \"score\": 0.5}'; } >&3", NULL};
static const char *const environment[] = {"A=1", NULL};

static void an_unguarded_trial_comes_to_an_end(void **state)
{
    static const int errors[] = {ENOMEM, EINTR, EMFILE};
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct trial_job job = {.argv = command, .environment = environment, .memory_bytes = 1e12, .train_seconds = 60};
        try_all(&job, errors[i]);
    }
}

static void a_guarded_trial_comes_to_an_end(void **state)
{
    static const int errors[] = {ENOMEM, EINTR, EMFILE};
    char *dir = make_dir(), *path = join(dir, "events");
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct trial_job job = {.argv = command, .environment = environment, .guarded = true, .output = on_output,
                                .events_path = i ? NULL : path, .dir = dir, .hold = -1, .grace_seconds = 0.1,
                                .memory_bytes = 1e12};
        try_all(&job, errors[i]);
    }
    free(path);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unguarded_trial_comes_to_an_end),
        cmocka_unit_test(a_guarded_trial_comes_to_an_end),
    };
    hit = mmap(NULL, sizeof *hit, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (hit == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
