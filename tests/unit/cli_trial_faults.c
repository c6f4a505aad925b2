/* Tests the watcher with each of its calls made to fail or to be interrupted, the next call in each round. Whatever
 * fails, the watcher exits, leaves no process and no descriptor behind, and reports what it did not see. Linked with
 * --wrap of the calls. */
#include "support/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/files.h"
#include "support/last_words.h"
#include "trial/one_trial.h"
#include "trial/process_tree.h"

/* What happens at the n-th call: either the call fails, counting only calls that can fail with this error, or the
 * guardian is killed or stopped for good just before its n-th wrapped call of any kind. */
enum { KILLED = -SIGKILL, STOPPED = -SIGSTOP };

static unsigned countdown;
static int error_given;
static bool *hit; /* shared with guardians, which are copies of this process */
static pid_t self;

/* Features that the simulated machine lacks. */
static bool no_proc, no_children, no_close_range, no_pidfd, no_kill;
static double hurry = 1; /* speed of the simulated clock */
static const char *other_stat; /* text of every file of /proc; NULL: the real text */
static int proc_file = -1;     /* the latest open file of /proc */
static unsigned proc_reads;

extern bool counts_are_written __attribute__((weak)); /* see support/coverage_exit.c */

/* True for the n-th call that can fail with this error (ENOMEM, EINTR, EPERM, or EMFILE for descriptors and
 * processes). */
static bool strikes(int error)
{
    bool is_guardian = error_given < 0 && getpid() != self && getppid() == self;
    if (&counts_are_written && counts_are_written)
        return false;
    if (!countdown || (error_given < 0 ? !is_guardian : error != error_given) || --countdown)
        return false;
    *hit = true;
    if (error_given == KILLED)
        kill_myself();
    if (error_given < 0)
        return raise(-error_given), false;
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
int __real_waitid(idtype_t kind, id_t id, siginfo_t *info, int options);
int __real_mkfifo(const char *path, mode_t mode);
DIR *__real_opendir(const char *path);
int __real_open(const char *path, int flags, ...);
int __real_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, ...);
int __real_fcntl(int fd, int what, ...);
int __real_dup2(int from, int to);
int __real_chdir(const char *path);
int __real_signalfd(int fd, const sigset_t *signals, int flags);
long __real_syscall(long number, ...);
int __real_kill(pid_t pid, int number);
int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __real_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int from, int to);
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
int __wrap_waitid(idtype_t kind, id_t id, siginfo_t *info, int options);
int __wrap_mkfifo(const char *path, mode_t mode);
DIR *__wrap_opendir(const char *path);
int __wrap_open(const char *path, int flags, ...);
int __wrap_fcntl(int fd, int what, ...);
int __wrap_dup2(int from, int to);
int __wrap_chdir(const char *path);
int __wrap_signalfd(int fd, const sigset_t *signals, int flags);
long __wrap_syscall(long number, ...);
int __wrap_kill(pid_t pid, int number);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int from, int to);

void *__wrap_malloc(size_t size)
{
    return strikes(ENOMEM) ? NULL : __real_malloc(size);
}
void *__wrap_calloc(size_t n, size_t size)
{
    return strikes(ENOMEM) ? NULL : __real_calloc(n, size);
}
void *__wrap_realloc(void *old, size_t size)
{
    return strikes(ENOMEM) ? NULL : __real_realloc(old, size);
}
int __wrap_pipe(int ends[2])
{
    return strikes(EMFILE) ? -1 : __real_pipe(ends);
}
int __wrap_pipe2(int ends[2], int flags)
{
    return strikes(EMFILE) ? -1 : __real_pipe2(ends, flags);
}
pid_t __wrap_fork(void)
{
    return strikes(EMFILE) ? -1 : __real_fork();
}

/* Only the first three reads of /proc files fail, because every process of the machine has such a file. */
ssize_t __wrap_read(int fd, void *data, size_t length)
{
    if (fd == proc_file && ++proc_reads > 3)
        return __real_read(fd, data, length);
    return strikes(EINTR) ? -1 : __real_read(fd, data, length);
}

int __wrap_openat(int dir, const char *name, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (no_children && strstr(name, "/children"))
        return errno = ENOENT, -1;
    return proc_file = other_stat ? __real_open(other_stat, flags) : __real_openat(dir, name, flags, mode);
}

