/*
 * judge_server.c: a chat endpoint for tests of the judge. The trajectory in a request determines the answer.
 *
 *     judge_server LOG [--delay MS] [--no-form] [--no-limit] [--no-cool] [--key KEY] [--tls CERTIFICATE KEY]
 *
 * The server prints its port and runs until its standard input ends. If a task contains "FAULT=name", the first request
 * about the task gets that fault; with "FAULT=name!" every request gets it. All other requests get a complete answer:
 * GOOD for an action that contains "good" or "search", else BAD. Each request is written to LOG as a line of JSON:
 * task, attempt, milliseconds, number of requests in progress, whether a form was asked for, number of messages.
 */
#include <jansson.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { TASKS_MAX = 4096, HUGE_BYTES = 3 << 20 };

struct server {
    pthread_mutex_t lock;
    FILE *log;
    const char *key; /* must be in the Authorization header; NULL: not checked */
    bool no_form, no_limit, no_cool; /* it refuses a form, max_tokens, temperature */
    long delay_ms;
    int active;
    char *tasks[TASKS_MAX]; /* tasks that requests were about .. */
    int times[TASKS_MAX];   /* .. and how often */
    size_t n_tasks;
};

/* One request while it is received and answered. */
struct exchange {
    struct server *server;
    char *body, *reply;
    size_t length, reply_length;
    bool counted;
};

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void nap(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* ---- answers ---- */

static bool is_good(const json_t *step)
{
    const char *action = json_string_value(json_object_get(step, "action"));
    return strstr(action, "good") || strstr(action, "search");
}

/* Returns the content of a complete answer, damaged as the fault demands. */
static char *content_of(const json_t *steps, const char *fault)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(steps); i++) {
        json_int_t index = (json_int_t)i + (strcmp(fault, "one") == 0);
        json_t *number = strcmp(fault, "float") == 0 ? json_real((double)index) : json_integer(index);
        json_t *entry =
            json_pack("{s:o, s:s, s:s}", "index", number, "analysis", "Not GOOD for a step of this kind, one might say BAD.",
                      "flag", is_good(json_array_get(steps, i)) ? "GOOD" : "BAD");
        if (strcmp(fault, "missing") == 0 && i == 0) {
            json_decref(entry);
            continue;
        }
        if (strcmp(fault, "doubled") == 0 && i == 0)
            json_array_append(list, entry);
        json_array_append_new(list, entry);
    }
    json_t *object = json_pack("{s:o}", strcmp(fault, "schema") == 0 ? "flags" : "steps", list);
    char *plain = json_dumps(object, JSON_COMPACT), *text = NULL;
    json_decref(object);
    if (strcmp(fault, "fence") == 0     ? asprintf(&text, "```json\n%s\n```\n", plain) < 0
        : strcmp(fault, "think") == 0   ? asprintf(&text, "<think>{\"steps\": []} or so</think>\n%s", plain) < 0
        : strcmp(fault, "thought") == 0 ? asprintf(&text, "It may be {\"steps\": []}.\n</think>\n\n%s", plain) < 0
        : strcmp(fault, "prose") == 0   ? asprintf(&text, "Step 0 is GOOD and so is step 1: %s. That is all.", plain) < 0
        : strcmp(fault, "two") == 0     ? asprintf(&text, "Like {\"steps\": []} I say %s", plain) < 0
                                        : asprintf(&text, "%s", plain) < 0)
        text = NULL;
    free(plain);
    return text;
}

static json_t *message_of(const json_t *steps, const char *fault)
{
    char *content = content_of(steps, fault);
    json_t *message = json_pack("{s:s, s:s}", "role", "assistant", "content", content);
    free(content);
    if (strcmp(fault, "parts") == 0) {
        json_object_set_new(message, "content",
                            json_pack("[{s:s, s:s}, {s:s, s:O}]", "type", "reasoning", "text", "Hm: {\"steps\": []}", "type",
                                      "text", "text", json_object_get(message, "content")));
    } else if (strcmp(fault, "null") == 0) {
        json_object_set_new(message, "content", json_null());
        json_object_set_new(message, "reasoning_content", json_string("Step 0 is GOOD, step 1 is GOOD."));
    } else if (strcmp(fault, "refusal") == 0) {
        json_object_set_new(message, "refusal", json_string("I would rather not."));
    }
    return message;
}

static char *whole_answer(const json_t *steps, const char *fault)
{
    const char *reason = strcmp(fault, "truncated") == 0 ? "length"
                         : strcmp(fault, "filter") == 0  ? "content_filter"
                         : strcmp(fault, "reason") == 0  ? "tool_calls"
                         : strcmp(fault, "eos") == 0     ? "eos"
                                                         : "stop";
    json_t *answer = json_pack("{s:[{s:i, s:s, s:o}], s:{s:i, s:i}}", "choices", "index", 0, "finish_reason", reason, "message",
                               message_of(steps, fault), "usage", "prompt_tokens", 100, "completion_tokens", 10);
    char *text = json_dumps(answer, JSON_COMPACT);
    json_decref(answer);
    return text;
}

