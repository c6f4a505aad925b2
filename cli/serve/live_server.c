/*
 * live_server.c: the server of `lineage serve`; see live_server.h.
 *
 * There are two threads. libmicrohttpd's thread answers requests; only it uses the stores, the printed page and the
 * models behind it. The main thread checks every half second, through its own store handles, whether rows were added or a
 * running trial has changed, and wakes the listeners. A listener is a response without end whose connection is
 * suspended while there is nothing to send, so that it needs no thread and a slow client delays nobody.
 */
#include "serve/live_server.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <lineage/move.h>

#include "cli.h"
#include "report/html_escape.h"
#include "report/html_page.h"
#include "serve/request_guard.h"
#include "support/running_files.h"

/* ---- microhttpd ---- */

/*
 * The functions of libmicrohttpd that the server calls, looked up when it starts. If the library were linked, every
 * `lineage best` would load it and the TLS library behind it, which takes longer than the answer. The library's name includes
 * the major version whose structures the headers describe; another one must not be loaded.
 */

/* clang-format off */
#define MICROHTTPD_FUNCTIONS(X)                                                                              \
    X(start_daemon) X(stop_daemon) X(queue_response) X(destroy_response)                  \
    X(create_response_from_buffer) X(create_response_from_callback) X(add_response_header)                   \
    X(lookup_connection_value) X(get_connection_values) X(suspend_connection) X(resume_connection)    \
    X(get_connection_info)
/* clang-format on */

/* http.start_daemon is MHD_start_daemon. */
struct microhttpd {
#define MICROHTTPD_MEMBER(name) __typeof__(&MHD_##name) name;
    MICROHTTPD_FUNCTIONS(MICROHTTPD_MEMBER)
#undef MICROHTTPD_MEMBER
    void *library;
};

/* Returns CLI_GO_ON, or an exit status after naming the missing package. */
static int microhttpd_load(struct microhttpd *http)
{
    char why[512];
    *http = (struct microhttpd){.library = cli_load_library("libmicrohttpd.so.12", RTLD_LOCAL, why, sizeof why)};
    if (!http->library)
        return cli_error(CLI_SYSTEM, "serve needs libmicrohttpd (Debian: apt-get install libmicrohttpd12): %s", why);
    /* Looks up every function at the start, so that a missing one is reported now instead of crashing at the first
     * request. */
    bool all = true;
#define MICROHTTPD_FIND(name) all = cli_find_function(&http->name, sizeof http->name, http->library, "MHD_" #name) && all;
    MICROHTTPD_FUNCTIONS(MICROHTTPD_FIND)
#undef MICROHTTPD_FIND
    return all ? CLI_GO_ON
               : cli_error(CLI_SYSTEM, "serve: this libmicrohttpd lacks a function that is needed; install a newer version");
}

static void microhttpd_unload(struct microhttpd *http)
{
    if (http->library)
        dlclose(http->library);
    *http = (struct microhttpd){0};
}

/* ---- running trials ----
 *
 * Each work directory is locked, and holds the trial's events so far in LINEAGE_EVENTS_FILE, one JSON object per line
 * (schema/events.schema.json). An arbitrary program writes them now: every size is bounded, and an incomplete last line is left
 * for the next time. READ_MAX: only the beginning of a longer file is read, which bounds the server's work. */
enum { SHOWN = 8, READ_MAX = 4 << 20, KEYS = 6, POINTS = 4000, NAME = 64 };

struct series {
    char key[NAME];
    size_t n;
    double *value;
};

struct trial {
    char name[256], phase[NAME];
    json_int_t step, steps;
    struct series series[KEYS];
    size_t n_series;
};

/* The state is made of size and inode instead of the time, because an event always makes the file longer, while the
 * time may not change within one tick of the clock. */
static void add_state(void *context, int fd)
{
    uint64_t *state = context;
    struct stat st = {0};
    if (fd >= 0 && fstat(fd, &st) != 0)
        st.st_size = 0;
    *state = *state * 1000003u + (uint64_t)st.st_size + (uint64_t)st.st_ino + 1;
}

/* Returns a number that changes when the trials' events change. */
static uint64_t running_state(const char *store)
{
    uint64_t state = 0;
    running_each(store, add_state, &state);
    return state;
}