ssize_t __wrap_write(int fd, const void *data, size_t length)
{
    return strikes(EINTR) ? -1 : __real_write(fd, data, length);
}
int __wrap_poll(struct pollfd *fds, nfds_t n, int milliseconds)
{
    return strikes(EINTR) ? -1 : __real_poll(fds, n, milliseconds);
}
pid_t __wrap_waitpid(pid_t pid, int *state, int options)
{
    return strikes(EINTR) ? -1 : __real_waitpid(pid, state, options);
}
int __wrap_waitid(idtype_t kind, id_t id, siginfo_t *info, int options)
{
    return strikes(0) ? -1 : __real_waitid(kind, id, info, options);
}
int __wrap_mkfifo(const char *path, mode_t mode)
{
    return strikes(EPERM) ? -1 : __real_mkfifo(path, mode);
}
int __wrap_dup2(int from, int to)
{
    return strikes(EINTR) ? -1 : __real_dup2(from, to);
}
int __wrap_chdir(const char *path)
{
    return strikes(ENOMEM) ? -1 : __real_chdir(path);
}
int __wrap_signalfd(int fd, const sigset_t *signals, int flags)
{
    return strikes(EMFILE) ? -1 : __real_signalfd(fd, signals, flags);
}

static bool lacks(const char *path)
{
    if (no_proc && strcmp(path, "/proc") == 0)
        errno = ENOENT;
    return no_proc && strcmp(path, "/proc") == 0;
}

DIR *__wrap_opendir(const char *path)
{
    return strikes(EMFILE) || lacks(path) ? NULL : __real_opendir(path);
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return strikes(EMFILE) || lacks(path) ? -1 : __real_open(path, flags, mode);
}

int __wrap_fcntl(int fd, int what, ...)
{
    va_list rest;
    va_start(rest, what);
    void *value = va_arg(rest, void *); /* or an integer */
    va_end(rest);
    return strikes(what == F_DUPFD_CLOEXEC ? EMFILE : 0) ? -1 : __real_fcntl(fd, what, value);
}

long __wrap_syscall(long number, ...)
{
    long argument[4];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 4; i++)
        argument[i] = va_arg(rest, long);
    va_end(rest);
    strikes(0);
    if (number == SYS_pidfd_send_signal && no_kill)
        return 0;
    errno = ENOSYS;
    if ((number == SYS_close_range && no_close_range) || (number == SYS_pidfd_open && no_pidfd))
        return -1;
    return __real_syscall(number, argument[0], argument[1], argument[2], argument[3]);
}

int __wrap_kill(pid_t pid, int number)
{
    strikes(0);
    return no_kill && number != SIGCONT ? 0 : __real_kill(pid, number);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    static double first;
    int failed = __real_clock_gettime(clock, t);
    double now = (double)t->tv_sec + 1e-9 * (double)t->tv_nsec;
    first = first > 0 ? first : now;
    now = first + hurry * (now - first);
    if (hurry > 1)
        *t = (struct timespec){(time_t)now, (long)(1e9 * (now - floor(now)))};
    return failed;
}

int __wrap_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int from, int to)
{
    return strikes(ENOMEM) ? ENOMEM : __real_posix_spawn_file_actions_adddup2(actions, from, to);
}

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

/* Asserts that no process of the trial is left, neither a child nor an adopted grandchild. */
static void must_be_alone(unsigned at)
{
    int state;
    pid_t left = __real_waitpid(-1, &state, WNOHANG);
    if (left >= 0)
        fail_msg("fault %u, error %d: process %d is left", at, error_given, (int)left);
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
        proc_reads = 0;
        at_fault = n;
        alarm(20); /* ends a watcher that hangs */
        bool watched = trial_watch(&outcome, job);
        alarm(0);
        countdown = 0;
        dup2(stderr_before, STDERR_FILENO);
        close(stderr_before);
        close(nowhere);
        must_be_alone(n);
        if (open_files() != before)
            fail_msg("fault %u: %zu descriptors, %zu before", n, open_files(), before);
        /* Without memory for its lines a trial finishes without a score, and its row reports that. */
        if (watched && outcome.end == TRIAL_FINISHED && !scored && error != ENOMEM)
            fail_msg("fault %u: the score was lost without a word", n);
        if (!*hit) {
            assert_true(watched && ((outcome.end == TRIAL_FINISHED && scored) || job->settings.train_seconds < 1));
            return;
        }
    }
    fail_msg("no end of calls");
}

static const char *const command[] = {
    "sh", "-c", "echo printed; { echo '{\"step\": 1}'; echo '{\"phase\": \"done\", \"score\": 0.5}'; } >&3", NULL};
static const char *const endless[] = {"sh", "-c", "echo '{\"score\": 0.5}' >&3; exec sleep 600", NULL};
static const char *const environment[] = {"A=1", NULL};