/* ---- faults ---- */

static enum MHD_Result send_reply(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response)
{
    MHD_add_response_header(response, "Content-Type", "application/json");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned status, const char *text)
{
    return send_reply(connection, status,
                      MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY));
}

/* Sends single bytes for longer than any timeout. */
static ssize_t drip(void *context, uint64_t at, char *to, size_t most)
{
    (void)context;
    (void)most;
    nap(100);
    *to = "{\"choices\": [ "[at % 14];
    return 1;
}

/* Closes the connection in the middle of the answer, with a reset or as if the answer had ended normally. */
static ssize_t break_off(void *context, uint64_t at, char *to, size_t most)
{
    struct MHD_Connection *connection = context;
    static const char beginning[] = "{\"choices\": [{\"index\": 0, ";
    if (at < sizeof beginning - 1) {
        size_t n = sizeof beginning - 1 - at;
        n = n < most ? n : most;
        memcpy(to, beginning + at, n);
        return (ssize_t)n;
    }
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct linger at_once = {1, 0};
    if (info)
        setsockopt(info->connect_fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

static ssize_t fill_up(void *context, uint64_t at, char *to, size_t most)
{
    (void)context;
    if (at >= HUGE_BYTES)
        return MHD_CONTENT_READER_END_OF_STREAM;
    memset(to, ' ', most);
    return (ssize_t)most;
}

static enum MHD_Result send_stream(struct MHD_Connection *connection, MHD_ContentReaderCallback read)
{
    return send_reply(connection, 200, MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1024, read, connection, NULL));
}

static enum MHD_Result send_later(struct MHD_Connection *connection, unsigned status, const char *when)
{
    static char text[] = "{\"error\": {\"message\": \"slow down\", \"code\": \"rate_limit_exceeded\"}}";
    struct MHD_Response *response = MHD_create_response_from_buffer(sizeof text - 1, text, MHD_RESPMEM_PERSISTENT);
    char date[64];
    time_t then = time(NULL) + 2;
    if (when && strcmp(when, "date") == 0) {
        struct tm tm;
        strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&then, &tm));
        when = date;
    }
    if (when)
        MHD_add_response_header(response, "Retry-After", when);
    return send_reply(connection, status, response);
}

static enum MHD_Result redirect(struct MHD_Connection *connection)
{
    static char text[] = "{}";
    struct MHD_Response *response = MHD_create_response_from_buffer(2, text, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(response, "Location", "/elsewhere");
    return send_reply(connection, 302, response);
}

/* Answers with an error message that repeats the received key, as some servers do. */
static enum MHD_Result tell_the_key(struct MHD_Connection *connection, unsigned status)
{
    const char *header = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
    json_t *error = json_pack("{s:{s:o}}", "error", "message", json_sprintf("wrong: %s", header ? header : "none"));
    char *text = json_dumps(error, JSON_COMPACT);
    enum MHD_Result result = send_text(connection, status, text);
    json_decref(error);
    free(text);
    return result;
}

static const struct {
    const char *name;
    unsigned status;
    const char *body;
} errors[] = {
    {"500", 500, "{\"error\": \"oops\"}"},
    {"503", 503, "<html>not now</html>"},
    {"408", 408, "{}"},
    {"409", 409, "{\"detail\": \"conflict\"}"},
    {"429", 429, "{\"error\": {\"message\": \"slow down\"}}"},
    {"quota", 429, "{\"error\": {\"message\": \"You are out of it.\", \"code\": \"insufficient_quota\"}}"},
    {"400", 400, "{\"error\": {\"message\": \"no such model\"}}"},
    {"404", 404, "{\"error\": {\"message\": \"nothing here\"}}"},
    {"long", 400, "{\"error\": {\"message\": \"too long\", \"code\": \"context_length_exceeded\"}}"},
    {"size", 400,
     "{\"error\": {\"code\": 400, \"message\": \"request (5120 tokens) exceeds the available context size (4096 "
     "tokens), try increasing it\", \"type\": \"exceed_context_size_error\", \"n_prompt_tokens\": 5120, "
     "\"n_ctx\": 4096}}"},
    {"outgrown", 500,
     "{\"error\": {\"code\": 500, \"message\": \"Context size has been exceeded.\", \"type\": \"server_error\"}}"},
    {"peg", 500,
     "{\"error\":{\"code\":500,\"message\":\"The model produced output that does not match the expected peg-native "
     "format\",\"type\":\"server_error\"}}"},
    {"model", 400,
     "{\"error\": {\"message\": \"The decoder prompt (length 5016) is longer than the maximum model length of "
     "4096.\", \"type\": \"BadRequestError\", \"param\": null, \"code\": 400}}"},
    {"loading", 503, "{\"error\": {\"message\": \"Loading model\", \"type\": \"unavailable_error\", \"code\": 503}}"},
    {"html", 200, "<html>a proxy</html>"},
    {"utf8", 200, "{\"choices\": [{\"finish_reason\": \"stop\", \"message\": {\"content\": \"\xff\xfe\"}}]}"},
    {"empty", 200, ""},
    {"nochoice", 200, "{\"choices\": []}"},
    {"nofinish", 200, "{\"choices\": [{\"message\": {\"content\": \"{}\"}}]}"},
};

/* Sends what is no HTTP, and closes the connection. */
static enum MHD_Result send_garbage(struct MHD_Connection *connection)
{
    static const char garbage[] = "\x16\x03\x01 upstream gone\n";
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info)
        (void)!send(info->connect_fd, garbage, sizeof garbage - 1, MSG_NOSIGNAL);
    return MHD_NO;
}

