/* trial_watch.c: spawn, listen, keep time, reap. */
#include "trial_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "blas_env.h"
#include "cli.h"
#include "trial_wire.h"

#define EVENTS_FD "3"
enum { EVENTS_FD_NUMBER = 3 };

extern char **environ;

struct watch {
    const struct trial_job *job;
    struct trial_outcome *outcome;
    pid_t child;
    int events; /* descriptor */
    double began, phase_began, phase_limit;
    bool evaluating, done, stop;
    char *line; /* bytes of a line not yet ended */
    size_t length, capacity;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the child ---- */

static int spawn(struct watch *w, posix_spawn_file_actions_t *actions,
                 posix_spawnattr_t *attributes, int write_end)
{
    const char *const argv[] = {"lineage",      "run-trial",        "--events",     EVENTS_FD,
                                "--checkpoint", w->job->checkpoint, w->job->recipe, NULL};
    blas_env_set();
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(actions, write_end, EVENTS_FD_NUMBER);
    return posix_spawn(&w->child, "/proc/self/exe", actions, attributes,
                       (char *const *)(uintptr_t)argv, environ);
}

/* A pipe whose ends are not what the child calls EVENTS_FD: dup2 to itself would keep O_CLOEXEC. */
static bool open_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        int moved = fcntl(ends[i], F_DUPFD_CLOEXEC, EVENTS_FD_NUMBER + 1);
        close(ends[i]);
        ends[i] = moved;
    }
    return ends[0] >= 0 && ends[1] >= 0;
}

static bool start(struct watch *w)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int ends[2] = {-1, -1};
    bool piped = open_pipe(ends);
    int error = piped ? 0 : errno;
    if (piped && !(error = posix_spawn_file_actions_init(&actions))) {
        if (!(error = posix_spawnattr_init(&attributes))) {
            error = spawn(w, &actions, &attributes, ends[1]);
            posix_spawnattr_destroy(&attributes);
        }
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    w->events = ends[0];
    w->began = w->phase_began = now();
    if (error)
        cli_error(CLI_SYSTEM, "cannot start a trial: %s", strerror(error));
    return !error;
}

static void finish(struct watch *w, enum trial_end end)
{
    w->outcome->end = end;
    w->stop = true;
}

/* ---- what it says ---- */

static void begin_evaluation(struct watch *w, const struct trainer_event *event)
{
    double limit = w->job->train_seconds;
    w->evaluating = true;
    w->phase_began = now();
    w->phase_limit = w->job->eval_seconds;
    if (limit > 0 && event->train_s > limit)
        finish(w, TRIAL_TRAIN_OVERRUN);
}

static void end_evaluation(struct watch *w, const struct trainer_event *event)
{
    double limit = w->job->eval_seconds;
    w->done = true;
    w->phase_limit = 0;
    if (limit > 0 && event->eval_s > limit)
        finish(w, TRIAL_EVAL_OVERRUN);
}

static void hear(struct watch *w, const char *line, size_t length)
{
    struct trial_message message;
    if (w->stop || !trial_wire_read(&message, line, length))
        return;
    if (message.failed) {
        w->outcome->error = message.error;
        return;
    }
    if (message.event.kind == TRAINER_EVENT_EVALUATING)
        begin_evaluation(w, &message.event);
    if (message.event.kind == TRAINER_EVENT_DONE)
        end_evaluation(w, &message.event);
    w->job->event(w->job->context, &message.event);
}

static void hear_lines(struct watch *w)
{
    char *from = w->line, *end;
    while ((end = memchr(from, '\n', w->length - (size_t)(from - w->line)))) {
        hear(w, from, (size_t)(end - from));
        from = end + 1;
    }
    w->length -= (size_t)(from - w->line);
    memmove(w->line, from, w->length);
}

static bool make_room(struct watch *w)
{
    if (w->capacity - w->length >= 4096)
        return true;
    char *grown = realloc(w->line, w->capacity + 65536);
    if (!grown)
        return false;
    w->line = grown;
    w->capacity += 65536;
    return true;
}

/* False at the end of what the child says. */
static bool listen_once(struct watch *w)
{
    ssize_t n = -1;
    if (make_room(w))
        do
            n = read(w->events, w->line + w->length, w->capacity - w->length);
        while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    w->length += (size_t)n;
    hear_lines(w);
    return true;
}

/* ---- time ---- */

/* Milliseconds until the budget of this phase ends, -1 for never. */
static int time_left(const struct watch *w)
{
    double left = w->phase_began + w->phase_limit - now();
    if (w->phase_limit <= 0)
        return -1;
    return left <= 0 ? 0 : left > 1e6 ? 1000000000 : (int)(left * 1000) + 1;
}

static void keep_watch(struct watch *w)
{
    while (!w->stop) {
        struct pollfd fds[] = {{w->events, POLLIN, 0}, {w->job->interrupts->fd, POLLIN, 0}};
        int wait = time_left(w);
        int ready = poll(fds, 2, wait);
        if (ready < 0)
            continue;
        if (fds[1].revents)
            finish(w, TRIAL_INTERRUPTED);
        else if (fds[0].revents) {
            if (!listen_once(w))
                break;
        } else if (ready == 0 && time_left(w) == 0)
            finish(w, w->evaluating ? TRIAL_EVAL_OVERRUN : TRIAL_TRAIN_OVERRUN);
    }
}

/* ---- its end ---- */

static void judge(struct watch *w, int state)
{
    struct trial_outcome *outcome = w->outcome;
    if (WIFSIGNALED(state)) {
        outcome->end = TRIAL_SIGNALLED;
        outcome->signal = WTERMSIG(state);
    } else if (WEXITSTATUS(state) == 0 && w->done) {
        outcome->end = TRIAL_FINISHED;
    } else {
        outcome->end = TRIAL_FAILED;
        if (outcome->error.status == TRAINER_OK)
            snprintf(outcome->error.text, sizeof outcome->error.text,
                     "the trial left with exit status %d and did not say why", WEXITSTATUS(state));
    }
}

static bool reap(struct watch *w)
{
    int state = 0;
    if (w->stop)
        kill(-w->child, SIGKILL);
    while (waitpid(w->child, &state, 0) < 0)
        if (errno != EINTR) {
            cli_error(CLI_SYSTEM, "the trial was lost: %s", strerror(errno));
            return false;
        }
    w->outcome->total_s = now() - w->began;
    if (!w->stop)
        judge(w, state);
    return true;
}

bool trial_watch(struct trial_outcome *outcome, const struct trial_job *job)
{
    struct watch w = {.job = job, .outcome = outcome, .phase_limit = job->train_seconds};
    *outcome = (struct trial_outcome){0};
    bool ok = start(&w);
    if (ok) {
        keep_watch(&w);
        ok = reap(&w);
    }
    close(w.events);
    free(w.line);
    return ok;
}
