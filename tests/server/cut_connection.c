/*
 * cut_connection.c: appends through a proxy that cuts the connection after byte N, for every N in both directions, once
 * or each time. In every case there is exactly one row. If no answer came, the trial is in the outbox and the next sync
 * delivers it.
 *
 * With `corrupt`, the proxy changes byte N instead, among the bytes of the startup, before the server is ready for the first
 * statement. If that happens each time, the byte may make another user, database or version of it, so an append may also fail: then
 * its error says so.
 *
 * usage: cut_connection DIR SOCKET PORT STEP [corrupt]
 *        cut_connection proxy SOCKET PORT SEED
 *
 * The second form is the proxy alone (campaign.sh): with a SEED above 0 it cuts two of five connections at a random byte and changes
 * a random byte in the startup of another one; with 0 it only passes on.
 *
 * DIR is a store directory whose lineage.json names the server by 127.0.0.1:PORT. The proxy is a separate process on
 * PORT of this machine; the server listens on SOCKET.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <time.h>
#include <unistd.h>

#include <lineage/query.h>

#include "support/rows.h"

enum direction { TO_SERVER, TO_CLIENT };
enum { PAIRS = 64, CHUNK = 4096, CHANGES = 6 };

/* Memory shared by the proxy and the test. */
struct shared {
    _Atomic long cut_at;    /* number of bytes before the cut; -1: no cut */
    _Atomic int direction;  /* the direction in which bytes are counted until the cut */
    _Atomic int every_time; /* cut every connection that gets to that byte, not only the first */
    _Atomic int mask;       /* not 0: change the byte by these bits instead of cutting */
    _Atomic long startup[2]; /* bytes of the last connection until the server was ready for a statement */
    _Atomic long bytes[2]; /* bytes passed since the test set these counters to 0 */
    _Atomic int cuts;
    _Atomic int random;      /* choose what happens to each connection */
};

static void die(const char *what)
{
    perror(what);
    exit(2);
}

/* ---- the proxy ---------------------------------------------------------------------------------------------------- */

struct pair {
    int client, server; /* sockets; -1: this pair is free */
    long sent[2];       /* bytes passed over this connection, by direction */
    bool started;       /* the first statement was sent */
    long cut_at;        /* chosen for this connection alone: its cut; -1: none */
    long change_at;     /* the byte of the startup that is changed; -1: none */
    int mask;
    enum direction direction;
};