static enum MHD_Result answer(struct MHD_Connection *connection, const json_t *steps, const char *fault)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(errors[i].name, fault) == 0)
            return send_text(connection, errors[i].status, errors[i].body);
    if (strcmp(fault, "401") == 0 || strcmp(fault, "403") == 0 || strcmp(fault, "echo") == 0)
        return tell_the_key(connection, strcmp(fault, "echo") == 0 ? 400 : (unsigned)atoi(fault));
    if (strcmp(fault, "after") == 0 || strcmp(fault, "date") == 0)
        return send_later(connection, 429, strcmp(fault, "after") == 0 ? "1" : "date");
    if (strcmp(fault, "never") == 0)
        return send_later(connection, 503, "9999");
    if (strcmp(fault, "garbage") == 0)
        return send_garbage(connection);
    if (strcmp(fault, "drip") == 0)
        return send_stream(connection, drip);
    if (strcmp(fault, "reset") == 0)
        return send_stream(connection, break_off);
    if (strcmp(fault, "huge") == 0)
        return send_stream(connection, fill_up);
    if (strcmp(fault, "redirect") == 0)
        return redirect(connection);
    char *text = whole_answer(steps, fault);
    enum MHD_Result result = send_text(connection, 200, text);
    free(text);
    return result;
}

/* ---- requests ---- */

/* Returns the number of earlier requests about this task. */
static int times_before(struct server *server, const char *task)
{
    size_t i = 0;
    while (i < server->n_tasks && strcmp(server->tasks[i], task) != 0)
        i++;
    if (i == server->n_tasks && i < TASKS_MAX)
        server->tasks[server->n_tasks++] = strdup(task);
    return i < TASKS_MAX ? server->times[i]++ : 0;
}

static void read_fault(char fault[32], const char *task, int before)
{
    const char *at = strstr(task, "FAULT=");
    size_t n = at ? strcspn(at + 6, " !") : 0;
    bool always = at && at[6 + n] == '!';
    snprintf(fault, 32, "%.*s", at && (before == 0 || always) ? (int)n : 0, at ? at + 6 : "");
}

static void note(struct server *server, const json_t *request, const char *task, int before)
{
    json_t *line =
        json_pack("{s:s, s:i, s:I, s:i, s:b, s:I, s:s, s:b}", "task", task, "attempt", before + 1, "ms", (json_int_t)now_ms(),
                  "active", server->active, "form", json_object_get(request, "response_format") != NULL, "messages",
                  (json_int_t)json_array_size(json_object_get(request, "messages")), "limit",
                  json_object_get(request, "max_tokens")              ? "old"
                  : json_object_get(request, "max_completion_tokens") ? "new"
                                                                      : "none",
                  "cool", json_object_get(request, "temperature") != NULL);
    json_dumpf(line, server->log, JSON_COMPACT);
    putc('\n', server->log);
    fflush(server->log);
    json_decref(line);
}

static bool has_key(struct MHD_Connection *connection, const struct server *server)
{
    const char *header = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
    return !server->key || (header && strncmp(header, "Bearer ", 7) == 0 && strcmp(header + 7, server->key) == 0);
}