/* Allocates a series when its key first occurs, because most trials report only two or three keys. */
static struct series *series_of(struct trial *trial, const char *key)
{
    for (size_t i = 0; i < trial->n_series; i++)
        if (strncmp(trial->series[i].key, key, NAME - 1) == 0)
            return &trial->series[i];
    if (trial->n_series == KEYS)
        return NULL;
    struct series *new = &trial->series[trial->n_series];
    new->value = malloc(POINTS * sizeof *new->value);
    if (!new->value)
        return NULL;
    snprintf(new->key, NAME, "%s", key);
    trial->n_series++;
    return new;
}

/* The latest event decides name, phase and step. Members with a wrong type are ignored, because trials use different
 * schemas. */
static void take_line(struct trial *trial, const json_t *line)
{
    static const char *const shown[] = {"score", "em", "reward", "loss", "entropy", "kl", "grad_norm", NULL};
    const char *text = cli_json_string(line, "name");
    if (text)
        snprintf(trial->name, sizeof trial->name, "%s", text);
    if ((text = cli_json_string(line, "phase")))
        snprintf(trial->phase, sizeof trial->phase, "%s", text);
    if (json_is_integer(json_object_get(line, "step"))) {
        trial->step = json_integer_value(json_object_get(line, "step"));
        trial->steps = json_integer_value(json_object_get(line, "steps"));
    }
    for (size_t k = 0; shown[k]; k++) {
        const json_t *value = json_object_get(line, shown[k]);
        struct series *series = json_is_number(value) ? series_of(trial, shown[k]) : NULL;
        if (series && series->n < POINTS)
            series->value[series->n++] = json_number_value(value);
    }
}

/* Reads from the beginning each time, so that no state is kept for a trial that may be gone. */
static void read_events(struct trial *trial, int fd)
{
    char *text = malloc(READ_MAX + 1);
    size_t n = 0;
    ssize_t got;
    while (text && n < READ_MAX && (got = read(fd, text + n, READ_MAX - n)) > 0)
        n += (size_t)got;
    for (size_t at = 0; text && at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        if (!end)
            break; /* a line that is still being written */
        json_t *line = json_loadb(text + at, (size_t)(end - text) - at, JSON_REJECT_DUPLICATES, NULL);
        if (json_is_object(line))
            take_line(trial, line);
        json_decref(line);
        at = (size_t)(end - text) + 1;
    }
    free(text);
}

static void print_series(FILE *out, const struct series *s)
{
    double low = INFINITY, high = -INFINITY;
    /* As many points as the picture is wide; more would only make the page larger. */
    size_t every = s->n / 150 + 1;
    for (size_t i = 0; i < s->n; i++) {
        low = fmin(low, s->value[i]);
        high = fmax(high, s->value[i]);
    }
    html_print(out,
               "<svg class=\"pic\" viewBox=\"0 0 190 72\" role=\"img\"><title>%.*s so far</title><text class=\"axis\" x=\"4\" "
               "y=\"11\">%.20s</text><text class=\"row end strong\" x=\"186\" y=\"11\">%.4g</text><path class=\"curve\" d=\"",
               NAME, s->key, s->key, s->value[s->n - 1]);
    for (size_t i = 0; i < s->n; i++)
        if (i % every == 0 || i + 1 == s->n)
            fprintf(out, "%c%.4g %.4g", i ? 'L' : 'M', 4 + 182.0 * (double)i / (double)(s->n > 1 ? s->n - 1 : 1),
                    66 - 46 * (high > low ? (s->value[i] - low) / (high - low) : 0.5));
    fputs("\"/></svg>\n", out);
}

struct printing {
    FILE *out;
    int n;
};

