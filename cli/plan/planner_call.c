/*
 * planner_call.c: see planning.h.
 *
 * A planner may be an agent that thinks for minutes, uses the network and starts processes of its own. This process
 * enforces the time limit, so the night gets an answer or a reason whatever the planner does.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plan/planning.h"
#include "support/program.h"

/* ---- agent command ---- */

char *agent_command_make(const struct agent_command *settings)
{
    struct cli_writer writer = {0};
    const struct {
        const char *option, *value;
    } options[] = {{"-C", settings->store},          {"--endpoint", settings->endpoint}, {"--model", settings->model},
                   {"--key-env", settings->key_env}, {"--prompt", settings->prompt},     {"--seconds", settings->seconds}};
    FILE *out = cli_writer_open(&writer);
    if (!out)
        return NULL;
    fputs("exec", out);
    shell_word_write(out, settings->program);
    fputs(" agent", out);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].value) {
            shell_word_write(out, options[i].option);
            shell_word_write(out, options[i].value);
        }
    return cli_writer_close(&writer);
}

/* ---- planner call ---- */

struct call {
    pid_t pid;
    int to, from;     /* the planner's standard input and output; -1: closed */
    const char *text; /* [left] the part not yet written */
    size_t left;
    char *answer; /* [n] */
    size_t n;
    bool overflows; /* it printed more than PLANNER_ANSWER_MAX bytes */
};

/* ---- start and end ---- */

static _Noreturn void run(const char *command, int in, int out, pid_t parent)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || dup2(in, 0) < 0 || dup2(out, 1) < 0)
        _exit(127);
    signal(SIGPIPE, SIG_DFL);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

static bool start(struct call *call, const char *command)
{
    int in[2], out[2];
    if (pipe(in) != 0)
        return false;
    if (pipe(out) != 0) {
        close(in[0]);
        close(in[1]);
        return false;
    }
    for (int i = 0; i < 2; i++) {
        fcntl(in[i], F_SETFD, FD_CLOEXEC);
        fcntl(out[i], F_SETFD, FD_CLOEXEC);
    }
    pid_t parent = getpid();
    call->pid = fork();
    if (call->pid == 0)
        run(command, in[0], out[1], parent);
    close(in[0]);
    close(out[1]);
    call->to = in[1];
    call->from = out[0];
    fcntl(call->to, F_SETFL, O_NONBLOCK);
    return call->pid > 0;
}

/* ---- while it runs ---- */

/* A planner that does not read its input may still print an answer. */
static void write_text(struct call *call)
{
    ssize_t n = write(call->to, call->text, call->left);
    if (n > 0) {
        call->text += n;
        call->left -= (size_t)n;
    }
    if (call->left == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        cli_shut(&call->to);
}

static void read_answer(struct call *call)
{
    char beyond[4096];
    bool full = call->n == PLANNER_ANSWER_MAX;
    ssize_t n =
        full ? read(call->from, beyond, sizeof beyond) : read(call->from, call->answer + call->n, PLANNER_ANSWER_MAX - call->n);
    if (n > 0 && full)
        call->overflows = true;
    else if (n > 0)
        call->n += (size_t)n;
    else if (n == 0 || errno != EINTR)
        cli_shut(&call->from);
}

/* Writes the request and reads the answer. Returns false after the deadline or if the night was interrupted. */
static bool exchange(struct call *call, double end, const struct interrupts *interrupts)
{
    while (call->from >= 0) {
        struct pollfd fds[3] = {
            {.fd = call->from, .events = POLLIN}, {.fd = call->to, .events = POLLOUT}, {.fd = interrupts->fd, .events = POLLIN}};
        double left = end - cli_now();
        if (left <= 0)
            return false;
        if (poll(fds, 3, (int)fmin(ceil(left * 1000), 60000)) < 0 && errno != EINTR)
            return false;
        if (fds[2].revents)
            return false;
        if (fds[1].revents)
            write_text(call);
        if (fds[0].revents)
            read_answer(call);
    }
    return true;
}

/* Called once the planner has closed its output: it gets two seconds to exit by itself. */
static bool reap(const struct call *call, int *state)
{
    for (int i = 0; i < 200; i++) {
        if (waitpid(call->pid, state, WNOHANG) == call->pid)
            return true;
        poll(NULL, 0, 10);
    }
    return false;
}

static void describe_trouble(char *trouble, bool in_time, bool left, int state, const struct call *call, double seconds)
{
    if (!in_time)
        snprintf(trouble, PLANNER_TROUBLE_MAX, "the planner did not answer within %.0f s", seconds);
    else if (left && WIFSIGNALED(state))
        snprintf(trouble, PLANNER_TROUBLE_MAX, "the planner was killed by signal %d", WTERMSIG(state));
    else if (left && WIFEXITED(state) && WEXITSTATUS(state) != 0)
        snprintf(trouble, PLANNER_TROUBLE_MAX, "the planner left with exit status %d", WEXITSTATUS(state));
    else if (call->overflows)
        snprintf(trouble, PLANNER_TROUBLE_MAX, "the planner said more than %d bytes", PLANNER_ANSWER_MAX);
}

/* SIGPIPE is ignored during the call, because a planner that does not read its input must not end the night. */
char *planner_call(const char *command, const char *text, size_t length, double seconds, const struct interrupts *interrupts,
                   char trouble[PLANNER_TROUBLE_MAX])
{
    struct call call = {.to = -1, .from = -1, .text = text, .left = length, .answer = malloc(PLANNER_ANSWER_MAX + 1)};
    struct sigaction before, ignore = {.sa_handler = SIG_IGN};
    int state = 0;
    trouble[0] = '\0';
    if (!call.answer || !start(&call, command)) {
        snprintf(trouble, PLANNER_TROUBLE_MAX, "the planner cannot be started: %s", strerror(errno));
        cli_shut(&call.to);
        cli_shut(&call.from);
        free(call.answer);
        return NULL;
    }
    sigaction(SIGPIPE, &ignore, &before);
    bool in_time = exchange(&call, cli_now() + seconds, interrupts);
    cli_shut(&call.to);
    cli_shut(&call.from);
    bool left = in_time && reap(&call, &state);
    kill(-call.pid, SIGKILL);
    if (!left)
        waitpid(call.pid, NULL, 0);
    sigaction(SIGPIPE, &before, NULL);
    describe_trouble(trouble, in_time, left, state, &call, seconds);
    call.answer[call.n] = '\0';
    return call.answer;
}
