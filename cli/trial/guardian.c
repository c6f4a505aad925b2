/*
 * guardian.c: fork, watch, clear away.
 *
 * The guardian is this program after fork, without exec: it runs nothing but this file, needs no file of its own to
 * be found, and works where /proc is missing. The command is its child in a session of its own, with a signal for
 * the guardian's own death; whoever kills both kills the command too.
 */
#include "trial/guardian.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "trial/process_tree.h"
#include "trial/trial_cgroup.h"
#include "trial/trial_job.h"

/* A process in the kernel's hands (a dead disk, a GPU's driver) does not go for KILL until those are done with it. */
enum { KILL_SECONDS = 30, BLIND_SECONDS = 2, ROUND_MS = 10, START_MS = 200 };

enum news { NEWS_STARTED, NEWS_OUTSIDE, NEWS_ENDED, NEWS_GONE };

/* Beside the errors that the command reports before exec: it goes on without its control group. */
enum { OUTSIDE = -1 };

struct report {
    enum news news;
    int value; /* errno or 0; wait status; processes left */
};

struct guarding {
    const struct guardian_command *command;
    int control, report, signals; /* signals: readable when a child has ended */
    pid_t child;
    bool child_reaped, none_left, at_once, outside;
    sigset_t before; /* of the process that made this one, for the command */
};

/* Less than a pipe takes in one piece, so that it never arrives in two. */
static ssize_t put(int fd, const void *data, size_t length)
{
    ssize_t n;
    do
        n = write(fd, data, length);
    while (n < 0 && errno == EINTR);
    return n;
}

static ssize_t get(int fd, void *data, size_t length)
{
    ssize_t n;
    do
        n = read(fd, data, length);
    while (n < 0 && errno == EINTR);
    return n;
}

static int wait_for(pid_t pid)
{
    int state = 0;
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR)
        continue;
    return state;
}

static void tell(const struct guarding *g, enum news news, int value)
{
    struct report report = {news, value};
    put(g->report, &report, sizeof report);
}

/* ---- the command ---- */

static void say(int failure, int error)
{
    put(failure, &error, sizeof error);
}

/* In the child. No standard input: a command that asks a question would hold up the night. The check of the parent
 * closes the gap before prctl, in which the guardian's death would not be told. */
static void become_command(const struct guarding *g, pid_t guardian, int failure)
{
    const struct guardian_command *c = g->command;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out = c->printed[0] >= 0 ? c->printed[0] : STDERR_FILENO;
    int err = c->printed[1] >= 0 ? c->printed[1] : STDERR_FILENO;
    if (c->group >= 0 && !trial_cgroup_enter(c->group))
        say(failure, OUTSIDE);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_DFL); /* ignored by who keeps the row; pipelines of a command need it */
    sigprocmask(SIG_SETMASK, &g->before, NULL);
    if (getppid() == guardian && null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        dup2(err, STDERR_FILENO) >= 0 && dup2(c->events, TRIAL_EVENTS_FD) >= 0 &&
        (!c->dir || chdir(c->dir) == 0))
        execvpe(c->program, c->argv, c->environment);
    say(failure, errno);
    _exit(127);
}

/* What the child says until exec closes the pipe: 0 for nothing. */
static int read_failure(struct guarding *g, int failure)
{
    for (;;) {
        int error = 0;
        get(failure, &error, sizeof error);
        if (error != OUTSIDE)
            return error;
        g->outside = true;
    }
}

/* 0 once the command runs. */
static int start_command(struct guarding *g)
{
    int ends[2], error = 0;
    pid_t self = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    g->child = fork();
    if (g->child == 0)
        become_command(g, self, ends[1]);
    if (g->child < 0)
        error = errno;
    close(ends[1]);
    if (g->child > 0)
        error = read_failure(g, ends[0]);
    if (g->child > 0 && error)
        wait_for(g->child);
    close(ends[0]);
    return error;
}

/* ---- what has ended ---- */

/* Without /proc the group is all that can be named, and only while its leader is not waited for. */
static void before_waiting(const struct guarding *g, pid_t pid)
{
    struct process_tree tree;
    if (pid != g->child)
        return;
    if (!process_tree_read(&tree, getpid()))
        kill(-g->child, SIGKILL);
    process_tree_release(&tree);
}