static void print_trial(void *context, int fd)
{
    struct printing *printing = context;
    struct trial *trial = calloc(1, sizeof *trial);
    FILE *out = printing->out;
    /* A night with many parallel trials would fill the page; further ones are left out. */
    if (!trial || printing->n++ >= SHOWN) {
        free(trial);
        return;
    }
    if (fd >= 0)
        read_events(trial, fd);
    html_print(out, "<section class=\"running\"><h2>Running: %.120s</h2><p class=\"how\">%.*s",
               trial->name[0] ? trial->name : "a trial", NAME,
               trial->phase[0] ? trial->phase
               : fd < 0        ? "it does not report its progress"
                               : "starting");
    if (trial->steps > 0)
        fprintf(out, ", step %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT, trial->step, trial->steps);
    fputs("</p><div class=\"curves\">", out);
    for (size_t i = 0; i < trial->n_series; i++) {
        if (trial->series[i].n)
            print_series(out, &trial->series[i]);
        free(trial->series[i].value);
    }
    fputs("</div></section>\n", out);
    free(trial);
}

/* Prints the trials as HTML with their curves, or a remark if there are none. `named`: with the path of the store. */
static void running_print(FILE *out, const char *store, bool named)
{
    struct printing printing = {.out = out};
    if (named)
        html_print(out, "<p class=\"how\">%.300s</p>", store);
    running_each(store, print_trial, &printing);
    if (!printing.n)
        fputs("<p class=\"how\">No trial is running in this store, according to its work directories.</p>\n", out);
}

/* ---- the token in the user's state directory, so that a page reconnects to a server that was started again ----
 *
 * It opens the stores of this user to every process of the machine, so a file that others can read or that they own is never used. */

static bool token_path(char out[PATH_MAX])
{
    const char *base = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n = base && base[0] == '/'   ? snprintf(out, PATH_MAX, "%s/lineage/serve_token", base)
            : home && home[0] == '/' ? snprintf(out, PATH_MAX, "%s/.local/state/lineage/serve_token", home)
                                     : -1;
    return n > 0 && n < PATH_MAX;
}

/* Only GUARD_TOKEN digits and a line end, in a regular file of this user that nobody else can open, are a token. */
static bool read_token(struct guard *guard, const char *path)
{
    char text[GUARD_TOKEN + 2] = "";
    struct stat st;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077) &&
                st.st_size == GUARD_TOKEN + 1 && read(fd, text, GUARD_TOKEN + 1) == GUARD_TOKEN + 1 &&
                strspn(text, "0123456789abcdef") == GUARD_TOKEN && text[GUARD_TOKEN] == '\n';
    cli_close(fd);
    if (good) {
        memcpy(guard->token, text, GUARD_TOKEN);
        guard->token[GUARD_TOKEN] = '\0';
    }
    return good;
}

/* Writes the token under another name first, so that no server reads half of it. link fails if the name exists, which
 * decides between two servers that start at once; rename replaces a token that is to be forgotten. */
static bool write_token(const struct guard *guard, const char *path, bool replace)
{
    char fresh[PATH_MAX + 24];
    cli_make_parents(path);
    snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
    unlink(fresh);
    FILE *out = cli_private_file(fresh);
    bool ok = out && fprintf(out, "%s\n", guard->token) == GUARD_TOKEN + 1 && fflush(out) == 0;
    if (out)
        ok = fclose(out) == 0 && ok;
    ok = ok && (replace ? rename(fresh, path) == 0 : link(fresh, path) == 0);
    unlink(fresh);
    return ok;
}

/* Fills guard->token from ${XDG_STATE_HOME:-~/.local/state}/lineage/serve_token. If the file does not exist, or `fresh` is
 * set, makes a new token and writes it there; of two servers that start at once, both get the same one. Without a file that
 * only this user can read and write, the token is new and is not kept; *kept says which. Returns false if the system has no
 * random numbers. */
static bool token_keep(struct guard *guard, bool fresh, bool *kept)
{
    char path[PATH_MAX];
    struct stat st;
    bool named = token_path(path);
    *kept = true;
    if (named && !fresh && read_token(guard, path))
        return true;
    if (!guard_make_token(guard))
        return false;
    /* A file that is not a token of this user alone is replaced, because its token may be known to others. */
    bool replace = fresh || (named && lstat(path, &st) == 0);
    *kept = named && (write_token(guard, path, replace) || (!replace && read_token(guard, path)));
    return true;
}

/* ---- the server ---- */

enum {
    CONNECTIONS = 64,
    LISTENERS = 16,
    IDLERS = 32, /* connections that are not listeners; together with those, fewer than CONNECTIONS */
    IDLE_SECONDS = 10,     /* a connection that neither reads nor writes for this long is closed */
    CONNECTION_BYTES = 24 << 10, /* a request with a longer head is refused */
    LOOK_MS = 500,
    AWAY_LOOKS = 4, /* checks to skip after the log's server could not be reached */
    BEATS = 20 /* checks between two heartbeats on a quiet stream */
};

struct listener {
    struct server *server;
    struct MHD_Connection *connection;
    struct listener *next;
    uint64_t rows, running, beat; /* the state in its last event */
    bool suspended;
};

