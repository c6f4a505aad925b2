/*
 * trial_watch.c: spawn, listen, keep time, reap.
 *
 * A single process with one poll(): threads would need a second copy of every decision about who
 * ended the trial first. The first verdict stands (finish); what comes after it is clearing away.
 */
#include "trial/trial_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "trial/group_memory.h"

extern char **environ;

/* Reading a thousand /proc/PID/stat takes a few milliseconds: often enough to catch what grows within a
 * second, seldom enough not to slow the trial down. */
enum { MEMORY_INTERVAL_MS = 200 };

/* How often to ask whether the child has ended where the kernel has no descriptor for that. */
enum { EXIT_INTERVAL_MS = 50 };

/* A longer line is no event: a child that writes without end must not fill this process. */
enum { LINE_MAX_BYTES = 1 << 20, READ_BYTES = 1 << 16 };

/* Reads that empty the largest pipe: what the child said last is found, a descendant that goes on talking is
 * not listened to for ever. */
enum { PIPE_READS = 16 };

struct watch {
    const struct trial_job *job;
    struct trial_outcome *outcome;
    pid_t child;
    int events, exited; /* descriptors: what it says (-1 at its end); readable once it has ended, or -1 */
    double began, phase_began, phase_limit;
    bool evaluating, stop;
    bool overlong; /* the rest of this line is passed over */
    char *line;    /* bytes of a line not yet ended */
    size_t length, capacity;
};

/* Monotonic, as a clock that is set by the network must not end a trial. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the child ---- */

static size_t count(const char *const *list)
{
    size_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

static bool is_same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n) == 0 && b[n] == '=';
}

/* The environment of this process with the job's over it. The list is to be freed, its texts
 * are not. The variable stands there once, whatever this process was given itself: of two
 * getenv finds the first. */
static const char **make_environment(const char *const *over)
{
    static const char events[] = "LINEAGE_EVENTS=/dev/fd/3";
    const char *const *own = (const char *const *)environ;
    const char **list = calloc(count(own) + count(over) + 2, sizeof *list);
    size_t n = 0, kept;
    for (size_t i = 0; list && own[i]; i++)
        if (!is_same_name(own[i], events))
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

/* No standard input: a command that asks a question would hold up the night, and would take the
 * terminal from the person who started it. Its standard output goes to standard error, because
 * that of this process holds results. A process group of its own, so that ^C reaches this
 * process alone, which then decides what becomes of the trial, and so that one kill ends
 * whatever it started. */
static int spawn(struct watch *w, posix_spawn_file_actions_t *actions,
                 posix_spawnattr_t *attributes, int write_end)
{
    const struct trial_job *job = w->job;
    const char **environment = make_environment(job->environment);
    char *const *argv = (char *const *)(uintptr_t)job->argv;
    if (!environment)
        return ENOMEM;
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(actions, write_end, TRIAL_EVENTS_FD);
    char *const *envp = (char *const *)(uintptr_t)environment;
    int error = job->program ? posix_spawn(&w->child, job->program, actions, attributes, argv, envp)
                             : posix_spawnp(&w->child, argv[0], actions, attributes, argv, envp);
    free((void *)environment);
    return error;
}

/* A pipe whose ends are not what the child calls TRIAL_EVENTS_FD: dup2 to itself would keep O_CLOEXEC. */
static bool open_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        int moved = fcntl(ends[i], F_DUPFD_CLOEXEC, TRIAL_EVENTS_FD + 1);
        close(ends[i]);
        ends[i] = moved;
    }
    return ends[0] >= 0 && ends[1] >= 0;
}

/* posix_spawn reports a command that cannot be executed as an error here, before there is a
 * child; with fork it would be exit status 127, which a command may also return by itself. The
 * writing end is closed at once: held open here the pipe would never end. Without pidfd_open
 * (Linux before 5.3) exited is -1 and the child's end is asked for at intervals. */
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
    if (error) {
        cli_error(CLI_SYSTEM, "cannot start %s: %s", w->job->argv[0], strerror(error));
        return false;
    }
    /* Not to be held up by what the child leaves in the pipe's place: see listen. */
    fcntl(w->events, F_SETFL, O_NONBLOCK);
    w->exited = (int)syscall(SYS_pidfd_open, w->child, 0);
    return true;
}

static void finish(struct watch *w, enum trial_end end)
{
    w->outcome->end = end;
    w->stop = true;
}

/* ---- what it says ---- */