static void reap(struct guarding *g)
{
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
            g->none_left = errno == ECHILD;
            return;
        }
        if (!info.si_pid)
            return;
        before_waiting(g, info.si_pid);
        int state = wait_for(info.si_pid);
        if (info.si_pid == g->child) {
            g->child_reaped = true;
            tell(g, NEWS_ENDED, state);
        }
    }
}

/* Sleep until a child ends or the process that made this one has something to say, at most so long. True if that
 * wants the tree gone. Its death is told by the end of the pipe. */
static bool wait_for_news(struct guarding *g, int milliseconds)
{
    struct pollfd fds[] = {{g->signals, POLLIN, 0}, {g->at_once ? -1 : g->control, POLLIN, 0}};
    struct signalfd_siginfo info;
    char order = 'K';
    if (poll(fds, 2, milliseconds) <= 0)
        return false;
    if (fds[0].revents && read(g->signals, &info, sizeof info) < 0)
        return false;
    if (!fds[1].revents)
        return false;
    g->at_once = get(g->control, &order, 1) != 1 || order == 'K';
    return true;
}

/* ---- the end of all ---- */

/* False without /proc. */
static bool signal_all(const struct guarding *g, int number)
{
    struct process_tree tree;
    bool seen = process_tree_read(&tree, getpid());
    process_tree_signal(&tree, number);
    process_tree_release(&tree);
    if (!seen && !g->child_reaped)
        kill(-g->child, number);
    return seen;
}

static void ask_politely(struct guarding *g)
{
    double end = cli_now() + g->command->grace;
    reap(g);
    if (g->none_left || g->at_once || g->command->grace <= 0)
        return;
    signal_all(g, SIGTERM);
    for (double left; !g->none_left && !g->at_once && (left = end - cli_now()) > 0;) {
        wait_for_news(g, left > 1 ? 1000 : (int)(left * 1000) + 1);
        reap(g);
    }
}

/* Round after round, as what forks may have forked between being looked for and being killed. */
static void kill_all(struct guarding *g)
{
    double began = cli_now();
    bool seen = true;
    g->at_once = true;
    for (reap(g); !g->none_left && cli_now() - began < (seen ? KILL_SECONDS : BLIND_SECONDS); reap(g)) {
        if (g->command->group >= 0)
            trial_cgroup_kill(g->command->group);
        seen = signal_all(g, SIGKILL);
        wait_for_news(g, ROUND_MS);
    }
}

static int count_left(const struct guarding *g)
{
    struct process_tree tree;
    if (g->none_left)
        return 0;
    int n = process_tree_read(&tree, getpid()) ? (int)tree.n : -1;
    process_tree_release(&tree);
    return n;
}

/* ---- the guardian ---- */

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void close_between(int from, int to)
{
    if (from > to || syscall(SYS_close_range, (unsigned)from, (unsigned)to, 0) == 0)
        return;
    for (int fd = from; fd <= to && fd < 4096; fd++) /* before Linux 5.9; what this program opens is low */
        close(fd);
}

/* Locks and ends of pipes that this process has are not the guardian's: held here they would never end. */
static void close_others(const struct guarding *g)
{
    int keep[] = {STDERR_FILENO, g->control, g->report, g->command->events, g->command->printed[0],
                  g->command->printed[1], g->command->hold, g->command->group};
    enum { KEPT = sizeof keep / sizeof *keep };
    qsort(keep, KEPT, sizeof *keep, by_number);
    for (int i = 0; i + 1 < KEPT; i++)
        if (keep[i] >= STDERR_FILENO)
            close_between(keep[i] + 1, keep[i + 1] - 1);
    close_between(keep[KEPT - 1] + 1, ~0u >> 1);
}

/* All signals wait: those of a terminal are for the process that made this one, which then says what to do. Only the
 * end of a child is taken, by descriptor. A session of its own, so that no signal to a group finds it. */