/* A connection, with its place in the list of those that are not listeners. */
struct peer {
    struct peer *older, *newer;
    int fd;
    bool listed; /* not a listener, and not shut down */
};

struct server {
    const struct server_options *options;
    struct microhttpd http;
    struct guard guard;
    struct MHD_Daemon *daemon;

    /* Used only by the answering thread. */
    struct served {
        struct lineage_store *store;
        bool has_model;
        bool stale; /* newer rows exist, but could not be read */
    } stores[SERVER_STORES];
    struct model models[SERVER_STORES];
    struct MHD_Response *page; /* the page of the rows at the last check */
    struct peer *oldest, *newest;
    size_t n_idlers;

    pthread_mutex_t mutex; /* protects everything below */
    struct listener *listeners;
    size_t n_listeners;
    uint64_t rows, running, beat; /* counters that increase with every change */
    bool stopping;
};

/* ---- connections ---- */

static void leave_list(struct server *server, struct peer *peer)
{
    if (!peer->listed)
        return;
    *(peer->older ? &peer->older->newer : &server->oldest) = peer->newer;
    *(peer->newer ? &peer->newer->older : &server->newest) = peer->older;
    *peer = (struct peer){.fd = peer->fd};
    server->n_idlers--;
}

static void join_list(struct server *server, struct peer *peer)
{
    peer->listed = true;
    peer->older = server->newest;
    *(server->newest ? &server->newest->newer : &server->oldest) = peer;
    server->newest = peer;
    server->n_idlers++;
}

/*
 * Keeps room for new connections, by shutting down the one that has been without a request for longest. Without this,
 * clients that send half a request and come back when they are disconnected would occupy every place.
 */
static void make_room(struct server *server)
{
    struct peer *peer = server->oldest;
    if (server->n_idlers <= IDLERS)
        return;
    leave_list(server, peer);
    shutdown(peer->fd, SHUT_RDWR);
}

/* Called by the library's thread for each connection that begins or ends. Without memory, or without a socket, a connection
 * is only subject to the time limit. */
static void on_connection(void *context, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode code)
{
    struct server *server = context;
    struct peer *peer = *state;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED && peer) {
        leave_list(server, peer);
        free(peer);
        *state = NULL;
    } else if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = server->http.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        if (!info || !(*state = peer = calloc(1, sizeof *peer)))
            return;
        peer->fd = info->connect_fd;
        join_list(server, peer);
        make_room(server);
    }
}

/* A complete request makes its connection the newest. A listener leaves the list, because it is idle on purpose. */
static void note_request(struct server *server, struct MHD_Connection *connection, bool listens)
{
    const union MHD_ConnectionInfo *info = server->http.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct peer *peer = info ? info->socket_context : NULL;
    if (!peer || !peer->listed)
        return;
    leave_list(server, peer);
    if (!listens)
        join_list(server, peer);
}

/* ---- answers ---- */

/* Adds the headers that every response has. Returns NULL for NULL. Called once per response, even if it is sent many
 * times. */
static struct MHD_Response *with_headers(const struct server *server, struct MHD_Response *response, const char *type)
{
    static const char *const headers[][2] = {{"Cache-Control", "no-store"},
                                             {"X-Content-Type-Options", "nosniff"},
                                             {"Referrer-Policy", "no-referrer"},
                                             {"Content-Security-Policy", "frame-ancestors 'none'"},
                                             {"X-Frame-Options", "DENY"},
                                             {"Cross-Origin-Resource-Policy", "same-origin"},
                                             {"Cross-Origin-Opener-Policy", "same-origin"}};
    for (size_t i = 0; response && i < sizeof headers / sizeof *headers; i++)
        server->http.add_response_header(response, headers[i][0], headers[i][1]);
    if (response)
        server->http.add_response_header(response, "Content-Type", type);
    return response;
}

/* Queues the response and drops the reference. */
static enum MHD_Result answer(const struct server *server, struct MHD_Connection *connection, unsigned status,
                              struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    enum MHD_Result result = server->http.queue_response(connection, status, response);
    server->http.destroy_response(response);
    return result;
}

static enum MHD_Result answer_text(struct server *server, struct MHD_Connection *connection, unsigned status, const char *text)
{
    struct MHD_Response *response = with_headers(
        server, server->http.create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT),
        "text/plain; charset=utf-8");
    if (response && status == MHD_HTTP_METHOD_NOT_ALLOWED)
        server->http.add_response_header(response, "Allow", "GET, HEAD");
    return answer(server, connection, status, response);
}