/* The child's own time of training decides where it is told: how late this process got to read
 * must not turn a trial within its budget into an overrun. */
static void begin_evaluation(struct watch *w, const struct trial_event *event)
{
    double limit = w->job->train_seconds;
    w->evaluating = true;
    w->phase_began = now();
    w->phase_limit = w->job->eval_seconds;
    if (limit > 0 && event->train_s > limit)
        finish(w, TRIAL_TRAIN_OVERRUN);
}

/* What comes after the evaluation, writing a checkpoint say, is nobody's budget. */
static void end_evaluation(struct watch *w, const struct trial_event *event)
{
    double limit = w->job->eval_seconds;
    w->phase_limit = 0;
    if (limit > 0 && event->eval_s > limit)
        finish(w, TRIAL_EVAL_OVERRUN);
}

/* Only the first begins the budget of the evaluation: those on the way are told as steps of
 * training, which pays for them. */
static void change_phase(struct watch *w, const struct trial_event *event)
{
    if (strcmp(event->phase, TRIAL_PHASE_EVAL) == 0 && !w->evaluating)
        begin_evaluation(w, event);
    else if (strcmp(event->phase, TRIAL_PHASE_DONE) == 0)
        end_evaluation(w, event);
}

/* After a verdict nothing is heard any more, or the last lines of a trial that was stopped
 * would change why it was. What is no event is passed over: a script may print what it likes
 * there. */
static void hear(struct watch *w, const char *text, size_t length)
{
    struct trial_event event;
    json_t *line = w->stop ? NULL : trial_wire_read(&event, text, length);
    if (!line)
        return;
    if (event.failed) {
        w->outcome->failure = event.failure;
        snprintf(w->outcome->text, sizeof w->outcome->text, "%s", event.failed);
    }
    if (event.phase)
        change_phase(w, &event);
    if (w->job->event)
        w->job->event(w->job->context, &event);
    json_decref(line);
}

/* Only whole lines: an event may arrive in two reads. */
static void hear_lines(struct watch *w)
{
    char *from = w->line, *end;
    while ((end = memchr(from, '\n', w->length - (size_t)(from - w->line)))) {
        if (!w->overlong)
            hear(w, from, (size_t)(end - from));
        w->overlong = false;
        from = end + 1;
    }
    w->length -= (size_t)(from - w->line);
    memmove(w->line, from, w->length);
    if (w->length > LINE_MAX_BYTES) {
        w->overlong = true;
        w->length = 0;
    }
}

static bool make_room(struct watch *w)
{
    if (w->capacity - w->length >= READ_BYTES)
        return true;
    char *grown = realloc(w->line, w->capacity + READ_BYTES);
    if (!grown)
        return false;
    w->line = grown;
    w->capacity += READ_BYTES;
    return true;
}

/* Read what is there; false if there is nothing now. The descriptor is closed at its end. Out
 * of memory counts as the end of the pipe: the trial goes on and is judged by its exit. */
static bool listen_once(struct watch *w)
{
    ssize_t n = make_room(w) ? read(w->events, w->line + w->length, w->capacity - w->length) : 0;
    if (n < 0)
        return errno == EINTR;
    if (n == 0) {
        close(w->events);
        w->events = -1;
        return false;
    }
    w->length += (size_t)n;
    hear_lines(w);
    return true;
}

/* ---- time ---- */

/* Milliseconds until the budget of this phase ends, -1 for never. One millisecond more than is
 * left: 0.4 would become 0, and poll would not sleep at all. Long budgets are cut to what an int
 * holds. */
static int time_left(const struct watch *w)
{
    double left = w->phase_began + w->phase_limit - now();
    if (w->phase_limit <= 0)
        return -1;
    return left <= 0 ? 0 : left > 1e6 ? 1000000000 : (int)(left * 1000) + 1;
}

/* How long to sleep at most: until the wall, or until something is to be looked at again. */
static int patience(const struct watch *w)
{
    int most = w->job->memory_bytes > 0 ? MEMORY_INTERVAL_MS : -1, left = time_left(w);
    if (w->exited < 0)
        most = EXIT_INTERVAL_MS;
    return most >= 0 && (left < 0 || left > most) ? most : left;
}

/* Whether the child has ended. It stays a zombie, so that its group's number cannot become another's. */
static bool has_ended(const struct watch *w)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)w->child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == w->child;
}