static void an_unguarded_trial_comes_to_an_end(void **state)
{
    static const int errors[] = {ENOMEM, EINTR, EMFILE};
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct trial_job job = {
            .argv = command, .environment = environment, .settings.memory_bytes = 1e12, .settings.train_seconds = 60};
        try_all(&job, errors[i]);
    }
}

static void a_guarded_trial_comes_to_an_end(void **state)
{
    static const int errors[] = {ENOMEM, EINTR, EMFILE, EPERM, KILLED, STOPPED};
    char *dir = make_dir(), *path = join(dir, "events");
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        /* For ENOMEM and EPERM the trial is given a named pipe as well; otherwise it has only the descriptor. */
        struct trial_job job = {.argv = command,
                                .environment = environment,
                                .guarded = true,
                                .output = on_output,
                                .events_path = errors[i] == ENOMEM || errors[i] == EPERM ? path : NULL,
                                .dir = dir,
                                .hold = -1,
                                .settings.grace_seconds = 0.1,
                                .settings.memory_bytes = 1e12};
        if (errors[i] == STOPPED) { /* the time limit holds with a stopped guardian too */
            job.argv = endless;
            job.settings.train_seconds = 0.3;
        }
        try_all(&job, errors[i]);
        assert_false(file_exists(path));
    }
    free(path);
    remove_dir(dir);
}

/* ---- machines that lack something ---- */

static char printed[4096];

static void keep_output(void *context, const char *bytes, size_t n)
{
    size_t length = strlen(printed);
    (void)context;
    n = n < sizeof printed - 1 - length ? n : sizeof printed - 1 - length;
    memcpy(printed + length, bytes, n);
    printed[length + n] = '\0';
}

/* Watches one shell command as a trial; its output is stored in `printed`. */
static bool watch_shell(struct trial_outcome *outcome, struct trial_job job, const char *words)
{
    const char *const argv[] = {"sh", "-c", words, NULL};
    struct interrupts interrupts = {.fd = -1};
    printed[0] = '\0';
    scored = false;
    job.argv = argv;
    job.interrupts = &interrupts;
    job.event = job.event ? job.event : on_event;
    job.output = job.guarded ? keep_output : NULL;
    job.hold = -1;
    error_given = 0;
    signal(SIGALRM, tell_where);
    alarm(60);
    bool watched = trial_watch(outcome, &job);
    alarm(0);
    return watched;
}

/* Ends the children of this process, including adopted ones, and returns their number. */
static size_t end_what_is_left(void)
{
    struct process_tree tree;
    size_t n = 0;
    assert_true(process_tree_read(&tree, self));
    process_tree_signal(&tree, SIGKILL);
    process_tree_release(&tree);
    while (__real_waitpid(-1, NULL, 0) > 0)
        n++;
    return n;
}

static int mend(void **state)
{
    (void)state;
    no_proc = no_children = no_close_range = no_pidfd = no_kill = false;
    hurry = 1;
    other_stat = NULL;
    countdown = 0;
    end_what_is_left();
    return 0;
}

static void what_cannot_be_seen_is_said(void **state)
{
    struct trial_outcome outcome;
    (void)state;
    no_proc = true;
    hurry = 2; /* only 2, because the kernel's own work is not sped up: a loaded machine needs its part of a second */
    assert_true(watch_shell(&outcome, (struct trial_job){.guarded = true}, "sleep 600 & echo '{\"score\": 1}' >&3"));
    must_be_alone(0); /* the command's process group reaches all of them */
    assert_true(outcome.end == TRIAL_FINISHED && scored && outcome.unseen == 0 && outcome.peak_bytes == 0);
    assert_true(watch_shell(&outcome, (struct trial_job){.guarded = true, .settings.train_seconds = 4}, "exec sleep 600"));
    must_be_alone(0);
    assert_true(outcome.end == TRIAL_TRAIN_OVERRUN && outcome.unseen == 0);
    static const char away[] = "(exec setsid sh -c 'echo up; exec sleep 600') & exec sleep 600";
    assert_true(watch_shell(&outcome, (struct trial_job){.guarded = true, .settings.train_seconds = 4}, away));
    assert_true(outcome.end == TRIAL_TRAIN_OVERRUN && outcome.unseen == -1);
    no_proc = false;
    assert_int_equal(end_what_is_left(), 1);
    no_proc = true; /* the guardian is killed too, so no process could see the rest */
    assert_true(watch_shell(&outcome, (struct trial_job){.guarded = true}, "sleep 0.2; kill -9 $PPID; sleep 600"));
    assert_true(outcome.end == TRIAL_SIGNALLED && outcome.signal == SIGKILL && outcome.unseen == -1);
    no_proc = false;
    hurry = 1;
    end_what_is_left();
}