/* The response takes ownership of what was written. */
static struct MHD_Response *html_response(struct server *server, struct cli_writer *page)
{
    char *text = cli_writer_close(page);
    struct MHD_Response *response =
        text ? server->http.create_response_from_buffer(page->length, text, MHD_RESPMEM_MUST_FREE) : NULL;
    if (!response)
        free(text);
    return with_headers(server, response, "text/html; charset=utf-8");
}

/* ---- the page ---- */

/* While the log's server cannot be reached, the last page stays valid. */
static bool has_news(struct server *server, size_t which)
{
    struct lineage_error err;
    struct served *served = &server->stores[which];
    bool news = false;
    if (lineage_store_wait(served->store, 0, &news, &err) != LINEAGE_OK)
        return !served->has_model;
    return news || served->stale || !served->has_model;
}

/* Releases a model that failed halfway too, because some of its parts may be allocated. */
static bool load_model(struct server *server, size_t which)
{
    struct lineage_error err;
    struct served *served = &server->stores[which];
    served->stale = true;
    if (served->has_model)
        model_release(&server->models[which]);
    served->has_model = model_load(&server->models[which], served->store, &err) == LINEAGE_OK;
    served->stale = !served->has_model;
    if (!served->has_model) {
        model_release(&server->models[which]);
        cli_fail(&err);
    }
    return served->has_model;
}

/* Loads the stores that have changed. *changed: at least one of them has. Returns false after reporting why it failed. */
static bool fresh_models(struct server *server, bool *changed)
{
    *changed = false;
    for (size_t i = 0; i < server->options->n_dirs; i++)
        if (has_news(server, i)) {
            *changed = true;
            if (!load_model(server, i))
                return false;
        }
    return true;
}

/* Prints the page again if the rows have changed. Returns NULL after reporting why it failed. */
static struct MHD_Response *fresh_page(struct server *server)
{
    struct cli_writer page = {0};
    bool changed;
    if (!fresh_models(server, &changed))
        return NULL;
    if (!changed && server->page)
        return server->page;
    if (!cli_writer_open(&page))
        return NULL;
    /* The page has no diffs, because each would read two snapshots; the answer about a single trial has its diff. */
    page_print(page.out, server->models, server->options->n_dirs, &(struct page_options){.live = true, .no_diffs = true});
    if (server->page)
        server->http.destroy_response(server->page);
    return server->page = html_response(server, &page);
}

static enum MHD_Result answer_page(struct server *server, struct MHD_Connection *connection)
{
    struct MHD_Response *page = fresh_page(server);
    if (!page)
        return answer_text(server, connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "the store cannot be read; see the terminal\n");
    return server->http.queue_response(connection, MHD_HTTP_OK, page); /* the reference is kept for the next request */
}

/* Reads an argument as an index. Returns ULLONG_MAX if it is missing or is not one. */
static unsigned long long index_argument(struct server *server, struct MHD_Connection *connection, const char *name)
{
    const char *text = server->http.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
    char *end = NULL;
    unsigned long long i = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : ULLONG_MAX;
    return end && !*end ? i : ULLONG_MAX;
}

/* The index i counts the trials of the store s. Rows are only appended, so an index from an older page still means the same
 * trial. */
static enum MHD_Result answer_trial(struct server *server, struct MHD_Connection *connection)
{
    unsigned long long i = index_argument(server, connection, "i"), s = index_argument(server, connection, "s");
    struct cli_writer card = {0};
    if (s >= server->options->n_dirs || !fresh_page(server) || i >= server->models[s].n)
        return answer_text(server, connection, MHD_HTTP_NOT_FOUND, "no such trial\n");
    if (cli_writer_open(&card))
        page_card(card.out, &server->models[s], (size_t)i);
    return answer(server, connection, MHD_HTTP_OK, html_response(server, &card));
}

static enum MHD_Result answer_running(struct server *server, struct MHD_Connection *connection)
{
    struct cli_writer running = {0};
    cli_writer_open(&running);
    for (size_t i = 0; running.out && i < server->options->n_dirs; i++)
        running_print(running.out, lineage_store_dir(server->stores[i].store), server->options->n_dirs > 1);
    return answer(server, connection, MHD_HTTP_OK, html_response(server, &running));
}

/* ---- updates ---- */

