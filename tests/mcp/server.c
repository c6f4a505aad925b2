/* server.c: `lineage mcp` as a child process. */
#include "mcp/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/files.h"

enum { SILENCE_MS = 60000 };

char *make_store(size_t n)
{
    static const char *const labels[] = {"discard", "keep", "discard", "crash"};
    char *dir = make_dir(), *path = join(dir, "results.tsv");
    FILE *file = fopen(path, "w");
    fputs("exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\tstatus\tcore_metric\t"
          "val_bpb\tdelta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes\n",
          file);
    for (size_t i = 0; i < n; i++) {
        char parent[32] = "", score[32] = "";
        if (i)
            snprintf(parent, sizeof parent, "%06zu", (i - 1) / 2);
        if (i % 4 != 3)
            snprintf(score, sizeof score, "%.4f", 1 + (double)(i * 7919 % 9973) * 1e-4);
        fprintf(file,
                "%06zu\t2026-05-%02zuT%02zu:%02zu:00Z\tv%zu\t%s\t\topt\traise alpha and keep the warm-up, step %zu\t"
                "-0.01\t%s\t%s\t\t\t595.5\t612.0\t\t\talpha=%g; gamma=%g; seed=%zu; lr=0.0003\n",
                i, i % 28 + 1, i / 60 % 24, i % 60, i % 5, parent, i, labels[i % 4], score, (double)(i % 101) / 100,
                (double)(i % 11) / 10, i % 8);
    }
    fclose(file);
    free(path);
    return dir;
}

static void become_server(const char *dir, const char *errors, const int in[2], const int out[2])
{
    const char *program = getenv("LINEAGE");
    int log = open(errors ? errors : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(in[0], 0);
    dup2(out[1], 1);
    dup2(log, 2);
    close(in[1]);
    close(out[0]);
    execl(program ? program : "lineage", "lineage", "mcp", "-C", dir, (char *)NULL);
    _exit(127);
}

bool server_start(struct server *server, const char *dir, const char *errors)
{
    int in[2], out[2];
    *server = (struct server){.child = -1};
    signal(SIGPIPE, SIG_IGN);
    if (pipe(in) != 0 || pipe(out) != 0 || (server->child = fork()) < 0)
        return false;
    if (server->child == 0)
        become_server(dir, errors, in, out);
    close(in[0]);
    close(out[1]);
    server->in = in[1];
    server->out = out[0];
    fcntl(server->in, F_SETFL, O_NONBLOCK);
    return true;
}

static bool take(struct server *server)
{
    if (server->capacity - server->length < 65536) {
        server->capacity = server->capacity * 2 + 131072;
        server->data = realloc(server->data, server->capacity);
    }
    ssize_t n = read(server->out, server->data + server->length, server->capacity - server->length);
    if (n > 0)
        server->length += (size_t)n;
    return n > 0;
}

void server_put(struct server *server, const char *bytes, size_t length)
{
    while (length) {
        struct pollfd fds[] = {{server->in, POLLOUT, 0}, {server->out, POLLIN, 0}};
        if (poll(fds, 2, SILENCE_MS) <= 0)
            return;
        if ((fds[1].revents & (POLLIN | POLLHUP)) && !take(server))
            return;
        if (!(fds[0].revents & POLLOUT))
            continue;
        ssize_t n = write(server->in, bytes, length);
        if (n < 0 && errno != EAGAIN)
            return;
        bytes += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
}

json_t *server_next(struct server *server)
{
    char *end;
    while (!(end = server->length > server->start ? memchr(server->data + server->start, '\n', server->length - server->start)
                                                  : NULL)) {
        struct pollfd wait = {server->out, POLLIN, 0};
        if (server->start) {
            memmove(server->data, server->data + server->start, server->length - server->start);
            server->length -= server->start;
            server->start = 0;
        }
        if (poll(&wait, 1, SILENCE_MS) <= 0 || !take(server))
            return NULL;
    }
    const char *line = server->data + server->start;
    json_t *message = json_loadb(line, (size_t)(end - line), JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
    if (!message)
        fprintf(stderr, "no JSON: %.*s\n", (int)(end - line), line);
    server->start = (size_t)(end - server->data) + 1;
    return message;
}

int server_end(struct server *server)
{
    int state = 0;
    close(server->in);
    while (take(server))
        ;
    while (waitpid(server->child, &state, 0) < 0 && errno == EINTR)
        ;
    close(server->out);
    free(server->data);
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}