/* Simulates processes that the kernel holds, for example on a dead disk: SIGKILL has no effect while the watcher
 * waits. */
static void what_does_not_go_is_counted(void **state)
{
    struct trial_outcome outcome;
    (void)state;
    no_kill = true;
    hurry = 50;
    static const char three[] = "trap '' TERM; sleep 600 & sleep 600 & while :; do sleep 600; done";
    assert_true(watch_shell(
        &outcome, (struct trial_job){.guarded = true, .settings.train_seconds = 100, .settings.grace_seconds = 1}, three));
    assert_true(outcome.end == TRIAL_TRAIN_OVERRUN);
    assert_int_equal(outcome.unseen, 4);
    no_kill = false;
    assert_true(end_what_is_left() >= 3); /* the shell may have reaped one of the children */
    no_kill = true;
    assert_true(watch_shell(&outcome, (struct trial_job){.guarded = true}, "sleep 600 & sleep 0.2; kill -9 $PPID; sleep 600"));
    assert_true(outcome.end == TRIAL_SIGNALLED && outcome.unseen >= 1);
    no_kill = false;
    hurry = 1;
    assert_true(end_what_is_left() >= 1);
}

static void older_kernels_do(void **state)
{
    struct trial_outcome outcome;
    (void)state;
    no_pidfd = no_close_range = true;
    assert_true(watch_shell(&outcome, (struct trial_job){.settings.train_seconds = 0}, "sleep 0.1; echo '{\"score\": 1}' >&3"));
    assert_true(outcome.end == TRIAL_FINISHED && scored);
    int high = fcntl(STDERR_FILENO, F_DUPFD, 100); /* this process's descriptor, which the trial must not inherit */
    static const char left[] = "(setsid sleep 600 &); ls /proc/self/fd; echo '{\"score\": 1}' >&3";
    assert_true(watch_shell(&outcome, (struct trial_job){.guarded = true}, left));
    assert_true(outcome.end == TRIAL_FINISHED && scored && outcome.unseen == 0);
    must_be_alone(0);
    assert_non_null(strstr(printed, "3\n"));
    assert_null(strstr(printed, "100\n"));
    close(high);
    no_pidfd = no_close_range = false;
}

/* A file system mounted at /proc that does not describe processes is not used. */
static void another_proc_is_none(void **state)
{
    static const char *const texts[] = {"1 (sh) S 0 1 1", "nothing", "1 (a) b) "};
    char *dir = make_dir(), *path = join(dir, "stat");
    struct process_tree tree;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_file(path, texts[i], strlen(texts[i]));
        other_stat = path;
        assert_false(process_tree_read(&tree, self));
        assert_false(process_tree_read_group(&tree, getpgrp()));
        assert_true(tree.n == 0 && process_tree_memory(&tree) == 0);
        other_stat = NULL;
    }
    assert_true(process_tree_read_group(&tree, getpgrp()));
    assert_true(tree.n >= 1 && process_tree_memory(&tree) > 0);
    process_tree_release(&tree);
    free(path);
    remove_dir(dir);
}

/* Forks a child that forks a child of its own and exits, so that this process adopts the second one. Returns the second. */
static pid_t adopt_one(void)
{
    int ends[2];
    pid_t second = -1;
    assert_int_equal(__real_pipe(ends), 0);
    pid_t first = __real_fork();
    if (first == 0) {
        second = __real_fork();
        if (second == 0)
            for (;;)
                pause();
        _exit(__real_write(ends[1], &second, sizeof second) == sizeof second ? 0 : 1);
    }
    assert_int_equal(__real_waitpid(first, NULL, 0), first);
    assert_int_equal(__real_read(ends[0], &second, sizeof second), sizeof second);
    close(ends[0]);
    close(ends[1]);
    return second;
}

static void an_adopted_process_is_found_with_and_without_lists_of_children(void **state)
{
    struct process_tree tree;
    (void)state;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t adopted = adopt_one();
    for (int i = 0; i < 2; i++) {
        no_children = i;
        assert_true(process_tree_read(&tree, self));
        assert_int_equal(tree.n, 1);
        assert_int_equal(tree.at[0].pid, adopted);
        process_tree_release(&tree);
    }
    no_children = false;
    assert_int_equal(end_what_is_left(), 1);
}