/* Writes one event; the library calls this again until there is nothing new. Events carry counters instead of content,
 * so that a client which missed some still fetches the newest state. */
static ssize_t tell(void *context, uint64_t position, char *out, size_t room)
{
    struct listener *listener = context;
    struct server *server = listener->server;
    ssize_t n = 0;
    (void)position;
    /* The longest event fits into 64 bytes, so it is never split. */
    if (room < 64)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    pthread_mutex_lock(&server->mutex);
    if (server->stopping)
        n = MHD_CONTENT_READER_END_OF_STREAM;
    else if (listener->rows != server->rows)
        n = snprintf(out, room, "event: rows\ndata: %" PRIu64 "\n\n", listener->rows = server->rows);
    else if (listener->running != server->running)
        n = snprintf(out, room, "event: running\ndata: %" PRIu64 "\n\n", listener->running = server->running);
    /* A comment line, which browsers ignore. Writing it fails if the client is gone, which frees its place. */
    else if (listener->beat != server->beat) {
        listener->beat = server->beat;
        n = snprintf(out, room, ": here\n\n");
    } else {
        listener->suspended = true;
        server->http.suspend_connection(listener->connection);
    }
    pthread_mutex_unlock(&server->mutex);
    return n;
}

/* The library calls this once per response, however the connection ended; the lock orders it against wake_listeners. */
static void forget(void *context)
{
    struct listener *listener = context;
    struct server *server = listener->server;
    pthread_mutex_lock(&server->mutex);
    struct listener **at = &server->listeners;
    while (*at != listener)
        at = &(*at)->next;
    *at = listener->next;
    server->n_listeners--;
    pthread_mutex_unlock(&server->mutex);
    free(listener);
}

/* A new listener only gets a heartbeat until something changes. */
static struct listener *admit(struct server *server, struct MHD_Connection *connection)
{
    struct listener *listener = NULL;
    pthread_mutex_lock(&server->mutex);
    if (server->n_listeners < LISTENERS && (listener = calloc(1, sizeof *listener))) {
        *listener = (struct listener){.server = server,
                                      .connection = connection,
                                      .next = server->listeners,
                                      .rows = server->rows,
                                      .running = server->running,
                                      .beat = server->beat - 1};
        server->listeners = listener;
        server->n_listeners++;
    }
    pthread_mutex_unlock(&server->mutex);
    return listener;
}

static enum MHD_Result answer_events(struct server *server, struct MHD_Connection *connection)
{
    struct listener *listener = admit(server, connection);
    if (!listener)
        return answer_text(server, connection, MHD_HTTP_SERVICE_UNAVAILABLE, "too many pages are listening; close one\n");
    note_request(server, connection, true);
    struct MHD_Response *response =
        with_headers(server, server->http.create_response_from_callback(MHD_SIZE_UNKNOWN, 1024, tell, listener, forget),
                     "text/event-stream; charset=utf-8");
    if (!response)
        forget(listener);
    return answer(server, connection, MHD_HTTP_OK, response);
}

/* The caller holds the mutex, under which tell suspends connections too. Therefore a marked listener is really
 * suspended, and no listener is resumed twice or missed. */
static void wake_listeners(struct server *server)
{
    for (struct listener *listener = server->listeners; listener; listener = listener->next)
        if (listener->suspended) {
            listener->suspended = false;
            server->http.resume_connection(listener->connection);
        }
}

/* ---- requests ---- */

struct counts {
    int hosts, origins, sites;
};

static enum MHD_Result count_header(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct counts *counts = context;
    (void)kind, (void)value;
    counts->hosts += strcasecmp(name, "Host") == 0;
    counts->origins += strcasecmp(name, "Origin") == 0;
    counts->sites += strcasecmp(name, "Sec-Fetch-Site") == 0;
    return MHD_YES;
}