/* Answers a request. The trajectory is in message 1, the user's first; the rules in message 0 are not read. */
static enum MHD_Result handle(struct server *server, struct MHD_Connection *connection, const struct exchange *exchange)
{
    json_t *request = json_loadb(exchange->body, exchange->length, 0, NULL);
    const json_t *user = json_array_get(json_object_get(request, "messages"), 1);
    const char *text = json_string_value(json_object_get(user, "content"));
    json_t *trajectory = text ? json_loads(text, 0, NULL) : NULL;
    const char *task = json_string_value(json_object_get(trajectory, "task"));
    bool form = json_object_get(request, "response_format") != NULL;
    char fault[32];
    pthread_mutex_lock(&server->lock);
    int before = task ? times_before(server, task) : 0;
    note(server, request, task ? task : "?", before);
    pthread_mutex_unlock(&server->lock);
    read_fault(fault, task ? task : "", before);
    if (server->delay_ms)
        nap(server->delay_ms);
    enum MHD_Result result =
        !task                          ? send_text(connection, 400, "{\"error\": \"no trajectory\"}")
        : !has_key(connection, server) ? tell_the_key(connection, 401)
        : server->no_form && form      ? send_text(connection, 400, "{\"error\": {\"message\": \"response_format?\"}}")
        : server->no_limit && json_object_get(request, "max_tokens")
            ? send_text(connection, 400, "{\"error\": {\"message\": \"Unsupported parameter\", \"param\": \"max_tokens\"}}")
        : server->no_cool && json_object_get(request, "temperature")
            ? send_text(connection, 400, "{\"error\": {\"message\": \"Unsupported value: 'temperature' does not support 0\"}}")
            : answer(connection, json_object_get(trajectory, "steps"), fault);
    json_decref(trajectory);
    json_decref(request);
    return result;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *data, size_t *size, void **state)
{
    struct exchange *exchange = *state;
    (void)version;
    if (!exchange) {
        *state = exchange = calloc(1, sizeof *exchange);
        exchange->server = context;
        pthread_mutex_lock(&exchange->server->lock);
        exchange->server->active++;
        pthread_mutex_unlock(&exchange->server->lock);
        return MHD_YES;
    }
    if (*size) {
        exchange->body = realloc(exchange->body, exchange->length + *size);
        memcpy(exchange->body + exchange->length, data, *size);
        exchange->length += *size;
        *size = 0;
        return MHD_YES;
    }
    if (strcmp(method, "POST") != 0 || strcmp(url, "/v1/chat/completions") != 0)
        return send_text(connection, 404, "{\"error\": \"no such address\"}");
    return handle(context, connection, exchange);
}

static void on_end(void *context, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code)
{
    struct exchange *exchange = *state;
    struct server *server = context;
    (void)connection;
    (void)code;
    if (!exchange)
        return;
    pthread_mutex_lock(&server->lock);
    server->active--;
    pthread_mutex_unlock(&server->lock);
    free(exchange->body);
    free(exchange);
    *state = NULL;
}

static char *read_text(const char *path)
{
    char *text = calloc(1, 8192);
    FILE *in = fopen(path, "r");
    if (!in || !fread(text, 1, 8191, in))
        exit(3);
    fclose(in);
    return text;
}

static struct MHD_Daemon *start(struct server *server, const char *certificate, const char *key)
{
    unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD;
    if (!certificate)
        return MHD_start_daemon(flags, 0, NULL, NULL, on_request, server, MHD_OPTION_NOTIFY_COMPLETED, on_end, server,
                                MHD_OPTION_END);
    return MHD_start_daemon(flags | MHD_USE_TLS, 0, NULL, NULL, on_request, server, MHD_OPTION_NOTIFY_COMPLETED, on_end, server,
                            MHD_OPTION_HTTPS_MEM_CERT, read_text(certificate), MHD_OPTION_HTTPS_MEM_KEY, read_text(key),
                            MHD_OPTION_END);
}

/* main exits without freeing memory, because a connection may still be sending. */
int main(int argc, char **argv)
{
    static struct server server = {.lock = PTHREAD_MUTEX_INITIALIZER};
    const char *certificate = NULL, *key = NULL;
    server.log = argc > 1 ? fopen(argv[1], "w") : NULL;
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], "--no-form") == 0)
            server.no_form = true;
        else if (strcmp(argv[i], "--no-limit") == 0)
            server.no_limit = true;
        else if (strcmp(argv[i], "--no-cool") == 0)
            server.no_cool = true;
        else if (strcmp(argv[i], "--delay") == 0 && i + 1 < argc)
            server.delay_ms = atol(argv[++i]);
        else if (strcmp(argv[i], "--key") == 0 && i + 1 < argc)
            server.key = argv[++i];
        else if (strcmp(argv[i], "--tls") == 0 && i + 2 < argc) {
            certificate = argv[++i];
            key = argv[++i];
        }
    struct MHD_Daemon *daemon = server.log ? start(&server, certificate, key) : NULL;
    if (!daemon)
        return 3;
    printf("%u\n", (unsigned)MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    _exit(0);
}