static void a_number_that_is_another_s_now_is_left_alone(void **state)
{
    struct process_tree tree;
    int status;
    pid_t child = __real_fork();
    (void)state;
    if (child == 0)
        for (;;)
            pause();
    assert_true(process_tree_read(&tree, self));
    assert_int_equal(tree.n, 1);
    assert_int_equal(tree.at[0].pid, child);
    tree.at[0].started--;
    process_tree_signal(&tree, SIGKILL);
    usleep(20000);
    assert_int_equal(__real_waitpid(child, &status, WNOHANG), 0);
    tree.at[0].started++;
    no_proc = true; /* without /proc the process cannot be identified */
    process_tree_signal(&tree, SIGKILL);
    no_proc = false;
    usleep(20000);
    assert_int_equal(__real_waitpid(child, &status, WNOHANG), 0);
    process_tree_signal(&tree, SIGKILL);
    assert_int_equal(__real_waitpid(child, &status, 0), child);
    process_tree_signal(&tree, SIGKILL); /* the process is gone, so no signal is sent */
    process_tree_release(&tree);
}

/* ---- who else is there ---- */

static void wait_for_it(void *context, const struct trial_event *event)
{
    (void)context, (void)event;
    __real_waitpid(-1, NULL, 0);
}

static void a_child_that_somebody_else_waits_for_has_no_row(void **state)
{
    struct trial_outcome outcome;
    (void)state;
    int stderr_before = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDERR_FILENO);
    bool watched = watch_shell(&outcome, (struct trial_job){.event = wait_for_it}, "echo '{\"score\": 1}' >&3; exit 3");
    dup2(stderr_before, STDERR_FILENO);
    close(stderr_before);
    close(nowhere);
    assert_false(watched);
}

/* Some daemons and shells start their children with SIGCHLD ignored. */
static void ends_of_children_that_were_ignored_are_heard(void **state)
{
    struct trial_outcome outcome;
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    assert_true(watch_shell(&outcome, (struct trial_job){.settings.train_seconds = 0}, "exit 3"));
    assert_true(outcome.end == TRIAL_FAILED && outcome.exit_status == 3);
    signal(SIGCHLD, SIG_IGN);
    assert_true(watch_shell(&outcome, (struct trial_job){.guarded = true}, "exit 4"));
    assert_true(outcome.end == TRIAL_FAILED && outcome.exit_status == 4);
    signal(SIGCHLD, SIG_DFL);
}

static void more_signals_than_anybody_reads_hold_nothing_up(void **state)
{
    struct interrupts interrupts;
    (void)state;
    assert_true(interrupts_hold(&interrupts));
    assert_false(interrupts_came(&interrupts));
    int room = fcntl(interrupts.write_end, F_SETPIPE_SZ, 4096);
    for (int i = 0; i < room + 2; i++)
        raise(SIGTERM);
    assert_true(interrupts_came(&interrupts));
    interrupts_release(&interrupts);
    struct sigaction now;
    sigaction(SIGTERM, NULL, &now);
    assert_true(now.sa_handler == SIG_DFL);

    int stderr_before = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDERR_FILENO);
    error_given = EMFILE;
    countdown = 1;
    bool held = interrupts_hold(&interrupts);
    dup2(stderr_before, STDERR_FILENO);
    close(stderr_before);
    close(nowhere);
    assert_false(held);
    interrupts_release(&interrupts); /* nothing was held, so nothing is released */
    sigaction(SIGTERM, NULL, &now);
    assert_true(now.sa_handler == SIG_DFL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(an_unguarded_trial_comes_to_an_end, mend),
        cmocka_unit_test_teardown(a_guarded_trial_comes_to_an_end, mend),
        cmocka_unit_test_teardown(what_cannot_be_seen_is_said, mend),
        cmocka_unit_test_teardown(what_does_not_go_is_counted, mend),
        cmocka_unit_test_teardown(older_kernels_do, mend),
        cmocka_unit_test_teardown(another_proc_is_none, mend),
        cmocka_unit_test_teardown(an_adopted_process_is_found_with_and_without_lists_of_children, mend),
        cmocka_unit_test_teardown(a_number_that_is_another_s_now_is_left_alone, mend),
        cmocka_unit_test_teardown(a_child_that_somebody_else_waits_for_has_no_row, mend),
        cmocka_unit_test_teardown(ends_of_children_that_were_ignored_are_heard, mend),
        cmocka_unit_test_teardown(more_signals_than_anybody_reads_hold_nothing_up, mend),
    };
    self = getpid();
    hit = mmap(NULL, sizeof *hit, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (hit == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
