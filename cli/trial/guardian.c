/*
 * The guardian is this program after fork, without exec: it runs only the code in this file, needs no executable of its
 * own, and works without /proc. The command is a child of the guardian in a session of its own, and gets KILL if the
 * guardian dies. So killing both this process and the guardian also kills the command.
 */
#include "trial/trial_process.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "trial/process_tree.h"
#include "trial/one_trial.h"

/*
 * How long to wait for killed processes: a process that is blocked in the kernel (by a dead disk, a GPU driver) only
 * exits once the kernel lets it. Without /proc, BLIND_SECONDS applies.
 */
enum { KILL_SECONDS = 30, BLIND_SECONDS = 2, ROUND_MS = 10, START_MS = 200 };

enum news { NEWS_STARTED, NEWS_OUTSIDE, NEWS_ENDED, NEWS_GONE };

/*
 * Reported before exec in place of an errno: the command could not enter its control group, and continues outside of
 * it.
 */
enum { OUTSIDE = -1 };

struct report {
    enum news news;
    int value; /* errno or 0; wait status; processes left */
};

struct guarding {
    const struct guardian_command *command;
    int control, report; /* pipes from and to the process that made the guardian */
    int signals;         /* readable when a child has ended */
    pid_t child;
    bool child_reaped, none_left, at_once, outside;
    sigset_t before; /* signal mask of the process that made the guardian; the command gets this mask */
};

/* Reports are shorter than PIPE_BUF, so each report is written atomically. */
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

static void send_report(const struct guarding *g, enum news news, int value)
{
    struct report report = {news, value};
    put(g->report, &report, sizeof report);
}

/* ---- the command ---- */

/*
 * Runs in the child. Standard input is empty, because a command that waits for input would block the night. getppid is
 * checked after prctl, because if the guardian died before prctl, its death would send no signal.
 */
static void become_command(const struct guarding *g, pid_t guardian, int failure)
{
    const struct guardian_command *c = g->command;
    int outside = OUTSIDE, no_sandbox = GUARDIAN_NO_SANDBOX;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out = c->printed >= 0 ? c->printed : STDERR_FILENO;
    if (c->group >= 0 && !trial_cgroup_enter(c->group))
        put(failure, &outside, sizeof outside);
    setsid();
    if (c->sandbox && !sandbox_enter(c->sandbox)) {
        put(failure, &no_sandbox, sizeof no_sandbox);
        _exit(127);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* behind the sandbox, because a change of privileges clears it */
    signal(SIGPIPE, SIG_DFL); /* lineage ignores it, but pipelines in the command need it */
    sigprocmask(SIG_SETMASK, &g->before, NULL);
    if (getppid() == guardian && null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        dup2(out, STDERR_FILENO) >= 0 && dup2(c->events, TRIAL_EVENTS_FD) >= 0 && (!c->dir || chdir(c->dir) == 0))
        execvpe(c->program, c->argv, c->environment);
    int error = errno;
    put(failure, &error, sizeof error);
    _exit(127);
}

/* Returns the error that the child reports, or 0 if exec has closed the pipe without a report. */
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

/* Returns 0 once the command runs, or the errno with which it failed to start. */
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

/*
 * Without /proc, only the process group can be killed, and only until its leader has been waited for. So it is killed
 * here.
 */
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
            send_report(g, NEWS_ENDED, state);
        }
    }
}

/*
 * Sleeps until a child ends or an order arrives, but at most this many milliseconds. Returns true if the tree must be
 * ended, either by an order or because the process that gives orders has died, which closes the pipe.
 */
