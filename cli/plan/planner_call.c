/*
 * planner_call.c: see planning.h.
 *
 * A planner may be an agent that thinks for minutes, uses the network and starts processes of its own. This process
 * enforces the time limit, so the night gets an answer or a reason whatever the planner does.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <lineage/render.h>
#include <lineage/time.h>

#include "plan/planning.h"
#include "support/program.h"

bool telemetry_path(char path[PATH_MAX], struct lineage_store *store, const char *name)
{
    struct lineage_error err;
    char *dir = NULL;
    if (lineage_store_path(&dir, store, LINEAGE_PLACE_TELEMETRY, &err) != LINEAGE_OK)
        return false;
    mkdir(dir, 0777);
    const bool fits = cli_path_in(path, dir, name);
    lineage_free(dir);
    return fits;
}

bool telemetry_line_append(struct lineage_store *store, const char *name, const json_t *object)
{
    size_t length = 0;
    char path[PATH_MAX] = "", *line = object ? cli_json_compact(object, &length) : NULL;
    int fd =
        line && telemetry_path(path, store, name) ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666) : -1;
    if (line)
        line[length] = '\n';
    bool good = fd >= 0 && write(fd, line, length + 1) == (ssize_t)length + 1;
    if (!good)
        cli_error(CLI_SYSTEM, "cannot write %s: %s", path, strerror(errno));
    cli_close(fd);
    free(line);
    return good;
}

#define FILE_NAME "planner-tokens.jsonl"

bool spent_tokens_add(struct lineage_store *store, const char *sweep, const char *model, uint64_t prompt, uint64_t completion)
{
    char now[LINEAGE_TIME_MAX];
    json_t *line = json_pack("{s:s, s:s, s:s, s:I, s:I}", "time", lineage_time_format(now, (int64_t)time(NULL)), "sweep", sweep,
                             "model", model, "prompt_tokens", (json_int_t)prompt, "completion_tokens", (json_int_t)completion);
    bool good = telemetry_line_append(store, FILE_NAME, line);
    json_decref(line);
    return good;
}

/* Adds the lines about a sweep that were written since the last call. A missing file and damaged lines add nothing. */
static void spent_tokens_read(struct spent_tokens *spent, struct lineage_store *store, const char *sweep)
{
    char path[PATH_MAX], *text = NULL;
    size_t capacity = 0;
    int fd = telemetry_path(path, store, FILE_NAME) ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    FILE *in = fd >= 0 && lseek(fd, spent->read, SEEK_SET) >= 0 ? fdopen(fd, "r") : NULL;
    for (ssize_t n; in && (n = getline(&text, &capacity, in)) > 0 && text[n - 1] == '\n'; spent->read += n) {
        json_t *line = json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
        const char *name = cli_json_string(line, "sweep");
        if (name && strcmp(name, sweep) == 0)
            spent->sum += cli_json_count(line, "prompt_tokens") + cli_json_count(line, "completion_tokens");
        json_decref(line);
    }
    free(text);
    if (in)
        fclose(in);
    else if (fd >= 0)
        close(fd);
}

static const char *const sums[] = {"requests", "replayed", "prompt_tokens", "completion_tokens", "seconds", NULL};

static double amount(const json_t *cost, const char *name)
{
    double value = json_number_value(json_object_get(cost, name));
    return value >= 0 && value < 1e15 ? value : 0; /* also not for nan */
}

static void add(struct planning *planning, const json_t *cost)
{
    static const char *const texts[] = {"model", "exchange", NULL};
    if (!planning->cost)
        planning->cost = json_object();
    for (size_t i = 0; sums[i]; i++) {
        double sum = amount(planning->cost, sums[i]) + amount(cost, sums[i]);
        json_object_set_new(planning->cost, sums[i], json_real(sum));
    }
    for (size_t i = 0; texts[i]; i++)
        if (json_is_string(json_object_get(cost, texts[i])))
            json_object_set(planning->cost, texts[i], json_object_get(cost, texts[i]));
    planning->tokens_reported += (uint64_t)(amount(cost, "prompt_tokens") + amount(cost, "completion_tokens"));
}

void planner_cost_take(struct planning *planning)
{
    for (size_t i = 0; i < json_array_size(planning->answers);) {
        const json_t *answer = json_array_get(planning->answers, i);
        const json_t *cost = json_object_size(answer) == 1 ? json_object_get(answer, "cost") : NULL;
        if (!json_is_object(cost)) {
            i++;
            continue;
        }
        add(planning, cost);
        json_array_remove(planning->answers, i);
    }
}

/* If the lines could not be written, what this execution used is counted all the same. */
static uint64_t tokens_used(struct planning *planning)
{
    spent_tokens_read(&planning->spent, planning->list->store, planning->list->sweep.name);
    return planning->spent.sum > planning->tokens_reported ? planning->spent.sum : planning->tokens_reported;
}

uint64_t planner_cost_tokens_left(struct planning *planning)
{
    uint64_t used = tokens_used(planning);
    return used < planning->tokens ? planning->tokens - used : 0;
}

bool planner_cost_is_too_high(struct planning *planning)
{
    if (!planning->tokens || planner_cost_tokens_left(planning) > 0)
        return false;
    if (planning->planner)
        fprintf(stderr,
                "lineage: the planner has used %llu tokens, and the sweep has %zu (--agent-tokens); the proposer takes over\n",
                (unsigned long long)tokens_used(planning), planning->tokens);
    planning->planner = NULL;
    return true;
}

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

struct call {
    pid_t pid;
    int to, from;     /* the planner's standard input and output; -1: closed */
    const char *text; /* [left] the part not yet written */
    size_t left;
    char *answer; /* [n] */
    size_t n;
    bool overflows; /* it printed more than PLANNER_ANSWER_MAX bytes */
};

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