/* Two headers of one kind could be understood in two ways, so such requests are refused. */
static bool headers_single(struct server *server, struct MHD_Connection *connection)
{
    struct counts counts = {0};
    server->http.get_connection_values(connection, MHD_HEADER_KIND, count_header, &counts);
    return counts.hosts == 1 && counts.origins <= 1 && counts.sites <= 1;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *upload_size, void **state)
{
    static const char admitted;
    struct server *server = context;
    (void)version, (void)upload;
    if (!*state) { /* only the head has arrived; answer when the request is complete */
        *state = (void *)(uintptr_t)&admitted;
        return MHD_YES;
    }
    /* The body is read and dropped, because the answer can be sent only when the request is complete. */
    if (*upload_size) {
        *upload_size = 0;
        return MHD_YES;
    }
    note_request(server, connection, false);
    const char *host = server->http.lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    const char *origin = server->http.lookup_connection_value(connection, MHD_HEADER_KIND, "Origin");
    const char *site = server->http.lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Site");
    const char *token = server->http.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token");
    if (!headers_single(server, connection) || !guard_host_ok(&server->guard, host) || !guard_origin_ok(&server->guard, origin) ||
        !guard_site_ok(site))
        return answer_text(server, connection, MHD_HTTP_FORBIDDEN, "this address is not allowed here\n");
    /* Checked after Host and Origin, so that a foreign page learns nothing about tokens, and before the path, so that a
     * client without the token learns nothing about paths. */
    if (!guard_token_ok(&server->guard, token))
        return answer_text(server, connection, MHD_HTTP_FORBIDDEN,
                           "open the address that lineage serve printed: it contains the token\n");
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return answer_text(server, connection, MHD_HTTP_METHOD_NOT_ALLOWED, "this server only reads\n");
    if (strcmp(url, "/") == 0)
        return answer_page(server, connection);
    if (strcmp(url, "/events") == 0)
        return answer_events(server, connection);
    if (strcmp(url, "/trial") == 0)
        return answer_trial(server, connection);
    if (strcmp(url, "/running") == 0)
        return answer_running(server, connection);
    return answer_text(server, connection, MHD_HTTP_NOT_FOUND, "nothing here\n");
}

/* Silences the library's log, which reports clients that disconnect: the terminal shows the address to open. */
static void quiet(void *context, const char *format, va_list args)
{
    (void)context, (void)format, (void)args;
}

/* ---- start and stop ---- */

/* Returns a socket that listens on `*port` of 127.0.0.1, and its port if that is 0; -1 with errno set if it cannot. The library could
 * do this, too, but its version 1.0 replaces errno. SO_REUSEADDR lets a server take a port that was in use until just now; two
 * servers cannot listen on one port with it (SO_REUSEPORT would let them). */
static int listen_on(unsigned *port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    const int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        bind(fd, (const struct sockaddr *)&address, length) == 0 && listen(fd, SOMAXCONN) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &length) == 0) {
        *port = ntohs(address.sin_port);
        return fd;
    }
    const int error = errno;
    cli_close(fd);
    errno = error;
    return -1;
}

/* poll instead of epoll: with epoll, version 0.9.75 does not notice a client that closed right after half a request, and 64 of those
 * occupy all connections for IDLE_SECONDS. */