static bool wait_for_news(struct guarding *g, int milliseconds)
{
    struct pollfd fds[] = {{g->signals, POLLIN, 0}, {g->at_once ? -1 : g->control, POLLIN, 0}};
    struct signalfd_siginfo info;
    char order = 'K';
    if (poll(fds, 2, milliseconds) <= 0)
        return false;
    if (fds[0].revents && read(g->signals, &info, sizeof info) < 0)
        return false;
    if (fds[0].revents && info.ssi_signo != SIGCHLD && !g->child_reaped)
        process_tree_pass(g->child, (int)info.ssi_signo);
    if (!fds[1].revents)
        return false;
    g->at_once = get(g->control, &order, 1) != 1 || order == 'K';
    return true;
}

/* ---- ending the tree ---- */

/* Sends the signal to all descendants. Without /proc, sends it only to the process group and returns false. */
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

static void end_by_term(struct guarding *g)
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

/* Kills in rounds: a process may fork between being listed and being killed. */
static void end_by_kill(struct guarding *g)
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
    for (int fd = from; fd <= to && fd < 4096; fd++) /* before Linux 5.9; this program never has more open */
        close(fd);
}

/*
 * Closes the descriptors that the guardian inherited, because a lock or a pipe end would otherwise stay held while the
 * guardian lives.
 */
static void close_others(const struct guarding *g)
{
    int keep[] = {STDERR_FILENO,       g->control,       g->report,        g->command->events,
                  g->command->printed, g->command->hold, g->command->group};
    enum { KEPT = sizeof keep / sizeof *keep };
    qsort(keep, KEPT, sizeof *keep, by_number);
    for (int i = 0; i + 1 < KEPT; i++)
        if (keep[i] >= STDERR_FILENO)
            close_between(keep[i] + 1, keep[i + 1] - 1);
    close_between(keep[KEPT - 1] + 1, ~0u >> 1);
}

/*
 * Blocks all signals, because signals from a terminal are meant for the process that gives orders. Only SIGCHLD is
 * read, through a descriptor, and the two signals that are for the command. The guardian gets a session of its own, so that no signal to a process group reaches it.
 */
static void prepare(struct guarding *g)
{
    sigset_t all, child;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    signal(SIGCHLD, SIG_DFL); /* if it were ignored, children would not be reported */
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigaddset(&child, SIGUSR1);
    sigaddset(&child, SIGUSR2);
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    close_others(g);
    g->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * The guardian's main function. It ends by _exit, because buffers and exit handlers belong to the process that was
 * forked.
 */
static void guard(struct guarding *g)
{
    prepare(g);
    int error = g->signals < 0 ? errno : start_command(g);
    send_report(g, NEWS_STARTED, error);
    if (error)
        _exit(1);
    if (g->outside)
        send_report(g, NEWS_OUTSIDE, 0);
    cli_close(g->command->printed);
    close(g->command->events);
    bool end = false;
    for (reap(g); !g->none_left && !end; reap(g)) /* what the command has left behind is ended by order */
        end = wait_for_news(g, -1);
    end_by_term(g);
    end_by_kill(g);
    send_report(g, NEWS_GONE, count_left(g));
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
        cli_close(control[i]);
        cli_close(report[i]);
    }
}

/* Reads the first report: did exec succeed? */
static int read_start(struct guardian *guardian)
{
    struct report report = {NEWS_STARTED, ECHILD};
    struct pollfd fd = {guardian->report, POLLIN, 0};
    while (poll(&fd, 1, START_MS) <= 0) /* waits without a limit, because no time limit runs yet */
        guardian_wake(guardian);
    guardian->silent = get(guardian->report, &report, sizeof report) == 0;
    return report.value;
}

/*
 * This process also becomes a subreaper, so that if the guardian is killed, the guardian's descendants become children
 * of this process. Signals are blocked across the fork, because a handler of this process could otherwise run in the
 * guardian and write into a shared pipe.
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

/* The guardian may have exited already, so SIGPIPE is ignored. */
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

/* Kills the descendants of a killed guardian, which have become children of this process. It has no other children
 * then. */
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
    cli_close(guardian->control);
    cli_close(guardian->report);
    guardian->control = guardian->report = -1;
}
