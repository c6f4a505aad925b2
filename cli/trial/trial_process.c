#include "trial/trial_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

extern char **environ;

static bool is_same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n) == 0 && b[n] == '=';
}

/* Variables with keys that this program uses itself, and that a trial is not meant to have. The judge asks from the program's
 * own trainer, which is not guarded. */
static bool is_own_key(const char *variable)
{
    static const char *const names[] = {"LINEAGE_JUDGE_KEY=", "PGPASSWORD=", NULL};
    for (size_t i = 0; names[i]; i++)
        if (is_same_name(names[i], variable))
            return true;
    return false;
}

/*
 * Returns the environment of this process, without keys of the program if the trial is a command, in which `events` (LINEAGE_EVENTS=..) and the variables of the job replace
 * variables of the same name. Each variable is in the list only once, because getenv finds the first. The caller frees
 * the list, but not its texts.
 */
static const char **make_environment(const char *events, const char *const *over, bool is_command)
{
    const char *const *own = (const char *const *)environ;
    const char **list = calloc(cli_texts_length(own) + cli_texts_length(over) + 2, sizeof *list);
    size_t n = 0, kept;
    for (size_t i = 0; list && own[i]; i++)
        if (!is_same_name(own[i], events) && !(is_command && is_own_key(own[i])))
            list[n++] = own[i];
    if (list)
        list[n++] = events;
    kept = n;
    for (size_t i = 0; list && over && over[i]; i++) {
        size_t at = 0;
        while (at < kept && !is_same_name(list[at], over[i]))
            at++;
        list[at < kept ? at : n++] = over[i];
    }
    return list;
}

/*
 * Standard input is empty, because a command that waits for input would block the night. Standard output goes to
 * standard error, because the standard output of this process is for results. The command gets a process group of its
 * own, so that ^C reaches only this process, which then decides about the trial, and so that one kill ends everything
 * that the command started.
 *
 * posix_spawn reports a command that cannot be executed as an error, before there is a child. With fork and exec the
 * error would be exit status 127, which a command may also return itself. Without pidfd_open (before Linux 5.3), notice
 * is -1 and the child is polled at intervals.
 */
static int spawn(struct trial_process *p, char *const *environment, int write_end)
{
    const struct trial_job *job = p->job;
    char *const *argv = (char *const *)(uintptr_t)job->argv;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    signal(SIGCHLD, SIG_DFL); /* if a parent process set it to be ignored, children would not be reported */
    /* Each of these calls can only fail when out of memory, and all of them are necessary. */
    int error = posix_spawnattr_init(&attributes);
    error |= posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    error |= posix_spawn_file_actions_init(&actions);
    error |= posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    error |= posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    error |= posix_spawn_file_actions_adddup2(&actions, write_end, TRIAL_EVENTS_FD);
    if (!error)
        error = job->program ? posix_spawn(&p->pid, job->program, &actions, &attributes, argv, environment)
                             : posix_spawnp(&p->pid, argv[0], &actions, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (!error)
        p->notice = (int)syscall(SYS_pidfd_open, p->pid, 0);
    return error;
}

/* If the limit cannot be set, the group is removed: without a group memory is at least sampled. */
static void make_group(struct trial_process *p)
{
    double limit = p->job->settings.memory_bytes;
    if (trial_cgroup_make(&p->group, "") && limit > 0 && !trial_cgroup_limit(&p->group, limit))
        trial_cgroup_remove(&p->group);
}

static int spawn_guarded(struct trial_process *p, char *const *environment, int events, int printed)
{
    const struct trial_job *job = p->job;
    make_group(p);
    struct guardian_command command = {.program = job->program ? job->program : job->argv[0],
                                       .argv = (char *const *)(uintptr_t)job->argv,
                                       .environment = environment,
                                       .dir = job->dir,
                                       .events = events,
                                       .printed = printed,
                                       .hold = job->hold,
                                       .group = p->group.dir,
                                       .grace = job->settings.grace_seconds,
                                       .sandbox = job->sandbox};
    interrupts_begin_passing();
    int error = guardian_start(&p->guardian, &command);
    p->pid = p->guardian.pid;
    p->notice = p->guardian.report;
    if (!error)
        interrupts_pass_to(p->pid);
    return error;
}

/* The reading end does not block, because a descendant may hold the pipe open after the child has exited. */
static bool open_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        /* The descriptor must not be TRIAL_EVENTS_FD, because dup2 of a descriptor to itself would keep O_CLOEXEC. */
        int moved = fcntl(ends[i], F_DUPFD_CLOEXEC, TRIAL_EVENTS_FD + 1);
        close(ends[i]);
        ends[i] = moved;
    }
    if (ends[0] < 0 || ends[1] < 0)
        return false;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return true;
}