static void close_pair(struct pair *pair)
{
    close(pair->client);
    close(pair->server);
    pair->client = pair->server = -1;
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool send_all(int fd, const char *bytes, size_t length)
{
    while (length) {
        ssize_t n = send(fd, bytes, length, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        bytes += n;
        length -= (size_t)n;
    }
    return true;
}

/* Counts the bytes before the first statement, which is a message 'Q'. No message of the startup begins like that, and each is read
 * in one piece, because the peers wait for each other. */
static void count_startup(struct shared *s, struct pair *pair, enum direction direction, const char *bytes)
{
    if (direction == TO_SERVER && !pair->started && pair->sent[TO_SERVER] && bytes[0] == 'Q') {
        pair->started = true;
        for (int i = 0; i < 2; i++)
            s->startup[i] = pair->sent[i];
    }
}

/* Changes the byte if it is among these n, which follow `sent` others. */
static void corrupt(struct shared *s, enum direction direction, long sent, char *bytes, ssize_t n)
{
    if (s->direction != (int)direction || s->cut_at < sent || s->cut_at >= sent + n)
        return;
    bytes[s->cut_at - sent] = (char)(bytes[s->cut_at - sent] ^ s->mask);
    s->cuts++;
    if (!s->every_time)
        s->cut_at = -1;
}

/* Chooses what happens to a new connection. A startup has about 200 bytes in either direction, and an append 1500. */
static void choose(struct shared *s, struct pair *pair)
{
    const int kind = s->random ? (int)(random() % 5) : 0;
    pair->cut_at = pair->change_at = -1;
    pair->direction = random() % 2 ? TO_SERVER : TO_CLIENT;
    pair->mask = 1 << random() % 8;
    if (kind == 1 || kind == 2)
        pair->cut_at = random() % 3000;
    if (kind == 3)
        pair->change_at = random() % 200;
}

/* Passes on received bytes up to the cut. Returns false if the connection must be closed. */
static bool pass_on(struct shared *s, struct pair *pair, enum direction direction)
{
    char bytes[CHUNK];
    int from = direction == TO_SERVER ? pair->client : pair->server, to = direction == TO_SERVER ? pair->server : pair->client;
    ssize_t n = recv(from, bytes, sizeof bytes, 0);
    if (n <= 0)
        return false;
    count_startup(s, pair, direction, bytes);
    if (s->mask)
        corrupt(s, direction, pair->sent[direction], bytes, n);
    long cut_at = s->direction == (int)direction && !s->mask ? s->cut_at : -1;
    if (s->random && pair->direction == direction) {
        const long at = pair->change_at - pair->sent[direction];
        cut_at = pair->cut_at;
        if (pair->change_at >= 0 && at >= 0 && at < n && !pair->started)
            bytes[at] = (char)(bytes[at] ^ pair->mask);
    }
    bool cut = cut_at >= 0 && pair->sent[direction] + n >= cut_at;
    if (cut)
        n = cut_at > pair->sent[direction] ? cut_at - pair->sent[direction] : 0;
    pair->sent[direction] += n;
    s->bytes[direction] += n;
    bool sent = send_all(to, bytes, (size_t)n);
    if (cut) {
        s->cuts++;
        if (!s->every_time)
            s->cut_at = -1;
        /* give the peer time to read the bytes before the cut, as on a slower line */
        nanosleep(&(struct timespec){0, 300000}, NULL);
    }
    return sent && !cut;
}

static void serve(struct shared *s, int listener, const char *path)
{
    struct pair pairs[PAIRS];
    for (size_t i = 0; i < PAIRS; i++)
        pairs[i].client = pairs[i].server = -1;
    for (;;) {
        struct pollfd fds[1 + 2 * PAIRS] = {{listener, POLLIN, 0}};
        for (size_t i = 0; i < PAIRS; i++) {
            fds[1 + 2 * i] = (struct pollfd){pairs[i].client, POLLIN, 0};
            fds[2 + 2 * i] = (struct pollfd){pairs[i].server, POLLIN, 0};
        }
        if (poll(fds, 1 + 2 * PAIRS, -1) < 0)
            continue;
        for (size_t i = 0; i < PAIRS; i++) {
            bool on = pairs[i].client >= 0;
            if (on && fds[1 + 2 * i].revents)
                on = pass_on(s, &pairs[i], TO_SERVER);
            if (on && fds[2 + 2 * i].revents)
                on = pass_on(s, &pairs[i], TO_CLIENT);
            if (!on && pairs[i].client >= 0)
                close_pair(&pairs[i]);
        }
        for (size_t i = 0; (fds[0].revents & POLLIN) && i < PAIRS; i++)
            if (pairs[i].client < 0) {
                int one = 1, client = accept(listener, NULL, NULL), server = connect_to(path);
                setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                pairs[i] = (struct pair){.client = client, .server = server};
                choose(s, &pairs[i]);
                if (server < 0)
                    close_pair(&pairs[i]);
                break;
            }
    }
}

static pid_t start_proxy(struct shared *s, unsigned short port, const char *path)
{
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    /* The proxy of before, if one was killed, still listens until the kernel has closed its socket. */
    int tries = 0;
    while (bind(listener, (const struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 16) != 0)
        if (errno != EADDRINUSE || tries++ == 3000)
            die("listen");
        else
            poll(NULL, 0, 10);
    pid_t proxy = fork();
    if (proxy == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        srandom((unsigned)s->random);
        serve(s, listener, path);
    }
    close(listener);
    return proxy;
}

/* ---- the cases ---------------------------------------------------------------------------------------------------- */

struct test {
    struct shared *shared;
    const char *dir;
    unsigned long cases, kept, cuts, refused;
    bool may_fail, failed;
    struct lineage_store *checker; /* looks after each case, so that no check opens the store again */
};

static void fail(struct test *t, const char *name, const char *what, const char *text)
{
    printf("FAIL %s: %s: %s\n", name, what, text);
    t->failed = true;
}

static struct lineage_store *open_or_fail(struct test *t, const char *name)
{
    struct lineage_store *store;
    struct lineage_error err;
    if (lineage_store_open(&store, t->dir, NULL, &err) == LINEAGE_OK)
        return store;
    if (!t->may_fail)
        fail(t, name, "open", err.text);
    return NULL;
}

/* Appends one row with files through the proxy. Returns false if that is an error, whose message is not empty. */
static bool append(struct test *t, const char *name)
{
    static const char telemetry[] = "{\"steps\": [{\"step\": 1, \"loss\": 0.5}]}";
    struct lineage_store *store = open_or_fail(t, name);
    struct lineage_append_options options;
    const struct lineage_extra extras[] = {{"nobody", "has this column"}, {"team", "red\tand blue"}};
    struct lineage_trial trial = {.hypothesis = name, .core_metric = {true, 1.0}, .extras = extras, .n_extras = 2}, row = {0};
    struct lineage_error err = {0};
    bool done = true;
    lineage_append_options_init(&options);
    options.auto_status = true;
    options.telemetry = telemetry;
    options.telemetry_length = sizeof telemetry - 1;
    if (!store || lineage_store_append(store, &trial, &options, &row, &err) != LINEAGE_OK) {
        done = false;
        if (!t->may_fail || (store && !err.text[0]))
            fail(t, name, "append", err.text);
    }
    t->kept += row.exp_id && strncmp(row.exp_id, LINEAGE_OUTBOX, strlen(LINEAGE_OUTBOX)) == 0;
    lineage_trial_release(&row);
    lineage_store_close(store);
    return done;
}

/*
 * Checks, with the connection restored, that no trial is left waiting and that there is exactly one row with that
 * name; after an error, one or none.
 */
static void check(struct test *t, const char *name, bool done)
{
    char sql[400];
    struct lineage_sync_stats stats = {0};
    struct lineage_error err = {0};
    struct lineage_store *store = t->checker = t->checker ? t->checker : open_or_fail(t, name);
    if (!store)
        return;
    if (lineage_sync(store, &stats, &err) != LINEAGE_OK || stats.n_waiting || stats.n_refused)
        fail(t, name, "sync", err.text);
    snprintf(sql, sizeof sql,
             "SELECT count(*) || ' ' || (SELECT count(*) FROM step_metrics s WHERE s.exp_id = t.exp_id AND key = 'loss')"
             " || ' ' || (SELECT value FROM extras x WHERE x.seq = t.seq) FROM trials t WHERE hypothesis = '%s'",
             name);
    const char *found = sql_value(store, sql);
    if (!done && strcmp(found, "NULL") == 0)
        t->refused++;
    else if (strcmp(found, "1 1 red\tand blue") != 0)
        fail(t, name, "rows, steps and column of it", found);
}

static void set(struct shared *s, enum direction direction, long cut_at, bool every_time)
{
    s->direction = (int)direction;
    s->every_time = every_time;
    s->bytes[0] = s->bytes[1] = 0;
    s->cuts = 0;
    s->cut_at = cut_at;
}

static void run_case(struct test *t, enum direction direction, long at, bool every_time)
{
    char name[96];
    snprintf(name, sizeof name, "%s %s %ld %02x", direction == TO_SERVER ? "up" : "down", every_time ? "always" : "once", at,
             (unsigned)t->shared->mask);
    set(t->shared, direction, at, every_time);
    const bool done = append(t, name);
    t->cuts += (unsigned long)t->shared->cuts;
    set(t->shared, direction, -1, false);
    const bool may_fail = t->may_fail;
    t->may_fail = false;
    check(t, name, done);
    t->may_fail = may_fail;
    t->cases++;
}

/* Returns the number of bytes that an append without a cut sends in this direction. */
static long measure(struct test *t, enum direction direction)
{
    set(t->shared, direction, -1, false);
    append(t, direction == TO_SERVER ? "measured up" : "measured down");
    return t->shared->bytes[direction];
}

/* Changes each byte of the startup: its lowest bit, its highest bit and all bits, once and then each time. */
static void corrupt_startup(struct test *t, long step)
{
    static const int masks[] = {0x01, 0x80, 0xff};
    measure(t, TO_SERVER);
    const long startup[] = {t->shared->startup[0], t->shared->startup[1]};
    printf("startup: %ld bytes to the server, %ld to the client\n", startup[0], startup[1]);
    t->failed = t->failed || !startup[0] || !startup[1];
    for (int direction = 0; direction < 2; direction++)
        for (size_t k = 0; k < CHANGES; k++)
            for (long at = (long)k % step; at < startup[direction] && !t->failed; at += step) {
                t->shared->mask = masks[k % 3];
                t->may_fail = k >= 3;
                run_case(t, (enum direction)direction, at, k >= 3);
                t->shared->mask = 0;
            }
    t->may_fail = false;
}

int main(int argc, char **argv)
{
    struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const bool alone = argc == 5 && strcmp(argv[1], "proxy") == 0;
    const bool corrupts = argc == 6 && strcmp(argv[5], "corrupt") == 0;
    if ((argc != 5 && !corrupts) || s == MAP_FAILED)
        return 2;
    struct test t = {.shared = s, .dir = argv[1]};
    long step = atol(argv[4]);
    set(s, TO_SERVER, -1, false);
    s->random = alone ? atoi(argv[4]) : 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    pid_t proxy = start_proxy(s, (unsigned short)atoi(argv[3]), argv[2]);
    if (alone) {
        waitpid(proxy, NULL, 0);
        return 0;
    }
    if (corrupts)
        corrupt_startup(&t, step);
    for (int direction = 0; direction < 2 && !corrupts; direction++) {
        long total = measure(&t, (enum direction)direction);
        printf("%s: %ld bytes\n", direction == TO_SERVER ? "to the server" : "to the client", total);
        for (int every_time = 0; every_time < 2; every_time++)
            for (long at = every_time ? step / 2 : 0; at <= total && !t.failed; at += step)
                run_case(&t, (enum direction)direction, at, every_time);
    }
    lineage_store_close(t.checker);
    kill(proxy, SIGKILL);
    waitpid(proxy, NULL, 0);
    printf("%lu cases, %lu %s, %lu trials kept and delivered, %lu refused with a message\n", t.cases, t.cuts,
           corrupts ? "changed bytes" : "cuts", t.kept, t.refused);
    return t.failed || !t.cases || !t.kept;
}
