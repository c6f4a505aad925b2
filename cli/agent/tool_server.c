/* tool_server.c: see tool_server.h. */
#include "agent/tool_server.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "judge/endpoint.h"
#include "support/program.h"

static _Noreturn void run(const char *program, const char *dir, const char *key_env, int in, int out, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    unsetenv(key_env && *key_env ? key_env : JUDGE_KEY_ENV);
    if (getppid() == parent && dup2(in, 0) >= 0 && dup2(out, 1) >= 0)
        execl(program, "lineage", "mcp", "-C", dir, (char *)NULL);
    _exit(127);
}

static bool start(struct tool_server *server, const char *dir, const char *key_env)
{
    char program[PATH_MAX];
    int to[2], from[2];
    if (!program_command(program) || pipe(to) != 0)
        return false;
    if (pipe(from) != 0)
        return close(to[0]), close(to[1]), false;
    for (int i = 0; i < 2; i++) {
        fcntl(to[i], F_SETFD, FD_CLOEXEC);
        fcntl(from[i], F_SETFD, FD_CLOEXEC);
    }
    pid_t parent = getpid();
    server->pid = fork();
    if (server->pid == 0)
        run(program, dir, key_env, to[0], from[1], parent);
    close(to[0]);
    close(from[1]);
    server->to = fdopen(to[1], "w");
    server->from = fdopen(from[0], "r");
    return server->pid > 0 && server->to && server->from;
}

/* Sends a request and returns the answer's result. The server answers one request after another, so the next answer is this
 * one's. Takes over the reference to params. */
static json_t *ask(struct tool_server *server, const char *method, json_t *params)
{
    json_t *request = json_pack("{s:s, s:I, s:s, s:o}", "jsonrpc", "2.0", "id", ++server->id, "method", method, "params", params);
    bool sent = request && server->to && json_dumpf(request, server->to, JSON_COMPACT) == 0 && fputc('\n', server->to) != EOF &&
                fflush(server->to) == 0;
    json_decref(request);
    while (sent) {
        ssize_t n = getline(&server->line, &server->capacity, server->from);
        json_t *answer = n > 0 ? json_loadb(server->line, (size_t)n, 0, NULL) : NULL;
        if (n <= 0)
            break;
        bool mine = json_integer_value(json_object_get(answer, "id")) == server->id;
        json_t *result = json_incref(json_object_get(answer, "result"));
        json_decref(answer);
        if (mine)
            return result;
        json_decref(result);
    }
    return NULL;
}

bool tool_server_start(struct tool_server *server, const char *dir, const char *key_env)
{
    if (!start(server, dir, key_env))
        return false;
    json_t *hello = ask(server, "initialize",
                        json_pack("{s:s, s:{}, s:{s:s, s:s}}", "protocolVersion", "2025-11-25", "capabilities", "clientInfo",
                                  "name", "lineage agent", "version", LINEAGE_VERSION));
    json_t *list = hello ? ask(server, "tools/list", json_object()) : NULL;
    server->tools = json_incref(json_object_get(list, "tools"));
    json_decref(hello);
    json_decref(list);
    return json_array_size(server->tools) > 0;
}

void tool_server_stop(struct tool_server *server)
{
    if (server->to)
        fclose(server->to); /* the end of input ends the server */
    if (server->from)
        fclose(server->from);
    if (server->pid > 0)
        waitpid(server->pid, NULL, 0);
    free(server->line);
    json_decref(server->tools);
    *server = (struct tool_server){.pid = 0};
}

bool tool_server_has(const struct tool_server *server, const char *name)
{
    size_t i;
    json_t *tool;
    json_array_foreach(server->tools, i, tool)
        if (strcmp(json_string_value(json_object_get(tool, "name")), name) == 0)
            return true;
    return false;
}

char *tool_server_call(struct tool_server *server, const char *name, json_t *arguments)
{
    json_t *result = ask(server, "tools/call", json_pack("{s:s, s:O}", "name", name, "arguments", arguments));
    const char *text = json_string_value(json_object_get(json_array_get(json_object_get(result, "content"), 0), "text"));
    char *copy = strdup(text ? text : "the tool did not answer; check the arguments");
    bool gone = !result && feof(server->from);
    json_decref(result);
    if (gone) {
        free(copy);
        return NULL;
    }
    return copy;
}