/*
 * Creates a named pipe. This process opens it for reading and writing, so that there is no end of file between two
 * writers. Returns false on a file system without named pipes; the command then only gets the descriptor.
 */
static bool open_named_pipe(const char *path, int ends[2])
{
    if (!path || mkfifo(path, 0600) != 0)
        return false;
    ends[0] = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    ends[1] = ends[0] < 0 ? -1 : open(path, O_WRONLY | O_CLOEXEC);
    if (ends[1] >= 0)
        return true;
    cli_shut(&ends[0]);
    unlink(path);
    return false;
}

static int start_command(struct trial_process *p, const char *variable, int events, int printed)
{
    const char **environment = make_environment(variable, p->job->environment, p->job->guarded);
    char *const *list = (char *const *)(uintptr_t)environment;
    if (!environment)
        return ENOMEM;
    int error = p->job->guarded ? spawn_guarded(p, list, events, printed) : spawn(p, list, events);
    free((void *)environment);
    return error;
}

/* The writing ends are closed in this process at once, because otherwise the pipes would never end. */
bool trial_process_start(struct trial_process *p, const struct trial_job *job)
{
    int events[2] = {-1, -1}, out[2] = {-1, -1}, error = 0;
    char variable[PATH_MAX + 32] = "LINEAGE_EVENTS=/dev/fd/3";
    *p = (struct trial_process){
        .job = job, .pid = -1, .events = -1, .printed = -1, .notice = -1, .group = {.dir = -1, .base = -1}};
    if (open_named_pipe(job->events_path, events))
        snprintf(variable, sizeof variable, "LINEAGE_EVENTS=%s", job->events_path);
    else if (!open_pipe(events))
        error = errno;
    /* Both streams share a pipe, because the order of two pipes cannot be known, and the last value of a metric counts. */
    if (!error && job->output && !open_pipe(out))
        error = errno;
    if (!error)
        error = start_command(p, variable, events[1], out[1]);
    cli_shut(&events[1]);
    cli_shut(&out[1]);
    p->events = events[0];
    p->printed = out[0];
    if (!error)
        return true;
    cli_error(CLI_SYSTEM, "cannot start %s: %s", job->argv[0],
              error == GUARDIAN_NO_SANDBOX ? "its sandbox could not be set up a second time" : strerror(error));
    trial_process_release(p);
    return false;
}

/*
 * Does not reap the child, which stays a zombie until trial_process_end, so that the id of its process group is not
 * reused.
 */
static void look_at_child(struct trial_process *p)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == p->pid)
        p->ended = true;
    if (info.si_pid == p->pid)
        p->state = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) : W_EXITCODE(0, info.si_status);
}

static void look_at_guardian(struct trial_process *p)
{
    guardian_listen(&p->guardian);
    p->ended = p->ended || p->guardian.ended || p->guardian.silent;
    p->state = p->guardian.ended ? p->guardian.state : p->state;
    p->gone = p->guardian.gone || p->guardian.silent;
    p->unseen = p->guardian.unseen;
    if (p->guardian.silent && !p->guardian.ended)
        p->state = SIGKILL; /* the kernel kills the command when its guardian dies */
}

void trial_process_look(struct trial_process *p)
{
    if (p->job->guarded)
        look_at_guardian(p);
    else if (!p->gone)
        look_at_child(p);
}

/*
 * The group is killed before the child is reaped, because while the child is a zombie the id of its group is not
 * reused. There is no SIGTERM, because an unguarded trial has nothing left to write: its row comes from its events.
 */
void trial_process_end(struct trial_process *p, bool at_once)
{
    if (p->job->guarded) {
        guardian_end(&p->guardian, at_once);
        return;
    }
    kill(-p->pid, SIGKILL);
    while (waitpid(p->pid, &p->state, 0) < 0 && !p->lost)
        p->lost = errno != EINTR;
    p->ended = p->gone = true;
}

bool trial_process_is_grouped(const struct trial_process *p)
{
    return p->group.dir >= 0 && !p->guardian.outside;
}

void trial_process_release(struct trial_process *p)
{
    cli_shut(&p->events);
    cli_shut(&p->printed);
    if (p->job->events_path)
        unlink(p->job->events_path);
    if (p->job->guarded && p->guardian.pid > 0) {
        interrupts_pass_no_more(p->guardian.pid);
        guardian_release(&p->guardian);
        p->unseen = p->guardian.unseen;
    } else if (!p->job->guarded) {
        cli_shut(&p->notice);
    }
    trial_cgroup_remove(&p->group);
}
