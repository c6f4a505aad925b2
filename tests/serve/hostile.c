/*
 * hostile.c: tests `lineage serve` with hostile clients while the store grows. It sends other hosts and origins, wrong
 * tokens, other methods, noise, and truncated and endless heads, and opens silent connections, many of each. Afterwards
 * the server must still answer, notify its listeners of new rows, and exit on a signal.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/files.h"

extern char **environ;

enum { WAIT_MS = 20000, NOISE = 400, SILENT = 80, LISTENERS = 24, RECONNECTING = 200 };

struct served {
    pid_t pid;
    unsigned port;
    char token[40], path[512]; /* path: results.tsv */
    int rows, checks, failures;
};

static void check(struct served *s, bool ok, const char *what)
{
    s->checks++;
    if (!ok) {
        s->failures++;
        printf("FAIL %s\n", what);
    }
}

static bool start(struct served *s, const char *dir)
{
    const char *program = getenv("LINEAGE");
    char *const argv[] = {(char *)(uintptr_t)"lineage",
                          (char *)(uintptr_t)"serve",
                          (char *)(uintptr_t)"-C",
                          (char *)(uintptr_t)dir,
                          (char *)(uintptr_t)"--port",
                          (char *)(uintptr_t)"0",
                          NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    if (!program || pipe(ends) != 0)
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    int error = posix_spawn(&s->pid, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *out = fdopen(ends[0], "r");
    bool ok = !error && out && fscanf(out, "http://127.0.0.1:%u/?token=%39s", &s->port, s->token) == 2;
    if (out)
        fclose(out);
    return ok;
}

static int dial(const struct served *s)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)s->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Receives at most room - 1 bytes, until the peer closes the connection or `until` has arrived. */
static size_t receive(int fd, char *out, size_t room, const char *until)
{
    size_t n = 0;
    struct pollfd wait = {fd, POLLIN, 0};
    while (n + 1 < room && poll(&wait, 1, WAIT_MS) > 0) {
        ssize_t got = recv(fd, out + n, room - 1 - n, 0);
        if (got <= 0)
            break;
        n += (size_t)got;
        out[n] = '\0';
        if (until && strstr(out, until))
            break;
    }
    out[n] = '\0';
    return n;
}

/* Sends a request and returns the status of the answer, or 0 if the server closed the connection without one. */
static int ask(const struct served *s, const char *request)
{
    char answer[4096];
    int fd = dial(s), status = 0;
    if (fd < 0)
        return -1;
    if (send(fd, request, strlen(request), MSG_NOSIGNAL) >= 0 && receive(fd, answer, sizeof answer, "\r\n\r\n"))
        sscanf(answer, "HTTP/1.1 %d", &status);
    close(fd);
    return status;
}

static int get(const struct served *s, const char *path, const char *host, const char *more)
{
    char request[1024];
    snprintf(request, sizeof request, "GET %s%s HTTP/1.1\r\n%s%s%s%sConnection: close\r\n\r\n", path, s->token,
             host ? "Host: " : "", host ? host : "", host ? "\r\n" : "", more);
    return ask(s, request);
}

static void guards(struct served *s)
{
    char here[64], local[64], origin[128], twice[128], request[512];
    struct served other = *s;
    snprintf(here, sizeof here, "127.0.0.1:%u", s->port);
    snprintf(local, sizeof local, "LOCALHOST:%u", s->port);
    check(s, get(s, "/?token=", here, "") == 200, "the right request is answered");
    check(s, get(s, "/?token=", local, "") == 200, "localhost is this host");
    check(s, get(s, "/?token=", "evil.example", "") == 403, "another host");
    check(s, get(s, "/?token=", "127.0.0.1:1", "") == 403, "another port");
    check(s, get(s, "/?token=", NULL, "") >= 400, "no host");
    snprintf(twice, sizeof twice, "Host: %s\r\n", here);
    check(s, get(s, "/?token=", here, twice) >= 400, "two hosts");
    check(s, get(s, "/?token=", here, "Origin: http://evil.example\r\n") == 403, "another origin");
    check(s, get(s, "/?token=", here, "Origin: null\r\n") == 403, "no origin that could be named");
    snprintf(origin, sizeof origin, "Origin: https://%s\r\n", here);
    check(s, get(s, "/?token=", here, origin) == 403, "another scheme");
    snprintf(origin, sizeof origin, "Origin: http://%s\r\n", here);
    check(s, get(s, "/?token=", here, origin) == 200, "its own origin");
    snprintf(request, sizeof request, "%s%s", origin, origin);
    check(s, get(s, "/?token=", here, request) == 403, "two origins");
    check(s, get(s, "/?token=", here, "Sec-Fetch-Site: cross-site\r\n") == 403, "a page of another site");
    check(s, get(s, "/?token=", here, "Sec-Fetch-Site: same-site\r\n") == 403, "a page of another port");
    check(s, get(s, "/?token=", here, "Sec-Fetch-Site: anything\r\n") == 403, "an unknown site");
    check(s, get(s, "/?token=", here, "Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n") == 403, "two sites");
    check(s, get(s, "/?token=", here, "Sec-Fetch-Site: none\r\n") == 200, "an address that the user typed");
    check(s, get(s, "/?token=", here, "Sec-Fetch-Site: same-origin\r\n") == 200, "its own page");
    other.token[0] = other.token[0] == '0' ? '1' : '0';
    check(s, get(&other, "/?token=", here, "") == 403, "a wrong token");
    other.token[8] = '\0';
    check(s, get(&other, "/?token=", here, "") == 403, "a short token");
    check(s, get(&other, "/events?token=", here, "") == 403, "events want the token");
    check(s, get(&other, "/trial?s=0&i=0&token=", here, "") == 403, "trials want the token");
    check(s, get(s, "/../../etc/passwd?token=", here, "") == 404, "no file is served");
    check(s, get(s, "/trial?s=0&i=0&token=", here, "") == 200, "a trial");
    check(s, get(s, "/trial?s=0&i=-1&token=", here, "") == 404, "no trial");
    check(s, get(s, "/trial?i=0&token=", here, "") == 404, "no store");
    check(s, get(s, "/trial?s=1&i=0&token=", here, "") == 404, "a store that is not served");
    check(s, get(s, "/trial?s=16&i=0&token=", here, "") == 404, "a store beyond the last");
    check(s, get(s, "/trial?s=0&i=99999999999999999999&token=", here, "") == 404, "no such number");
    static const char *const methods[] = {"POST", "PUT", "DELETE", "PATCH", "OPTIONS"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        snprintf(request, sizeof request,
                 "%s /?token=%s HTTP/1.1\r\nHost: %s\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", methods[i], s->token,
                 here);
        check(s, ask(s, request) == 405, methods[i]);
    }
}

/* Appends another trial, as a night would. */
static void grow(struct served *s)
{
    FILE *out = fopen(s->path, "a");
    if (out)
        fprintf(out, "%03d\t2026-01-01T00:00:00Z\tgrpo\t000\t\tqa\tmore\t\tkeep\t1.4\t\t\t\t\t\t\talpha=0.3\n", ++s->rows);
    check(s, out && fclose(out) == 0, "a row can be appended");
}

/* Sends random bytes. The server must answer with an error or close the connection. */
static void noise(struct served *s)
{
    static const char *const seeds[] = {
        "GET /?token=", "GET / HTTP/1.1\r\nHost: ", "\x16\x03\x01\x02", "PRI * HTTP/2.0\r\n\r\nSM",
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nffffffffffffffff\r\n"};
    unsigned state = 12345;
    for (int i = 0; i < NOISE; i++) {
        char bytes[512];
        const char *seed = seeds[(unsigned)i % 5];
        size_t n = strlen(seed);
        memcpy(bytes, seed, n);
        for (; n < sizeof bytes; n++) {
            state = state * 1664525u + 1013904223u;
            bytes[n] = (char)(state >> 24);
        }
        if (i % 40 == 0)
            grow(s);
        int fd = dial(s);
        if (fd < 0)
            continue;
        if (send(fd, bytes, 1 + (state >> 8) % sizeof bytes, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
            check(s, false, "noise can be sent");
        if (i % 3)
            shutdown(fd, SHUT_WR);
        close(fd);
    }
    char here[64], *large = malloc(200001);
    snprintf(here, sizeof here, "127.0.0.1:%u", s->port);
    if (large) {
        memset(large, 'a', 200000);
        memcpy(large, "GET /", 5);
        large[200000] = '\0';
        int status = ask(s, large);
        check(s, status == 0 || status >= 400, "a head without end");
        free(large);
    }
    check(s, get(s, "/?token=", here, "") == 200, "it answers after the noise");
}

/*
 * Opens connections that send nothing or half a request. They occupy places in the server, but only for a time, and
 * they must not fill its memory.
 */
static void slow(struct served *s)
{
    int fds[SILENT];
    char here[64];
    snprintf(here, sizeof here, "127.0.0.1:%u", s->port);
    for (int i = 0; i < SILENT; i++) {
        fds[i] = dial(s);
        if (fds[i] >= 0 && i % 2)
            (void)!send(fds[i], "GET / HT", 8, MSG_NOSIGNAL);
    }
    for (int i = 0; i < SILENT; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    int status = 0;
    for (int i = 0; i < 100 && status != 200; i++) {
        status = get(s, "/?token=", here, "");
        usleep(50000);
    }
    check(s, status == 200, "it answers after silent connections");
}

/*
 * Clients that send half a request and reconnect when the server disconnects them. A request beside them must be answered
 * before the server's time limit for idle connections ends theirs.
 */
static void reconnecting(struct served *s, int clients)
{
    int fds[RECONNECTING], answered = 0;
    char here[64], end[16];
    snprintf(here, sizeof here, "127.0.0.1:%u", s->port);
    for (int i = 0; i < clients; i++)
        fds[i] = -1;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < clients; i++) {
            bool gone =
                fds[i] < 0 || recv(fds[i], end, sizeof end, MSG_DONTWAIT) == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
            if (!gone)
                continue;
            if (fds[i] >= 0)
                close(fds[i]);
            fds[i] = dial(s);
            if (fds[i] >= 0)
                (void)!send(fds[i], "GET / HT", 8, MSG_NOSIGNAL);
        }
        answered += get(s, "/?token=", here, "") == 200;
    }
    for (int i = 0; i < clients; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    check(s, answered == 20, "every request is answered beside clients that reconnect");
}

/*
 * Opens many listeners. The server admits a fixed number, and a listener that does not read must not delay the
 * others.
 */
static void listeners(struct served *s)
{
    int fds[LISTENERS], admitted = 0, refused = 0;
    bool open[LISTENERS] = {false};
    char request[256], answer[2048];
    grow(s);
    usleep(1200000); /* let the server check its store once without listeners; it does so twice a second */
    snprintf(request, sizeof request, "GET /events?token=%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", s->token, s->port);
    for (int i = 0; i < LISTENERS; i++) {
        fds[i] = dial(s);
        if (fds[i] < 0 || send(fds[i], request, strlen(request), MSG_NOSIGNAL) < 0)
            continue;
        receive(fds[i], answer, sizeof answer, "\r\n\r\n");
        open[i] = strncmp(answer, "HTTP/1.1 200", 12) == 0;
        admitted += open[i];
        refused += strncmp(answer, "HTTP/1.1 503", 12) == 0;
    }
    check(s, admitted == 16 && refused == LISTENERS - 16, "16 listeners are admitted, the others refused");
    char here[64];
    snprintf(here, sizeof here, "127.0.0.1:%u", s->port);
    grow(s);
    check(s, get(s, "/?token=", here, "") == 200, "it answers beside its listeners");
    int told = 0;
    for (int i = 0; i < LISTENERS; i++)
        if (open[i])
            told += receive(fds[i], answer, sizeof answer, "event: rows") > 0 && strstr(answer, "event: rows");
    check(s, told == admitted, "every listener hears of a new row");
    snprintf(request, sizeof request, "/trial?s=0&i=%d&token=", s->rows);
    check(s, get(s, request, here, "") == 200, "the new trial is there");
    for (int i = 0; i < LISTENERS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static void end(struct served *s)
{
    int state = 0;
    kill(s->pid, SIGTERM);
    check(s, waitpid(s->pid, &state, 0) == s->pid && WIFEXITED(state) && WEXITSTATUS(state) == 0, "it ends cleanly");
}

int main(void)
{
    struct served s = {0};
    char *dir = make_dir();
    if (!dir)
        return 3;
    snprintf(s.path, sizeof s.path, "%s/results.tsv", dir);
    FILE *out = fopen(s.path, "w");
    if (!out)
        return 3;
    fputs("exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\tstatus\tcore_metric\tval_"
          "bpb\t"
          "delta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes\n"
          "000\t2026-01-01T00:00:00Z\tgrpo\t\t\tqa\tplain\t\tbaseline\t1.5\t\t\t\t\t\t\talpha=0.3\n",
          out);
    fclose(out);
    setenv("XDG_STATE_HOME", dir, 1);
    if (!start(&s, dir)) {
        printf("the server did not start\n");
        return 1;
    }
    guards(&s);
    noise(&s);
    slow(&s);
    reconnecting(&s, 70);
    reconnecting(&s, RECONNECTING);
    listeners(&s);
    end(&s);
    remove_dir(dir);
    printf("%d checks, %d failed\n", s.checks, s.failures);
    return s.failures != 0;
}