static struct MHD_Daemon *serve_on(struct server *server, int fd)
{
    return server->http.start_daemon(MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
                                     on_request, server, MHD_OPTION_EXTERNAL_LOGGER, quiet, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
                                     MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
                                     (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
                                     MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_END);
}

static int start(struct server *server)
{
    const unsigned first = server->options->port;
    unsigned port = first;
    int fd;
    while ((fd = listen_on(&port)) < 0 && errno == EADDRINUSE && port + 1 < first + server->options->ports)
        port++;
    if (fd < 0)
        return cli_error(CLI_SYSTEM,
                         "serve: cannot listen on 127.0.0.1:%u: %s; choose another port with --port, or 0 for any free one",
                         first, strerror(errno));
    if (!(server->daemon = serve_on(server, fd))) /* the command ends, and its socket with it */
        return cli_error(CLI_SYSTEM, "serve: libmicrohttpd cannot serve 127.0.0.1:%u", port);
    if (first && port > first)
        cli_tell("port %u is in use; this server takes %u", first, port);
    server->guard.port = port;
    printf("http://127.0.0.1:%u/%s%s\n", server->guard.port, server->guard.token[0] ? "?token=" : "", server->guard.token);
    fflush(stdout);
    return CLI_GO_ON;
}

/* Whether rows were added since the last check. A log server that cannot be reached is checked rarely, because each
 * attempt may take seconds. */
static bool rows_changed(struct lineage_store *watched, unsigned *pause)
{
    struct lineage_error err;
    bool news = false;
    if (*pause) {
        --*pause;
        return false;
    }
    if (lineage_store_wait(watched, 0, &news, &err) != LINEAGE_OK)
        *pause = AWAY_LOOKS;
    return news;
}

/* Looks at all stores once. Returns whether rows were added; *running changes when a running trial does. */
static bool look(struct lineage_store *const *watched, unsigned *away, size_t n, uint64_t *running)
{
    bool rows = false;
    *running = 0;
    for (size_t i = 0; i < n; i++) {
        *running = *running * 1000003u + running_state(lineage_store_dir(watched[i]));
        rows = rows_changed(watched[i], &away[i]) || rows;
    }
    return rows;
}

/* Wakes the listeners after each change; returns when a signal arrives. */
static void watch(struct server *server, struct lineage_store *const *watched, const sigset_t *signals)
{
    struct timespec pause = {0, LOOK_MS * 1000000L};
    uint64_t running, state;
    unsigned looks = 0, away[SERVER_STORES] = {0};
    look(watched, away, server->options->n_dirs, &running);
    while (sigtimedwait(signals, NULL, &pause) < 0 && (errno == EAGAIN || errno == EINTR)) {
        bool rows = look(watched, away, server->options->n_dirs, &state), beat = ++looks % BEATS == 0;
        pthread_mutex_lock(&server->mutex);
        server->rows += rows;
        server->running += state != running;
        server->beat += beat;
        if (rows || beat || state != running)
            wake_listeners(server);
        pthread_mutex_unlock(&server->mutex);
        running = state;
    }
}

/* Wakes the listeners first, because a suspended connection would keep the library's thread from ending. The page,
 * model and store are freed after that thread, which alone used them. */
static void stop(struct server *server)
{
    pthread_mutex_lock(&server->mutex);
    server->stopping = true;
    wake_listeners(server);
    pthread_mutex_unlock(&server->mutex);
    if (server->daemon)
        server->http.stop_daemon(server->daemon);
    if (server->page)
        server->http.destroy_response(server->page);
    for (size_t i = 0; i < server->options->n_dirs; i++) {
        if (server->stores[i].has_model)
            model_release(&server->models[i]);
        lineage_store_close(server->stores[i].store);
    }
    microhttpd_unload(&server->http);
    pthread_mutex_destroy(&server->mutex);
}

/* The second handle of each store needs no mirror, because it only watches for changes. */
static int open_stores(struct server *server, struct lineage_store *watched[SERVER_STORES])
{
    struct lineage_open_options bare = server->options->store;
    struct lineage_error err;
    bare.no_mirror = true;
    for (size_t i = 0; i < server->options->n_dirs; i++) {
        const char *dir = server->options->dirs[i];
        if (!cli_has_store(dir, false))
            return CLI_USAGE;
        if (lineage_store_open(&server->stores[i].store, dir, &server->options->store, &err) != LINEAGE_OK ||
            lineage_store_open(&watched[i], dir, &bare, &err) != LINEAGE_OK)
            return cli_fail(&err);
    }
    return CLI_GO_ON;
}

static int find_token(struct server *server)
{
    bool kept;
    if (server->options->no_token)
        return CLI_GO_ON;
    if (!token_keep(&server->guard, server->options->new_token, &kept))
        return cli_error(CLI_SYSTEM, "serve: cannot get random numbers for a token: %s", strerror(errno));
    if (!kept)
        cli_say("the token cannot be kept in the state directory (XDG_STATE_HOME), so the next server will have another one");
    return CLI_GO_ON;
}

static void block_signals(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGHUP);
    sigprocmask(SIG_BLOCK, signals, NULL); /* threads that start later inherit the mask */
    signal(SIGPIPE, SIG_IGN);
}

int server_run(const struct server_options *options)
{
    static struct server the_server;
    struct server *const server = &the_server;
    struct lineage_store *watched[SERVER_STORES] = {NULL};
    sigset_t signals;
    *server = (struct server){.options = options, .rows = 1, .running = 1, .beat = 1};
    block_signals(&signals);
    pthread_mutex_init(&server->mutex, NULL);
    int status = microhttpd_load(&server->http);
    if (status == CLI_GO_ON && (status = open_stores(server, watched)) == CLI_GO_ON &&
        (status = find_token(server)) == CLI_GO_ON && (status = start(server)) == CLI_GO_ON) {
        watch(server, watched, &signals);
        status = CLI_OK;
    }
    stop(server);
    for (size_t i = 0; i < options->n_dirs; i++)
        lineage_store_close(watched[i]);
    return status;
}