/* The peak is kept before it is judged, so that the row of an overrun says how large it was. */
static void look_at_memory(struct watch *w)
{
    double bytes = group_memory(w->child);
    if (bytes > w->outcome->peak_bytes)
        w->outcome->peak_bytes = bytes;
    if (bytes > w->job->memory_bytes)
        finish(w, TRIAL_MEMORY_OVERRUN);
}

/* The end is the child's exit, not the end of what it says: a process that it left behind may
 * hold the pipe open for ever, and a child may close it at once. What was said before the exit
 * is in the pipe then. Order within a round: what the child said comes before the clock, since
 * a trial that said in time that training is over must not lose to the wall for having been
 * read late; the user comes before everything that the child did in the same instant. */
static void keep_watch(struct watch *w)
{
    double looked = w->began;
    while (!w->stop) {
        struct pollfd fds[] = {
            {w->events, POLLIN, 0}, {w->job->interrupts->fd, POLLIN, 0}, {w->exited, POLLIN, 0}};
        if (poll(fds, 3, patience(w)) < 0)
            continue;
        if (w->job->memory_bytes > 0 && now() - looked >= 1e-3 * MEMORY_INTERVAL_MS) {
            look_at_memory(w);
            looked = now();
        }
        if (fds[0].revents)
            listen_once(w);
        if (fds[1].revents)
            finish(w, TRIAL_INTERRUPTED);
        else if (!w->stop && has_ended(w))
            break;
        else if (!w->stop && time_left(w) == 0)
            finish(w, w->evaluating ? TRIAL_EVAL_OVERRUN : TRIAL_TRAIN_OVERRUN);
    }
    for (int i = 0; i < PIPE_READS && !w->stop && w->events >= 0 && listen_once(w); i++)
        continue;
}

/* ---- its end ---- */

/* A command that left with success but not with what it was run for did not finish. Only of a
 * trial that finished: of one that crashed a missing file says nothing new. */
static void judge_artifacts(struct watch *w)
{
    struct trial_outcome *outcome = w->outcome;
    for (size_t i = 0; i < w->job->n_artifacts && outcome->end == TRIAL_FINISHED; i++) {
        const struct trial_artifact *artifact = &w->job->artifacts[i];
        struct stat st;
        if (stat(artifact->path, &st) != 0) {
            outcome->end = TRIAL_FAILED;
            snprintf(outcome->text, sizeof outcome->text, "it did not leave %.400s behind", artifact->path);
        } else if (artifact->max_bytes > 0 && (double)st.st_size > artifact->max_bytes) {
            outcome->end = TRIAL_ARTIFACT_OVERRUN;
            snprintf(outcome->text, sizeof outcome->text, "%.400s has %lld bytes, %.0f are allowed",
                     artifact->path, (long long)st.st_size, artifact->max_bytes);
        }
    }
}

/* Success with a reason for failure is a failure: the reason is the better evidence. */
static void judge(struct watch *w, int state)
{
    struct trial_outcome *outcome = w->outcome;
    outcome->exit_status = WIFEXITED(state) ? WEXITSTATUS(state) : 0;
    if (WIFSIGNALED(state)) {
        outcome->end = TRIAL_SIGNALLED;
        outcome->signal = WTERMSIG(state);
    } else if (outcome->exit_status == 0 && !outcome->text[0]) {
        outcome->end = TRIAL_FINISHED;
        judge_artifacts(w);
    } else {
        outcome->end = TRIAL_FAILED;
        if (!outcome->text[0])
            snprintf(outcome->text, sizeof outcome->text,
                     "the trial left with exit status %d and did not say why", outcome->exit_status);
    }
}

/* Whatever of the group is still there goes with it: a trial that is over trains no more.
 * Killed first, waited for second: until it is waited for the child is a zombie and its number,
 * which is the group's, cannot be given to another. SIGKILL at once and no SIGTERM: nothing
 * that a trial could still write is wanted, as its row comes from what it said. */
static bool reap(struct watch *w)
{
    int state = 0;
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

/* false means that there is no evidence at all, and then no row is written. */
bool trial_watch(struct trial_outcome *outcome, const struct trial_job *job)
{
    struct watch w = {
        .job = job, .outcome = outcome, .events = -1, .exited = -1, .phase_limit = job->train_seconds};
    *outcome = (struct trial_outcome){0};
    bool ok = start(&w);
    if (ok) {
        keep_watch(&w);
        ok = reap(&w);
    }
    if (w.events >= 0)
        close(w.events);
    if (w.exited >= 0)
        close(w.exited);
    free(w.line);
    return ok;
}