static void prepare(struct guarding *g)
{
    sigset_t all, child;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    signal(SIGCHLD, SIG_DFL); /* ignored, children would go without a word */
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    close_others(g);
    g->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Ends by _exit: nothing of the process that it is a copy of is to be flushed or checked twice. */
static void guard(struct guarding *g)
{
    prepare(g);
    int error = g->signals < 0 ? errno : start_command(g);
    tell(g, NEWS_STARTED, error);
    if (error)
        _exit(1);
    if (g->outside)
        tell(g, NEWS_OUTSIDE, 0);
    for (int i = 0; i < 2; i++)
        if (g->command->printed[i] >= 0)
            close(g->command->printed[i]);
    close(g->command->events);
    bool end = false;
    for (reap(g); !g->child_reaped && !end; reap(g))
        end = wait_for_news(g, -1);
    ask_politely(g);
    kill_all(g);
    tell(g, NEWS_GONE, count_left(g));
    _exit(0);
}

/* ---- this side ---- */

void guardian_wake(const struct guardian *guardian)
{
    kill(guardian->pid, SIGCONT);
}

static bool open_pipes(int control[2], int report[2])
{
    control[0] = control[1] = report[0] = report[1] = -1;
    return pipe2(control, O_CLOEXEC) == 0 && pipe2(report, O_CLOEXEC) == 0;
}

static void close_all(int control[2], int report[2])
{
    for (int i = 0; i < 2; i++) {
        if (control[i] >= 0)
            close(control[i]);
        if (report[i] >= 0)
            close(report[i]);
    }
}

/* The first word: whether the command runs. */
static int read_start(struct guardian *guardian)
{
    struct report report = {NEWS_STARTED, ECHILD};
    struct pollfd fd = {guardian->report, POLLIN, 0};
    while (poll(&fd, 1, START_MS) <= 0) /* nobody else waits for this word, not even a wall */
        guardian_wake(guardian);
    guardian->silent = get(guardian->report, &report, sizeof report) == 0;
    return report.value;
}

/*
 * This process is a subreaper too: if the guardian is killed, what it guarded comes here. Signals wait across the
 * fork, or a handler of this process would run in the guardian and write into a pipe that both have.
 */
int guardian_start(struct guardian *guardian, const struct guardian_command *command)
{
    struct guarding g = {.command = command};
    int control[2], report[2], error = 0;
    sigset_t all;
    *guardian = (struct guardian){.pid = -1, .control = -1, .report = -1};
    if (!open_pipes(control, report)) {
        error = errno;
        close_all(control, report);
        return error;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    g.control = control[0];
    g.report = report[1];
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &g.before);
    guardian->pid = fork();
    if (guardian->pid == 0)
        guard(&g);
    if (guardian->pid < 0)
        error = errno;
    sigprocmask(SIG_SETMASK, &g.before, NULL);
    guardian->control = control[1];
    guardian->report = report[0];
    control[1] = report[0] = -1;
    close_all(control, report);
    if (!error)
        error = read_start(guardian);
    fcntl(guardian->report, F_SETFL, O_NONBLOCK);
    if (error)
        guardian_release(guardian);
    return error;
}

/* An order to one that is gone already is no error; SIGPIPE would be. */
void guardian_end(const struct guardian *guardian, bool at_once)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGPIPE, &ignore, &before);
    put(guardian->control, at_once ? "K" : "T", 1);
    sigaction(SIGPIPE, &before, NULL);
}

void guardian_listen(struct guardian *guardian)
{
    struct report report;
    ssize_t n;
    while ((n = read(guardian->report, &report, sizeof report)) == sizeof report) {
        if (report.news == NEWS_ENDED) {
            guardian->ended = true;
            guardian->state = report.value;
        } else if (report.news == NEWS_OUTSIDE) {
            guardian->outside = true;
        } else {
            assert(report.news == NEWS_GONE); /* NEWS_STARTED was read by guardian_start */
            guardian->gone = true;
            guardian->unseen = report.value;
        }
    }
    guardian->silent = n == 0 && !guardian->gone;
}

/* What a killed guardian left came to this process, which has no other children but those it waits for itself. */
static void clear_away_orphans(struct guardian *guardian)
{
    double began = cli_now();
    for (;;) {
        struct process_tree tree;
        bool seen = process_tree_read(&tree, getpid());
        process_tree_signal(&tree, SIGKILL);
        size_t left = tree.n;
        process_tree_release(&tree);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        guardian->unseen = seen ? (int)left : -1;
        if (!seen || !left || cli_now() - began > KILL_SECONDS)
            return;
        poll(NULL, 0, ROUND_MS);
    }
}

void guardian_release(struct guardian *guardian)
{
    if (guardian->pid > 0)
        wait_for(guardian->pid);
    if (guardian->silent)
        clear_away_orphans(guardian);
    if (guardian->control >= 0)
        close(guardian->control);
    if (guardian->report >= 0)
        close(guardian->report);
    guardian->control = guardian->report = -1;
}
